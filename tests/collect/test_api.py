"""The HTTP interface on a real store: every endpoint for every role, every mistake in one form, and a description that is true."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
from contextlib import contextmanager
from types import SimpleNamespace

import httpx
import pyarrow.parquet as pq
import pytest
from anyio.from_thread import start_blocking_portal

from deniable.collect.kit.answers import Refusal
from deniable.collect.plain_answer import PlainAnswer
from deniable.collect.server import Service
from deniable.collect.settings import Settings
from deniable.collect.storage.log import StorageError
from deniable.collect.web.access import OPEN, add_token
from deniable.collect.web.dispatch import read_query
from deniable.collect.web.routes import ENDPOINTS, PARQUET, REPORTS, TOML
from deniable.collect.web.shapes import EstimateQuery, SealQuery
from deniable.contract.ed25519 import ROUND_CONTEXT, TASK_CONTEXT, verify
from deniable.contract.public_log import LogEntry, verify_chain
from deniable.contract.spec import MECHANISMS
from deniable.contract.task import OpenedRound, Task
from tests.collect.crowd import HOUR, NOON, envelope, send, survey_task
from tests.collect.rows import rows_of

DRINK = b"""
name = "drink"
question = "What do you drink?"
owner = "tests"
epsilon = 1.0
lasts = "1 day"
[domain]
categories = ["tea", "coffee"]
"""
WORD = b"""
name = "word"
question = "Which word?"
owner = "tests"
epsilon = 2.0
lasts = "1 day"
[domain]
text = 2
[search]
protocol = "PEM"
k = 2
"""
TABLE = [endpoint for endpoint in ENDPOINTS if endpoint.path != REPORTS]
NOBODY = "0" * 64


@contextmanager
def running(app):
    """Ask an application from its start to its end; a bug would show as an error here."""
    with start_blocking_portal() as portal:
        inward, outward = asyncio.Queue(), asyncio.Queue()
        life = portal.start_task_soon(app, {"type": "lifespan"}, inward.get, outward.put)
        portal.call(inward.put, {"type": "lifespan.startup"})
        assert portal.call(outward.get)["type"] == "lifespan.startup.complete"
        client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://collector")
        yield lambda method, path, **rest: portal.call(lambda: client.request(method, path, **rest))
        portal.call(client.aclose)
        portal.call(inward.put, {"type": "lifespan.shutdown"})
        life.result()


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A running service with a survey in the clear, at a clock of our own, that nobody tends."""
    monkeypatch.setitem(MECHANISMS, PlainAnswer.mechanism, PlainAnswer)
    clock = SimpleNamespace(now=float(NOON))
    service = Service(Settings(store=str(tmp_path / "store"), tend_seconds=3600.0), clock=lambda: clock.now)
    task = survey_task(service.collector.registry.key, minimum_batch=3, strata=(("where", ("phone", "web")),))
    service.collector.publish(task)
    tokens = {role: add_token(service.store.catalog, role, role) for role in ("analyst", "admin")}
    with running(service) as request:
        yield SimpleNamespace(request=request, service=service, collector=service.collector, clock=clock, task=task, tokens=tokens)


def ask(site, method, path, role=None, content=None, **headers):
    token = site.tokens.get(role, role)
    headers = {name.replace("_", "-"): value for name, value in headers.items()} | ({"Authorization": f"Bearer {token}"} if token else {})
    return site.request(method, path, content=content, headers=headers)


def publish(site, toml, role="admin", query=""):
    return ask(site, "POST", f"/v1/tasks{query}", role, toml, Content_Type=TOML)


def code(answer):
    content = answer.json()
    assert set(content) == {"error"}
    assert set(content["error"]) == {"code", "message"}
    return answer.status_code, content["error"]["code"]


# --- roles ---


@pytest.mark.parametrize("role", [None, "dn_" + "0" * 64, "analyst", "admin"])
@pytest.mark.parametrize("endpoint", TABLE, ids=lambda endpoint: endpoint.name)
def test_every_endpoint_for_every_role(site, endpoint, role):
    ranks = {OPEN: 0, "analyst": 1, "admin": 2}
    answer = ask(site, endpoint.method, endpoint.path.replace("{id}", NOBODY), role)
    if ranks.get(role, 0) >= ranks[endpoint.role]:
        assert answer.status_code in {endpoint.status, *endpoint.statuses} - {401, 403, 429}
    else:
        assert answer.status_code == (403 if role == "analyst" else 401)
        assert ("www-authenticate" in answer.headers) == (answer.status_code == 401)
    assert (answer.headers.get("cache-control") == "no-store") == (endpoint.role != OPEN)
    assert (answer.headers.get("access-control-allow-origin") == "*") == endpoint.any_origin


