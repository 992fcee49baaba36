"""Experiments that are run: one tidy file, in parallel or not, and runs that are killed and go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from deniable.errors import ParameterError, ProtocolError, WireError
from deniable.lab.declared import experiment_from_toml
from deniable.lab.results import SCHEMA
from deniable.lab.runner import run
from tests.lab.runs import SMALL, columns
from tests.lab.searches import Failing


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
    results.chart(title="A title of its own").save(tmp_path / "small.svg")
    assert "A title of its own" in (tmp_path / "small.svg").read_text()
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


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What a run gives that nobody stopped."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "long.toml").write_text(LONG)
    run(experiment_from_toml(folder / "long.toml"), folder, workers=1)
    return (folder / "long.parquet").read_bytes()


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for child processes in /proc")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_run_goes_on_and_leaves_nobody_behind(how, whole, tmp_path):
    """kill -9 in the middle of a parallel run of the real command: its workers end, and the next run gives the same file."""
    (tmp_path / "long.toml").write_text(LONG)
    process = subprocess.Popen(
        [Path(sys.executable).parent / "deniable", "lab", "run", "long.toml", "--workers", "2", "--json", "--out", "killed"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=heed_interruptions,  # noqa: PLW1509  # there are no threads here
    )
    parts = tmp_path / "killed" / "long.parts"
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and len(list(parts.glob("[!.]*.parquet")) if parts.is_dir() else []) < 3:
        assert process.poll() is None, process.stderr.read().decode()
        time.sleep(0.01)
    children = [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
    if how == signal.SIGINT:
        os.killpg(process.pid, how)  # a terminal tells them all
        assert "measurements are kept" in " ".join(process.communicate()[1].decode().split())
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
    run(experiment_from_toml(tmp_path / "long.toml"), tmp_path / "killed", workers=1)
    assert (tmp_path / "killed" / "long.parquet").read_bytes() == whole
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
    failing = replace(SMALL, mechanisms=[Failing()], metrics=["ndcg"])
    for workers in (1, 2):
        with pytest.raises(ProtocolError, match="always fails") as caught:
            run(failing, tmp_path, workers=workers)
        if workers == 1:
            assert "in the cell bad on Zipf(1.1, 16), epsilon = 1" in caught.value.__notes__[0]


def test_a_foreign_file_is_not_overwritten(tmp_path):
    (tmp_path / "small.parquet").write_bytes(b"mine")
    with pytest.raises(WireError, match="move the file away"):
        run(SMALL, tmp_path, workers=1)
    pl.DataFrame({"mine": [1]}).write_parquet(tmp_path / "small.parquet")
    with pytest.raises(WireError, match="columns"):
        run(SMALL, tmp_path, workers=1)
