"""Every result that prints an interval is in the coverage runs of ``make soak``; models, clusters and factors have none."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys

import pytest

import deniable
from deniable.core.estimate import Estimate
from deniable.core.law import Law, Unknown
from deniable.core.table import Table
from deniable.errors import MissingExtra
from tests.conftest import ROOT

NO_INTERVALS = ("deniable.tasks.learning", "deniable.tasks.recommend")
"""Fits: none of their intervals is known to hold."""
ELSEWHERE = {"deniable.core.comparison.Comparison", "deniable.core.distribution.DistributionEstimate", "deniable.core.saved.SavedEstimate"}
"""Views of limits that their laws know."""
VIEWS = ("rows", "headline", "notes", "chart", "_cells", "_rest")
"""Of a table: what people see."""


@pytest.fixture(scope="module")
def measured():
    """The names of the classes that the runs measure, and the cases."""
    sys.path.insert(0, str(ROOT / "soak"))
    try:
        cases, parts = importlib.import_module("coverage_cases"), importlib.import_module("interval_coverage")
    finally:
        sys.path.pop(0)
    assert set(parts.MEASURED.values()) <= set(parts.PARTS)
    return {name.split(" ")[0] for name in cases.CASES} | set(parts.MEASURED)


def prints_limits(made):
    """Whether a table of results, or its chart, says "95 %"."""
    views = (
        [member for name, member in vars(made).items() if name in VIEWS and inspect.isfunction(member)] if issubclass(made, Table) else []
    )
    return any("95 %" in inspect.getsource(view) for view in views)


def with_intervals():
    """All laws that know limits, and what prints limits of another estimate."""
    found = set()
    for module in pkgutil.walk_packages(deniable.__path__, "deniable."):
        try:
            holds = vars(importlib.import_module(module.name))
        except MissingExtra:  # an engine that is not installed here; engines make the tallies of others
            continue
        for name, made in holds.items():
            here = inspect.isclass(made) and made.__module__ == module.name and not inspect.isabstract(made)
            if here and ((issubclass(made, Law) and made is not Unknown) or (made is not Estimate and prints_limits(made))):
                found.add(f"{module.name}.{name}")
    return found


def test_every_interval_is_in_a_coverage_run(measured):
    """By the law behind it: what an estimate is about does not change how often its intervals hold."""
    found = with_intervals() - ELSEWHERE
    assert len(found) > 30
    assert sorted(found - measured) == [], "add a case to soak/coverage_cases.py"
    assert sorted(measured - found) == [], "these laws are gone, or have no interval any more"


def test_fits_have_no_interval():
    laws = [name for name in with_intervals() if name.startswith(NO_INTERVALS)]
    assert laws == []
