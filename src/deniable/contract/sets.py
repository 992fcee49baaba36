"""Encoders of sets: they ask about one item, about the number of items, or about the whole set.

The candidates of an encoder are sets themselves, as keys in rising order, and come in rising order; single items are sets of one. A person
who holds all of a candidate's items holds the candidate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from deniable.contract.domain import Domain
from deniable.contract.encoder import Encoder, bulk_half
from deniable.contract.source import Source
from deniable.contract.subsets import Subsets
from deniable.errors import ParameterError

Candidates = tuple[tuple[int, ...], ...]
LONGEST_PADDING = 1 << 16
MOST_CANDIDATES = 1 << 16
LARGEST_CODE = 24
"""The most items whose sets are told apart one by one."""


@dataclass(frozen=True)
class PadAndSample(Encoder):
    """One of the candidates that a person holds, drawn at random, after their list was padded to ``length`` with different dummies.

    The input is the candidate's position (without candidates: the item's key), or, after all of these, the number of a dummy. There are
    ``length`` dummies. A person with m < ``length`` candidates draws among these and the first ``length`` - m dummies; a person with more
    than ``length`` draws among all that they hold. So no input is ever drawn with a probability above 1 / ``length``, whatever the
    set: that is ``sampling``, and what a mechanism may gain by it is the mechanism's to say (``Spec.epsilon_after``). One dummy that is
    drawn again and again would break it: the empty set would draw that one always.

    Draws one number below max(m, ``length``).

    >>> from deniable.contract.domain import IndexRange
    >>> from deniable.testing import ReplaySource
    >>> encoder = PadAndSample(Subsets(IndexRange(9)), 2)
    >>> words = [0, 1 << 63]
    >>> [encoder.encode({7, 3}, ReplaySource([word])) for word in words], [encoder.encode([], ReplaySource([word])) for word in words]
    ([3, 7], [9, 10])
    """

    domain: Subsets
    length: int
    candidates: Candidates | None = None

    def __post_init__(self) -> None:
        _check_length(self.length)
        _check_candidates(self.domain, self.candidates, least=0)

    @property
    def sampling(self) -> int:
        return self.length

    @property
    def counted(self) -> int:
        """How many inputs are not dummies."""
        return self.domain.items.size if self.candidates is None else len(self.candidates)

    @property
    def inputs(self) -> int:
        return self.counted + self.length

    def reads(self, domain: Domain) -> bool:
        return self.domain == domain

    def encode(self, value: Any, source: Source) -> int:
        keys = self.domain.keys(value)
        held = keys if self.candidates is None else held_among(keys, self.candidates)
        drawn = source.below(max(len(held), self.length))
        return held[drawn] if drawn < len(held) else self.counted + drawn - len(held)

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return bulk_half("sets", "PadAndSample.encode_many").padded_samples(self, values, source)


@dataclass(frozen=True)
class Overflow(Encoder):
    """1 if what a person would draw lies beyond the first ``length`` of their candidates, else 0: how much a list so long leaves out.

    With m > ``length`` candidates a person draws each with probability 1 / m instead of 1 / ``length`` (``PadAndSample``), and counts as
    ``length`` / m of a holder. What is missing, 1 - ``length`` / m, is the probability of a 1 here; all others say 0. So the share of ones
    is the most that the count of any item can miss.

    Draws one number below max(m, ``length``).

    >>> from deniable.contract.domain import IndexRange
    >>> from deniable.testing import ReplaySource
    >>> encoder = Overflow(Subsets(IndexRange(9)), 1, ((3,), (7,), (8,)))
    >>> [[encoder.encode(held, ReplaySource([word])) for word in (0, 1 << 63)] for held in ({7, 3}, {1, 7}, [])]
    [[0, 1], [0, 0], [0, 0]]
    """

    domain: Subsets
    length: int
    candidates: Candidates

    def __post_init__(self) -> None:
        _check_length(self.length)
        _check_candidates(self.domain, self.candidates, least=1)

    @property
    def inputs(self) -> int:
        return 2

    def reads(self, domain: Domain) -> bool:
        return self.domain == domain

    def encode(self, value: Any, source: Source) -> int:
        held = len(held_among(self.domain.keys(value), self.candidates))
        return int(source.below(max(held, self.length)) >= self.length)

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return bulk_half("sets", "Overflow.encode_many").overflows(self, values, source)


@dataclass(frozen=True)
class HeldCount(Encoder):
    """How many of the candidates a person holds: 0 to all of them.

    >>> from deniable.contract.domain import IndexRange
    >>> encoder = HeldCount(Subsets(IndexRange(9)), ((3,), (3, 7), (8,)))
    >>> encoder.encode({7, 3, 1}, source=None), encoder.encode([], source=None)
    (2, 0)
    """

    domain: Subsets
    candidates: Candidates

    def __post_init__(self) -> None:
        _check_candidates(self.domain, self.candidates, least=1)

    @property
    def inputs(self) -> int:
        return len(self.candidates) + 1

    def reads(self, domain: Domain) -> bool:
        return self.domain == domain

    def encode(self, value: Any, source: Source) -> int:
        return len(held_among(self.domain.keys(value), self.candidates))

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return bulk_half("sets", "HeldCount.encode_many").held_counts(self, values)


@dataclass(frozen=True)
class SetCode(Encoder):
    """The whole set as one number: the sum of 2^key over its items.

    >>> from deniable.contract.domain import IndexRange
    >>> SetCode(Subsets(IndexRange(9))).encode({0, 3}, source=None)
    9
    """

    domain: Subsets

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Subsets) or self.domain.items.size > LARGEST_CODE:
            raise ParameterError("domain", self.domain, allowed=f"subsets of at most {LARGEST_CODE} items", fix="ask about items instead")

    @cached_property
    def inputs(self) -> int:
        return self.domain.size

    def reads(self, domain: Domain) -> bool:
        return self.domain == domain

    def encode(self, value: Any, source: Source) -> int:
        return sum(1 << key for key in self.domain.keys(value))

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return bulk_half("sets", "SetCode.encode_many").set_codes(self, values)


def held_among(keys: tuple[int, ...], candidates: Candidates) -> tuple[int, ...]:
    """Return the positions of the candidates of which all items are held.

    >>> held_among((1, 3, 7), ((1,), (1, 2), (3, 7)))
    (0, 2)
    """
    held = set(keys)
    return tuple(position for position, candidate in enumerate(candidates) if held.issuperset(candidate))


def _check_length(length: object) -> None:
    if type(length) is not int or not 1 <= length <= LONGEST_PADDING:
        allowed = f"an integer from 1 to {LONGEST_PADDING}"
        raise ParameterError("length", length, allowed=allowed, fix="try as many items as most people hold")


def _check_candidates(domain: object, candidates: Candidates | None, least: int) -> None:
    if not isinstance(domain, Subsets):
        raise ParameterError("domain", domain, allowed="Subsets", fix="write Subsets(IndexRange(9))")
    if candidates is None:
        return
    rising = all(
        keys
        and all(type(key) is int and key >= 0 for key in keys)
        and all(low < high for low, high in pairwise((*keys, domain.items.size)))
        for keys in candidates
    )
    if not least <= len(candidates) <= MOST_CANDIDATES or not rising or any(low >= high for low, high in pairwise(candidates)):
        allowed = f"{least} to {MOST_CANDIDATES} sets of keys below {domain.items.size}, all in rising order"
        raise ParameterError("candidates", candidates[:5], allowed=allowed, fix="sort them and drop repetitions")
