"""Answers given again and again: a permanent answer, drawn once and kept, and reports that are drawn from it.

A device that drew fresh noise for every report would give its value away: the noise averages out. So the noise comes in two steps. The
**permanent** answer is drawn once for each class of values (in most mechanisms a value is a class of its own) and kept permanently. Every
report is an **instantaneous** answer, drawn from the permanent one. However many reports there are, they reveal no more than the permanent
answer does: ``epsilon``. The first of them, alone, reveals ``first_epsilon``.

What the two steps do *not* hide: that a value changed, when, and that an old one came back. ``epsilon`` is about two values that a
person may hold all the time. For two histories of the same **pattern** with w permanent answers it is w times as much
(``lifetime_epsilon``). Of the same pattern are histories if, whatever the device drew for itself, reports i and j come from one permanent
answer in the one exactly when they do in the other. For histories of different patterns no such limit holds: the reports differ by what
their instantaneous noise allows, which adds up with every report and without such noise has no limit at all. Changing at the same moments
is not enough. Values may share a class, so whether a change shows depends on the values; and a value may come back, or a third one come.

Some mechanisms also draw something **personal** once for all, such as a hash function: it is in every report and links those of a device.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from deniable.client.exact import history_law
from deniable.client.frequency import FrequencySpec
from deniable.contract.guarantee import Guarantee
from deniable.contract.law import Class, OutputLaw
from deniable.contract.probability import TIGHTNESS, check_epsilon, log_above
from deniable.contract.source import SYSTEM, Source
from deniable.contract.spec import Spec
from deniable.contract.wire import Layout
from deniable.errors import ParameterError

ANY = Fraction(1)


@dataclass(frozen=True, kw_only=True, repr=False)
class Longitudinal(Spec):
    """A mechanism in two steps. ``epsilon`` is what all reports about one value ever reveal, ``first_epsilon`` what one reveals.

    ``randomize`` is one report of a device that has nothing yet. A device that keeps what it must keep uses ``client.diary``.

    In what follows ``personal`` is what a device drew once for all, ``group`` the number of a class of values, and ``memo`` a permanent
    answer.
    """

    first_epsilon: float = None  # type: ignore[assignment]  # half of epsilon, in most mechanisms
    assignable: ClassVar[bool] = False
    overlapping: ClassVar[bool] = False
    """Whether reports of different values overlap, so that ``permanent_variance`` holds only for values whose reports do not."""
    kept_as: ClassVar[str] = "value"
    """What people hold, in a word."""

    if TYPE_CHECKING:  # what every family of mechanisms has

        @property
        def ratio(self) -> Fraction: ...
        @property
        def outputs(self) -> int: ...

    # --- what each mechanism provides ---

    @property
    @abstractmethod
    def distinct(self) -> bool:
        """True if different values are of different classes, whatever the device drew for itself; False if they may share one."""

    @abstractmethod
    def permanent_variance(self, n: int, *args: Any, **held: Any) -> float:
        """Return the variance of a count, or a mean, from n people's permanent answers: more rounds do not average it away.

        What people hold is said as for ``variance``: by ``args``, or by name in ``held``.
        """

    @property
    @abstractmethod
    def answer_layout(self) -> Layout:
        """The columns of an answer, permanent or instantaneous: a report without its personal part."""

    @property
    @abstractmethod
    def classes(self) -> int:
        """How many classes a device can tell its values apart by, at most: so many permanent answers it can come to keep."""

    @abstractmethod
    def class_of(self, key: int, personal: Any) -> int:
        """Return the class of the value with this key. All values of a class share one permanent answer."""

    @abstractmethod
    def permanent_of(self, group: int, personal: Any, source: Source) -> Any:
        """Return the permanent answer of a class."""

    @abstractmethod
    def instantaneous(self, memo: Any, source: Source = SYSTEM) -> Any:
        """Return the answer of one report, from the permanent one."""

    @abstractmethod
    def permanent_law(self, group: int, personal: Any) -> OutputLaw[Any]:
        """Return the exact law of ``permanent_of``."""

    @abstractmethod
    def instantaneous_law(self, memo: Any) -> OutputLaw[Any]:
        """Return the exact law of ``instantaneous``."""

    @property
    @abstractmethod
    def first_ratio(self) -> Fraction:
        """The largest ratio of the probabilities of one report under two inputs; ``ratio`` is that of the permanent answer."""

    # --- what is drawn once for all; nothing, in some mechanisms ---

    @property
    def personal_layout(self) -> Layout:
        """The columns of what is drawn once for all; they come first in every report."""
        return ()

    def personal(self, source: Source = SYSTEM) -> Any:
        """Return what a device draws once for all its values."""
        return ()

    def personal_law(self, seed: tuple[int, ...]) -> OutputLaw[Any]:
        """Return the exact law of ``personal``, given the public seed where there is one."""
        return OutputLaw({(): ANY})

    # --- what follows ---

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]  # of the family, which calls resolve
        real = self.first_effective_epsilon
        if real > self.first_epsilon or self.first_epsilon - real > TIGHTNESS:
            allowed = f"what these probabilities reach: {real!r}"
            raise ParameterError(
                "first_epsilon", self.first_epsilon, allowed=allowed, fix="leave the probabilities out: they follow from first_epsilon"
            )

    def resolve(self) -> None:
        first = self.usual_first if self.first_epsilon is None else check_epsilon(self.first_epsilon)
        if first > self.epsilon:
            allowed = f"at most epsilon = {self.epsilon!r}"
            raise ParameterError(
                "first_epsilon", first, allowed=allowed, fix="lower it: one report cannot reveal more than all reports together"
            )
        object.__setattr__(self, "first_epsilon", first)
        super().resolve()  # type: ignore[misc]  # of the family

    @property
    def usual_first(self) -> float:
        """What one report tells if nothing else was said."""
        return self.epsilon / 2

    def too_close(self) -> ParameterError:
        """Return the error for a first epsilon that leaves nothing for the second step to do."""
        allowed = f"clearly below epsilon = {self.epsilon!r}"
        return ParameterError("first_epsilon", self.first_epsilon, allowed=allowed, fix="try half of epsilon")

    @property
    def layout(self) -> Layout:
        return (*self.personal_layout, *self.answer_layout)

    def joined(self, personal: Any, answer: Any) -> Any:
        """Return what is sent: the personal part, where there is one, and the answer."""
        return (personal, answer) if self.personal_layout else answer

    def key_of(self, value: Any) -> int:
        """Return what the classes are told apart by; DomainError if the value is not allowed."""
        return self.domain.key(value)

    def permanent(self, value: Any, source: Source = SYSTEM, *, personal: Any = ()) -> Any:
        """Return the permanent answer for a value: to be drawn once for its class, and kept."""
        return self.permanent_of(self.class_of(self.key_of(value), personal), personal, source)

    def perturb(self, key: int, source: Source) -> Any:
        personal = self.personal(source)
        memo = self.permanent_of(self.class_of(key, personal), personal, source)
        return self.joined(personal, self.instantaneous(memo, source))

    @cached_property
    def first_effective_epsilon(self) -> float:
        """The epsilon of one report by the integer law, rounded up to a float; never above ``first_epsilon``."""
        return log_above(self.first_ratio)

    @property
    def report_epsilon(self) -> float:
        return self.first_effective_epsilon

    @property
    def report_claim(self) -> float:
        return self.first_epsilon

    @property
    def ways(self) -> int:
        """Through each permanent answer."""
        return self.outputs**2

    @property
    def answers_all(self) -> bool:
        """False: what is kept about one round must not be asked about in the next."""
        return False

    def check_value(self, value: Any) -> None:
        self.key_of(value)

    @property
    def alike(self) -> bool:
        """True if all devices draw the same for themselves, or nothing: their reports can then be compared."""
        return not self.personal_layout

    def paid_answers(self, answers: int, values: int) -> int:
        return min(answers, values, self.classes)

    def lifetime_epsilon(self, values: int) -> Fraction:
        """Return what all reports of a person with so many different values can reveal: epsilon for each class, exactly.

        It compares histories of the same pattern only: reports i and j come from one permanent answer in the one exactly when they do in
        the other, whatever the device drew for itself. Against a history of another pattern all reports may tell more than this, up to
        everything: that, when and back to what a value changed is not protected.
        """
        if type(values) is not int or values < 1:
            raise ParameterError("values", values, allowed="an integer from 1 on", fix="say how many different values a person may hold")
        return min(values, self.classes) * Fraction(repr(self.epsilon))

    @property
    def guarantee(self) -> Guarantee:
        """What is promised to a person who holds one value and reports it again and again."""
        return Guarantee(
            epsilon=self.epsilon,
            unit="all reports of a person who holds one value all the time, however many; changes of value are not covered",
            neighbors="any two values that one person may hold all the time",
            honest="the person's own device, which must keep its permanent answers",
            exposed="that the person took part, that and when the value changed or came back, and which reports come from one device",
            condition="if your answer stays the same",
        )

    def history_law(self, values: Sequence[Any], *, seed: tuple[int, ...] = ()) -> OutputLaw[tuple[Any, ...]]:
        """Return the exact joint law of one device's reports while it holds these values in turn, given the public seed, if any.

        >>> from deniable.client import LongitudinalGRR
        >>> law = LongitudinalGRR(domain_size=3, epsilon=2.0, first_epsilon=1.0).history_law([0, 0])
        >>> round(float(law[0, 0]), 4), round(float(law[0, 1]), 4)
        (0.3799, 0.0981)
        """
        return history_law(self, values, seed)


class LongitudinalSpec(Longitudinal, FrequencySpec):
    """A mechanism in two steps that counts how many people hold each value."""

    preference: ClassVar[int | None] = None

    @property
    def channel(self) -> tuple[Class, ...] | None:
        """None: what a device keeps links its reports, shuffled or not."""
        return None

    @property
    def distinct(self) -> bool:
        return not self.personal_layout

    @abstractmethod
    def permanent_variance(self, n: int, f: float = 0.0) -> float:
        """Return the variance of a count from permanent answers themselves, for a fraction f of holders."""
