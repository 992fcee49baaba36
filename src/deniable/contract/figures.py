"""Figures of a mechanism besides its law, with defaults that most mechanisms share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from deniable.contract.domain import Domain
from deniable.contract.law import Class, Coins, PairLaw
from deniable.contract.wire import Layout
from deniable.contract.work import TALLY_BYTES, VALUE_BYTES, Work

if TYPE_CHECKING:
    from deniable.contract.spec import Spec


class Figures(ABC):  # a spec adds what has no default
    """Answers for planners, auditors, defenders and survey pages. A mechanism for which a default is wrong overrides it."""

    domain: Domain

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """The columns of a report."""

    # --- which values have a report, and how a survey page asks for them ---

    @property
    def answers_all(self) -> bool:
        """True if every value of the domain has a report, drawn with fresh noise: any round may then ask with this mechanism."""
        return True

    def check_value(self, value: Any) -> None:
        """Raise DomainError unless this ``value`` has a report."""
        self.domain.key(value)

    @property
    def choices(self) -> tuple[Any, ...] | None:
        """The values that have a report, where they are only a few of the domain; None where all have one."""
        return None

    @property
    def how_sent(self) -> str:
        """How a value is sent, in words for the respondent, where it is more than randomized; empty elsewhere."""
        return ""

    # --- figures, for planners, auditors and defenders ---

    @property
    def seed_words(self) -> int:
        """How many words a report draws first and sends in the open."""
        return 0

    @property
    def mean_spec(self) -> Spec | None:
        """The mechanism by which the mean of the values is estimated; None where no mean is estimated."""
        return None

    @property
    def pair_law(self) -> PairLaw | None:
        """How often a report supports two values; None where that is not known exactly."""
        return None

    @property
    def channel(self) -> tuple[Class, ...] | None:
        """The outputs by classes of equal probability under two inputs, where all pairs are alike; None where the laws must be listed."""
        return None

    @property
    def third(self) -> float | None:
        """How often the holder of a third value sends a report that is likelier under a given one of two others than under the other."""
        return None

    @property
    def fair_coin(self) -> bool:
        """True if a report is one bit, and a lie is equally likely whatever the truth: shuffled, it has a certificate of its own."""
        return False

    @property
    def report_bits(self) -> int:
        """The size of a report in bits of information."""
        return sum(column.information for column in self.layout)

    @property
    def largest_count(self) -> int:
        """What one report adds to a counter of the tally, at most."""
        return 1

    def counters(self, values: int) -> int:
        """Return how many counters a tally about so many values has."""
        return values

    @property
    def popcount_laws(self) -> tuple[tuple[Coins, ...], ...]:
        """The law of the number of set bits, as a mixture of coins; several where it depends on the value, none where it says nothing."""
        return ()

    def finishing(self, values: int) -> Work:
        """Return what it takes to estimate so many values from a tally."""
        return Work((kept := TALLY_BYTES * self.counters(values)) + VALUE_BYTES * values, values, kept)
