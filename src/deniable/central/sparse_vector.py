"""The sparse vector technique: any number of questions, of which only those that are answered "above" are paid for."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, exp, log, log1p
from typing import Any

from deniable.accounting import Event, Pure
from deniable.accounting.event import ADD_REMOVE, NEIGHBORS, check_neighbors
from deniable.central.exact_noise import ExactNoise
from deniable.central.grid import check_count, rational
from deniable.central.one_process import OneProcess
from deniable.central.rationals import exact_number, exact_rate, on_grid
from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.source import SYSTEM, Source
from deniable.core.interval import check_level
from deniable.errors import ParameterError, ProtocolError


@dataclass(kw_only=True)
class _Progress:
    """What was asked so far. One question at a time: two at once could both be the last one that is paid for."""

    noisy_threshold: int
    asked: int = 0
    above: int = 0
    lock: OneProcess = field(default_factory=OneProcess)


@typed
@dataclass(frozen=True, kw_only=True, eq=False)
class SparseVector:
    """Say of one number after another whether it is above a threshold, until ``answers`` of them are; then stop.

    **How.** The threshold gets noise once, of scale sensitivity / epsilon_1. Each number gets noise of its own, of scale 2 answers
    sensitivity / epsilon_2 (without the 2 if ``monotone``), and is compared with the noisy threshold. What is said is one bit a question,
    and never a number. Noise is integer and exact, in steps of ``grid``; numbers are rounded to the grid, and the sensitivity up to it.

    **Guarantee.** epsilon-DP with epsilon = epsilon_1 + epsilon_2, for any number of questions, each chosen by looking at the answers
    before. For a neighbor, let the noise of the threshold be larger by the sensitivity: that costs a factor of e^epsilon_1. Every "below"
    is then at least as likely, since its number grew by no more. Every "above" has to bridge 2 sensitivity, which costs e^(epsilon_2 /
    answers), and there are at most ``answers`` of them. Monotone (a person moves all numbers in one direction): if they grow, "above" has
    to bridge one sensitivity only; if they fall, the threshold's noise need not move, and "above" bridges one again.

    **Split.** epsilon_2 / epsilon_1 = (2 answers)^(2/3), or answers^(2/3) if monotone, makes the variance of the difference of the two
    noises smallest.

    **Error.** ``margin`` says how far from the threshold a number must be for a right answer.

    >>> from deniable.testing import ReplaySource
    >>> words = ReplaySource.from_key("alarm")
    >>> alarm = SparseVector(epsilon=1.0, answers=1, sensitivity=1, neighbors="add-remove", monotone=True, threshold=100, source=words)
    >>> [alarm.ask(cases) for cases in (20, 60, 35, 140)], alarm.asked, alarm.left
    ([False, False, False, True], 4, 0)
    >>> alarm.ask(150)
    Traceback (most recent call last):
    deniable.errors.ProtocolError: ask: got '2 answers above'; allowed: 1 answers above the threshold; stop asking: this one is used up

    References: Dwork, Naor, Reingold, Rothblum, Vadhan 2009; Lyu, Su, Li 2017 (algorithm 1, and versions in print that are not private).
    """

    epsilon: float
    answers: int
    sensitivity: Any
    neighbors: str
    threshold: Any
    monotone: bool = False
    grid: Any = 1
    source: Source | None = field(default=None, repr=False)
    _progress: _Progress = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        check_count("answers", self.answers)
        check_neighbors(self.neighbors)
        if type(self.monotone) is not bool or (self.monotone and self.neighbors != ADD_REMOVE):
            fix = "leave monotone out: replacing a person raises some numbers and lowers others"
            raise ParameterError("monotone", self.monotone, allowed=f"True or False; True for neighbors={ADD_REMOVE!r} only", fix=fix)
        start = on_grid(exact_number("threshold", self.threshold), rational("grid", self.grid))
        noise = self.threshold_noise.draw(self._source)
        object.__setattr__(self, "_progress", _Progress(noisy_threshold=start + noise))

    def ask(self, value: Any) -> bool:
        """Return True if the noisy ``value`` is above the threshold; ProtocolError after ``answers`` such results."""
        exact = exact_number("value", value)
        with self._progress.lock:
            if not self.left:
                allowed = f"{self.answers} answers above the threshold"
                raise ProtocolError(
                    "ask",
                    f"{self.answers + 1} answers above",
                    allowed=allowed,
                    fix="stop asking: this one is used up",
                )
            self._progress.asked += 1
            above = on_grid(exact, rational("grid", self.grid)) + self.query_noise.draw(self._source) >= self._progress.noisy_threshold
            self._progress.above += above
            return above

    @property
    def asked(self) -> int:
        """The number of questions answered."""
        return self._progress.asked

    @property
    def left(self) -> int:
        """The number of results that may still be above."""
        return self.answers - self._progress.above

    @property
    def event(self) -> Event:
        """All questions together, as accountants take it. Reserve it before the first."""
        return Pure(epsilon=self.epsilon, neighbors=self.neighbors)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of all questions together."""
        return Guarantee(
            epsilon=self.epsilon,
            model="central",
            unit=f"all questions together, up to {self.answers} above the threshold",
            neighbors=NEIGHBORS[self.neighbors],
            honest="the curator",
            certificate="exact law",
        )

    def margin(self, questions: int, level: float = 0.95) -> float:
        """With probability ``level``, all of so many answers are right for numbers at least this far from the threshold."""
        check_count("questions", questions)
        check_level("level", level)
        half = (1 - level) / 2
        reach = _farthest(self.threshold_noise, half) + _farthest(self.query_noise, half / questions)
        return float(reach * rational("grid", self.grid))  # one step less suffices on the grid; rounding takes half a step twice

    @cached_property
    def budgets(self) -> tuple[Fraction, Fraction]:
        """Epsilon_1 and epsilon_2; their sum is epsilon, exactly."""
        whole = exact_rate(self.epsilon)
        share = 1 / (1 + (self.answers * (1 if self.monotone else 2)) ** (2 / 3))
        first = whole * Fraction(share)
        return first, whole - first

    @cached_property
    def threshold_noise(self) -> ExactNoise:
        """The noise of the threshold, in steps of the grid."""
        return ExactNoise(linear=self.budgets[0] / self._steps)

    @cached_property
    def query_noise(self) -> ExactNoise:
        """The noise of each number, in steps of the grid."""
        return ExactNoise(linear=self.budgets[1] / (self._steps * self.answers * (1 if self.monotone else 2)))

    @property
    def _steps(self) -> int:
        return ceil(rational("sensitivity", self.sensitivity) / rational("grid", self.grid))

    @property
    def _source(self) -> Source:
        return SYSTEM if self.source is None else self.source

    def __reduce_ex__(self, protocol: Any) -> Any:
        # A copy would have the same threshold and answers of its own: twice what was paid for.
        raise ProtocolError("SparseVector", "a copy", allowed="one object for each budget", fix="pass the object itself, or make a new one")


def _farthest(noise: ExactNoise, probability: float) -> int:
    """A distance that the noise reaches on one side with at most this probability: P(z >= t) = a^t / (1 + a), a = e^-rate."""
    rate = float(noise.linear)
    return max(1, ceil((-log(probability) - log1p(exp(-rate))) / rate))
