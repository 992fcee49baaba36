"""One question under different trust: errors as predicted, and the scaling laws that the slides draw."""

from __future__ import annotations

from functools import cache
from math import log, sqrt

import numpy as np
import pytest

from deniable.errors import ParameterError
from deniable.lab.experiments.scaling_laws import EXPERIMENT
from deniable.lab.populations import Multinomial, Uniform
from deniable.lab.trust import WAYS, ReferenceLine, Trust, Yes
from deniable.testing import ReplaySource

SIGMAS, RUNS, N = 4.892, 300, 300
CROWD = np.arange(N) % 3 // 2
"""A hundred say yes."""


@cache
def errors(way):
    source = ReplaySource.from_key(f"trust {way}")
    asked = Yes(way, 1.0, 1e-3, N)
    return np.abs([asked.answer(CROWD, source) - 100 for _ in range(RUNS)])


@pytest.mark.parametrize("way", WAYS)
def test_errors_are_the_predicted_ones(way):
    """At alpha = 1e-6. Power: the prediction of a way with other noise is rejected."""
    found, predicted = errors(way), {other: Yes(other, 1.0, 1e-3, N).mean_error for other in WAYS}
    spread = found.std() / sqrt(RUNS)
    assert abs(found.mean() - predicted[way]) < SIGMAS * spread
    different = [other for other in WAYS if not 0.5 < predicted[other] / predicted[way] < 2]
    assert len(different) >= 2
    assert all(abs(found.mean() - predicted[other]) > SIGMAS * spread for other in different)


def test_the_laws_of_the_slides():
    """The share's error falls like 1 / n with a curator or a shuffler, and like 1 / sqrt(n) without."""
    slopes = {}
    for way in WAYS:
        few, many = (Yes(way, 1.0, 1e-6, n).mean_error / n for n in (1000, 100_000))
        slopes[way] = log(few / many) / log(100)
    assert slopes == pytest.approx({"central": 1.0, "split and mix": 1.0, "shuffle": 1.0, "local": 0.5}, abs=0.02)


def test_lines_are_where_they_should_be():
    values, source = np.array([0, 1] * 50), ReplaySource.from_key("lines")
    for line in (method for method in EXPERIMENT.mechanisms if isinstance(method, ReferenceLine)):
        outcome = line.run(line.setup(Multinomial([0.5, 0.5]), 1.0, 100), values, source)
        estimated, true = outcome.frequencies
        assert np.abs(estimated - true).sum() / 2 == pytest.approx(100**line.power) == outcome.predicted["tv"]
    assert sorted(m.power for m in EXPERIMENT.mechanisms if isinstance(m, ReferenceLine)) == [-1.0, -0.5]
    assert [m.way for m in EXPERIMENT.mechanisms if not isinstance(m, ReferenceLine)] == ["central", "split and mix", "shuffle", "local"]


def test_mistakes_are_told():
    with pytest.raises(ParameterError, match="two values"):
        Trust("local", "RR").setup(Uniform(0, 2), 1.0, 100)
    with pytest.raises(ParameterError, match="way"):
        Trust("nobody", "nobody")
    identities = {method.identity() for method in EXPERIMENT.mechanisms}
    assert len(identities) == len(EXPERIMENT.mechanisms)
