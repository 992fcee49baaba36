"""Randomized response: a yes/no question answered with a biased coin."""

from __future__ import annotations

from dataclasses import field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from deniable.client.pure import PureProtocol
from deniable.contract.domain import Domain, IndexRange
from deniable.contract.law import OutputLaw
from deniable.contract.probability import ceil_threshold, favored_threshold, floor_threshold, log_above
from deniable.contract.source import ONE, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout
from deniable.errors import ParameterError, WireError


@mechanism
class RR(PureProtocol):
    """Say "yes" with probability p if it is true, and with probability q if it is not.

    Guarantee: epsilon-local for any two inputs; ``RR(epsilon=...)`` has p = e^epsilon / (e^epsilon + 1), rounded down, and
    q = 1 - p. ``RR.from_probabilities(p, q)`` takes any coin and computes epsilon = max(ln p/q, ln (1-q)/(1-p)).

    Estimator: (I - n q) / (p - q) for "yes" and n minus that for "no", variance n q (1 - q) / (p - q)^2 + n f (1 - p - q) / (p - q).

    Cost: 1 bit; one random word on the device; the collector counts ones.

    >>> oracle = RR(epsilon=1.0)
    >>> oracle.randomize(True) in (0, 1), oracle.report_bits
    (True, 1)
    >>> coin = RR.from_probabilities("3/4", "1/4")
    >>> round(coin.epsilon, 4), float((65 - 100 * coin.q) / (coin.p - coin.q))     # 65 of 100 said yes
    (1.0986, 80.0)

    References: Warner 1965; Greenberg, Abul-Ela, Simmons, Horvitz 1969 (unequal coins).
    """

    coin: tuple[int, int] = field(default=None, metadata={"travels": False})  # type: ignore[assignment]  # see resolve
    """The thresholds of saying yes: if it is true, and if it is not. They travel as thresholds, not as parameters."""

    default_size: ClassVar[int | None] = 2
    largest_domain: ClassVar[int] = 2

    @classmethod
    def from_probabilities(cls, p: Any, q: Any, *, domain: Domain | None = None) -> RR:
        """Return any coin with 0 < q < p < 1; the epsilon that it has is computed, not asked for.

        Both are rounded to integers over 2^64 toward each other, that is, toward privacy.
        """
        if not 0 < (no := _fraction("q", q)) < (yes := _fraction("p", p)) < 1:
            raise ParameterError(
                "p, q", (p, q), allowed="0 < q < p < 1", fix="swap or soften them: an answer that some people can never give reveals them"
            )
        coin = (floor_threshold(yes), ceil_threshold(no))
        if coin[0] <= coin[1]:
            raise ParameterError("p, q", (p, q), allowed="probabilities at least 2 / 2^64 apart", fix="move them apart")
        return cls(coin=coin, epsilon=log_above(_ratio(coin)), domain=domain or IndexRange(2))

    @classmethod
    def from_parts(cls, values: dict[str, Any], derived: dict[str, Any]) -> RR:
        thresholds = derived["thresholds"]
        if set(thresholds) != {"yes_if_true", "yes_if_false"}:
            raise WireError("thresholds", thresholds, allowed="yes_if_true and yes_if_false", fix="publish the spec again")
        return cls(coin=(thresholds["yes_if_true"], thresholds["yes_if_false"]), **values)

    def resolve(self) -> None:
        if self.coin is None:
            keep = favored_threshold(self.epsilon, 1, 1)
            object.__setattr__(self, "coin", (keep, ONE - keep))
        pair = isinstance(self.coin, tuple) and len(self.coin) == 2 and all(type(side) is int for side in self.coin)
        if not pair or not (min(self.coin) > 0 and max(self.coin) < ONE):
            raise ParameterError("coin", self.coin, allowed="thresholds between 0 and 2^64", fix="leave it out: it follows from epsilon")

    def __repr__(self) -> str:
        shown = [f"epsilon={self.epsilon!r}"]
        if self.p + self.q != 1:
            shown += [f"p={float(self.p):.6g}", f"q={float(self.q):.6g}"]
        if not isinstance(self.domain, IndexRange):
            shown.insert(0, f"domain={self.domain!r}")
        return f"RR({', '.join(shown)})"

    @property
    def thresholds(self) -> dict[str, int]:
        return {"yes_if_true": self.coin[0], "yes_if_false": self.coin[1]}

    @property
    def layout(self) -> Layout:
        return (Column.of_bits("bit", 1),)

    @cached_property
    def p(self) -> Fraction:
        return Fraction(self.coin[0], ONE)

    @cached_property
    def q(self) -> Fraction:
        return Fraction(self.coin[1], ONE)

    @property
    def most_supported(self) -> int:
        return 1

    @property
    def ratio(self) -> Fraction:
        return _ratio(self.coin)

    @property
    def fair_coin(self) -> bool:
        return self.p + self.q == 1

    @property
    def outputs(self) -> int:
        return 2

    def probabilities(self, key: int) -> tuple[Fraction, Fraction]:
        return (self.p, self.q) if key else (1 - self.q, 1 - self.p)

    def perturb(self, key: int, source: Source) -> int:
        return int(source.bernoulli(self.coin[0] if key else self.coin[1]))

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[int]:
        yes = self.p if key else self.q
        return OutputLaw({0: 1 - yes, 1: yes})

    def supports(self, report: int, key: int) -> bool:
        return report == key


def _ratio(coin: tuple[int, int]) -> Fraction:
    return max(Fraction(coin[0], coin[1]), Fraction(ONE - coin[1], ONE - coin[0]))


def _fraction(name: str, value: Any) -> Fraction:
    try:
        if isinstance(value, str | int | float | Fraction | Decimal) and not isinstance(value, bool):
            return Fraction(value)
    except (ValueError, OverflowError, ZeroDivisionError):
        pass  # reported below, with everything else that is not a number
    raise ParameterError(name, value, allowed="a number or a string such as '3/4'", fix="pass a probability")
