"""The empirical audit convicts the guilty and, at its confidence, not the innocent."""

from __future__ import annotations

import pytest

from deniable.client import GRR, OLH, OUE
from deniable.contract.source import ONE
from deniable.core.reports import Reports
from deniable.errors import ParameterError
from deniable.lab.audit import empirical_audit, epsilon_lower_bound
from deniable.local.frequency.unary import BulkUnary
from deniable.testing import ReplaySource


@pytest.mark.parametrize(
    "spec", [GRR(domain_size=8, epsilon=1.0), OUE(domain_size=8, epsilon=1.0), OLH(domain_size=8, epsilon=1.0)], ids=repr
)
def test_correct_mechanisms_come_close_and_stay_below(spec):
    audit = empirical_audit(spec, 0, 7, trials=60_000, source=ReplaySource.from_key("innocent"))
    assert 0.85 < audit.epsilon < 1.0
    assert not audit.convicted


def test_a_bulk_half_that_writes_over_is_convicted(monkeypatch):
    """pure-ldp's bug in the kernel path: real epsilon 1.551, claimed 1."""
    honest = BulkUnary.perturb

    def write_over(self, keys, reports, part, words):
        served, used = honest(self, keys, reports, part, words)
        bits = reports.columns["bits"][part]
        lucky = words[:served] < int(ONE * float(self.spec.q) / 2)  # the true bit stays where noise had set it
        for row in range(served):
            if lucky[row]:
                bits[row, int(keys[row]) >> 3] |= 1 << (int(keys[row]) & 7)
        return served, used

    monkeypatch.setattr(BulkUnary, "perturb", write_over)
    audit = empirical_audit(OUE(domain_size=4, epsilon=1.0), 0, 3, trials=60_000, source=ReplaySource.from_key("guilty"))
    assert audit.convicted
    assert audit.epsilon > 1.2


def test_any_function_can_be_audited():
    """multi-freq-ldpy's subset selection: the true value comes first in half of the reports."""

    def true_value_first(value, source):
        others = [other for other in range(4) if other != value]
        pair = (value, others[source.below(3)]) if source.bernoulli(ONE // 2) else (others[source.below(3)], others[0])
        return pair

    audit = empirical_audit(true_value_first, 0, 3, trials=20_000, source=ReplaySource.from_key("order"))
    assert audit.claimed is None
    assert audit.epsilon > 2.0
    honest = GRR(domain_size=4, epsilon=0.5)
    assert empirical_audit(honest.perturb, 0, 3, trials=20_000, source=ReplaySource.from_key("order")).epsilon < 0.5


def test_the_bound_is_valid_at_its_confidence():
    """Exactly: the probability that the bound exceeds the true epsilon, summed over all outcomes of both inputs."""
    import numpy as np
    from scipy import stats

    trials, p, q = 200, 0.75, 0.25
    true = float(np.log(p / q))
    a, b = stats.binom(trials, p).pmf(np.arange(trials + 1)), stats.binom(trials, q).pmf(np.arange(trials + 1))
    wrong = sum(
        a[i] * b[j]
        for i in range(trials + 1)
        for j in range(trials + 1)
        if a[i] * b[j] > 1e-9 and epsilon_lower_bound(i, j, trials, 0.9) > true
    )
    assert 0 < wrong < 0.1


def test_too_few_trials_are_refused():
    with pytest.raises(ParameterError, match="trials"):
        empirical_audit(GRR(domain_size=4, epsilon=1.0), 0, 1, trials=10)


def test_reports_are_looked_at_row_by_row():
    spec = GRR(domain_size=4, epsilon=1.0)
    assert Reports.collect(spec, [3, 0]).rows().tolist() == [[3], [0]]
