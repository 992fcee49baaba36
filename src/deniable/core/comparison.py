"""The difference between two estimates of one kind, with a test."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from deniable.contract.readable import confidence
from deniable.core.estimate import Estimate
from deniable.core.figure import Figure
from deniable.core.interval import check_level
from deniable.core.measured import CHANGE
from deniable.core.table import row_numbers
from deniable.kernels.compiled import Array


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Comparison(Estimate):
    """How each number changed from the ``first`` estimate to the ``second``: shares of counts, means and single numbers as they are.

    ``p_values`` test "no change" for each value on its own. A single interval at the level 1 - alpha never excludes 0 unless p is below
    alpha. ``adjusted`` (Holm 1979) keeps the chance of naming any value wrongly at the level it is compared with.

    >>> from deniable.client import GRR
    >>> from deniable.testing import ReplaySource
    >>> spec, source = GRR(domain_size=3, epsilon=1.0), ReplaySource.from_key("weeks")
    >>> crowds = [0] * 3000 + [1] * 3000, [0] * 2000 + [1] * 4000
    >>> before, after = (spec.estimate(spec.tally(spec.privatize(crowd, source=source))) for crowd in crowds)
    >>> before.compare(after).changed(0.05)
    [0, 1]
    >>> before.compare(after).risen(), before.compare(after).fallen()
    ([1], [0])
    """

    first: Any
    second: Any
    law: Any
    """The law of the change: it knows its ``sides``."""
    level: float = 0.95
    """The level of the limits shown."""

    kind: str = "comparison"

    @classmethod
    def of(cls, first: Estimate, second: Estimate) -> Self:
        """Return the change between two estimates of the same values."""
        if first.title:
            about = f"Comparison of {first.title!r} with {second.title!r}"
        else:
            sizes = [f"{each.n:,} reports" if isinstance(each.n, int | np.integer) else each.about for each in (first, second)]
            about = f"Comparison of {sizes[0].removesuffix(' reports')} with {sizes[1]}"
        law = first.law.change(second.law)
        return cls(
            values=first.values,
            law=law,
            about=about,
            quantity=CHANGE,
            family_size=first.family_size,
            covers=law.covers or first.covers,
            single=first.single,
            unit=first.unit,
            first=first,
            second=second,
        )

    @property
    def shown_level(self) -> float | None:
        return None if self.law.why else self.level

    @property
    def together(self) -> bool:
        return not self.single

    @property
    def out_of(self) -> float | None:
        return None if self.first.out_of is None else 1.0  # shares are compared, where there are any

    @property
    def difference(self) -> Any:
        """The change of each number: of shares, where people were counted; of points in time, a timedelta."""
        return self._distance(self.point)

    @property
    def p_values(self) -> Array:
        """The two-sided p-value of "no change" for each value."""
        return np.asarray(self.law.p_values)

    @property
    def p_value(self) -> float:
        """The same where there is one number."""
        (only,) = self.law.p_values
        return float(only)

    @cached_property
    def adjusted(self) -> Array:
        """Holm's p-values, valid for all values together."""
        order = np.argsort(self.p_values)
        steps = self.p_values[order] * (self.family_size - np.arange(order.size))  # all that were estimated, also after top()
        result = np.empty(order.size)
        result[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
        return result

    def changed(self, alpha: float = 0.05) -> list[Any]:
        """Return the values whose number changed; the family-wise false-positive rate is at most alpha."""
        check_level("alpha", alpha)
        return [self.values[i] for i in np.flatnonzero(self.adjusted <= alpha).tolist()]

    def risen(self, alpha: float = 0.05) -> list[Any]:
        """Return the values whose number rose, the clearest first; the family-wise false-positive rate is at most alpha."""
        return self._moved(alpha, 1)

    def fallen(self, alpha: float = 0.05) -> list[Any]:
        """Return the values whose number fell, the clearest first; with alpha as in ``risen``."""
        return self._moved(alpha, -1)

    def _moved(self, alpha: float, sign: int) -> list[Any]:
        check_level("alpha", alpha)
        return [self.values[i] for i in self.order().tolist() if self.adjusted[i] <= alpha and sign * self.point[i] > 0]

    @property
    def cost(self) -> float | None:
        """The total epsilon of a person who answered for both estimates. None where either is unknown."""
        sides = (self.first.guarantee, self.second.guarantee)
        return None if None in sides else float(sum(each.epsilon for each in sides))

    # --- what people see ---

    def rows(self) -> dict[str, Any]:
        low, high = self.interval(self.level, simultaneous=not self.single)
        before, after = map(self.first._shown, self.law.sides)
        sides = {"before": before, "after": after, CHANGE: self.difference, "low": low, "high": high}
        test = {"p": self.p_values} if self.single else {"p_adjusted": self.adjusted}
        return {"value": self.labels, **{name: [cell] if self.single else cell for name, cell in sides.items()}, **test}

    def headline(self) -> str:
        if self.single:
            return f"{self.about}; low and high: {confidence(self.level)}, {self.covers}"
        return f"{self.about}; low, high and p hold for all values together ({confidence(self.level)})"

    def order(self) -> Array:
        return np.argsort(self.p_values, kind="stable")

    def select(self, positions: Any) -> Self:
        at = row_numbers(positions, len(self.values))
        return replace(super().select(at), first=self.first.select(at), second=self.second.select(at))

    def figures(self) -> tuple[Figure, ...]:
        told = f"{confidence(self.level)} {'interval' if self.single else 'intervals that hold together'}"
        return (Figure(mark="points", number="change", axis=f"change of the {self.law.changed or self.first.quantity}", interval=told),)
