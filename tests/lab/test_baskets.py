"""Crowds who hold sets, and the measure of what is rightly in a list."""

from __future__ import annotations

import numpy as np
import pytest

from deniable.errors import ParameterError
from deniable.lab.baskets import Baskets, SetSearch
from deniable.lab.outcome import METRICS, Outcome
from deniable.lab.populations import Zipf
from deniable.testing import ReplaySource


def test_baskets_have_the_declared_law():
    """Who takes t things holds item i unless all t draws miss it; t is geometric, cut at the most. 60,000 people, |z| below 5.6."""
    shop = Baskets(items=9, exponent=1.0, taken=3.0, most=5)
    crowd = shop.draw(60_000, ReplaySource.from_key("law"))
    often = np.append(0.25 * 0.75 ** np.arange(5), 0.75**5)
    held = 1 - (often[:, None] * (1 - shop.probabilities) ** np.arange(6)[:, None]).sum(axis=0)
    assert np.all(np.abs(crowd.counts - 60_000 * held) < 5.6 * np.sqrt(60_000 * held * (1 - held)))
    assert abs((crowd.sizes == 0).mean() - 0.25) < 5.6 * np.sqrt(0.25 * 0.75 / 60_000)
    assert crowd.sizes.max() <= 5
    assert (shop.length, Baskets(items=9, taken=0.1).length) == (5, 1)


def test_hits_are_what_is_rightly_in_the_list():
    counts = np.array([50.0, np.nan, 15.0, 33.0])
    outcome = Outcome(range(4), np.array([40, 30, 12, 3]), counts, k=3, found=[0, 3, 2], people=100)
    assert METRICS["hit_rmse"](outcome) == pytest.approx(np.sqrt((0.1**2 + 0.03**2) / 2))  # items 0 and 2; 3 does not belong there
    assert np.isnan(METRICS["hit_rmse"](Outcome(range(4), np.array([40, 30, 12, 3]), counts, k=1, found=[3], people=100)))


def test_sets_are_searched_among_people_who_hold_sets():
    with pytest.raises(ParameterError, match="people who hold sets"):
        SetSearch("SVIM", "SVIM", k=3).setup(Zipf(1.0, 9), 1.0, 100)
    shop = Baskets(items=6)
    with pytest.raises(ParameterError, match="protocol: got 'PEM'"):
        SetSearch("PEM", "PEM", k=3)
    for name in ("SVIM", "WholeSets"):
        method = SetSearch("x", name, k=32)
        outcome = method.run(method.setup(shop, 6.0, 4000), shop.draw(4000, ReplaySource.from_key("x")), ReplaySource.from_key("y"))
        assert outcome.found[0] == 0
        assert len(outcome.found) == outcome.k == 3  # half of the few
        assert METRICS["hit_rmse"](outcome) < 0.1
