"""How often two crowds of one population seem to differ, by every oracle: ``make soak``, some minutes on two idle cores."""

# ruff: noqa: S101  # tests assert; this folder is outside of tests/

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from deniable.client.frequency import FrequencySpec
from deniable.contract.spec import MECHANISMS
from deniable.testing import ReplaySource

PAIRS, ALPHA = 200, 0.1
MOST = int(stats.binom.isf(1e-6, PAIRS, ALPHA))
"""More alarms have probability below 1e-6 if each pair raises one with probability alpha."""
SHARES = np.array([0.6, 0.2, 0.1, 0.05, 0.03, 0.02, 0.0, 0.0])
ORACLES = [name for name, cls in sorted(MECHANISMS.items()) if issubclass(cls, FrequencySpec)]


@pytest.mark.parametrize(("epsilon", "small", "large"), [(1.0, 100, 2000), (1.0, 10_000, 10_000), (6.0, 100, 2000), (6.0, 20_000, 20_000)])
@pytest.mark.parametrize("name", ORACLES)
def test_a_crowd_does_not_differ_from_itself(name: str, epsilon: float, small: int, large: int) -> None:
    """For all values together by Holm's p-values, and for the most frequent value alone by its interval and its p-value."""
    size = {} if name == "RR" else {"domain_size": 8}
    spec = MECHANISMS[name](**size, epsilon=epsilon)
    shares = SHARES[: spec.domain_size] / SHARES[: spec.domain_size].sum()
    rng, source = np.random.default_rng(7), ReplaySource.from_key(f"{name}/{epsilon}/{small}")
    alarms = np.zeros(3)
    for _ in range(PAIRS):
        crowds = (rng.choice(spec.domain_size, n, p=shares) for n in (small, large))
        first, second = (spec.estimate(spec.tally(spec.privatize(crowd, source=source))) for crowd in crowds)
        change = first.compare(second)
        low, high = change.interval(1 - ALPHA)
        alarms += bool(change.changed(ALPHA)), low[0] > 0 or high[0] < 0, change.p_values[0] <= ALPHA
    assert np.all(alarms <= MOST), alarms
