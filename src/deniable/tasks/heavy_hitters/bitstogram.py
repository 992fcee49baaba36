"""Bitstogram: values are read bit by bit, since in each cell of a public hash the frequent value decides every bit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from math import exp, expm1, sqrt
from typing import Any, ClassVar

import numpy as np

from deniable.contract.codes import value_of
from deniable.contract.domain import Domain
from deniable.contract.fragment import Fragment
from deniable.contract.guarantee import Guarantee
from deniable.contract.protocol import Protocol
from deniable.contract.question import Question, Round
from deniable.contract.record import INSTEAD, form_of, wire
from deniable.contract.work import Work, in_turn, together
from deniable.core.frequency import FrequencyEstimate
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.heavy_hitters.one_round import (
    COUNT,
    MOST_QUESTIONS,
    candidates_work,
    check_search,
    counted,
    counting_question,
    fragment_question,
    settle,
)
from deniable.tasks.heavy_hitters.prefixes import LARGEST_LIST, RESULT, checked_holdout, strongest

LONGEST_INPUT = 20
"""The most bits of (cell, step) that are asked about: so many inputs are listed."""


@dataclass(frozen=True, kw_only=True)
class Bitstogram(Protocol):
    """Find the k most frequent values of a domain too large to list, in one round.

    A public hash puts every value in a cell. People are split at random among the bits of the code, and report (cell, bit). In the cell of
    a frequent value, its bits are the more frequent ones: together they spell one candidate for each cell. Candidates that are no value, or
    do not hash to their cell, are dropped, and a last share of the people, who report whole values through a sketch, counts the others.
    Two frequent values in one cell spoil each other; hence ``functions``, each with people and cells of its own.

    Guarantee: epsilon-local for any two inputs; everybody reports once.

    Estimator: the counts of the last share, who had no part in finding the candidates, for the k strongest that stand out of the noise.

    Cost: one report about 2^(hash_bits + step_bits) inputs, or of a sketch. With L questions for each function, a bit is decided by
    n / (functions L) people. The collector looks at every cell of every question once.

    ``step_bits=1`` is the paper's; longer steps, whose most frequent string is taken, mean fewer questions and more people for each. The
    default is 8, and 16 k cells or more, which two of the k values share rarely. ``holdout`` is the last share. ``threshold``, as in
    ``TreeHist``, is for the values that are counted, and ``people`` and ``salt`` are as there.

    >>> from deniable.testing import ReplaySource
    >>> search = Bitstogram(bits=32, k=3, epsilon=2.0, people=12_000)
    >>> search.hash_bits, search.step_bits, search.functions, [str(question.share) for question in search.open().questions]
    (6, 8, 1, ['3/16', '3/16', '3/16', '3/16', '1/4'])
    >>> values = [2**31 + 7] * 4000 + [12345] * 3000 + list(range(10**6, 10**6 + 5000))
    >>> search.run(values, source=ReplaySource.from_key("docs")).values
    [2147483655, 12345]

    References: Bassily, Nissim, Stemmer, Thakurta 2017.
    """

    result: ClassVar[str] = RESULT
    domain: Domain = None  # type: ignore[assignment]  # resolved below
    bits: int = field(default=None, metadata=INSTEAD)  # type: ignore[assignment]  # resolved with the domain
    """The length of the values, if they are plain numbers: instead of ``domain``."""
    k: int
    epsilon: float
    oracle: str = "auto"
    """The frequency oracle of every report; "auto" takes the one with the smallest error."""
    functions: int = None  # type: ignore[assignment]  # resolved below
    hash_bits: int = None  # type: ignore[assignment]  # resolved below
    step_bits: int = None  # type: ignore[assignment]  # resolved below
    holdout: float | Fraction = field(default=Fraction(1, 4), metadata=wire(form=form_of(Fraction)))
    threshold: float | None = None
    people: int = 100_000
    salt: int = 0

    def __post_init__(self) -> None:
        settle(self)
        put = partial(object.__setattr__, self)
        put("holdout", checked_holdout(self.holdout))
        if self.hash_bits is None:
            put("hash_bits", (16 * self.k - 1).bit_length())
        check_whole("hash_bits", self.hash_bits, 1, LONGEST_INPUT - 1)
        if self.step_bits is None:
            put("step_bits", min(8, LONGEST_INPUT - self.hash_bits))
        check_whole("step_bits", self.step_bits, 1, LONGEST_INPUT - self.hash_bits)
        if self.functions is None:
            people = self.people * (1 - self.holdout) / len(self.starts)
            put("functions", usual_functions(self.k, self.epsilon, int(people)))
        check_whole("functions", self.functions, 1, MOST_QUESTIONS)
        if self.functions * len(self.starts) > MOST_QUESTIONS:
            allowed = f"at most {MOST_QUESTIONS} questions, functions times steps"
            raise ParameterError("step_bits", self.step_bits, allowed=allowed, fix="use longer steps or shorter values")
        check_search(self, "hash_bits, step_bits, functions", fix="use smaller settings, or search for fewer values")

    def work(self) -> Work:
        listed = self.functions << self.hash_bits
        asked = in_turn(question.spec.finishing(question.values) for row in self._spelling for question in row)
        return together([asked, self._counting.spec.finishing(listed), candidates_work(listed)])

    @property
    def starts(self) -> range:
        """Where the steps begin."""
        return range(0, self.bits, self.step_bits)

    def open(self) -> Round:
        return self._round

    @cached_property
    def _round(self) -> Round:
        return Round((*(question for row in self._spelling for question in row), self._counting))

    @cached_property
    def _spelling(self) -> tuple[tuple[Question, ...], ...]:
        """The questions about bits, for each function."""
        return tuple(tuple(self._question(function, start) for start in self.starts) for function in range(self.functions))

    def _question(self, function: int, start: int) -> Question:
        length = min(self.step_bits, self.bits - start)
        name = f"hash-{function}-bit-{start}"
        return fragment_question(self, name, start, length, row=function, rows=self.functions, strings=1 << length)

    @cached_property
    def _counting(self) -> Question:
        return counting_question(self, candidates=min(self.functions << self.hash_bits, LARGEST_LIST))

    def close(self, tallies: Mapping[str, Any]) -> FrequencyEstimate:
        self._round.check_tallies(tallies)
        found = dict.fromkeys(value for questions in self._spelling for value in self._read(questions, tallies))
        return counted(self, self._counting, tallies[COUNT], found)

    def _read(self, questions: tuple[Question, ...], tallies: Mapping[str, Any]) -> Iterator[Any]:
        """The candidates that one function's questions spell, cell by cell."""
        codes = [0] * (1 << self.hash_bits)
        for question in questions:
            encoder: Fragment = question.encoder  # type: ignore[assignment]  # as asked
            tally = tallies[question.name]
            found = most_frequent(question.spec.estimate(tally).counts, encoder.length, tally.to_bytes())
            codes = [code << encoder.length | int(symbol) for code, symbol in zip(codes, found, strict=True)]
        for cell, code in enumerate(codes):
            value = value_of(self.domain, code)
            if value is not None and encoder.hash(value) == cell:
                yield value

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(epsilon=self.epsilon, unit="one report, about one bit of the value or about all of it")


def usual_functions(k: int, epsilon: float, people: int) -> int:
    """How many hash functions: two if half of the people who spell a step still tell a value of frequency 1 / 4k from noise, else one.

    Where noise is small, values are lost by sharing a cell, which a second function fixes; where it is large, it doubles the noise.

    >>> usual_functions(10, 3.0, 40_000), usual_functions(10, 1.0, 40_000)
    (2, 1)
    """
    noise = sqrt(4 * exp(epsilon)) / expm1(epsilon) / sqrt(max(people / 2, 1))
    return 2 if 5 * noise < 1 / (4 * k) else 1


def most_frequent(counts: Array, length: int, salt: bytes) -> Array:
    """The string of so many bits with the largest count in each cell; equal ones as ``strongest`` orders them.

    >>> most_frequent(np.array([5.0, 7.0, 2.0, 1.0]), 1, b"salt").tolist()
    [1, 0]
    """
    order = strongest(counts, counts.size, salt)
    _, first = np.unique(order >> length, return_index=True)
    found: Array = order[first] & (1 << length) - 1
    return found
