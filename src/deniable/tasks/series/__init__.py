"""Populations over time: sums with central noise, and estimates from devices that answer repeatedly."""

from deniable.removed import explain_removed
from deniable.tasks.series.changes import RootChanges, TreeChanges, limited
from deniable.tasks.series.efpa import EFPA
from deniable.tasks.series.estimate import series_errors
from deniable.tasks.series.perturbation import FPA, LPA, Decimation
from deniable.tasks.series.repeated import RepeatedEstimate, repeated
from deniable.tasks.series.sensitivity import coefficient_sensitivity, sequence_sensitivity

__all__ = [
    "EFPA",
    "FPA",
    "LPA",
    "Decimation",
    "RepeatedEstimate",
    "RootChanges",
    "TreeChanges",
    "coefficient_sensitivity",
    "limited",
    "repeated",
    "sequence_sensitivity",
    "series_errors",
]

explain_removed(__name__)
