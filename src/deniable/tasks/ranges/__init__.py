"""Counts of people in ranges and their distribution along a line: one protocol per file, and one call for everything."""

from deniable.removed import explain_removed
from deniable.tasks.ranges.ahead import AHEAD
from deniable.tasks.ranges.choice import private_ranges, range_method
from deniable.tasks.ranges.estimate import RangeEstimate
from deniable.tasks.ranges.haar import HaarHRR
from deniable.tasks.ranges.hierarchy import Hierarchy

__all__ = ["AHEAD", "HaarHRR", "Hierarchy", "RangeEstimate", "private_ranges", "range_method"]

explain_removed(__name__)