def test_the_table_has_every_endpoint_once_and_keys_what_must_be_keyed():
    assert len({(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}) == len({e.name for e in ENDPOINTS}) == len(ENDPOINTS)
    keyed = {endpoint.name: endpoint.role for endpoint in ENDPOINTS if endpoint.role != OPEN}
    analysts = dict.fromkeys(("status", "estimate", "compare"), "analyst")
    assert keyed == analysts | dict.fromkeys(("publish", "seal", "advance", "close", "delete"), "admin")


def test_whoever_may_not_ask_learns_nothing(site):
    """The same answer whether the task exists or not, and whatever is wrong with the request."""
    paths = [f"/v1/tasks/{task}/estimate{query}" for task in (site.task.id.hex(), NOBODY, "x") for query in ("", "?period=-1", "?%%")]
    assert {ask(site, "GET", path).content for path in paths} == {ask(site, "GET", paths[0]).content}
    assert {code(ask(site, "GET", path)) for path in paths} == {(401, "no_token")}


# --- devices ---


def test_a_device_gets_task_round_and_log_with_signatures(site):
    assert publish(site, WORD).status_code == 201
    tasks = ask(site, "GET", "/v1/tasks").json()
    assert [entry["name"] for entry in tasks] == ["unique", "word"]
    assert tasks[0] == {
        "id": site.task.id.hex(),
        "name": "unique",
        "question": site.task.question,
        "start": NOON,
        "end": NOON + 24 * HOUR,
        "closed": False,
    }
    key = site.collector.registry.key
    for entry in tasks:
        content = ask(site, "GET", f"/v1/tasks/{entry['id']}").json()
        task = Task.from_json(content["task"].encode())
        assert (task.id.hex(), task.key) == (entry["id"], key)
        assert verify(key, TASK_CONTEXT + content["task"].encode(), bytes.fromhex(content["signature"]))
    content = ask(site, "GET", f"/v1/tasks/{tasks[1]['id']}/round").json()
    assert OpenedRound.from_json(content["round"].encode()).number == 0
    assert verify(key, ROUND_CONTEXT + content["round"].encode(), bytes.fromhex(content["signature"]))
    assert code(ask(site, "GET", f"/v1/tasks/{site.task.id.hex()}/round")) == (404, "no_round")
    lines = ask(site, "GET", "/v1/log").json()["entries"]
    assert [line["sequence"] for line in lines] == [0, 1, 2]
    entries = [LogEntry(line["record"].encode(), bytes.fromhex(line["signature"])) for line in lines]
    verify_chain(entries, key)
    assert [line["hash"] for line in lines] == [entry.hash.hex() for entry in entries]
    assert ask(site, "GET", "/v1/log?after=1").json()["entries"] == lines[2:]
    assert ask(site, "GET", "/v1/log?after=2").json()["entries"] == []


def test_rounds_go_on_and_end(site):
    publish(site, WORD)
    word = ask(site, "GET", "/v1/tasks").json()[1]["id"]
    numbers = [OpenedRound.from_json(ask(site, "GET", f"/v1/tasks/{word}/round").json()["round"].encode()).number]
    few = ask(site, "POST", f"/v1/tasks/{word}/advance", "admin")
    assert code(few) == (409, "not_now")
    assert "reports or more" in few.json()["error"]["message"]
    while ask(site, "POST", f"/v1/tasks/{word}/advance?force=true&round={numbers[-1]}", "admin").json()["more"]:
        assert code(ask(site, "POST", f"/v1/tasks/{word}/advance?force=true&round={numbers[-1]}", "admin")) == (409, "not_now")  # once
        numbers.append(OpenedRound.from_json(ask(site, "GET", f"/v1/tasks/{word}/round").json()["round"].encode()).number)
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > 1
    assert code(ask(site, "GET", f"/v1/tasks/{word}/round")) == (404, "no_round")
    assert code(ask(site, "POST", f"/v1/tasks/{word}/advance", "admin")) == (409, "not_now")


# --- analysts ---


def test_an_analyst_gets_estimates_once_there_are_enough_reports(site):
    path = f"/v1/tasks/{site.task.id.hex()}"
    send(site.collector, *(envelope(site.task, 5, stratum=1) for _ in range(2)))
    assert code(ask(site, "GET", f"{path}/estimate", "analyst")) == (409, "too_few")
    send(site.collector, *(envelope(site.task, 6, stratum=0) for _ in range(4)), envelope(site.task, 7, stratum=1))
    found = ask(site, "GET", f"{path}/estimate?stratum=where:web&period=0", "analyst").json()
    assert {row["value"]: row["count"] for row in rows_of(found["answers"][0]) if row["count"]} == {5: 2.0, 7: 1.0}
    answer = ask(site, "GET", f"{path}/estimate?format=parquet", "analyst")
    assert answer.headers["content-type"] == PARQUET
    table = pq.read_table(io.BytesIO(answer.content)).to_pylist()
    assert {row["value"]: row["count"] for row in table if row["count"]} == {5: 2.0, 6: 4.0, 7: 1.0}
    compared = ask(site, "GET", f"{path}/compare?stratum_first=where:phone&stratum_second=where:web&alpha=0.01", "analyst").json()
    assert {row["value"] for row in rows_of(compared["answers"][0]) if row["change"]} == {5, 6, 7}
    status = ask(site, "GET", f"{path}/status", "analyst").json()
    assert [(row["period"], row["state"], row["reports"]) for row in status["periods"]] == [(0, "open", 7)]


def test_small_numbers_are_for_admins(site):
    path = f"/v1/tasks/{site.task.id.hex()}"
    few, minimum = [envelope(site.task, 5) for _ in range(site.task.minimum_batch - 1)], site.task.minimum_batch
    assert minimum > 1

    def told(role):
        (period,) = ask(site, "GET", f"{path}/status", role).json()["periods"]
        return period["state"], period["reports"], period["repeated"]

    send(site.collector, *few, few[0])
    assert (told("analyst"), told("admin")) == (("open", None, None), ("open", minimum - 1, 0))
    send(site.collector, envelope(site.task, 5))
    assert told("analyst") == told("admin") == ("open", minimum, 0)
    site.clock.now += HOUR
    other = envelope(site.task, 5, period=1)
    send(site.collector, other, other)
    for period in (0, 1):
        site.collector.seal(site.task.id, period)
    reports = {role: ask(site, "GET", f"{path}/status", role).json()["periods"] for role in ("analyst", "admin")}
    assert [(row["reports"], row["repeated"]) for row in reports["admin"]] == [(minimum, 1), (1, 1)]
    assert [(row["reports"], row["repeated"]) for row in reports["analyst"]] == [(minimum, 1), (None, None)]


def test_an_unfinished_search_has_no_result(site):
    publish(site, WORD)
    word = ask(site, "GET", "/v1/tasks").json()[1]["id"]
    assert code(ask(site, "GET", f"/v1/tasks/{word}/estimate", "analyst")) == (409, "not_now")


# --- admins ---


def test_a_task_is_published_once_and_keeps_its_meaning(site):
    first = publish(site, DRINK)
    assert first.status_code == 201
    assert publish(site, DRINK).json() == first.json()
    other = DRINK.replace(b"coffee", b"mate")
    assert code(publish(site, other)) == (422, "refused")
    assert publish(site, other, query="?new_meaning=true").status_code == 201
    assert len(ask(site, "GET", "/v1/tasks").json()) == 3


def test_the_life_of_a_task(site):
    path = f"/v1/tasks/{site.task.id.hex()}"
    site.clock.now = NOON + 1.5 * HOUR
    send(site.collector, envelope(site.task, 1, period=1))
    assert ask(site, "POST", f"{path}/seal?period=1", "admin").status_code == 204
    assert ask(site, "POST", f"{path}/seal?period=1", "admin").status_code == 204
    assert code(ask(site, "POST", f"{path}/seal?period=24", "admin")) == (422, "refused")
    assert code(ask(site, "POST", f"{path}/advance", "admin")) == (409, "not_now")
    assert ask(site, "POST", f"{path}/close", "admin").status_code == 204
    assert ask(site, "GET", "/v1/tasks").json()[0]["closed"] is True
    gone = ask(site, "DELETE", path, "admin")
    assert (gone.status_code, gone.content, "content-length" in gone.headers) == (204, b"", False)
    for method, tail in (("GET", ""), ("GET", "/round"), ("GET", "/status"), ("POST", "/close"), ("DELETE", "")):
        assert code(ask(site, method, path + tail, "admin")) == (404, "unknown_task")
    lines = ask(site, "GET", "/v1/log").json()["entries"]
    assert len(lines) == 2
    kept = ask(site, "GET", f"/v1/log/tasks/{site.task.id.hex()}").json()  # what it asked can still be checked
    assert hashlib.sha256(kept["task"].encode()).hexdigest() == json.loads(lines[0]["record"])["content"] == site.task.id.hex()
    assert verify(site.task.key, TASK_CONTEXT + kept["task"].encode(), bytes.fromhex(kept["signature"]))
    assert code(ask(site, "GET", f"/v1/log/tasks/{NOBODY}")) == (404, "unknown_task")


@pytest.mark.parametrize(
    ("toml", "headers", "expected"),
    [
        (DRINK, {"Content_Type": "application/json"}, (415, "wrong_type")),
        (DRINK, {}, (415, "wrong_type")),
        (DRINK, {"Content_Type": TOML, "Content_Encoding": "gzip"}, (415, "wrong_type")),
        (b"#" * (1 << 20) + b"\n", {"Content_Type": TOML}, (413, "too_large")),
        (b"", {"Content_Type": TOML}, (422, "refused")),
        (b"\xff", {"Content_Type": TOML}, (422, "refused")),
        (DRINK + b"[extra]\n", {"Content_Type": TOML + "; charset=utf-8"}, (422, "refused")),
    ],
)
def test_a_body_that_is_no_task(site, toml, headers, expected):
    assert code(ask(site, "POST", "/v1/tasks", "admin", toml, **headers)) == expected


# --- mistakes ---


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/v1/tasks?page=1", (422, "bad_parameter")),
        ("/v1/log?after=1&after=1", (422, "repeated_parameter")),
        ("/v1/log?after=-1", (422, "bad_parameter")),
        ("/v1/log?after=one", (422, "bad_parameter")),
        ("/v1/log?after=", (422, "bad_parameter")),
        ("/v1/log?after", (400, "malformed")),
        ("/v1/log?%FF=1", (400, "malformed")),
        ("/v1/tasks/{task}/estimate?format=csv", (422, "bad_parameter")),
        ("/v1/tasks/{task}/estimate?format=parquet&integrity=true", (422, "bad_parameter")),
        ("/v1/tasks/{task}/estimate?period=24", (422, "refused")),
        ("/v1/tasks/{task}/estimate?period=yesterday", (422, "refused")),
        ("/v1/tasks/{task}/estimate?stratum=web", (422, "bad_parameter")),
        ("/v1/tasks/{task}/estimate?stratum=where:tv", (422, "refused")),
        ("/v1/tasks/{task}/estimate?stratum=where:web&stratum=where:phone", (422, "refused")),
        ("/v1/tasks/{task}/compare?first=0&second=0", (422, "refused")),
        ("/v1/tasks/{task}/compare?alpha=1", (422, "bad_parameter")),
        ("/v1/tasks/{task}/compare?alpha=nan", (422, "bad_parameter")),
        ("/v1/tasks/xyz/status", (404, "unknown_task")),
        (f"/v1/tasks/{'A' * 64}", (404, "unknown_task")),
        (f"/v1/tasks/{NOBODY}%0A", (404, "unknown_task")),
        ("/v1/tasks/", (404, "not_found")),
        ("/v1", (404, "not_found")),
    ],
)
def test_mistakes_have_a_code_each(site, path, expected):
    assert code(ask(site, "GET", path.replace("{task}", site.task.id.hex()), "analyst")) == expected


