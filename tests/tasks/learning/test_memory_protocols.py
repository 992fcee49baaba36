"""Learning that no round asks for: what a run gives."""

from __future__ import annotations

import numpy as np
import pytest

from deniable.contract.mixing import LOCAL
from deniable.core.estimate import Estimate
from deniable.core.saved import estimate_from_json
from deniable.errors import ParameterError
from deniable.tasks.learning import LinearModel, TreeExperts, WeightedMajority, WholeGradients, regret
from deniable.testing import ReplaySource
from tests.tasks.learning.test_logistic import ILL, RANGES, crowd

GAME = {"experts": 3, "days": 20, "delta": 1e-6, "neighbors": "replace"}
LOSSES = np.array([[0, 1, 1], [1, 0, 1], [0, 0, 1]] * 5)
CASES = {
    "gradients": (WholeGradients(features=RANGES, label="ill", classes=ILL, epsilon=4.0, rounds=3), crowd(300), 3, LinearModel),
    "majority": (WeightedMajority(**GAME, epsilon=2.0), LOSSES, 15, Estimate),
    "tree": (TreeExperts(**GAME, epsilon=2.0, resolution=2), LOSSES, 15, Estimate),
}
each = pytest.mark.parametrize("name", CASES)


def ran(name, protocol, **options):
    return protocol.run(CASES[name][1], source=ReplaySource.from_key(f"memory/{name}"), **options)


@each
def test_a_run_says_how_far_it_is_and_gives_an_estimate(name):
    protocol, _, total, kind = CASES[name]
    seen = []
    found = ran(name, protocol, progress=lambda *steps: seen.append(steps))
    assert type(found) is kind
    assert found.guarantee == protocol.guarantee
    assert seen == [(done + 1, total) for done in range(total)]


def test_experts_trust_a_curator_and_say_so():
    for name in ("majority", "tree"):
        protocol = CASES[name][0]
        assert protocol.trust == protocol.guarantee.model == "central"
    assert CASES["gradients"][0].trust == CASES["gradients"][0].guarantee.model == LOCAL


def test_a_play_shows_its_choices_and_no_true_loss():
    play = ran("majority", CASES["majority"][0])
    assert play.point.tolist() == np.bincount(play.parts["days"].point.astype(int), minlength=3).tolist()
    assert (play.n, play.point.sum(), play.stderr.tolist()) == (15, 15.0, [0, 0, 0])
    assert list(estimate_from_json(play.to_json()).rows()) == ["value", "days", "stderr"]
    with pytest.raises(ParameterError, match="15 days x 3 experts"):
        regret(LOSSES[1:], play)
