"""Estimates as JSON: what is read back answers as before, and nothing else is read."""

from __future__ import annotations

import copy
import importlib
import json
import pkgutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

import deniable as dn
from deniable.core.law import LAWS
from deniable.core.saved import estimate_from_json
from deniable.core.saved_parts import HOMES, read_law, write_law
from deniable.errors import DeniableError, ParameterError, WireError
from deniable.testing import ReplaySource
from tests.conftest import asked_of, candidates_of, frequency_specs, mean_specs, some_values

START = datetime(2026, 5, 1, tzinfo=UTC)


def crowd(spec, key="saved", people=300):
    reports = spec.privatize(some_values(spec, people), source=ReplaySource.from_key(key))
    return spec.estimate(spec.tally(reports, candidates=candidates_of(spec)), candidates=asked_of(spec))


def again(estimate):
    """Through text, as a file would hold it: no number may be what JSON cannot say."""
    return estimate_from_json(json.dumps(estimate.to_json(), allow_nan=False))


def alike(first, second):
    return all(np.allclose(np.asarray(a, float), np.asarray(b, float), equal_nan=True) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("spec", [spec for spec in frequency_specs() if spec.domain_size <= 100], ids=repr)
def test_counts_answer_as_before(spec):
    estimate = crowd(spec)
    read = again(estimate)
    for options in ({}, {"level": 0.8, "simultaneous": True}, {"level": 0.99, "population": True}):
        assert alike(read.interval(**options), estimate.interval(**options))
    assert (read.significant().tolist(), list(read.values)) == (estimate.significant().tolist(), list(estimate.values))
    assert (repr(read), read.n, read.guarantee) == (repr(estimate), estimate.n, estimate.guarantee)
    assert repr(read.top(2)).splitlines()[1:] == repr(estimate.settled().top(2)).splitlines()[1:]
    assert read.chart().to_dict() == estimate.chart().to_dict()
    other = crowd(spec, "other")
    change, expected = read.compare(again(other)), estimate.compare(other)
    assert alike(change.interval(simultaneous=True), expected.interval(simultaneous=True))
    assert np.allclose(change.p_values, expected.p_values)
    assert alike(again(expected).interval(0.9), expected.interval(0.9))
    assert repr(again(expected)) == repr(expected)


@pytest.mark.parametrize("spec", mean_specs(), ids=repr)
def test_means_answer_as_before(spec):
    values = [spec.domain.value(0), spec.domain.value(spec.domain.size - 1)] * 200
    estimate = spec.estimate(spec.tally(spec.privatize(values, source=ReplaySource.from_key("mean"))))
    estimate = getattr(estimate, "mean", estimate)
    read = again(estimate)
    assert read.interval(0.9, population=True) == estimate.interval(0.9, population=True)
    assert (repr(read), read.stderr) == (repr(estimate), estimate.stderr)
    assert read.compare(read).p_value == 1.0


def test_points_in_time_stay_points_in_time():
    spec = dn.Duchi(low=START, high=START + timedelta(hours=1), epsilon=2.0)
    estimate = spec.estimate(spec.tally(spec.privatize([START + timedelta(minutes=20)] * 900, source=ReplaySource.from_key("time"))))
    read = again(estimate)
    assert read.interval(0.9) == estimate.interval(0.9)
    assert isinstance(read.interval()[0], datetime)
    assert read.to_json()["columns"]["mean"] == [{"time": estimate.value.isoformat()}]


def test_distributions_keep_their_errors_and_their_figure():
    spec = dn.SquareWave(low=0, high=10, steps=20, epsilon=2.0)
    estimate = spec.estimate(spec.tally(spec.privatize(np.arange(3000) % 10, source=ReplaySource.from_key("wave")))).settled()
    read = again(estimate)
    assert alike(read.interval(0.8), estimate.interval(0.8))
    assert (repr(read), [figure.mark for figure in read.figures()]) == (repr(estimate), ["steps", "curve"])
    assert read.chart().to_dict() == estimate.chart().to_dict()


def test_nobody_and_values_of_every_kind():
    nobody = dn.GRR(domain_size=3, epsilon=1.0)
    assert repr(again(nobody.estimate(nobody.tally([])))) == repr(nobody.estimate(nobody.tally([])))
    for domain in (dn.Categories("é", "a\nb"), dn.Integers(-3, 2), dn.Numbers(START, START + timedelta(days=1), steps=3)):
        spec = dn.GRR(domain=domain, epsilon=2.0)
        estimate = crowd(spec)
        assert list(again(estimate).values) == list(estimate.values)
    infinite = dn.Duchi(low=0, high=1, epsilon=1.0)
    assert again(infinite.estimate(infinite.tally([]))).stderr == float("inf")


def test_a_search_and_an_unknown_interval():
    spec = dn.GRR(domain_size=50, epsilon=3.0)
    whole = spec.estimate(spec.tally(spec.privatize([0] * 800 + [1] * 400, source=ReplaySource.from_key("found"))))
    found = whole.found([0, 1, 2], share=1)
    assert repr(again(found)) == repr(found)
    assert again(found).notes() == found.notes() != []
    smooth = whole.postprocess("norm-sub")
    assert repr(again(smooth)) == repr(smooth)
    for estimate in (smooth, again(smooth)):
        with pytest.raises(ParameterError, match="norm-sub biases"):
            estimate.interval()


def test_only_what_was_saved_is_read():
    good = crowd(dn.GRR(domain_size=3, epsilon=1.0)).to_json()
    law = good["law"]
    texts = ["", "{", "[]", "null", b"\xff", '{"format": "deniable estimate"}', "[" * 100_000]
    parts = [
        {"version": 2}, {"format": "other"}, {"values": [1]}, {"order": [0, 0, 1]}, {"about": 7}, {"columns": {"value": [1]}},
        {"law": None}, {"law": {"law": "Law"}}, {"law": {"law": "os.system"}}, {"law": law | {"more": 1}},
        {"law": {"law": "Supports", "n": 3}},
        {"law": law | {"supports": "x"}}, {"law": law | {"n": True}}, {"law": law | {"supports": [1, 2]}}, {"law": law | {"p": ["x"]}},
        {"figures": [{"mark": 3}]}, {"guarantee": {"epsilon": 1, "other": 2}}, {"unit": {"kind": "integers"}}, {"parts": {"a": {}}},
    ]  # fmt: skip
    wrong = [*texts, *(good | part for part in parts)]
    for data in wrong:
        with pytest.raises(WireError):
            estimate_from_json(data)
    for name in good:
        less = {key: value for key, value in good.items() if key != name}
        with pytest.raises(WireError):
            estimate_from_json(less)
    for data in (7, None, [1]):
        with pytest.raises(DeniableError):
            estimate_from_json(data)


def test_damage_anywhere_is_refused_or_read_as_an_estimate():
    """Every number, text and list of the JSON replaced in turn: only the package's errors come out, here or when it is used."""
    good = crowd(dn.OLH(domain_size=4, epsilon=1.0)).to_json()

    def paths(part, path=()):
        for key, each in part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ():
            yield (*path, key)
            yield from paths(each, (*path, key))

    tried = 0
    for path in list(paths(good)):
        for wrong in (None, -1, "x", [], {}, 1e400):
            data = copy.deepcopy(good)
            holder = data
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = wrong
            try:
                estimate_from_json(data)
            except DeniableError:
                tried += 1
    assert tried > 100


def test_every_law_is_written_by_its_fields():
    for home in HOMES:
        importlib.import_module(home)
    assert {"Supports", "Scores", "Average", "Normal", "Tailed", "Cumulative", "CountChange", "Crossed"} <= set(LAWS)
    law = crowd(dn.OUE(domain_size=4, epsilon=1.0)).law
    read = read_law(json.loads(json.dumps(write_law(law))))
    assert (type(read), read.supports.dtype) == (type(law), law.supports.dtype)
    assert alike(read.limits(1e-6, family=4), law.limits(1e-6, family=4))


def test_every_law_is_found_by_a_process_that_has_just_begun():
    code = "import importlib; from deniable.core import saved_parts as p; [importlib.import_module(h) for h in p.HOMES]; print(*p.LAWS)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    for room in ("core", "central", "shuffle", "multiparty", "tasks"):
        for module in pkgutil.walk_packages(importlib.import_module(f"deniable.{room}").__path__, f"deniable.{room}."):
            importlib.import_module(module.name)
    assert {name for name, law in LAWS.items() if law.__module__.startswith("deniable.")} <= set(found)
