"""What becomes of a population over time: one estimate for each period, and what can be said about several of them together."""

from deniable.tasks.series.repeated import RepeatedEstimate, repeated

__all__ = ["RepeatedEstimate", "repeated"]
