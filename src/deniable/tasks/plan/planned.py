"""A plan: mechanisms side by side, before you collect any data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from deniable.client.frequency import FrequencySpec
from deniable.contract.verdict import Verdict
from deniable.core.figure import Figure
from deniable.core.table import Listing, Table
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.plan.figures import ONE_REPORT, most_gain

if TYPE_CHECKING:
    from deniable.core.chart import Chart

AXES = {"epsilon": np.geomspace(0.1, 10, 41), "domain_size": 2 ** np.arange(1, 21)}
"""The horizontal axes of the error chart, with the points to compute."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Plan(Table):
    """The mechanisms that fit a question, smallest error first, and why others do not fit; ``plan`` and ``plan_mean`` return it.

    >>> from deniable.tasks.plan import plan
    >>> plan(domain_size=128, epsilon=1.0, n=10_000, error=0.01, oracles=["GRR", "OUE", "SubsetSelection", "RR"])
    10,000 people, 128 values, epsilon = 1; people, epsilon: for a standard error of 0.01
    value            error  frequency   people  epsilon  detectable  bits  device  server   guess  influence   liars
    SubsetSelection    190      1.9 %   36,179     1.75      6.38 %   128      15  80,128  1.46 %       3.17  3.17 %
    OUE                192     1.92 %   36,906     1.77      6.45 %   128      15  80,128  1.45 %       3.16  3.16 %
    GRR                665     6.65 %  441,694     2.59      22.2 %     7       1  10,128   2.1 %       74.9  74.9 %
    One report at this epsilon: strong privacy. Even someone who had narrowed it down to two answers would guess right at most 74 times in
    100. Guessing blindly gives 50.
    left out: RR takes at most 2 values
    """

    specs: tuple[Any, ...]
    """The mechanisms, smallest error first."""
    n: int
    error: float | None
    """The standard error that you aim for."""
    left_out: tuple[str, ...]
    """Why other mechanisms do not fit."""
    asked: str
    """What the question is about, in a few words."""
    remark: str = ""
    """A remark for the headline, after the epsilon."""
    columns: Callable[[], Mapping[str, Any]]
    """Computes the columns, only when the table is shown."""
    number: str
    """What ``errors`` draws."""
    at: Callable[..., float]
    """Returns the standard error by a spec of this plan at another ``epsilon`` or ``domain_size``; infinite where it does not fit."""
    axes: tuple[str, ...] = ("epsilon",)
    """The axes that the error can be drawn against."""
    shown: ClassVar[int] = 100  # side by side: nothing is hidden

    def rows(self) -> dict[str, Any]:
        return dict(self.columns())

    def percentages(self) -> tuple[str, ...]:
        return ("frequency", "detectable", "guess", "liars") if "domain_size" in self.axes else ()

    def headline(self) -> str:
        target = "" if self.error is None else f"; people, epsilon: for a standard error of {self.error:g}"
        known, _, rest = self.remark.partition("; ")
        remarks = f"{'; ' if known else ''}{known}{target}{'; ' if rest else ''}{rest}"
        return f"{self.n:,} people, {self.asked}, epsilon = {self.specs[0].epsilon:.4g}{remarks}"

    @property
    def verdict(self) -> Verdict:
        """How strong the guarantee to each person is."""
        return Verdict(self.specs[0].epsilon, when=ONE_REPORT)

    def order(self) -> Array:
        return np.arange(len(self.columns()["value"]))

    def notes(self) -> list[str]:
        return [str(self.verdict), *([f"left out: {'; '.join(self.left_out)}"] if self.left_out else [])]

    def gain(self, *, targets: int, liars: float, held: float = 0.0) -> dict[str, float]:
        """Return how much a share of false reports (``liars``) can add to the frequencies of its targets, by oracle; see ``most_gain``.

        ``held`` is the share of honest people who hold a target.
        """
        if not isinstance(self.specs[0], FrequencySpec):
            raise ParameterError(
                "plan", self.asked, allowed="a plan of counts", fix="read the column liars instead, the effect of false reports on a mean"
            )
        return {spec.mechanism: most_gain(spec, targets=targets, liars=liars, held=held) for spec in self.specs}

    def errors(self, against: str = "epsilon") -> Listing:
        """Return the standard error against "epsilon", or that of counts against "domain_size", one curve for each mechanism."""
        if against not in self.axes:
            raise ParameterError("against", against, allowed=f"one of {list(self.axes)}", fix="try epsilon")
        places, here = AXES[against], getattr(self.specs[0], against)
        points = [(spec.mechanism, where, self.at(spec, **{against: where})) for spec in self.specs for where in places.tolist()]
        names, along, errors = zip(*(point for point in points if 0 < point[2] < np.inf), strict=True)
        fixed = f"epsilon = {self.specs[0].epsilon:.4g}" if against == "domain_size" else self.asked
        lines = (here if places[0] <= here <= places[-1] else None, self.error)
        figure = Figure(mark="curve", number="error", axis=self.number, label=against, group="oracle", interval="", log=True, at=lines)
        return Listing(
            about=f"{self.n:,} people, {fixed}; {self.number}; dashed: the plan",
            columns={"oracle": list(names), against: list(along), "error": np.array(errors)},
            drawn=(figure,),
        )

    def chart(self, k: int = 20, *, truth: Any = None, title: str | None = None) -> Chart:
        """Return a chart of the standard error against epsilon, one curve for each mechanism, at most k, under a ``title``."""
        return self.errors().chart(k, truth=truth, title=title)
