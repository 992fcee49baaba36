"""What an estimate comes down to: the rows that are shown, the headline, and how far either can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

from deniable.client.frequency import FrequencySpec
from deniable.collect.dashboard.words import label
from deniable.core.frequency import FrequencyEstimate
from deniable.core.integrity import manipulation_budget
from deniable.tasks.plan import detectable

SHOWN = 20
"""So many values are listed and drawn."""
LEVEL = 0.95


@dataclass(frozen=True)
class Row:
    """One value: its share of the people with the interval, and its count."""

    label: str
    share: float
    low: float
    high: float
    count: float
    significant: bool
    """Whether it stands out of the noise of all values together."""

    @property
    def width(self) -> float:
        """How wide the interval is."""
        return self.high - self.low


def rows_of(estimate: FrequencyEstimate, k: int = SHOWN) -> list[Row]:
    """The k largest, the largest first. Their intervals hold for all values together, since whoever reads picks among them."""
    low, high = estimate.interval(LEVEL, simultaneous=holds_together(estimate))
    n, clear = max(estimate.n, 1), estimate.significant()
    rows = []
    for i in estimate.order()[:k].tolist():
        count, named = float(estimate.counts[i]), label(estimate.values[i], estimate.spec.domain)
        rows.append(Row(named, count / n, float(low[i]) / n, float(high[i]) / n, count, bool(clear[i])))
    return rows


def headline_of(estimate: FrequencyEstimate) -> Row | None:
    """The row that is told first: yes, of yes and no; else the most frequent value."""
    rows = rows_of(estimate)
    return next((row for row in rows if row.label == "1 (yes)"), rows[0] if rows else None)


def holds_together(estimate: FrequencyEstimate) -> bool:
    """Whether the intervals are those for all values together: of two values one says what the other does."""
    return estimate.family_size > 2


def reach(estimate: FrequencyEstimate) -> str:
    """What the intervals cover, in words."""
    together = f", for all {estimate.family_size:,} values together" if holds_together(estimate) else ""
    return f"{LEVEL:.0%}{together}".replace("%", " %")


def smallest_share(estimate: FrequencyEstimate) -> float | None:
    """The smallest share that this many reports tell from zero, half of the time; None if none is hidden."""
    return detectable(estimate.spec, estimate.n) if isinstance(estimate.spec, FrequencySpec) and estimate.n else None


def liars(estimate: FrequencyEstimate) -> int | None:
    """How many people who send what they like would move the headline by the width of its interval; None if that cannot be said."""
    if not isinstance(estimate.spec, FrequencySpec) or not len(estimate.values):
        return None
    return manipulation_budget(estimate.top(1) if holds_together(estimate) else estimate)
