"""Experiments that ship: all are found, each runs, and their reference values are those of the soak test."""

from __future__ import annotations

import json
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest

import deniable.lab.experiments as experiments
from deniable.contract.protocol import Protocol
from deniable.core.run import ask, draw_tickets
from deniable.lab.experiments import heavy_hitters_shootout, pem_distributions, rounds_tradeoff
from deniable.lab.experiments.pem_distributions import pem
from deniable.lab.populations import Uniform
from deniable.testing import ReplaySource
from tests.conftest import ROOT

SHIPPED = experiments.shipped()
FILES = sorted(path.stem for path in (ROOT / "src" / "deniable" / "lab" / "experiments").glob("[!_]*.py"))
SOAK = json.loads((ROOT / "soak" / "pem_table.json").read_text())


def test_every_file_is_found_under_its_own_name():
    assert sorted(SHIPPED) == [name.replace("_", "-") for name in FILES]
    assert {
        "pem-distributions",
        "pem-modules",
        "pem-allocation",
        "pem-population-size",
        "rounds-tradeoff",
        "heavy-hitters-shootout",
    } <= set(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_quick_form_runs(name):
    """The first and the last combination of two repetitions, as a worker would get them."""
    quick = SHIPPED[name].quick()
    few = replace(quick, populations=quick.populations[:1], epsilons=quick.epsilons[-1:])
    worker = pickle.loads(pickle.dumps(few))
    for cell in (worker.cells[0], worker.cells[-1]):
        rows = worker.measure(cell)
        assert [row["metric"] for row in rows] == list(quick.metrics)
        assert all(np.isfinite(row["value"]) for row in rows)
        assert rows == few.measure(cell)  # the same again, from its key alone


@pytest.mark.parametrize("name", SHIPPED)
def test_each_says_what_it_asks_and_what_it_found(name):
    assert SHIPPED[name].question.endswith("?")
    assert 1 <= len(re.findall(r"[.](?: |$)", SHIPPED[name].found)) <= 3


def test_predictions_are_the_reference():
    assert SOAK["epsilons"] == list(pem_distributions.EPSILONS)
    assert SOAK["mean_ndcg"] == {name: list(row) for name, row in pem_distributions.REFERENCE.items()}
    told = {
        (cell.population.describe(), cell.method.label, cell.epsilon): cell.method.predict("ndcg", cell.population, cell.epsilon, cell.n)
        for cell in SHIPPED["pem-distributions"].quick().cells
    }
    assert len(told) == 128
    assert sorted(told.values()) == sorted(value for row in SOAK["mean_ndcg"].values() for value in row)
    assert told["Uniform(0, 14)", "OUE, 8 groups", 4.0] == 0.567
    [first, *_] = SHIPPED["pem-distributions"].mechanisms
    assert first.predict("ndcg", pem_distributions.CROWDS["U[0,14]"], 4.0, 999) is None
    assert first.predict("f1", pem_distributions.CROWDS["U[0,14]"], 4.0, 1000) is None


@pytest.mark.parametrize(
    ("oracle", "rounds"), [(oracle, rounds) for oracle, several in rounds_tradeoff.ROUNDS.items() for rounds in several]
)
def test_reports_have_the_bits_that_the_legend_says(oracle, rounds):
    state = pem("", oracle=oracle, groups=rounds).setup(Uniform(0, 14), 4.0, 200)
    source, values, asked = ReplaySource.from_key("bits"), np.arange(200) % 15, []
    tickets = draw_tickets(state, 200, source)
    while isinstance(state, Protocol):
        asked.append(state.open().questions[0].spec.report_bits)
        state = state.close(ask(state, values, tickets, source=source))
    assert len(asked) == rounds
    assert max(asked) == asked[-1] == rounds_tradeoff.report_bits(oracle, rounds)


def test_the_shootout_has_every_search_and_says_which_is_central():
    [first, *_], labels = heavy_hitters_shootout.EXPERIMENT.populations, [m.label for m in heavy_hitters_shootout.EXPERIMENT.mechanisms]
    assert len(first.values) == heavy_hitters_shootout.FREQUENT + heavy_hitters_shootout.RARE
    assert labels[:-1] == ["PEM", "TreeHist", "Bitstogram", "SegmentPairs", "IndependentSegments", "MultipleChannels", "SFP"]
    assert labels[-1].startswith("TrieHH (central")
    for method in heavy_hitters_shootout.EXPERIMENT.mechanisms:
        guarantee = method.setup(first, 2.0, 20_000).guarantee
        assert guarantee.epsilon == 2.0
        assert (guarantee.model == "local") == (method.label in labels[:-1])