def test_a_missing_parameter_is_named():
    with pytest.raises(Refusal, match="period") as caught:
        read_query(SealQuery, b"")
    assert caught.value.status == 422
    assert read_query(EstimateQuery, b"stratum=a%3Ab&stratum=c:d+e").stratum == ["a:b", "c:d e"]


@pytest.mark.parametrize(
    ("path", "allowed"), [("/v1/tasks", "GET, HEAD, POST"), ("/v1/log", "GET, HEAD"), (f"/v1/tasks/{NOBODY}/close", "POST")]
)
def test_a_wrong_method_is_told_the_right_ones(site, path, allowed):
    answer = ask(site, "PATCH", path)
    assert code(answer) == (405, "method")
    assert answer.headers["allow"] == allowed


def test_a_store_that_fails_is_no_bug_and_a_bug_says_nothing(site, monkeypatch, caplog):
    def fail(error):
        def failing(*_, **__):
            raise error

        return failing

    path = f"/v1/tasks/{site.task.id.hex()}"
    monkeypatch.setattr(site.collector, "close_task", fail(StorageError("disk", "secret", allowed="x", fix="y")))
    answer = ask(site, "POST", f"{path}/close", "admin")
    assert code(answer) == (507, "storage")
    assert int(answer.headers["retry-after"]) > 0
    monkeypatch.setattr(site.collector, "close_task", fail(KeyError("secret")))
    answer = ask(site, "POST", f"{path}/close", "admin")
    assert code(answer) == (500, "bug")
    assert "secret" not in answer.text + caplog.text
    facts = caplog.records[-1].facts
    assert facts["error"] == "KeyError"
    assert facts["trace"][-1].startswith("failing (test_api.py:")
