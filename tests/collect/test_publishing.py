"""What is published and what is not: periods, searches, and the command line."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from deniable.collect.analysis.analyst import TooFew, estimate
from deniable.collect.collector import Collector
from deniable.collect.plain_answer import PlainAnswer
from deniable.collect.publication.export import publish_reports
from deniable.collect.publication.publication_folder import MOST_BYTES
from deniable.collect.publication.verification import read_publication, verify_publication
from deniable.collect.storage import tables
from deniable.collect.storage.log import StorageError
from deniable.collect.storage.store import Store
from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.contract.spec import MECHANISMS
from deniable.errors import ParameterError, ProtocolError, WireError
from tests.cli.running import run
from tests.collect.crowd import NOON, envelope, send, survey_task
from tests.collect.publishing import crowd, files_of, opened, resign, sealed, searched

# --- what is not published ---


def test_open_periods_wait_and_few_reports_are_not_shown(tmp_path):
    collector, task = opened(tmp_path / "store", minimum_batch=61)
    assert send(collector, *crowd(task)) == {}
    with pytest.raises(TooFew):
        publish_reports(collector, task.id, tmp_path / "open")
    with pytest.raises(ParameterError, match="0, which is open"):
        publish_reports(collector, task.id, tmp_path / "open", [0])
    with pytest.raises(ParameterError, match="7, which is without reports"):
        publish_reports(collector, task.id, tmp_path / "open", [7])
    sealed(collector, task)
    with pytest.raises(TooFew):
        publish_reports(collector, task.id, tmp_path / "open")
    assert not (tmp_path / "open").exists()
    collector.store.close()


def test_what_was_dropped_and_what_is_there_is_told(tmp_path):
    collector, task = opened(tmp_path / "store")
    assert send(collector, *crowd(task)) == {}
    sealed(collector, task)
    collector.store.drop_reports(collector.store.buckets(task.id)[0].bucket)
    with pytest.raises(ParameterError, match="0, which is dropped"):
        publish_reports(collector, task.id, tmp_path / "open", [0, 1])
    publish_reports(collector, task.id, tmp_path / "open")
    assert {batch.period for batch in verify_publication(tmp_path / "open").batches} == {1}
    with pytest.raises(ParameterError, match="ever overwritten"):
        publish_reports(collector, task.id, tmp_path / "open")
    collector.store.close()


@pytest.mark.parametrize(("name", "fix"), [("manifest.json", "--period"), ("log.json", "deniable estimate")])
def test_what_nobody_could_verify_is_not_written(tmp_path, monkeypatch, name, fix):
    collector, task = opened(tmp_path / "store")
    assert send(collector, *crowd(task)) == {}
    sealed(collector, task)
    monkeypatch.setitem(MOST_BYTES, name, 100)
    with pytest.raises(ParameterError, match=rf"{name} of .* bytes'; allowed: at most 100 bytes.*{fix}"):
        publish_reports(collector, task.id, tmp_path / "open")
    assert not (tmp_path / "open").exists()
    collector.store.close()


def test_reports_that_give_another_count_than_was_sealed_are_not_published(tmp_path):
    collector, task = opened(tmp_path / "store")
    assert send(collector, *crowd(task)) == {}
    sealed(collector, task)
    with collector.store.catalog.writing() as connection:
        image = connection.execute(tables.tally.select().where(tables.tally.c.question == 1)).first().image
        connection.execute(tables.tally.update().where(tables.tally.c.question == 1).values(image=image))
    with pytest.raises(StorageError, match="rebuild"):
        publish_reports(collector, task.id, tmp_path / "open")
    collector.store.close()


def test_reports_that_hide_nothing_are_never_published(tmp_path, monkeypatch):
    monkeypatch.setitem(MECHANISMS, PlainAnswer.mechanism, PlainAnswer)
    store = Store.open(tmp_path / "store")
    collector = Collector(store, clock=lambda: NOON)
    task = survey_task(collector.registry.key)
    collector.publish(task)
    assert send(collector, *(envelope(task, value) for value in range(5))) == {}
    collector.seal(task.id, 0)
    with pytest.raises(ParameterError, match="privatized on the device"):
        publish_reports(collector, task.id, tmp_path / "open")
    store.close()


# --- searches ---


def test_a_search_is_done_again_round_by_round(tmp_path):
    collector, task = searched(tmp_path / "store", rounds=2)
    publish_reports(collector, task.id, tmp_path / "open")
    told = json.loads((tmp_path / "open" / "estimates.json").read_text())
    assert told == json.loads(json.dumps(estimate(collector, task.id).to_json()))
    found = verify_publication(tmp_path / "open", task=task.id)
    assert len(found.states) == 2
    rounds = parse_canonical((tmp_path / "open" / "rounds.json").read_bytes())
    swapped = replace(found, states=(found.states[0], found.states[0]))
    with pytest.raises(ProtocolError, match="round 1"):
        swapped.answer()
    for change, words in (({"signature": rounds[0]["signature"]}, "signature"), ({"state": rounds[0]["state"]}, "round of its state")):
        (tmp_path / "open" / "rounds.json").write_bytes(canonical_json([rounds[0], rounds[1] | change]))
        resign(tmp_path / "open", collector.store.signing_key())
        with pytest.raises(WireError, match=rf"^rounds\.json.*{words}"):
            read_publication(tmp_path / "open")
    collector.store.close()


def test_a_search_that_is_not_over_is_not_published(tmp_path):
    collector, task = searched(tmp_path / "store", rounds=1)
    with pytest.raises(ParameterError, match="1, which is"):
        publish_reports(collector, task.id, tmp_path / "open")
    with pytest.raises(ParameterError, match="one result"):
        publish_reports(collector, task.id, tmp_path / "open", [0])
    collector.seal(task.id, 1)  # with nobody in it
    with pytest.raises(TooFew):
        publish_reports(collector, task.id, tmp_path / "open")
    collector.store.close()


def test_a_search_that_was_given_up_is_not_published(tmp_path):
    collector, task = searched(tmp_path / "store", rounds=1, advance=False)
    collector.close_task(task.id)
    with pytest.raises(ProtocolError, match=r"round 1.*all rounds"):
        publish_reports(collector, task.id, tmp_path / "open")
    assert not (tmp_path / "open").exists()
    collector.store.close()


# --- the command line ---


def test_export_and_verify_on_the_command_line(tmp_path):
    collector, task = opened(tmp_path / "store")
    assert send(collector, *crowd(task)) == {}
    sealed(collector, task)
    publish_reports(collector, task.id, tmp_path / "expected")
    collector.store.close()
    store, folder = tmp_path / "store", tmp_path / "open"
    refused = run("export", task.name, "--store", store, "--out", folder, status=2)
    assert "--open" in refused.stderr
    assert "--store" in run("export", task.name, "--open", "--store", tmp_path / "none", "--out", folder, status=2).stderr
    told = run("export", task.id.hex()[:8], "--open", "--store", store, "--out", folder).stdout
    assert "660 reports in 11 files" in told
    assert "1 batches" in told
    assert files_of(folder) == files_of(tmp_path / "expected")
    shutil.rmtree(store)
    told = run("verify", folder).stdout
    assert task.id.hex() in told
    assert "--task" in told
    assert "another publication" in run("verify", folder, "--task", "00" * 32, status=1).stderr
    assert "folder" in run("verify", tmp_path / "none", status=2).stderr
