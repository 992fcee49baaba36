"""The sequence fragment puzzle: pieces of words, found one by one and put together by the hash that each carries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.codes import value_of
from deniable.contract.domain import Bytes, Domain, Text
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

Piece = tuple[float, int, int]
"""A count, a hash, and the fragment that came with it."""
_FEW_SYMBOLS = 64
"""Alphabets up to this size are asked about in pairs."""
_CHUNK = 1 << 18


@typed
@dataclass(frozen=True, kw_only=True)
class SFP(Protocol):
    """Find the k most frequent words, texts or bytes of bounded length, in one round.

    People are split at random among the positions of the word, and report the fragment there together with a hash of the whole word. At
    each position the strongest ``keep`` pairs are kept. Fragments with the same hash, one for each position, make a candidate; those that
    are no word, or do not have the hash, are dropped, and a last share of the people, who report whole words through a sketch, counts the
    others. Two words with one hash cost candidates, not words.

    Guarantee: epsilon-local for any two inputs; everybody reports once.

    Estimator: the counts of the last share, who had no part in finding the candidates, for the k strongest that stand out of the noise.

    Cost: one report about 2^(hash_bits + 8 fragment) inputs, or of a sketch; with P positions a fragment is counted by n / (cohorts P)
    people. The collector asks about every hash with every string of ``fragment`` symbols of the ``alphabet``, at every position.

    ``fragment`` is 2 bytes, as at Apple, for an alphabet of up to 64 symbols, and else 1, as in the CS208 notes, where ``cohorts`` of
    people have hashes of their own. Words with symbols outside of the alphabet may be held, but are not found. Apple's devices report both
    a fragment and the word, each at a part of epsilon; here they report one of them at all of it. ``holdout``, ``threshold``, ``people``
    and ``salt`` are as in ``Bitstogram``.

    >>> from deniable.testing import ReplaySource
    >>> search = SFP(domain=Text(6), k=3, epsilon=4.0, people=12_000)
    >>> words = ["tea"] * 5000 + ["coffee"] * 4000 + ["maté"] * 3000
    >>> search.run(words, source=ReplaySource.from_key("docs"))
    3,018 reports, FLH, epsilon = 4; low and high: 95 %, noise only
    value   count  stderr    low   high  frequency
    tea     1,276      39  1,201  1,355     42.3 %
    coffee    985    35.1    918  1,056     32.6 %
    maté      748    31.5    687    811     24.8 %
    3 candidates were tested; 0 are not significant and dropped (family-wise error 5 %)

    References: Differential Privacy Team, Apple 2017; Vadhan, CS208, lecture notes on the local model, section 5.3.
    """

    result: ClassVar[str] = RESULT
    domain: Domain
    bits: int = field(default=None, metadata=INSTEAD)  # type: ignore[assignment]  # resolved with the domain
    """The length of the words; it follows from ``domain``."""
    k: int
    epsilon: float
    oracle: str = "auto"
    """The frequency oracle of every report; "auto" takes the one with the smallest error."""
    alphabet: str | bytes | None = field(default=None, metadata=wire(form=form_of(bytes)))
    fragment: int = None  # type: ignore[assignment]  # resolved below
    hash_bits: int = 8
    cohorts: int = 1
    keep: int = None  # type: ignore[assignment]  # resolved below
    holdout: float | Fraction = field(default=Fraction(1, 4), metadata=wire(form=form_of(Fraction)))
    threshold: float | None = None
    people: int = 100_000
    salt: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Bytes):
            raise ParameterError("domain", self.domain, allowed="Text or Bytes", fix="pass domain=Text(10), or search numbers with PEM")
        settle(self)
        put = partial(object.__setattr__, self)
        put("holdout", checked_holdout(self.holdout))
        if self.alphabet is not None:
            put("alphabet", symbols_of(self.alphabet, self.domain))
        if self.fragment is None:
            put("fragment", 2 if self.alphabet is not None and len(self.alphabet) <= _FEW_SYMBOLS else 1)
        check_whole("fragment", self.fragment, 1, 2)
        check_whole("hash_bits", self.hash_bits, 1, 24 - 8 * self.fragment)
        if self.keep is None:
            put("keep", max(2 * self.k, 1 << self.hash_bits))
        check_whole("keep", self.keep, 1, LARGEST_LIST)
        check_whole("cohorts", self.cohorts, 1, MOST_QUESTIONS)
        if self.cohorts * len(self.starts) > MOST_QUESTIONS:
            allowed = f"at most {MOST_QUESTIONS} questions, cohorts times positions"
            raise ParameterError("cohorts", self.cohorts, allowed=allowed, fix="use fewer cohorts, or shorter words")
        check_search(self, "keep, fragment, hash_bits", fix="use smaller settings, or fewer cohorts")

    def work(self) -> Work:
        fragments = self._fragments(8 * self.fragment).size
        values = max(fragments, min(_CHUNK, fragments << self.hash_bits))  # so many are estimated at a time
        parts = [question.spec for row in self._puzzles for question in row]
        asked = in_turn(spec.finishing(values) for spec in parts)
        looked_at = sum(spec.finishing(fragments << self.hash_bits).steps for spec in parts)
        counted = self._counting.spec.finishing(self.cohorts * LARGEST_LIST)
        joined = 150 * len(parts) * LARGEST_LIST * min(self.keep, fragments)  # every word so far with every piece of its hash
        listed = candidates_work((self.cohorts + 2) * LARGEST_LIST)
        return together([asked._replace(steps=looked_at + joined), counted, listed])

    @property
    def starts(self) -> range:
        """Where the fragments begin, in bits."""
        return range(0, self.bits, 8 * self.fragment)

    def open(self) -> Round:
        return self._round

    @cached_property
    def _round(self) -> Round:
        return Round((*(question for row in self._puzzles for question in row), self._counting))

    @cached_property
    def _puzzles(self) -> tuple[tuple[Question, ...], ...]:
        """The questions about fragments, for each cohort."""
        return tuple(tuple(self._question(cohort, start) for start in self.starts) for cohort in range(self.cohorts))

    def _question(self, cohort: int, start: int) -> Question:
        length = min(8 * self.fragment, self.bits - start)
        strings = self._fragments(length).size
        return fragment_question(self, f"cohort-{cohort}-byte-{start // 8}", start, length, row=cohort, rows=self.cohorts, strings=strings)

    @cached_property
    def _counting(self) -> Question:
        return counting_question(self, candidates=LARGEST_LIST >> 4)

    def close(self, tallies: Mapping[str, Any]) -> FrequencyEstimate:
        self._round.check_tallies(tallies)
        found: dict[Any, None] = {}
        for questions in self._puzzles:
            pieces = [self._pieces(question, tallies[question.name]) for question in questions]
            encoders: list[Fragment] = [question.encoder for question in questions]  # type: ignore[misc]  # as asked
            for hashed, code in puzzled(pieces, [encoder.length for encoder in encoders], tallies[questions[0].name].to_bytes()):
                value = value_of(self.domain, code)
                if value is not None and encoders[0].hash(value) == hashed:
                    found[value] = None
        return counted(self, self._counting, tallies[COUNT], found)

    def _fragments(self, length: int) -> Array:
        """The fragments of so many bits that are asked about."""
        if self.alphabet is None:
            return np.arange(1 << length)
        symbols: Array = np.frombuffer(self.alphabet, dtype=np.uint8).astype(np.int64)  # type: ignore[arg-type]  # resolved to bytes
        return symbols if length == 8 else (symbols[:, None] << 8 | symbols).ravel()

    def _pieces(self, question: Question, tally: Any) -> list[Piece]:
        """The strongest pairs of hash and fragment at one position."""
        length, salt = question.encoder.length, tally.to_bytes()  # type: ignore[attr-defined]  # a Fragment
        fragments = self._fragments(length)
        hashes = max(1, _CHUNK // fragments.size)
        strong: list[tuple[Array, Array]] = []
        for first in range(0, 1 << self.hash_bits, hashes):  # so that memory stays flat
            part = np.arange(first, min(first + hashes, 1 << self.hash_bits))
            asked = (part[:, None] << length | fragments).ravel()
            counts = question.spec.estimate(tally, candidates=asked).counts
            best = strongest(counts, self.keep, salt)
            strong.append((asked[best], counts[best]))
        asked, counts = (np.concatenate(column) for column in zip(*strong, strict=True))
        best = strongest(counts, self.keep, salt)
        pairs = zip(counts[best].tolist(), asked[best].tolist(), strict=True)
        return [(count, pair >> length, pair & (1 << length) - 1) for count, pair in pairs if count > 0]

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(epsilon=self.epsilon, unit="one report, about one fragment of the word or about all of it")


def symbols_of(alphabet: str | bytes, domain: Bytes) -> bytes:
    r"""The bytes that words of an alphabet are made of, those that fill up their codes among them; in rising order.

    >>> symbols_of("aé", Text(4))
    b'a\xa9\xc3\xff'
    """
    if not isinstance(alphabet, str | bytes):
        raise ParameterError("alphabet", alphabet, allowed="a string or bytes", fix='write alphabet="abcdefghijklmnopqrstuvwxyz"')
    content = alphabet.encode() if isinstance(alphabet, str) else alphabet
    return bytes(sorted({*content, *(b"\xff" if isinstance(domain, Text) else b"\x80\x00")}))


def puzzled(pieces: Iterable[list[Piece]], lengths: Iterable[int], salt: bytes) -> list[tuple[int, int]]:
    """Every hash and code that has a piece for each position. If they become too many, those with the strongest weakest piece stay.

    >>> puzzled([[(9.0, 1, 0x74), (5.0, 2, 0x63)], [(8.0, 1, 0x65), (7.0, 3, 0x61)]], [8, 8], b"salt")
    [(1, 29797)]
    """
    words: list[Piece] | None = None
    for position, length in zip(pieces, lengths, strict=True):
        by_hash: defaultdict[int, list[tuple[float, int]]] = defaultdict(list)
        for count, hashed, fragment in position:
            by_hash[hashed].append((count, fragment))
        before: list[Piece] = words if words is not None else [(np.inf, hashed, 0) for hashed in by_hash]
        words = []
        most = max(1, LARGEST_LIST // max(len(position), 1))  # extended at a time: a hash that all pieces share must not fill the memory
        for first in range(0, len(before), most):
            some = before[first : first + most]
            words += [
                (min(score, count), h, code << length | fragment) for score, h, code in some for count, fragment in by_hash.get(h, ())
            ]
            if len(words) > LARGEST_LIST:
                words = [words[i] for i in strongest(np.array([score for score, _, _ in words]), LARGEST_LIST, salt)]
    return [(hashed, code) for _, hashed, code in words or []]
