"""What earlier versions had and is gone: every error about it says what to use, and what it names is there."""

import importlib
import re
from dataclasses import replace

import numpy as np
import pytest

import deniable as dn
from deniable.core.estimate import Estimate
from deniable.removed import MEMBERS, NAMES
from deniable.testing import ReplaySource
from tests.conftest import ROOT

GONE = {
    "graphs": ["CountEstimate"],
    "heavy_hitters": ["HeavyHitters"],
    "itemsets": ["AssociationRules", "FrequentSets", "ItemEstimate", "SetEstimate"],
    "learning": ["Play"],
    "marginals": ["Association", "ConditionalShares", "Reconstruction"],
    "places": ["RegionCount"],
    "plan": ["MeanPlan"],
    "ranges": ["RangeChoice", "RangeCounts"],
    "series": ["RepeatedMean", "SeriesEstimate"],
    "text": ["FoundWords", "PairCounts", "Topics", "Trends"],
}
"""What the packages of tasks had before one estimate had all results."""
SOURCES = "\n".join(path.read_text() for path in (ROOT / "src" / "deniable").rglob("*.py"))


@pytest.mark.parametrize(("package", "name"), [(package, name) for package, names in GONE.items() for name in names])
def test_importing_a_removed_name_says_what_to_use(package, name):
    instead = re.escape(f"{name} was removed; use {NAMES[name]}")
    with pytest.raises(ImportError, match=instead):
        exec(f"from deniable.tasks.{package} import {name}", {})
    with pytest.raises(ImportError, match=instead):
        getattr(importlib.import_module(f"deniable.tasks.{package}"), name)


def test_other_names_are_missing_as_anywhere():
    with pytest.raises(ImportError, match="removed; use FrequencyEstimate, whose law is Supports"):
        dn.SupportEstimate  # noqa: B018  # looking it up is the test
    for module in (dn, dn.shuffle, importlib.import_module("deniable.tasks.text")):
        assert not hasattr(module, "FoundWord")


@pytest.mark.parametrize("name", NAMES)
def test_removed_names_are_gone_and_what_replaces_them_is_there(name):
    assert not re.search(rf"^class {name}\b", SOURCES, re.MULTILINE)
    instead = re.match(r"\w+", NAMES[name])[0]
    assert re.search(rf"^class {instead}\b", SOURCES, re.MULTILINE)


def test_what_an_estimate_had_is_explained():
    spec = dn.GRR(domain_size=4, epsilon=2.0)
    counted = spec.estimate(spec.tally(spec.privatize(np.arange(400) % 4, source=ReplaySource.from_key("removed"))))
    found = Estimate(values=counted.values, law=counted.law, about="an estimate without verbs of its own")
    for name, instead in MEMBERS.items():
        with pytest.raises(AttributeError, match=re.escape(f"{name!r}; it was removed: use {instead}")):
            getattr(found, name)
    with pytest.raises(AttributeError, match=r"^'Estimate' object has no attribute 'limit'$"):
        found.limit  # noqa: B018  # looking it up is the test
    with pytest.raises(TypeError, match="run\\(\\) and close\\(\\) give the estimate itself"):
        found["heavy_hitters"]
    with pytest.raises(TypeError):
        list(found)


@pytest.mark.parametrize("instead", MEMBERS.values())
def test_what_replaces_a_member_is_there(instead):
    name = re.match(r"(?:\w+\.)*(\w+)", instead)[1]
    assert re.search(rf"^ *(?:def {name}\(|{name}: )", SOURCES, re.MULTILINE)


def test_what_rounds_have_taught_is_in_the_state():
    search = dn.PEM(bits=8, k=4, epsilon=1.0)
    with pytest.raises(AttributeError, match=r"'PEM' object has no attribute 'candidates'; use state\.candidates"):
        search.candidates  # noqa: B018  # looking it up is the test
    assert search.state.candidates == (0,)
    with pytest.raises(AttributeError, match=r"no attribute 'candidate'$"):
        search.candidate  # noqa: B018  # looking it up is the test


def test_a_property_that_fails_keeps_its_own_error():
    """Otherwise a fault inside of a property reads as if there were no such property."""
    spec = dn.GRR(domain_size=4, epsilon=2.0)
    broken = replace(spec.estimate(spec.tally(spec.privatize([0, 1]))), law=object())
    with pytest.raises(AttributeError, match="'object' object has no attribute 'point'"):
        broken.point  # noqa: B018  # looking it up is the test
    search = dn.PEM(bits=8, k=4, epsilon=1.0)
    object.__setattr__(search, "state", None)
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'stage'"):
        search.counting  # noqa: B018  # looking it up is the test
