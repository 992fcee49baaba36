"""Models, clusters and factors print no interval: none of them is known to hold."""

from __future__ import annotations

import inspect
from typing import get_type_hints

import numpy as np
import pytest

import deniable as dn
from deniable.core.estimate import Estimate
from deniable.core.law import Unknown
from deniable.errors import ParameterError
from deniable.tasks import learning, recommend
from deniable.tasks.learning import KMeans, LogisticRegression, RotatingModels
from deniable.testing import ReplaySource

PEOPLE = {"age": [20.0, 60.0] * 1000, "dose": [-1.0, 0.5] * 1000, "ill": ["no", "yes"] * 1000}
RANGES = {"age": (0, 120), "dose": (-1, 1)}
FITS = {
    "model": LogisticRegression(features=RANGES, label="ill", classes=dn.Categories("no", "yes"), epsilon=4.0, rounds=2),
    "rotating": RotatingModels(features=RANGES, label="ill", classes=dn.Categories("no", "yes"), epsilon=4.0, rounds=2, models=2),
    "clusters": KMeans(features=RANGES, clusters=2, epsilon=4.0, rounds=2, people=2000),
}


@pytest.mark.parametrize("name", FITS)
def test_fits_print_no_interval(name):
    people = PEOPLE if name != "clusters" else {column: PEOPLE[column] for column in RANGES}
    found = FITS[name].run(people, source=ReplaySource.from_key(name))
    with pytest.raises(ParameterError, match="no interval is known"):
        found.interval()
    assert not {"low", "high"} & set(found.rows())
    assert "95 %" not in repr(found) + found._repr_html_()
    assert "no interval" in found.headline()
    drawn = str(found.chart().altair.to_dict())
    assert "no interval is known" in drawn
    assert "'low'" not in drawn
    assert np.isfinite(found.rows()[found.quantity]).all()


def test_nothing_that_is_fitted_has_intervals():
    for package in (learning, recommend):
        for name in package.__all__:
            made = getattr(package, name)
            if inspect.isclass(made) and issubclass(made, Estimate):
                assert get_type_hints(made)["law"] is Unknown, name
            else:
                assert not (inspect.isclass(made) and hasattr(made, "interval")), name
