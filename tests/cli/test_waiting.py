"""Commands that wait say at once what for and until when; commands that read a folder refuse one that is not theirs."""

from __future__ import annotations

import re
import socket

import pytest

from deniable.client.transport import Response, TransportError
from deniable.collect.sums.participation import insist, patient
from deniable.collect.sums.party_folder import PartyFolder
from deniable.contract.notice import SHUFFLER
from deniable.sealing.keys import KeyRing
from tests.cli.running import Started, run
from tests.system.load import wait_for

UNTIL = r"until \d{4}-\d\d-\d\d \d\d:\d\d UTC"


def test_a_party_says_at_once_that_its_aggregator_is_dead(tmp_path):
    PartyFolder(tmp_path / "party").make_identity()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    started = Started("party", "run", "--folder", tmp_path / "party", "--url", url, "--sum", "00")
    try:
        wait_for(lambda: "trying again" in started.errors)  # of an hour
    finally:
        said = started.kill()
    assert re.search(f"asking {url} for the terms, {UNTIL}", said)
    assert re.search(rf"no answer from the aggregator \(Connection refused\): trying again {UNTIL}", said)


def test_an_outage_is_told_once_and_so_is_its_end():
    said, answers = [], iter([OSError(), OSError(), Response(503, {}, b""), Response(200, {}, b""), Response(200, {}, b"")])

    def request():
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    retries = patient(60, say=said.append, sleep=lambda _: None)
    assert insist(retries, request).status == 200
    assert re.fullmatch(rf"no answer from the aggregator \(OSError\): trying again {UNTIL}", said[0])
    assert said[1:] == ["the aggregator answers"]
    insist(retries, request)
    assert len(said) == 2


@pytest.mark.parametrize("command", [["task", "list"], ["party", "terms"], ["shuffle", "--folder", "shuffler", "--task", "ab" * 32]])
def test_whoever_waits_for_a_server_that_does_not_answer_says_so(command, tmp_path):
    KeyRing(tmp_path / "shuffler", SHUFFLER).rotate(0.0, 3600)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        address = ["--collector", url, "--port", "0"] if command[0] == "shuffle" else ["--url", url]
        started = Started(*command, *address, cwd=tmp_path)
        try:
            wait_for(lambda: "waiting for" in started.errors)
        finally:
            said = started.kill()
    assert re.search(f"waiting for .*{re.escape(url)}, {UNTIL}", said)


@pytest.mark.parametrize(
    ("command", "named"),
    [
        (["party", "sums"], "party keys"),
        (["shuffle", "keys", "rotate"], "shuffle keys create"),
        (["shuffle", "keys", "show"], "shuffle keys create"),
        (["aggregate", "show"], "aggregate create"),
        (["shuffle", "--collector", "http://127.0.0.1:1"], "shuffle keys create"),
    ],
)
@pytest.mark.parametrize("there", [False, True])
def test_a_folder_that_is_not_the_right_one_is_refused(command, named, there, tmp_path):
    folder = tmp_path / "misspelled"
    if there:
        folder.mkdir()
    told = run(*command, "--folder", folder, status=2)
    assert "--folder" in told.stderr
    assert named in told.stderr
    assert told.stdout == ""
    assert folder.exists() == there
    assert not there or list(folder.iterdir()) == []


def test_patience_bounds_every_attempt():
    """The last one, too: an aggregator that takes the connection and says nothing does not hold a party any longer."""
    now, bounds = [0.0], []

    def request():
        now[0] += bounds[-1]  # a server that never answers
        raise TimeoutError

    retries = patient(60, bound=bounds.append, sleep=lambda seconds: now.__setitem__(0, now[0] + seconds), clock=lambda: now[0])
    with pytest.raises(TransportError, match="TimeoutError"):
        insist(retries, request)
    assert bounds == [60]
    assert now == [60]


def test_a_party_gives_up_when_it_said_that_it_would(tmp_path):
    PartyFolder(tmp_path / "party").make_identity()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        told = run("party", "run", "--folder", tmp_path / "party", "--url", url, "--sum", "00", "--patience", "1", status=2)
    assert "an aggregator that answers" in told.stderr


@pytest.mark.parametrize("command", [["token", "list"], ["serve", "--port", "0"]])
def test_whoever_waits_for_a_database_says_so(command, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"postgresql://me:secret@127.0.0.1:{silent.getsockname()[1]}/store"
        started = Started(*command, "--store", address, cwd=tmp_path)
        try:
            wait_for(lambda: "waiting for" in started.errors)
        finally:
            said = started.kill()
    assert re.search(f"waiting for the database, {UNTIL}", said)
    assert "secret" not in said


def test_a_new_store_is_made_in_no_folder_of_something_else(tmp_path):
    (tmp_path / "thesis.txt").write_text("my own")
    told = run("token", "add", "me", "--role", "analyst", "--store", tmp_path, status=2)
    assert "--store" in told.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("command", [["rebuild"], ["token", "list"], ["export", "t", "--open", "--out", "out"]])
def test_an_empty_database_is_no_store(command, tmp_path, postgres_address):
    assert "--store" in run(*command, "--store", postgres_address, status=2, cwd=tmp_path).stderr
