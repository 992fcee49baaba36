"""Batches over HTTP: signed before they are read, answered when they are durable, refused with a code and without a trace."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from deniable.collect.server import Service
from deniable.collect.settings import Settings
from deniable.collect.storage.log import StorageError
from deniable.collect.web import batches as module
from deniable.contract.batch import MEDIA_TYPE
from deniable.contract.notice import ANALYST, read_keys
from deniable.errors import WireError
from tests.collect.asgi import PATIENCE, Answer, pieces, silence
from tests.collect.crowd import NOON, survey_task
from tests.collect.mixing import (
    MINIMUM,
    OTHER_SEED,
    analyst_key,
    count,
    drink,
    dummies,
    message,
    opened,
    published,
    reports,
    seals,
    shuffle_task,
)


class Site:
    """A whole service without sockets, with a task of shuffle trust."""

    def __init__(self, folder):
        self.service = Service(Settings(store=str(folder)), clock=lambda: float(NOON))
        self.collector = self.service.collector
        self.task = published(self.collector)
        self.notice = analyst_key(self.collector, self.task)

    def sealed(self, number=MINIMUM):
        return seals(self.task, reports(self.task, number), self.notice)

    def request(self, method, path, receive, headers):
        sent = []

        async def send(part):
            sent.append(part)

        async def run():
            named = [(name.encode(), value.encode()) for name, value in headers.items()]
            scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": named, "path_params": {}}
            async with asyncio.timeout(PATIENCE):
                await self.service(scope, receive, send)

        asyncio.run(run())
        if not sent:
            return None
        found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], found, b"".join(part.get("body", b"") for part in sent[1:]))

    def post(self, body, *, task=None, kind=MEDIA_TYPE, chunks=None, **headers):
        receive = pieces(chunks if chunks is not None else [body])
        path = f"/v1/tasks/{(task or self.task).id.hex()}/batches"
        return self.request("POST", path, receive, {"content-type": kind} | headers)

    def get(self, path):
        return self.request("GET", path, pieces([b""]), {})

    def outcomes(self):
        lines = self.get("/metrics").body.decode().splitlines()
        told = (line.split('"') for line in lines if line.startswith("deniable_batches_total"))
        return {name: int(float(number)) for _, name, number in ((a, b, c.removeprefix("}")) for a, b, c in told) if float(number)}


@pytest.fixture
def mixed(tmp_path):
    site = Site(tmp_path / "store")
    yield site
    site.collector.store.close()


def test_a_batch_is_durable_when_it_is_answered_and_may_come_again(mixed):
    body = message(mixed.task, mixed.sealed())
    answers = [mixed.post(body), mixed.post(body), mixed.post(b"", chunks=[body[at : at + 1000] for at in range(0, len(body), 1000)])]
    named = {"batch": opened(body).manifest.batch.hex()}  # whoever sent it deletes it only for an answer that names it
    assert [(answer.status, json.loads(answer.body)) for answer in answers] == [(201, named), (200, named), (200, named)]
    assert {answer.headers["content-type"] for answer in answers} == {"application/json"}
    assert count(mixed.collector, mixed.task) == MINIMUM
    assert mixed.outcomes() == {"taken": 1, "repeated": 2}


def test_keys_are_served_to_every_origin(mixed):
    answer = mixed.get("/v1/keys")
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (200, "*")
    assert read_keys(answer.body, mixed.task.key, NOON, ANALYST) == mixed.notice
    with pytest.raises(WireError):
        read_keys(answer.body.replace(b'"signature": "', b'"signature": "00', 1), mixed.task.key, NOON, ANALYST)


def test_what_nobody_may_hand_in_is_refused_with_a_code(mixed):
    task, sealed = mixed.task, mixed.sealed()
    altered = bytearray(message(task, sealed))
    altered[-1] ^= 1
    other = replace(task, name="other")
    local = survey_task(mixed.collector.registry.key, drink(), name="local")
    mixed.collector.publish(other)
    mixed.collector.publish(local)
    good = message(task, sealed)
    told = {
        "forged": mixed.post(message(task, sealed, seed=OTHER_SEED)),
        "altered": mixed.post(bytes(altered)),
        "cut short": mixed.post(good[:-1]),
        "too long": mixed.post(good + b"\0"),
        "no manifest": mixed.post(b"\0" * 100),
        "nothing": mixed.post(b""),
        "another task's": mixed.post(good, task=other),
        "a local task's": mixed.post(good, task=local),
        "an unknown task's": mixed.post(good, task=shuffle_task(bytes(32))),
        "dummies alone": mixed.post(message(task, dummies(task, MINIMUM, mixed.notice))),
        "few": mixed.post(message(task, sealed[:-1])),
        "another type": mixed.post(good, kind="application/json"),
        "encoded": mixed.post(good, **{"content-encoding": "gzip"}),
        "large": mixed.post(message(task, sealed, count=1 << 17, size=1 << 16)),
    }
    assert {name: (answer.status, answer.code) for name, answer in told.items()} == {
        "forged": (403, "bad_signature"),
        "altered": (400, "malformed"),
        "cut short": (400, "malformed"),
        "too long": (400, "malformed"),
        "no manifest": (400, "malformed"),
        "nothing": (400, "malformed"),
        "another task's": (422, "wrong_task"),
        "a local task's": (422, "local_task"),
        "an unknown task's": (404, "unknown_task"),
        "dummies alone": (422, "too_few"),
        "few": (422, "too_few"),
        "another type": (415, "wrong_type"),
        "encoded": (415, "wrong_type"),
        "large": (413, "too_large"),
    }
    assert count(mixed.collector, task) == 0
    assert mixed.collector.batches.listed(task.id) == []
    assert mixed.post(good).status == 201


def test_without_a_signature_no_more_is_read_than_a_manifest_needs(mixed):
    """The rest of the body would fail the test: nobody may ask for it."""
    body = message(mixed.task, mixed.sealed(), seed=OTHER_SEED)
    assert len(body) > module.HEAD_BYTES
    head = [body[: module.HEAD_BYTES]]

    async def receive():
        return {"type": "http.request", "body": head.pop(), "more_body": True}

    path = f"/v1/tasks/{mixed.task.id.hex()}/batches"
    answer = mixed.request("POST", path, receive, {"content-type": MEDIA_TYPE})
    assert (answer.status, answer.code, answer.headers["connection"]) == (403, "bad_signature", "close")


def test_who_sends_nothing_more_is_given_up(mixed, monkeypatch):
    monkeypatch.setattr(module, "HEAD_SECONDS", 0.01)
    path = f"/v1/tasks/{mixed.task.id.hex()}/batches"
    assert mixed.request("POST", path, silence, {"content-type": MEDIA_TYPE}).code == "too_slow"


def test_while_batches_are_being_opened_others_are_asked_to_come_again(mixed):
    mixed.service._batches._held = module.AT_ONCE
    answer = mixed.post(message(mixed.task, mixed.sealed()))
    assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "busy", "2")
    mixed.service._batches._held = 0
    assert mixed.post(message(mixed.task, mixed.sealed())).status == 201


def test_a_store_that_fails_is_told_as_such_and_the_batch_may_come_again(mixed, monkeypatch):
    body = message(mixed.task, mixed.sealed())

    def full(*_):
        raise StorageError("disk", "full", allowed="some room", fix="make some")

    with monkeypatch.context() as patch:
        patch.setattr(mixed.collector.store.log, "append", full)
        answer = mixed.post(body)
    assert (answer.status, answer.code, answer.headers["retry-after"]) == (507, "storage", "5")
    assert mixed.post(body).status == 201
    assert count(mixed.collector, mixed.task) == MINIMUM


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_other_methods_are_told_what_is_allowed(mixed, method):
    answer = mixed.request(method, f"/v1/tasks/{mixed.task.id.hex()}/batches", pieces([b""]), {})
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_the_document_lists_batches_and_keys(mixed):
    paths = json.loads(mixed.get("/openapi.json").body)["paths"]
    assert set(paths["/v1/tasks/{id}/batches"]["post"]["responses"]) >= {"200", "201", "403", "413", "422"}
    assert "get" in paths["/v1/keys"]
