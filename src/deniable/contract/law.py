"""The exact law of a mechanism's output: a finite distribution with rational weights."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from fractions import Fraction
from itertools import islice
from typing import NamedTuple, TypeVar

from deniable.contract.arguments import typed

Report = TypeVar("Report", bound=Hashable)
Class = tuple[Fraction, Fraction, Fraction]
"""The mass of a class of outputs under one input, under another one, and under the blanket, which is in every input's law."""

_SHOWN = 8


class Coins(NamedTuple):
    """Some coins of one kind and some of another, thrown together with a probability: what a number of set bits is made of."""

    chance: float
    own: int
    p: float
    others: int
    q: float


class PairLaw(NamedTuple):
    """How often a report supports both of two values: if its sender holds neither, and if its sender holds one of them.

    The first is None where it depends on the three values.
    """

    neither: Fraction | None
    one: Fraction


@typed
class OutputLaw(Mapping[Report, Fraction]):
    """Which report appears with which probability, exactly: ``weights`` by report. Reports of probability zero are left out.

    >>> law = OutputLaw({0: Fraction(3, 4), 1: Fraction(1, 4), 2: Fraction(0)})
    >>> law.total, len(law), law[2]
    (Fraction(1, 1), 2, Fraction(0, 1))
    >>> law.ratio(OutputLaw({0: Fraction(1, 4), 1: Fraction(3, 4)}))
    Fraction(3, 1)
    """

    def __init__(self, weights: Mapping[Report, Fraction]) -> None:
        self._weights = {report: weight for report, weight in weights.items() if weight}

    def __getitem__(self, report: Report) -> Fraction:
        return self._weights.get(report, Fraction(0))

    def __iter__(self) -> Iterator[Report]:
        return iter(self._weights)

    def __len__(self) -> int:
        return len(self._weights)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputLaw) and self._weights == other._weights

    def __hash__(self) -> int:
        return hash(frozenset(self._weights.items()))

    def __repr__(self) -> str:
        if len(self) <= _SHOWN:
            return f"OutputLaw({self._weights!r})"
        shown = ", ".join(f"{report!r}: {weight!r}" for report, weight in islice(self._weights.items(), _SHOWN // 2))
        return f"OutputLaw({{{shown}, ... {len(self):,} reports}})"

    @property
    def total(self) -> Fraction:
        """The sum of all weights: 1 for a law that is one."""
        return sum(self._weights.values(), Fraction(0))

    def ratio(self, other: OutputLaw[Report]) -> Fraction | None:
        """Return the largest factor by which a report is likelier here than under the ``other`` law; None where it is impossible there."""
        if not self._weights.keys() <= other._weights.keys():
            return None
        return max(weight / other._weights[report] for report, weight in self._weights.items())
