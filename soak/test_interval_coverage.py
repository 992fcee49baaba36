"""Intervals at 95 % hold: every kind of result that prints them, and the settings that the how-to pages quote (``make soak``).

An interval that holds with probability p in each of R independent runs holds in fewer than binom.ppf(a, R, p) of them with probability a
at most. a is 1e-6 over all intervals of a case or part together, so nothing here fails by chance. With 200 runs that is about 84 % for a
level of 95 %: an interval that holds in three of four runs is caught nearly always, one that holds in nine of ten is not. Runs are
replayed: what passes once passes always.
"""

# ruff: noqa: S101  # tests assert; this folder is outside of tests/

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from deniable.testing import ReplaySource

sys.path.insert(0, str(Path(__file__).parent))
from coverage_cases import CASES
from interval_coverage import PARTS

ERROR = 1e-6
RUNS = 200
PART_RUNS = {"sets": 20, "tables": 100, "graphs": 50, "ranges": 50, "places": 50}
QUOTED = {"sets": 0.95, "tables": 0.95, "graphs": 0.93, "ranges": 0.93, "places": 0.93}
"""The least that the pages say the intervals hold, in every setting of a part."""
CLOSE = 1e-9
FUNCTIONS = {function.__name__: function for function in CASES.values()}


def least(runs: int, level: float, intervals: int) -> int:
    """The fewest runs in which an interval of this level holds, but for an error of 1e-6 over so many intervals."""
    return int(stats.binom.ppf(ERROR / intervals, runs, level))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_kind_of_interval_holds(name: str) -> None:
    """Where the number of intervals differs from run to run, as in a search, a run holds if all of them do at 95 % on average."""
    held = []
    for run in range(RUNS):
        low, high, truth = FUNCTIONS[name](ReplaySource.from_key(f"coverage/{name}/{run}"))
        slack = CLOSE * (1 + np.abs(truth))
        held.append(np.ravel((np.asarray(low) <= truth + slack) & (truth - slack <= np.asarray(high))))
    if len({row.size for row in held}) == 1:
        hits = np.sum(held, axis=0)
        assert hits.min() >= least(RUNS, 0.95, hits.size), hits / RUNS
    else:
        whole = np.concatenate(held)
        assert whole.size >= RUNS / 2
        assert whole.mean() >= least(RUNS, 0.95, 1) / RUNS  # as if all intervals of a run held or missed together


@pytest.mark.parametrize("part", PARTS)
def test_the_pages_settings_hold(part: str) -> None:
    found = list(PARTS[part](PART_RUNS[part]))
    intervals = sum(len(each.held) for each in found)
    fewest = least(PART_RUNS[part], QUOTED[part], intervals)
    assert [str(each) for each in found if min(each.held) < fewest] == []
