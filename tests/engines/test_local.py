"""The local engine: the same bytes from files of any kind, cut anywhere, killed and resumed; and whole protocols."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs, ipc

import deniable.engines.local as engine
from deniable.client import GRR, OLH, OUE
from deniable.contract.protocol import Protocol
from deniable.contract.survey import Survey
from deniable.core.reports import Reports
from deniable.core.run import run as run_in_memory
from deniable.engines.checkpoint import NAME
from deniable.engines.dataset import Dataset
from deniable.engines.local import run, tally
from deniable.engines.partition import answer, merge_answers
from deniable.errors import MergeError, ParameterError, WireError
from deniable.tasks.heavy_hitters import PEM
from tests.conftest import all_specs, candidates_of, some_values
from tests.engines.conftest import SPECS as EVERY

KINDS = {spec.mechanism: spec for spec in all_specs() if spec.mechanism in ("GRR", "RR", "OUE", "OLH", "HCMS", "RAPPOR")}
"""Integers, bits, bits of fixed size, candidates, several of them, and what is told again and again."""
SYMBOLS = GRR(domain_size=5, epsilon=1.0)


def write(folder, table, name, group=None):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=group)
    else:
        with ipc.new_file(str(path), table.schema) as file:
            file.write_table(table, max_chunksize=group)


def days(folder, count=6, people=300):
    """A file for each day, and the tally of them all."""
    reports = SYMBOLS.privatize(np.arange(count * people) % 5).to_arrow()
    for day in range(count):
        write(folder, reports.slice(day * people, people), f"{day}.parquet")
    return SYMBOLS.tally(Reports.from_arrow(reports))


@pytest.mark.parametrize("name", EVERY)
def test_reports_of_every_mechanism_have_the_bytes_of_one_batch(name, datasets):
    assert tally(datasets[name].folder, candidates=datasets[name].candidates).to_bytes() == datasets[name].image


@pytest.mark.parametrize("spec", KINDS.values(), ids=KINDS)
def test_files_of_every_form_and_cut_have_the_tally_of_one_batch(spec, tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "BYTES", 150 * sum(column.row_bytes for column in spec.layout))  # several partitions of each file
    reports = spec.privatize(some_values(spec, 1003))
    table, candidates = reports.to_arrow(), candidates_of(spec)
    whole = spec.tally(reports, candidates=candidates).to_bytes()
    write(tmp_path, table.slice(0, 400), "a.parquet", group=67)
    write(tmp_path, table.slice(400, 0), "b.parquet")
    write(tmp_path, table.slice(400, 401), "c/d.parquet")  # one group, of more rows than are read at a time
    write(tmp_path, table.slice(801), "c/e.arrow", group=67)
    write(tmp_path, table, "_temporary/f.parquet")
    told = []
    assert tally(tmp_path, candidates=candidates, progress=lambda *each: told.append(each)).to_bytes() == whole
    assert told[-1] == (1003, 1003)
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert len(told) == 6  # three of a, one of d, two of e
    elsewhere = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())  # read as a remote file system is: by pyarrow
    assert tally((".", elsewhere), spec, candidates=candidates).to_bytes() == whole


def test_a_dataset_is_a_file_a_folder_a_pattern_or_a_url(tmp_path, monkeypatch):
    whole = days(tmp_path)
    write(tmp_path, GRR(domain_size=6, epsilon=1.0).privatize([0]).to_arrow(), "other/6.parquet")
    (tmp_path / "notes.txt").write_text("not rows")
    assert tally(f"{tmp_path}/[0-5].parquet") == tally(f"file://{tmp_path}/?.parquet") == whole
    assert tally(tmp_path / "0.parquet").n == 300
    assert Dataset.open(tmp_path).rows == Dataset.open(f"{tmp_path}/*").rows == 1801
    monkeypatch.chdir(tmp_path)
    assert tally("*.parquet") == whole
    assert tally("o*").n == 1
    remote = fsspec.filesystem("memory")
    remote.put(f"{tmp_path}/", "/reports/", recursive=True)
    assert tally("memory://reports/*.parquet") == tally(("/reports/*.parquet", remote)) == tally(("reports/*.parquet", remote)) == whole
    assert tally(("/?.parquet", fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()))) == whole
    for nothing in (tmp_path / "notes.txt", "none/here", f"{tmp_path}/*.arrow", "memory://none", "gopher://reports", "", 7):
        with pytest.raises(ParameterError, match="dataset"):
            tally(nothing)


def test_what_is_not_a_report_is_refused_with_its_file(tmp_path):
    days(tmp_path)
    other = GRR(domain_size=5, epsilon=2.0)
    with pytest.raises(WireError, match=r"0\.parquet.*count reports of each spec separately"):
        tally(tmp_path, other)
    write(tmp_path, other.privatize([0, 1]).to_arrow(), "5.parquet")
    with pytest.raises(WireError, match=r"5\.parquet.*each spec separately"):
        tally(tmp_path)
    write(tmp_path, pa.table({"symbol": pa.array([0, 5], pa.uint8())}), "5.parquet")
    with pytest.raises(WireError, match=r"5\.parquet.*pass the spec"):
        tally(tmp_path)
    with pytest.raises(WireError, match=r"5\.parquet, symbol: got 5"):
        tally(tmp_path, SYMBOLS)
    write(tmp_path, pa.table({"sign": [True]}), "5.parquet")
    with pytest.raises(WireError, match=r"5\.parquet: got \['sign'\]"):
        tally(tmp_path, SYMBOLS)
    (tmp_path / "5.parquet").write_bytes((tmp_path / "4.parquet").read_bytes()[:-9])
    with pytest.raises(WireError, match=r"5\.parquet.*a Parquet or Arrow file"):
        tally(tmp_path)


def test_a_tally_that_is_killed_goes_on_where_it_was(tmp_path):
    """Killed while it tells of the third of six partitions."""
    whole = days(tmp_path / "reports")
    code = "import sys, deniable.engines.local as e; e.tally(sys.argv[1], resume=sys.argv[2], progress=lambda *_: input(_))"
    command = [sys.executable, "-c", code, str(tmp_path / "reports"), str(tmp_path / "state")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        os.set_blocking(child.stdout.fileno(), True)
        child.stdin.write(b"\n\n")
        child.stdin.flush()
        seen = b""
        while b"(900, 1800)" not in seen:
            seen += os.read(child.stdout.fileno(), 100)
        child.send_signal(signal.SIGKILL)
    assert child.returncode == -signal.SIGKILL
    told = []
    assert tally(tmp_path / "reports", resume=tmp_path / "state", progress=lambda *each: told.append(each)).to_bytes() == whole.to_bytes()
    assert told[-1] == (1800, 1800)
    assert told[0][0] > 300  # the first is always saved, each of the others soon
    assert tally(tmp_path / "reports", resume=str(tmp_path / "state"), progress=pytest.fail) == whole


def test_what_was_begun_is_not_finished_with_anything_else(tmp_path):
    days(tmp_path / "reports", count=2)
    tally(tmp_path / "reports", resume=tmp_path / "state")
    write(tmp_path, SYMBOLS.privatize(np.zeros(300, int)).to_arrow(), "reports/1.parquet")  # as many reports, in as many bytes
    with pytest.raises(ParameterError, match="unchanged"):
        tally(tmp_path / "reports", resume=tmp_path / "state")
    bare = pq.read_table(tmp_path / "reports/0.parquet").replace_schema_metadata()
    write(tmp_path / "bare", bare, "0.parquet")
    with pytest.raises(MergeError, match="epsilon"):
        tally(tmp_path / "bare", GRR(domain_size=5, epsilon=2.0), resume=tmp_path / "state")
    hashed = OLH(domain_size=9, epsilon=1.0)
    write(tmp_path, hashed.privatize([1, 2]).to_arrow(), "hashed.parquet")
    tally(tmp_path / "hashed.parquet", candidates=[1, 2], resume=tmp_path / "other")
    with pytest.raises(MergeError, match="candidates"):
        tally(tmp_path / "hashed.parquet", candidates=[1, 3], resume=tmp_path / "other")
    saved = bytearray((tmp_path / "other" / NAME).read_bytes())
    saved[70] ^= 1
    (tmp_path / "other" / NAME).write_bytes(saved)
    with pytest.raises(WireError, match="start again"):
        tally(tmp_path / "hashed.parquet", candidates=[1, 2], resume=tmp_path / "other")


def test_another_cut_of_the_same_files_is_another_sum(tmp_path, monkeypatch):
    """As many partitions as before, cut elsewhere: as a release does that holds more at a time."""
    with pq.ParquetWriter(tmp_path / "0.parquet", SYMBOLS.privatize([0]).to_arrow().schema) as file:
        for people in (3, 1, 1):
            file.write_table(SYMBOLS.privatize(np.zeros(people, int)).to_arrow())
    before, after = ([part.rows for part in Dataset.open(tmp_path).partitions(rows)] for rows in (4, 3))
    assert (before, after) == ([4, 1], [3, 2])
    monkeypatch.setattr(engine, "BYTES", 4)
    assert tally(tmp_path, resume=tmp_path / "state").n == 5
    monkeypatch.setattr(engine, "BYTES", 3)
    with pytest.raises(ParameterError, match="start again"):
        tally(tmp_path, resume=tmp_path / "state")


@pytest.mark.parametrize("spec", [SYMBOLS, OUE(domain_size=9, epsilon=1.0)], ids=["by Polars", "by pyarrow"])
@pytest.mark.parametrize("people", [40, 400], ids=["shrunk", "grown"])
def test_a_file_that_changes_while_it_is_counted_is_refused(spec, people, tmp_path):
    write(tmp_path, spec.privatize(np.zeros(100, int)).to_arrow(), "0.parquet")
    found = Dataset.open(tmp_path)
    write(tmp_path, spec.privatize(np.zeros(people, int)).to_arrow(), "0.parquet")
    with pytest.raises(WireError, match=r"0\.parquet: got 'a file that was changed'"):
        tally(found)


def test_a_folder_keeps_one_run_at_a_time(tmp_path):
    whole = days(tmp_path / "reports", count=2)
    refused = []

    def again(*_):
        with pytest.raises(ParameterError, match="no other run") as error:
            tally(tmp_path / "reports", resume=tmp_path / "state")
        refused.append(error)
        raise LookupError

    with pytest.raises(LookupError):
        tally(tmp_path / "reports", resume=tmp_path / "state", progress=again)
    assert refused
    assert tally(tmp_path / "reports", resume=tmp_path / "state") == whole  # the folder was let go


def test_a_protocol_over_files_is_that_over_their_partitions(tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "PEOPLE", 4000)
    crowd = np.minimum(np.random.default_rng(5).geometric(0.3, 20_000), 255)
    write(tmp_path, pa.table({"code": crowd[:15_000]}), "a.parquet", group=3000)
    write(tmp_path, pa.table({"code": crowd[15_000:]}), "b.arrow")
    protocol, key, told = PEM(bits=8, k=4, epsilon=4.0), b"k" * 32, []
    found = run(protocol, tmp_path, "code", key=key, progress=lambda *each: told.append(each))
    state = protocol
    cuts = [*np.split(crowd[:15_000], 5), crowd[15_000:]]
    while isinstance(state, Protocol):
        state = state.close(merge_answers(answer(state, values, key=key, partition=number) for number, values in enumerate(cuts)))
    assert repr(found) == repr(state)
    assert told[5] == (20_000, 20_000)
    assert len(told) % 6 == 0
    ours, memory = run(protocol, tmp_path, "code"), run_in_memory(protocol, crowd, source=None, progress=None)
    assert set(ours.top(2).values) == set(memory.top(2).values)


def test_a_survey_of_several_columns(tmp_path):
    survey = Survey.of(drink=GRR(domain_size=3, epsilon=9.0), age=GRR(domain_size=4, epsilon=9.0))
    table = pa.table({"drink": np.arange(4000) % 3, "age": np.arange(4000) % 4, "name": ["x"] * 4000})
    write(tmp_path, table, "a.parquet", group=1000)
    found = run(survey, tmp_path, ["age", "drink"])
    assert {name: estimate.counts.size for name, estimate in found.items()} == {"drink": 3, "age": 4}
    assert sum(estimate.n for estimate in found.values()) == 4000
    with pytest.raises(WireError, match="columns that the file has"):
        run(survey, tmp_path, ["drink", "height"])
    write(tmp_path, table.slice(0, 0), "a.parquet")
    with pytest.raises(ParameterError, match="one person or more"):
        run(survey, tmp_path, ["age", "drink"])
