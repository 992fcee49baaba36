"""Reports as a dataset: the engines count in its files what the collector sealed, byte for byte, wherever they lie."""

from __future__ import annotations

import fsspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from deniable.collect.plain_answer import PlainAnswer
from deniable.collect.publication.dataset import FILE, export_dataset
from deniable.collect.storage.block import total
from deniable.contract.spec import MECHANISMS
from deniable.engines import local
from deniable.errors import ParameterError
from tests.cli.running import run
from tests.collect.crowd import send, survey_task
from tests.collect.publishing import SPECS, crowd, files_of, opened, sealed, searched


def sealed_tallies(collector, task):
    return collector.store.tallies(task.id, [0, 1])


def test_engines_count_what_was_sealed(tmp_path):
    """Each batch by its folders, each question over all periods and strata by a pattern: small batches too, and nothing but reports."""
    collector, task = opened(tmp_path / "store")
    assert send(collector, *crowd(task)) == {}
    sealed(collector, task)
    written = export_dataset(collector, task.id, tmp_path / "data")
    tallies = sealed_tallies(collector, task)
    assert (written.reports, len(written.batches)) == (665, 12) == (sum(tally.n for tally in tallies.values()), len(tallies))
    base = tmp_path / "data" / f"task={task.id.hex()}"
    assert set(files_of(base)) == {f"period={p}/question={q}/stratum={s}/{FILE}" for p, q, s in tallies}
    for (period, place, stratum), tally in tallies.items():
        assert local.tally(base / f"period={period}/question={place}/stratum={stratum}").to_bytes() == tally.to_bytes()
    for place, question in enumerate(task.survey.questions):
        counted = local.tally(f"{base}/period=*/question={place}", question.spec)
        assert counted.to_bytes() == total(question, place, tallies).to_bytes()
    table = pq.read_table(base / "period=0/question=0/stratum=0" / FILE, partitioning=None)
    assert table.schema.names == ["symbol"]
    assert np.all(np.diff(table.column("symbol").to_numpy().byteswap().astype(int)) >= 0)  # by content, and not as they came
    collector.store.close()


def test_exports_agree_wherever_and_whenever_they_are_made(tmp_path):
    """A period at a time, again, to an object store's interface and to a file system of pyarrow's: one dataset, without leftovers."""
    collector, task = opened(tmp_path / "store")
    assert send(collector, *crowd(task)) == {}
    collector.seal(task.id, 0)
    memory = fsspec.filesystem("memory")
    target = f"memory://exports-{task.id.hex()}"
    assert {batch.period for batch in export_dataset(collector, task.id, target).batches} == {0}  # the other is open, and waits
    with pytest.raises(ParameterError, match="1, which is open"):
        export_dataset(collector, task.id, target, [1])
    collector.seal(task.id, 1)
    export_dataset(collector, task.id, target, [1])
    export_dataset(collector, task.id, target)
    export_dataset(collector, task.id, ("data", SubTreeFileSystem(str(tmp_path), LocalFileSystem())))
    found = {path.partition("task=")[2]: memory.cat(path) for path in memory.find(target)}
    folder = tmp_path / "data" / f"task={task.id.hex()}"
    assert found == {f"{task.id.hex()}/{name}": data for name, data in files_of(folder).items()}
    assert len(found) == 12
    (again,) = {local.tally(f"{place}/task=*/period=*/question=1").to_bytes() for place in (target, tmp_path / "data")}
    assert again == total(task.survey.questions[1], 1, sealed_tallies(collector, task)).to_bytes()
    memory.rm(target, recursive=True)
    with pytest.raises(ParameterError, match="wildcards"):
        export_dataset(collector, task.id, tmp_path / "*")
    collector.store.close()


def test_one_question_needs_no_further_folder_and_a_search_has_its_rounds(tmp_path):
    collector, task = opened(tmp_path / "store")
    plain = survey_task(collector.registry.key, SPECS[0], name="plain")
    collector.publish(plain)
    assert send(collector, *(sent._replace(task=plain.id) for sent in crowd(task)[:60])) == {}
    collector.seal(plain.id, 0)
    export_dataset(collector, plain.id, tmp_path / "data")
    collector.store.close()
    assert set(files_of(tmp_path / "data")) == {f"task={plain.id.hex()}/period=0/{FILE}"}
    searching, search = searched(tmp_path / "search", rounds=1)  # the second round is open
    export_dataset(searching, search.id, tmp_path / "data")
    counted = local.tally(tmp_path / "data" / f"task={search.id.hex()}" / "period=0" / "question=0")
    assert counted == searching.store.tallies(search.id, [0])[0, 0, 0]
    searching.store.close()


def test_what_was_in_the_clear_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setitem(MECHANISMS, PlainAnswer.mechanism, PlainAnswer)
    collector, _ = opened(tmp_path / "store")
    clear = survey_task(collector.registry.key, name="clear")
    collector.publish(clear)
    with pytest.raises(ParameterError, match="privatized on the device"):
        export_dataset(collector, clear.id, tmp_path / "data")
    collector.store.close()


def test_export_on_the_command_line(tmp_path):
    collector, task = opened(tmp_path / "store")
    assert send(collector, *crowd(task)) == {}
    sealed(collector, task)
    export_dataset(collector, task.id, tmp_path / "expected", [1])
    collector.store.close()
    common = "export", task.name, "--store", tmp_path / "store", "--out"
    assert "both" in run(*common, tmp_path / "data", "--open", "--dataset", status=2).stderr
    assert "copy the whole folder" in run(*common, "s3://bucket/open", "--open", status=2).stderr
    told = run(*common, tmp_path / "data", "--dataset", "--period", "1").stdout
    assert "305 reports in 6 files, 1 periods" in told
    assert files_of(tmp_path / "data") == files_of(tmp_path / "expected")
