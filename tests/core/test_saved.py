"""Estimates as JSON: nothing is read but what was saved; ``tests/laws/test_estimates.py`` checks that it answers as before."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import deniable as dn
from deniable.core.normal import Normal
from deniable.core.saved import estimate_from_json
from deniable.core.saved_parts import write_law
from deniable.errors import DeniableError, WireError
from deniable.testing import ReplaySource
from tests.conftest import asked_of, candidates_of, some_values


def crowd(spec):
    reports = spec.privatize(some_values(spec, 300), source=ReplaySource.from_key("saved"))
    return spec.estimate(spec.tally(reports, candidates=candidates_of(spec)), candidates=asked_of(spec))


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
    with pytest.raises(WireError, match=r"law Supports: got .*supports"):
        estimate_from_json(good | {"law": {"law": "Supports", "n": 3}})
    for name in good:
        less = {key: value for key, value in good.items() if key != name}
        with pytest.raises(WireError):
            estimate_from_json(less)
    for data in (7, None, [1]):
        with pytest.raises(DeniableError):
            estimate_from_json(data)


def test_counts_of_numpy_are_saved_as_numbers():
    law = Normal(np.int64(9), *np.ones((3, 1)))
    assert write_law(law) == {"law": "Normal", "n": 9, "numbers": [1.0], "noise": [1.0], "drawn": [1.0]}
    assert type(write_law(law)["n"]) is int


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


def test_no_points_of_a_distribution_are_read_back():
    none = crowd(dn.SquareWave(low=0, high=10, epsilon=1.0)).select([])
    assert repr(estimate_from_json(none.to_json())) == repr(none)
