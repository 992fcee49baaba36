"""A collector that dies at any point of a batch: afterwards the batch is there once or not at all, and a resend ends it well."""

from __future__ import annotations

import http.client
import time

import pytest

from deniable.collect.faults import STATUS
from deniable.contract.batch import MEDIA_TYPE
from deniable.contract.notice import ANALYST, read_keys
from deniable.sealing.identity import public_key
from tests.collect.mixing import SEED, dummies, message, reports, seals
from tests.system.conftest import Server

PEOPLE = 300
TOML = f"""
name = "mixed"
question = "What do you drink?"
owner = "tests"
trust = "shuffle"
epsilon = "auto"
lasts = "1 day"
minimum_batch = {PEOPLE}

[domain]
range = 4

[shuffle]
epsilon = 0.6
shufflers = [{{ url = "http://127.0.0.1:1", key = "{public_key(SEED).hex()}" }}]
"""


def post(server, task, body):
    return server.request("POST", f"/v1/tasks/{task.id.hex()}/batches", body, Content_Type=MEDIA_TYPE)


def key_of(server, task):
    return read_keys(server.get("/v1/keys").body, task.key, time.time(), ANALYST)


def shown(server, task, token):
    """The number of reports and the sizes of the batches behind the answer."""
    told = server.get(f"/v1/tasks/{task.id.hex()}/estimate", token).json
    return told["answers"][0]["estimate"]["n"], told["shuffle"]["sizes"]


@pytest.mark.parametrize(
    ("point", "again"), [("batch begun", True), ("batch begun", False), ("reports durable", False), ("batch recorded", True)]
)
def test_a_batch_survives_the_death_of_its_collector_once(tmp_path, point, again):
    with Server(tmp_path / "collector") as server:
        admin = server.token("admin")
        task = server.task(TOML, admin)
        key = key_of(server, task)
        first, second = (message(task, [*seals(task, reports(task, PEOPLE), key), *dummies(task, 20, key)]) for _ in range(2))
        assert post(server, task, first).status == 201
        server.kill()
        server.fault(f"{point}:1")
        server.start()
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            post(server, task, second)
        assert server.died() == STATUS
        server.fault("")
        server.start()
        if again:
            assert [post(server, task, second).status for _ in range(2)] == [200, 200]
        assert shown(server, task, admin) == (2 * PEOPLE, [PEOPLE, PEOPLE])
        assert post(server, task, first).status == 200
        assert server.seal(task.id, 0, admin).status == 204
        assert shown(server, task, admin) == (2 * PEOPLE, [PEOPLE, PEOPLE])


def test_a_batch_that_is_too_small_leaves_nothing_behind(server):
    admin = server.token("admin")
    task = server.task(TOML, admin)
    key = key_of(server, task)
    small = message(task, [*seals(task, reports(task, PEOPLE - 1), key), *dummies(task, 500, key)])
    answer = post(server, task, small)
    assert (answer.status, answer.code) == (422, "too_few")
    server.restart()
    answer = server.get(f"/v1/tasks/{task.id.hex()}/estimate", admin)
    assert (answer.status, answer.code) == (409, "too_few")
    assert server.send(*reports(task, 1)).json["rejected"][0]["code"] == "shuffled_only"


def test_many_seals_are_opened_by_processes_that_end_with_the_batch(server):
    """More than ``collect.seal_pool.MANY``, most of them dummies, which cost as much to open."""
    admin = server.token("admin")
    task = server.task(TOML, admin)
    key = key_of(server, task)
    sealed = [*seals(task, reports(task, PEOPLE), key), *(dummies(task, 1000, key) * 17)]
    assert post(server, task, message(task, sealed)).status == 201
    assert shown(server, task, admin) == (PEOPLE, [PEOPLE])
