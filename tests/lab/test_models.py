"""Models in the lab: the crowd holds nothing of the test, baselines are where they must be, and what is no record is refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from deniable.errors import MissingExtra, ParameterError
from deniable.lab import models
from deniable.lab.models import LABEL, ROWS, Fitted, Tumors
from deniable.lab.populations import Zipf
from deniable.testing import ReplaySource

CROWD = Tumors(features=10)


def right(way, n, epsilon=8.0):
    method = Fitted(way, way)
    people = CROWD.draw(n, ReplaySource.from_key("crowd"))
    return method.run(method.setup(CROWD, epsilon, n), people, ReplaySource.from_key(way)).rate


def test_nobody_in_the_crowd_is_in_the_test():
    people, hidden = CROWD.draw(5000, ReplaySource.from_key("crowd")), CROWD.hidden()
    rows = [set(zip(*(np.asarray(table[name]).tolist() for name in CROWD.ranges), strict=True)) for table in (people, hidden)]
    assert not rows[0] & rows[1]
    assert len(rows[0]) == 379  # all rows that are not in the test
    assert len(hidden[LABEL]) == 190
    assert sum(CROWD.table()[1]) == ROWS[0]


def test_baselines_are_where_they_must_be():
    """The larger class is benign; a model that is not private is right on more than nine of ten, and a private one comes between."""
    majority, private, plain = (right(way, 5000) for way in ("majority", "private", "not private"))
    assert majority == np.mean(CROWD.hidden()[LABEL] == "benign")
    assert majority + 0.1 < private <= plain + 0.02
    assert plain > 0.9


def test_what_cannot_be_fitted_is_refused(monkeypatch):
    for bad in (0, 31, "10"):
        with pytest.raises(ParameterError):
            Tumors(features=bad)
    with pytest.raises(ParameterError, match="way"):
        Fitted("magic", "magic")
    with pytest.raises(ParameterError, match="population"):
        Fitted("private", "private").setup(Zipf(1.1, 4), 1.0, 10)
    models._rows.cache_clear()
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(MissingExtra, match="lab"):
        CROWD.draw(1)
