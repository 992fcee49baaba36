"""Experiments as they are written down: the grid and its keys, those that are shipped, and mistakes."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from deniable.client.frequency import FrequencySpec
from deniable.client.longitudinal import Longitudinal
from deniable.contract.spec import MECHANISMS
from deniable.errors import ParameterError
from deniable.lab.experiments import experiment as shipped_experiment
from deniable.lab.experiments import shipped
from deniable.lab.methods import Oracle
from deniable.lab.populations import Words, Zipf
from deniable.lab.protocol_run import ProtocolRun
from deniable.lab.runner import results_path, run
from tests.conftest import ROOT
from tests.lab.runs import SMALL


def test_the_grid_is_the_product_in_order():
    cells = SMALL.cells
    assert len(cells) == SMALL.size == 2 * 2 * 2 * 2 * 3
    assert [cell.repetition for cell in cells[:6]] == [0, 1, 2, 0, 1, 2]
    assert [cell.n for cell in cells[:6]] == [500] * 3 + [2000] * 3
    assert {cell.method.label for cell in cells[24:]} == {"GRR", "OLH(hash_range=4)"}


def test_keys_depend_on_all_that_the_cell_depends_on():
    keys = {cell.key for cell in SMALL.cells}
    assert len(keys) == len(SMALL.cells)
    assert SMALL.cells[0].key == "5f44cab257e591c98ef7dc75ed93f5a6"  # keys are published in files: they must not change
    for changed in (
        replace(SMALL, name="other"),
        replace(SMALL, populations=[Zipf(1.2, 16)]),
        replace(SMALL, mechanisms=[Oracle("OUE", k=3)]),
        replace(SMALL, mechanisms=[Oracle("GRR", k=4)]),
        replace(SMALL, mechanisms=[Oracle("GRR", k=3, postprocess="norm-sub")]),
        replace(SMALL, epsilons=[1.5]),
        replace(SMALL, people=[501]),
    ):
        assert not keys & {cell.key for cell in changed.cells}
    longer = replace(SMALL, repetitions=5, metrics=["mse"], title="another")
    assert keys < {cell.key for cell in longer.cells}
    assert {cell.key for cell in SMALL.quick().cells} < keys


def test_shipped_experiments_are_found_and_named_like_their_files():
    files = {path.stem.replace("_", "-") for path in (ROOT / "src/deniable/lab/experiments").glob("[!_]*.py")}
    assert set(shipped()) == files
    with pytest.raises(ParameterError, match="deniable lab list"):
        shipped_experiment("absent")


def test_the_shootout_has_every_oracle():
    shootout = shipped_experiment("oracle-shootout")
    oracles = {name for name, cls in MECHANISMS.items() if issubclass(cls, FrequencySpec) and not issubclass(cls, Longitudinal)}
    assert {method.label for method in shootout.mechanisms} == oracles - {"RR"}
    assert shootout.left_out == ()
    rows = [row for cell in shootout.cells[::50][::9] for row in shootout.measure(cell)]
    assert all(np.isfinite(row["value"]) for row in rows)


def test_results_are_where_they_are_said_to_be(tmp_path):
    assert results_path(SMALL, tmp_path) == tmp_path / "small.parquet"
    assert os.listdir(tmp_path) == []


MISTAKES = {
    "no list": (lambda: replace(SMALL, epsilons=1.0), ["epsilons: got 1.0", "list"]),
    "an empty list": (lambda: replace(SMALL, people=[]), ["people", "one or more"]),
    "epsilon": (lambda: replace(SMALL, epsilons=[0]), ["epsilon", "got 0", "above 0"]),
    "nobody": (lambda: replace(SMALL, people=[0]), ["n: got 0"]),
    "repetitions": (lambda: replace(SMALL, repetitions=0), ["repetitions", "got 0", "from 1"]),
    "name": (lambda: replace(SMALL, name="../x"), ["name", "'../x'", "letters"]),
    "metric": (lambda: replace(SMALL, metrics=["sharpness"]), ["metrics", "'sharpness'", "mse"]),
    "metric twice": (lambda: replace(SMALL, metrics=["mse", "mse"]), ["metrics", "each once"]),
    "label twice": (lambda: replace(SMALL, mechanisms=[Oracle("GRR", k=3), Oracle("GRR", k=3)]), ["mechanisms", "label"]),
    "axis": (lambda: replace(SMALL, against="d"), ["against", "'d'", "epsilon"]),
    "list without k": (lambda: replace(SMALL, mechanisms=[Oracle("GRR")]), ["metrics", "'ndcg'", "k"]),
    "distribution of raw counts": (lambda: replace(SMALL, metrics=["kl"]), ["metrics", "'kl'", "norm-sub"]),
    "counts of true votes": (
        lambda: replace(SMALL, mechanisms=[ProtocolRun("TrieHH", {"delta": 0.01}, k=3)]),
        ["metrics", "'mse'", "counts"],
    ),
    "list without k, asked": (lambda: replace(SMALL, mechanisms=[ProtocolRun("Hierarchy")]), ["metrics", "'ndcg'", "k"]),
    "distance of labels": (
        lambda: replace(SMALL, populations=[Words()], mechanisms=[Oracle("GRR", postprocess="mle")], metrics=["wasserstein"]),
        ["metrics", "wasserstein", "labels"],
    ),
    "mechanism": (lambda: Oracle("RAPOR"), ["mechanism", "'RAPOR'", "GRR"]),
    "parameter": (lambda: Oracle("GRR", {"hash_range": 3}), ["parameters", "'hash_range'", "domain_size"]),
    "epsilon as a parameter": (lambda: Oracle("GRR", {"epsilon": 3}), ["parameters", "'epsilon'", "grid"]),
    "post-processing": (lambda: Oracle("GRR", postprocess="median"), ["postprocess", "'median'", "norm-sub"]),
    "k": (lambda: Oracle("GRR", k=0), ["k: got 0"]),
    "parameter of a search": (lambda: ProtocolRun("TreeHist", {"groups": 3}), ["parameters", "'groups'", "step_bits"]),
    "epsilon of a search": (lambda: ProtocolRun("PEM", {"epsilon": 3}), ["parameters", "'epsilon'"]),
    "protocol": (lambda: ProtocolRun("PEN"), ["protocol", "'PEN'", "did you mean PEM"]),
    "protocol of points": (lambda: ProtocolRun("QuadTree"), ["protocol", "'QuadTree'", "Hierarchy"]),
    "a search for no values": (lambda: ProtocolRun("PEM", k=0), ["k: got 0"]),
    "a search without k": (lambda: ProtocolRun("PEM").setup(Zipf(1.1, 9), 1.0, 10), ["PEM", "'k'"]),
    "workers": (lambda: run(SMALL, "x", workers=0), ["workers", "got 0"]),
}


@pytest.mark.parametrize(("mistake", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_explained(mistake, words):
    with pytest.raises(ParameterError) as caught:
        mistake()
    assert all(word in str(caught.value) for word in words), caught.value
