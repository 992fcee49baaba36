"""What experiments measure: lists against truth, distributions, and errors against theory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import deniable as dn
from deniable.contract.domain import IndexRange
from deniable.errors import ParameterError
from deniable.lab.experiment import Experiment
from deniable.lab.experiments import experiment as shipped_experiment
from deniable.lab.methods import Oracle, expected_errors
from deniable.lab.metrics import guessed_ndcg
from deniable.lab.populations import Multinomial, Poisson, Words, Zipf
from deniable.lab.protocol_run import ProtocolRun
from deniable.lab.runner import run
from deniable.testing import ReplaySource
from tests.conftest import frequency_specs
from tests.lab.runs import SMALL, columns
from tests.lab.searches import floor


def test_searches_are_scored_by_their_lists(tmp_path):
    """With much epsilon a search that asks everyone finds nearly all; with hardly any it is as good as a guess."""
    one_round = {"groups": 1, "oracle": "GRR", "keep": 5}
    searches = [
        ProtocolRun("PEM", {"bits": 6} | one_round, "64", 5, floor),
        ProtocolRun("PEM", {"domain": IndexRange(40)} | one_round, "40", 5),
    ]
    experiment = Experiment(
        name="search",
        title="search",
        populations=[Zipf(1.5, 40)],
        mechanisms=searches,
        epsilons=[0.001, 8],
        people=[2000],
        repetitions=60,
        metrics=["ndcg", "f1", "ncr", "precision", "recall", "mse"],
    )
    summary = run(experiment, tmp_path, workers=1).summary()
    ndcg = {(row["mechanism"], row["epsilon"]): row for row in summary.to_dicts() if row["metric"] == "ndcg"}
    assert ndcg["64", 8.0]["mean"] > 0.95
    for label, size in (("40", 40), ("64", 64)):
        row = ndcg[label, 0.001]
        assert abs(row["mean"] - guessed_ndcg(5, size)) < 4.9 * row["stderr"]
    assert ndcg["64", 8.0]["predicted"] == 0.25
    assert ndcg["40", 8.0]["predicted"] is None
    specs = columns(tmp_path / "search.parquet").group_by("mechanism", "epsilon").agg(pl.col("spec").n_unique())
    assert specs["spec"].to_list() == [1] * 4


def test_what_a_search_does_not_find_counts_nobody():
    crowd = np.repeat([3, 9, 12, 200], [60_000, 40_000, 10, 10])
    method = ProtocolRun("PEM", {"bits": 8}, k=2)
    outcome = method.run(method.setup(Zipf(1.1, 9), 6.0, crowd.size), crowd, ReplaySource.from_key("none"))
    assert (outcome.values, outcome.truth.tolist()) == ([3, 9, 12, 200], [60_000, 40_000, 10, 10])
    assert outcome.found == [3, 9]
    assert outcome.counts[2:].tolist() == [0, 0]
    assert np.abs(outcome.counts[:2] - outcome.truth[:2]).max() < 3000


@pytest.mark.parametrize(
    ("name", "more"), [("AHEAD", {}), ("HaarHRR", {}), ("Hierarchy", {"branching": 4}), ("ShuffledHistogram", {"delta": 1e-6})]
)
def test_every_protocol_about_values_is_scored_like_an_oracle(name, more):
    experiment = Experiment(
        name="asked",
        title="asked",
        populations=[Zipf(1.1, 16)],
        mechanisms=[ProtocolRun(name, more, k=3)],
        epsilons=[4],
        people=[20_000],
        repetitions=1,
        metrics=["tv", "ndcg"],
    )
    [distance, ndcg] = experiment.measure(experiment.cells[0])
    assert distance["value"] < 0.1
    assert ndcg["value"] > 0.9


def test_public_hash_functions_are_drawn_anew_in_every_repetition():
    search, population = ProtocolRun("TreeHist", {"bits": 16}, k=3), Zipf(1.1, 9)
    assert [search.setup(population, 1.0, 100, repetition).salt for repetition in (0, 1)] == [0, 1 << 32]
    assert ProtocolRun("TreeHist", {"bits": 16, "salt": 7}, k=3).setup(population, 1.0, 100, 1).salt == 7


def test_text_is_searched_like_numbers():
    words = Experiment(
        name="words",
        title="words",
        populations=[Words(count=50), Multinomial((5, 3, 2), ("tea", "coffee", "water"))],
        mechanisms=[Oracle("auto", k=3), Oracle("GRR", postprocess="norm-sub", k=3)],
        epsilons=[8],
        people=[5000],
        repetitions=1,
        metrics=["ndcg", "max_error"],
    )
    values = [row["value"] for cell in words.cells for row in words.measure(cell) if row["metric"] == "ndcg"]
    assert min(values) > 0.9


def test_distributions_are_compared_after_post_processing():
    whole = Experiment(
        name="whole",
        title="whole",
        populations=[Poisson(3)],
        mechanisms=[Oracle("OUE", postprocess="norm-sub"), Oracle("OUE", postprocess="mle")],
        epsilons=[2],
        people=[20_000],
        repetitions=1,
        metrics=["js", "wasserstein", "tv", "kl"],
    )
    for cell in whole.cells:
        js, moved, tv, kl = whole.measure(cell)
        assert 0 < js["value"] < tv["value"] < moved["value"] < 0.5
        assert kl["value"] > 0
        assert {js["predicted"], tv["predicted"]} == {None}


@pytest.mark.parametrize("spec", [spec for spec in frequency_specs() if spec.domain_size <= 1024], ids=repr)
def test_the_variance_is_a_straight_line_in_the_frequency(spec):
    """What ``expected_errors`` builds on, for every oracle."""
    none, half, all_ = (spec.variance(1000, f) for f in (0.0, 0.5, 1.0))
    assert half == pytest.approx((none + all_) / 2, rel=1e-9)


def test_theory_predicts_what_is_measured(tmp_path):
    """Mean squared error and total variation of three kinds of oracle within 4.9 standard errors; a twin with 1.1 times the error not."""
    experiment = Experiment(
        name="theory",
        title="theory",
        populations=[Zipf(1.1, 32)],
        mechanisms=[Oracle("GRR"), Oracle("OUE"), Oracle("HCMS"), Oracle("OLH")],
        epsilons=[1],
        people=[4000],
        repetitions=150,
        metrics=["mse", "tv"],
    )
    for row in run(experiment, tmp_path, workers=1).summary().to_dicts():
        assert abs(row["mean"] - row["predicted"]) < 4.9 * row["stderr"], row
        twin = 1.2 if row["metric"] == "mse" else 1.1
        assert abs(twin * row["mean"] - row["predicted"]) > 4.9 * row["stderr"], row
    assert expected_errors(dn.GRR(domain_size=2, epsilon=1.0), np.array([0, 0])) == {"mse": 0.0, "tv": 0.0}


def test_sketches_draw_new_functions_for_each_repetition():
    sketch = Oracle("HCMS")
    specs = [sketch.setup(Zipf(1.1, 16), 1.0, 1000, repetition) for repetition in range(3)]
    assert [spec.salt for spec in specs] == [0, 1, 2]
    assert Oracle("HCMS", {"salt": 7}).setup(Zipf(1.1, 16), 1.0, 1000, 2).salt == 7
    search = next(method for method in shipped_experiment("heavy-hitters-shootout").mechanisms if method.label == "TreeHist")
    assert len({search.setup(Zipf(1.1, 16), 1.0, 1000, repetition).salt for repetition in range(3)}) == 3


def test_what_cannot_be_done_is_left_out_or_refused():
    tried = replace(SMALL, mechanisms=[Oracle("RR", k=3), Oracle("GRR", k=3)])
    with pytest.raises(ParameterError, match="2 values for RR"):
        tried.cells  # noqa: B018  # asking is what is refused
    lenient = replace(tried, leave_out=True)
    assert {cell.method.label for cell in lenient.cells} == {"GRR"}
    assert len(lenient.left_out) == 4
    assert "RR on Zipf(1.1, 16), epsilon = 1: domain" in lenient.left_out[0]
    with pytest.raises(ParameterError, match="one that can do this"):
        replace(lenient, mechanisms=[Oracle("RR", k=3)]).cells  # noqa: B018  # asking is what is refused
