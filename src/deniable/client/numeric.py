"""What all mechanisms for numbers share: a range and its grid, privacy, randomizing, the exact law.

``mean`` adds what an estimate of the mean needs. A value is first rounded to the grid at random, without bias; mechanisms see grid points.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

from deniable.client.exact import LARGEST_LAW, ExactSpec
from deniable.contract.law import OutputLaw
from deniable.contract.numbers import Numbers, round_at_random
from deniable.contract.probability import check_epsilon, check_resolution
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError

if TYPE_CHECKING:
    from deniable.core.reports import Reports
    from deniable.core.tally import Tally

_RANGE = ("low", "high", "steps", "clip")
CLASSES = 64
"""Into so many classes the reports about a number are sorted, by size, where they are more."""


@dataclass(frozen=True, kw_only=True, repr=False)
class NumericSpec(ExactSpec):
    """A mechanism that randomizes a number.

    Give either ``low`` and ``high``, and perhaps ``steps`` and ``clip``, or a ``domain`` (see ``Numbers``).
    """

    low: Any = field(default=None, metadata={"travels": False})
    high: Any = field(default=None, metadata={"travels": False})
    steps: int = field(default=None, metadata={"travels": False})  # type: ignore[assignment]  # resolved at once, below
    clip: bool = field(default=None, metadata={"travels": False})  # type: ignore[assignment]  # resolved at once, below
    domain: Numbers = None  # type: ignore[assignment]  # resolved at once, below
    epsilon: float
    numeric: ClassVar[bool] = True
    rounds: ClassVar[bool] = True
    """Whether values between grid points are allowed, and rounded."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        if self.domain is None:
            object.__setattr__(self, "domain", self._declared())
        elif not isinstance(self.domain, Numbers):
            raise ParameterError("domain", self.domain, allowed="Numbers", fix="write low=0, high=100 instead, or domain=Numbers(0, 100)")
        for name in _RANGE:
            given, meant = getattr(self, name), getattr(self.domain, name)
            if given is not None and given != meant:
                raise ParameterError(name, given, allowed=f"{meant!r}, as in domain", fix="leave it out")
            object.__setattr__(self, name, meant)
        self.resolve()
        check_resolution(self.epsilon, self.effective_epsilon, tight=self.tight)

    def _declared(self) -> Numbers:
        if self.low is None or self.high is None:
            raise ParameterError(
                "low, high", (self.low, self.high), allowed="the range that answers may have", fix="write low=0, high=100, or domain="
            )
        domain = Numbers(self.low, self.high, self.steps, self.clip or False)
        usual = self.usual_steps() if self.steps is None else None
        return domain if usual is None else Numbers(self.low, self.high, usual, domain.clip)

    def usual_steps(self) -> int | None:
        """Return the steps of the grid, where nobody says how many; None for those of ``Numbers``. Epsilon is known by then."""
        return None

    def __repr__(self) -> str:
        shown = f"domain={self.domain!r}"
        if not self.domain.times:
            shown = repr(self.domain)[len("Numbers(") : -1].replace(", ", ", high=", 1)
            shown = f"low={shown}"
        told = [f for f in fields(self) if f.name not in (*_RANGE, "domain", "epsilon") and getattr(self, f.name) != f.default]
        own = [f"{f.name}={getattr(self, f.name)!r}" for f in told]
        return f"{type(self).__name__}({', '.join([shown, f'epsilon={self.epsilon!r}', *own])})"

    if TYPE_CHECKING:  # what the bulk half returns, for editors and type checkers

        def privatize(self, values: Any, *, source: Source | None = None) -> Reports: ...
        def tally(self, reports: Any, *, candidates: Any = None) -> Tally: ...

    # --- what each mechanism provides, on grid points ---

    @abstractmethod
    def perturb(self, key: int, source: Source) -> Any:
        """Return the report of someone whose value was rounded to the grid point with this key."""

    @abstractmethod
    def output_law(self, key: int) -> OutputLaw[Any]:
        """Return the exact law of ``perturb`` for the grid point with this key."""

    # --- what follows ---

    @classmethod
    def example(cls, epsilon: float | None = None, size: int | None = None) -> Self:
        """Return a spec, by default with a grid of four points, or two where nothing between is taken.

        >>> from deniable.client import Duchi
        >>> Duchi.example()
        Duchi(low=0, high=3, steps=3, epsilon=1.0)
        """
        steps = 1 if not cls.rounds else 3 if size is None else size - 1
        return cls(low=0, high=steps, steps=steps, epsilon=1.0 if epsilon is None else epsilon)

    @property
    def answers_all(self) -> bool:
        return self.rounds

    def check_value(self, value: Any) -> None:
        self.position(value)

    @property
    def how_sent(self) -> str:
        """What becomes of a number before it is sent, and of one out of range."""
        domain = self.domain
        ends = ((domain.low, 0), (domain.high, domain.steps))
        low, high = (bound.isoformat(sep=" ") if domain.times else str(domain.value(key)) for bound, key in ends)
        steps = "one step" if domain.steps == 1 else f"{domain.steps:,} equal steps"
        told = f"How a number is sent: as a point of a grid with {steps} from {low} to {high}, randomized. One that lies between two "
        told += "points becomes one of them at random, so that it is right on average. " if self.rounds else "points is not taken. "
        if domain.clip:
            told += "One out of range counts as the nearest end: the mean is then that of the clipped numbers, too high where small ones "
            return f"{told}were clipped and too low where large ones were, and no report shows how far."
        return f"{told}One out of range is refused on your device, and nothing is sent."

    def event(self, report: int, keys: tuple[int, ...]) -> int:
        """Return a class by size, whatever the keys: a large report speaks for large numbers."""
        return report if self.outputs <= CLASSES else report * CLASSES // self.outputs

    def randomize(self, value: Any, source: Source = SYSTEM) -> Any:
        """Return one person's report: the value rounded to the grid, at random and without bias, then the mechanism."""
        return self.perturb(round_at_random(self.position(value), source), source)

    def position(self, value: Any) -> Fraction:
        """Return where a value lies on the grid, from 0 to ``steps``; DomainError if it is not allowed."""
        return self.domain.position(value)

    def law(self, value: Any, *, seed: tuple[int, ...] = ()) -> OutputLaw[Any]:
        """Return the exact output law for a value, as Fractions; between two grid points it is a mixture of theirs."""
        if self.outputs > LARGEST_LAW:
            raise ParameterError("steps", self.steps, allowed=f"at most {LARGEST_LAW} different reports", fix="name fewer steps")
        if seed:
            raise ParameterError("seed", seed, allowed="none: reports for numbers draw no seed", fix="leave it out")
        place = self.position(value)
        key = place.__floor__()
        below, rest = self.output_law(key), place - key
        if not rest:
            return below
        above = self.output_law(key + 1)
        return OutputLaw({report: (1 - rest) * below[report] + rest * above[report] for report in {*below, *above}})
