"""Open publication: anyone can count again without the collector, nothing tells whose a report is, and a changed byte is named."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

from deniable.collect.analysis.analyst import ReportSelection, estimate
from deniable.collect.publication.export import publish_reports
from deniable.collect.publication.verification import _first_difference, _scale, read_publication, verify_publication
from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.core.tally import Tally
from deniable.errors import WireError
from deniable.sealing.identity import public_key
from deniable.testing import ReplaySource
from tests.collect.crowd import envelope, send
from tests.collect.publishing import SEED, SPECS, changes_of, crowd, files_of, opened, resign, sealed

SERVER = ("sqlalchemy", "starlette", "uvicorn", "msgspec", "prometheus_client", "psycopg")


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A folder as published, the reports that were sent, and what the collector itself says about the batches that are shown."""
    folder = tmp_path_factory.mktemp("published")
    collector, task = opened(folder / "store")
    sent = crowd(task)
    assert send(collector, *sent) == {}
    sealed(collector, task)
    publish_reports(collector, task.id, folder / "open")
    tallies = collector.tallies(task.id)
    collector.store.close()
    return folder / "open", task, sent, tallies


@pytest.fixture
def copy(published, tmp_path):
    shutil.copytree(published[0], tmp_path / "copy")
    return tmp_path / "copy"


def test_tallies_counted_again_are_the_collectors(published):
    folder, task, sent, tallies = published
    found = verify_publication(folder, task=task.id)
    assert found.tallies == {address: tally for address, tally in tallies.items() if tally.n >= task.minimum_batch}
    assert len(found.batches) == 11
    assert found.withheld == 1
    assert found.reports == len(sent) - 5
    assert all(isinstance(tally, Tally) for tally in read_publication(folder).tallies.values())


def test_estimates_are_the_collectors_own(tmp_path):
    collector, task = opened(tmp_path / "store", minimum_batch=1)
    assert send(collector, *crowd(task)) == {}
    sealed(collector, task)
    publish_reports(collector, task.id, tmp_path / "open")
    told = json.loads((tmp_path / "open" / "estimates.json").read_text())
    assert told == json.loads(json.dumps(estimate(collector, task.id, ReportSelection((0, 1))).to_json()))
    publish_reports(collector, task.id, tmp_path / "first", [0])
    assert json.loads((tmp_path / "first" / "estimates.json").read_text())["answers"][0]["estimate"]["n"] == 120
    assert {batch.period for batch in verify_publication(tmp_path / "first").batches} == {0}
    collector.store.close()


def test_a_copy_verifies_where_there_is_no_server(copy, published):
    """In another process, with every package of the server taken away."""
    code = f"import sys; sys.modules.update(dict.fromkeys({SERVER!r})); from deniable.cli import main; main()"

    def verified(*arguments):
        return subprocess.run([sys.executable, "-c", code, "verify", *map(str, arguments)], capture_output=True, text=True, check=False)

    task = published[1]
    done = verified(copy, "--task", task.id.hex(), "--json")
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert (content["task"], content["key"], content["reports"]) == (task.id.hex(), public_key(SEED).hex(), 660)
    file = copy / "reports" / "1-1-0.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 4
    file.write_bytes(data)
    done = verified(copy)
    assert done.returncode == 1
    assert "reports/1-1-0.parquet" in done.stderr
    assert "Traceback" not in done.stderr


def test_every_byte_of_the_manifest_counts(copy):
    file = copy / "manifest.json"
    data = file.read_bytes()
    for place in range(len(data)):
        file.write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
        with pytest.raises(WireError, match=r"^manifest\.json"):
            read_publication(copy)
    file.write_bytes(data)
    verify_publication(copy)


