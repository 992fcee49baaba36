"""The estimate of a mean, with its error."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, isfinite, log10
from typing import TYPE_CHECKING, Any, Self

from deniable.contract.numbers import Numbers
from deniable.contract.spec import Spec
from deniable.core.average import Average
from deniable.core.estimate import NumberEstimate
from deniable.core.interval import check_level
from deniable.core.table import cell_text
from deniable.errors import ParameterError

if TYPE_CHECKING:
    pass

CLIPPED = "values out of range counted as the nearest end: this is the mean of the clipped values, and no report shows how far that is off"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MeanEstimate(NumberEstimate):
    """The mean of what people hold, as the average of n independent scores, each unbiased for its sender.

    The law is in the numbers of the domain (seconds since 1970 for points in time). What people see is in their own units: ``value``,
    ``stderr``, ``interval``, ``bound``. The estimate may lie outside of the range; that is what makes it unbiased.
    """

    spec: Spec
    """The mechanism of the reports."""
    law: Average
    quantity: str = "mean"

    kind: str = "mean"

    @classmethod
    def of(cls, spec: Spec, n: int, center: float, *, name: str = "mean", **law: Any) -> Self:
        """The mean of n reports by a ``spec``, with the errors that the other fields of ``Average`` say; ``name`` is what it is called."""
        domain = spec.domain
        if not isinstance(domain, Numbers):
            raise ParameterError("domain", domain, allowed="Numbers", fix="pass domain=Numbers(low, high): means are of numbers")
        ends = (float(domain.start), float(domain.start + domain.width))
        return cls(
            spec=spec,
            values=[name],
            law=Average(n=n, center=center, ends=ends, **law),
            about=f"{n:,} reports, {spec.mechanism}, epsilon = {spec.epsilon:.4g}",
            guarantee=spec.guarantee,
            unit=domain,
            bias=CLIPPED if domain.clip else None,
            figure={"ends": tuple(map(domain.shown, ends))},  # the whole range, so that the error is seen in proportion
        )

    @property
    def domain(self) -> Numbers:
        """The range and its units."""
        domain: Any = self.spec.domain
        found: Numbers = domain
        return found

    def bound(self, level: float = 0.95, method: str = "bernstein") -> tuple[Any, Any]:
        """Return limits (low, high) from an inequality, without approximation: ``method`` is "hoeffding" or "bernstein"."""
        if method not in ("hoeffding", "bernstein"):
            raise ParameterError("method", method, allowed="hoeffding or bernstein", fix="use hoeffding: it is tighter for a single bit")
        check_level("level", level)
        law = self.law
        if not law.n:
            return self.interval(level)
        reach = law.hoeffding(1 - level) if method == "hoeffding" else float(law.bernstein(1 - level, population=False))
        return self.domain.shown(law.center - reach), self.domain.shown(law.center + reach)

    # --- what people see ---

    def brief(self) -> dict[str, list[str]]:
        """With as many digits as the error leaves."""
        noise = self.law.noise
        digits = max(0, 1 - floor(log10(noise**0.5))) if self.n and noise > 0 else 3
        return {name: [_text(column[0], min(digits, 12))] for name, column in self.rows().items()}


def _text(cell: Any, digits: int) -> str:
    return f"{cell:,.{digits}f}" if isinstance(cell, float) and isfinite(cell) else cell_text(cell)
