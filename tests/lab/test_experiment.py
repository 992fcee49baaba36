"""Experiments: the grid and its keys, measurements against theory, parallel runs, and runs that are killed and go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.client.frequency import FrequencySpec
from deniable.client.longitudinal import Longitudinal
from deniable.contract.spec import MECHANISMS
from deniable.errors import ParameterError, ProtocolError, WireError
from deniable.lab.declared import experiment_from_toml
from deniable.lab.experiment import Experiment
from deniable.lab.experiments import experiment as shipped_experiment
from deniable.lab.experiments import shipped
from deniable.lab.methods import Oracle, Search, expected_errors
from deniable.lab.metrics import guessed_ndcg
from deniable.lab.populations import Multinomial, Poisson, Uniform, Words, Zipf
from deniable.lab.results import SCHEMA
from deniable.lab.runner import results_path, run
from tests.conftest import ROOT, frequency_specs
from tests.lab.searches import ask_everyone, fail, floor

SMALL = Experiment(
    name="small",
    title="A small one",
    populations=[Zipf(1.1, 16), Uniform(0, 15)],
    mechanisms=[Oracle("GRR", k=3), Oracle("OLH", {"hash_range": 4}, k=3)],
    epsilons=[1, 2],
    people=[500, 2000],
    repetitions=3,
    metrics=["mse", "ndcg"],
)


def columns(path):
    return pl.read_parquet(path)


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


def test_a_cell_can_be_run_again_alone(tmp_path):
    run(SMALL, tmp_path, workers=1)
    table = columns(tmp_path / "small.parquet")
    cell = SMALL.cells[17]
    rows = SMALL.measure(cell)
    assert rows == table.filter(pl.col("replay_key") == cell.key).to_dicts()
    spec = cell.method.setup(cell.population, cell.epsilon, cell.n)
    assert rows[0]["spec"] == spec.digest.hex()


def test_one_tidy_file(tmp_path):
    seen = []
    results = run(SMALL, tmp_path, workers=1, progress=lambda done, total: seen.append((done, total)))
    assert [path.name for path in tmp_path.iterdir()] == ["small.parquet"]
    assert pq.read_schema(tmp_path / "small.parquet") == SCHEMA
    table = columns(tmp_path / "small.parquet")
    assert table.height == 2 * len(SMALL.cells)
    assert table["replay_key"].unique(maintain_order=True).to_list() == [cell.key for cell in SMALL.cells]
    assert seen[0] == (0, 48)
    assert seen[-1] == (48, 48)
    summary = results.summary()
    assert summary.height == 32
    assert set(summary["repetitions"]) == {3}
    first = table.filter(pl.col("metric") == "mse").head(3)["value"]
    assert summary.row(0, named=True)["mean"] == pytest.approx(first.mean())
    assert summary.row(0, named=True)["stderr"] == pytest.approx(first.std() / 3**0.5)
    assert "A small one" in repr(results)
    results.chart().save(tmp_path / "small.svg")
    assert "<svg" in (tmp_path / "small.svg").read_text()


def test_workers_do_not_change_the_file(tmp_path):
    run(SMALL, tmp_path / "one", workers=1)
    run(SMALL, tmp_path / "two", workers=2)
    assert (tmp_path / "one" / "small.parquet").read_bytes() == (tmp_path / "two" / "small.parquet").read_bytes()


class StopError(Exception):
    pass


def test_an_interrupted_run_goes_on(tmp_path):
    run(SMALL, tmp_path / "whole", workers=1)

    def stop(done, total):
        if done >= 20:
            raise StopError

    with pytest.raises(StopError):
        run(SMALL, tmp_path / "parts", workers=1, progress=stop)
    assert not (tmp_path / "parts" / "small.parquet").exists()
    (tmp_path / "parts" / "small.parts" / ".torn.parquet.1").write_bytes(b"PAR1")  # a draft of a process that was killed
    seen = []
    run(SMALL, tmp_path / "parts", workers=1, progress=lambda done, total: seen.append(done))
    assert seen[0] == 20
    assert (tmp_path / "whole" / "small.parquet").read_bytes() == (tmp_path / "parts" / "small.parquet").read_bytes()
    seen.clear()
    run(SMALL, tmp_path / "parts", workers=1, progress=lambda done, total: seen.append(done))
    assert seen == [48]  # nothing is left to do


def test_more_repetitions_reuse_what_is_there(tmp_path):
    run(SMALL.quick(), tmp_path, workers=1)
    seen = []
    run(SMALL, tmp_path, workers=1, progress=lambda done, total: seen.append(done))
    assert seen[0] == len(SMALL.quick().cells) == 16
    run(SMALL, tmp_path / "whole", workers=1)
    assert (tmp_path / "whole" / "small.parquet").read_bytes() == (tmp_path / "small.parquet").read_bytes()
    with pytest.raises(ParameterError, match="32 of 48 are not"):  # results are never thrown away
        run(SMALL.quick(), tmp_path, workers=1)
    other = replace(SMALL, metrics=["mse", "ndcg", "f1"])  # other measures of the same cells: measured again
    run(other, tmp_path, workers=1)
    assert set(columns(tmp_path / "small.parquet")["metric"]) == {"mse", "ndcg", "f1"}


LONG = """
name = "long"
epsilons = [1]
people = [10_000]
repetitions = 60
metrics = ["mse", "tv"]
[[populations]]
kind = "Zipf"
exponent = 1.1
size = 64
[[mechanisms]]
name = "OUE"
[[mechanisms]]
name = "GRR"
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for child processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_run_goes_on_and_leaves_nobody_behind(how, tmp_path):
    """kill -9 in the middle of a parallel run of the real command: its workers end, and the next run gives the same file."""
    (tmp_path / "long.toml").write_text(LONG)
    command = [str(Path(sys.executable).parent / "deniable"), "lab", "run", "long.toml", "--workers", "2", "--json", "--out"]
    process = subprocess.Popen(
        [*command, "killed"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=heed_interruptions,  # noqa: PLW1509  # there are no threads here
    )
    parts = tmp_path / "killed" / "long.parts"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and len(list(parts.glob("[!.]*.parquet")) if parts.is_dir() else []) < 3:
        assert process.poll() is None, process.stderr.read().decode()
        time.sleep(0.01)
    children = [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    if how == signal.SIGINT:
        os.killpg(process.pid, how)  # a terminal tells them all
        assert "what is finished is kept" in " ".join(process.communicate()[1].decode().split())
        assert process.returncode == 130
    else:
        process.send_signal(how)
        process.wait()
        process.stderr.close()
    assert len(children) >= 2
    finished = len(list(parts.glob("[!.]*.parquet")))
    assert 3 <= finished < 120
    assert not (tmp_path / "killed" / "long.parquet").exists()
    while any(alive(pid) for pid in children):
        assert time.monotonic() < deadline, "workers outlive their parent"
        time.sleep(0.05)
    done = subprocess.run([*command, "killed"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    run(experiment_from_toml(tmp_path / "long.toml"), tmp_path / "whole", workers=1)
    assert (tmp_path / "killed" / "long.parquet").read_bytes() == (tmp_path / "whole" / "long.parquet").read_bytes()
    assert not parts.exists()


def heed_interruptions():
    """A test-suite in the background ignores them, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_an_error_in_a_worker_arrives_with_its_cell(tmp_path):
    failing = replace(SMALL, mechanisms=[Search("bad", fail, 3)], metrics=["ndcg"])
    for workers in (1, 2):
        with pytest.raises(ProtocolError, match="always fails") as caught:
            run(failing, tmp_path, workers=workers)
        if workers == 1:
            assert "in the cell bad on Zipf(1.1, 16), epsilon = 1" in caught.value.__notes__[0]


def test_a_foreign_file_is_not_overwritten(tmp_path):
    (tmp_path / "small.parquet").write_bytes(b"mine")
    with pytest.raises(WireError, match="move it away"):
        run(SMALL, tmp_path, workers=1)
    pl.DataFrame({"mine": [1]}).write_parquet(tmp_path / "small.parquet")
    with pytest.raises(WireError, match="columns"):
        run(SMALL, tmp_path, workers=1)


def test_searches_are_scored_by_their_lists(tmp_path):
    """With much epsilon a search that asks everyone finds nearly all; with hardly any it is as good as a guess."""
    searches = [Search("40", ask_everyone, 5, predict=floor), Search("64", partial(ask_everyone, domain_size=64), 5)]
    experiment = Experiment(
        name="search",
        title="search",
        populations=[Zipf(1.5, 40)],
        mechanisms=searches,
        epsilons=[0.001, 8],
        people=[2000],
        repetitions=200,
        metrics=["ndcg", "f1", "ncr", "precision", "recall"],
    )
    summary = run(experiment, tmp_path, workers=1).summary()
    ndcg = {(row["mechanism"], row["epsilon"]): row for row in summary.to_dicts() if row["metric"] == "ndcg"}
    assert ndcg["40", 8.0]["mean"] > 0.95
    for label, size in (("40", 40), ("64", 64)):
        row = ndcg[label, 0.001]
        assert abs(row["mean"] - guessed_ndcg(5, size)) < 4.9 * row["stderr"]
    assert ndcg["40", 8.0]["predicted"] == 0.25
    assert ndcg["64", 8.0]["predicted"] is None
    specs = columns(tmp_path / "search.parquet").group_by("mechanism", "epsilon").agg(pl.col("spec").n_unique())
    assert specs["spec"].to_list() == [1] * 4


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
    "metric": (lambda: replace(SMALL, metrics=["rmse"]), ["metrics", "'rmse'", "mse"]),
    "metric twice": (lambda: replace(SMALL, metrics=["mse", "mse"]), ["metrics", "each once"]),
    "label twice": (lambda: replace(SMALL, mechanisms=[Oracle("GRR", k=3), Oracle("GRR", k=3)]), ["mechanisms", "label"]),
    "axis": (lambda: replace(SMALL, against="d"), ["against", "'d'", "epsilon"]),
    "list without k": (lambda: replace(SMALL, mechanisms=[Oracle("GRR")]), ["metrics", "'ndcg'", "k"]),
    "distribution of raw counts": (lambda: replace(SMALL, metrics=["kl"]), ["metrics", "'kl'", "norm-sub"]),
    "counts of a search": (lambda: replace(SMALL, mechanisms=[Search("s", ask_everyone, 3)]), ["metrics", "'mse'", "counts"]),
    "distance of labels": (
        lambda: replace(SMALL, populations=[Words()], mechanisms=[Oracle("GRR", postprocess="mle")], metrics=["wasserstein"]),
        ["metrics", "wasserstein", "labels"],
    ),
    "mechanism": (lambda: Oracle("RAPOR"), ["mechanism", "'RAPOR'", "GRR"]),
    "parameter": (lambda: Oracle("GRR", {"hash_range": 3}), ["parameters", "'hash_range'", "domain_size"]),
    "epsilon as a parameter": (lambda: Oracle("GRR", {"epsilon": 3}), ["parameters", "'epsilon'", "grid"]),
    "post-processing": (lambda: Oracle("GRR", postprocess="median"), ["postprocess", "'median'", "norm-sub"]),
    "k": (lambda: Oracle("GRR", k=0), ["k: got 0"]),
    "parameter of a search": (
        lambda: Search("s", partial(ask_everyone, groups=3), 3).setup(Zipf(1.1, 9), 1.0, 10),
        ["parameters", "groups"],
    ),
    "workers": (lambda: run(SMALL, "x", workers=0), ["workers", "got 0"]),
}


@pytest.mark.parametrize(("mistake", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_explained(mistake, words):
    with pytest.raises(ParameterError) as caught:
        mistake()
    assert all(word in str(caught.value) for word in words), caught.value