def test_a_changed_byte_of_any_file_is_named(copy):
    for name, data in files_of(copy).items():
        for place in {*range(0, len(data), max(1, len(data) // 12)), len(data) - 1}:
            (copy / name).write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
            with pytest.raises(WireError) as caught:
                verify_publication(copy)
            assert caught.value.parameter == name
        for changed in (data[:-1], data + b"\0", b""):
            (copy / name).write_bytes(changed)
            with pytest.raises(WireError) as caught:
                verify_publication(copy)
            assert caught.value.parameter == name
        (copy / name).unlink()
        with pytest.raises(WireError) as caught:
            verify_publication(copy)
        assert caught.value.parameter == name
        (copy / name).write_bytes(data)
    (copy / "reports" / "more.parquet").write_bytes(b"")
    with pytest.raises(WireError, match=r"^reports/more\.parquet.*manifest"):
        verify_publication(copy)


def test_nothing_tells_whose_a_report_is(published):
    """No id in any file, in bytes, hex or text; no time; the columns are the report's and nothing else."""
    folder, _, sent, _ = published
    whole = b"".join(files_of(folder).values())
    tables = {name: pq.read_table(folder / name) for name in files_of(folder) if name.endswith(".parquet")}
    for table in tables.values():
        whole += b"".join(
            buffer.to_pybytes() for column in table.columns for chunk in column.chunks for buffer in chunk.buffers() if buffer
        )
    for each in sent:
        assert each.id not in whole
        assert each.id.hex().encode() not in whole
    for name, table in tables.items():
        spec = SPECS[int(name.split("-")[1])]
        assert table.schema.names == [column.name for column in spec.layout]
        assert set(table.schema.metadata) == {b"deniable"}
    assert [name for name in files_of(folder) if name.startswith("reports/")] == [*tables]


def test_the_order_of_arrival_is_gone(tmp_path):
    """The same reports in another order, under other ids: the same folder, byte for byte."""
    folders = []
    for i, ids in enumerate(("some", "others")):
        collector, task = opened(tmp_path / f"store {i}")
        sent = crowd(task, ids=ids)
        order = np.argsort(ReplaySource.from_key("order").words(len(sent))) if i else np.arange(len(sent))
        for start in range(0, len(sent), 100):
            assert send(collector, *(sent[place] for place in order[start : start + 100])) == {}
        sealed(collector, task)
        publish_reports(collector, task.id, tmp_path / f"open {i}")
        collector.store.close()
        folders.append(files_of(tmp_path / f"open {i}"))
    assert folders[0] == folders[1]


def test_rows_that_begin_or_end_with_zeros_are_sorted_too(tmp_path):
    """Two-byte symbols, among them 0, 1 and 256: as bytes they differ by zeros at either end."""
    collector, task = opened(tmp_path / "store")
    for value in [0, 256, 1, 0, 255, 256, 0] * 9:
        sent = envelope(task, value)
        assert send(collector, sent._replace(payload=value.to_bytes(2, "little"))) == {}
    sealed(collector, task)
    publish_reports(collector, task.id, tmp_path / "open")
    symbols = pq.read_table(tmp_path / "open" / "reports" / "0-0-0.parquet")["symbol"].to_pylist()
    assert symbols == sorted(symbols, key=lambda symbol: symbol.to_bytes(2, "little"))
    assert sorted(symbols) == sorted([0, 256, 1, 0, 255, 256, 0] * 9)
    collector.store.close()


# --- a collector that lies has the key ---


def forge(folder, told):
    """Estimates as a collector that lies would publish them: with its signature."""
    (folder / "estimates.json").write_text(json.dumps(told))
    resign(folder)


def test_signed_estimates_that_do_not_follow_are_named(copy):
    told = json.loads((copy / "estimates.json").read_text())
    counts = told["answers"][1]["estimate"]["columns"]["count"]
    counts[3] += 0.5
    forge(copy, told)
    read_publication(copy)
    with pytest.raises(WireError, match=r"^estimates\.json, answers, 1, estimate, columns, count, 3"):
        verify_publication(copy)
    counts[3] -= 0.5
    told["version"] = "another"
    forge(copy, told)
    verify_publication(copy)


def test_not_a_number_a_text_or_a_flag_of_estimates_can_be_changed(published):
    """Every leaf of the JSON in turn, a little: numbers by a millionth, of all columns and of the law; nothing can be added or left out."""
    answer = read_publication(published[0]).answer()
    scales = list(map(_scale, answer.estimates.values()))
    honest = json.loads(json.dumps(answer.to_json()))
    assert _first_difference(json.loads((published[0] / "estimates.json").read_text()), honest, scales) is None
    seen = dict.fromkeys(("number", "text", "flag", "nothing", "less", "more"), 0)
    for path, kind, wrong in changes_of(honest, 1e-6):
        if path == ("version",):
            continue
        assert _first_difference(wrong, honest, scales) is not None, (path, kind)
        seen[kind] += 1
    assert min(seen.values()) > 5
    for wrong in ({}, [], None, {"answers": {}}, honest | {"answers": honest["answers"][:1]}):
        assert _first_difference(wrong, honest, scales) is not None


def test_reports_that_were_left_out_are_missed(copy):
    """A batch with one report less: its number and tally are signed, and the estimates are of all."""
    file = copy / "reports" / "0-0-0.parquet"
    pq.write_table(pq.read_table(file).slice(0, 59), file, use_dictionary=False)
    resign(copy)
    with pytest.raises(WireError, match=r"^reports/0-0-0\.parquet.*60 reports"):
        read_publication(copy)


def test_rows_out_of_order_are_refused(copy):
    file = copy / "reports" / "0-1-0.parquet"
    table = pq.read_table(file)
    pq.write_table(table.take(list(range(len(table)))[::-1]), file, use_dictionary=False)
    resign(copy)
    with pytest.raises(WireError, match=r"^reports/0-1-0\.parquet.*sorted"):
        read_publication(copy)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"task": "00" * 32}, "version 1, task"),
        ({"version": 2}, "version 1"),
        ({"batches": []}, "each file once"),
        ({"withheld": "1"}, "withheld"),
        ({"files": {"task.json": "", "log.json": "", "estimates.json": "", "../store/collector.sqlite": ""}}, "files of a publication"),
    ],
)
def test_manifests_that_make_no_sense_are_refused(copy, changes, words):
    resign(copy, **changes)
    with pytest.raises(WireError, match=rf"^manifest\.json.*{words}"):
        read_publication(copy)


def test_batches_below_the_minimum_are_refused(copy):
    manifest = parse_canonical((copy / "manifest.json").read_bytes())
    manifest["batches"][0]["reports"] = 39
    resign(copy, batches=manifest["batches"])
    with pytest.raises(WireError, match=r"^manifest\.json.*40 or more"):
        read_publication(copy)


def test_another_task_or_a_log_without_it_is_refused(copy, published):
    with pytest.raises(WireError, match=r"^task\.json.*another publication"):
        verify_publication(copy, task=bytes(32))
    (copy / "log.json").write_bytes(canonical_json([]))
    resign(copy)
    with pytest.raises(WireError, match=r"^log\.json.*entry"):
        read_publication(copy)


def test_a_log_that_was_changed_is_refused_although_the_manifest_is_signed(copy):
    entries = parse_canonical((copy / "log.json").read_bytes())
    entries[0]["signature"] = entries[0]["signature"][::-1]
    (copy / "log.json").write_bytes(canonical_json(entries))
    resign(copy)
    with pytest.raises(WireError, match=r"^log\.json.*signature"):
        read_publication(copy)


def test_a_tally_that_the_reports_do_not_give_is_refused(copy):
    manifest = parse_canonical((copy / "manifest.json").read_bytes())
    manifest["batches"][3]["tally"] = manifest["batches"][2]["tally"]
    resign(copy, batches=manifest["batches"])
    with pytest.raises(WireError, match=r"^reports/0-1-1\.parquet.*another count"):
        read_publication(copy)
