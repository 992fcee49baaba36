"""The process as a whole: starting, answering, stopping, and what it never says."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from deniable.contract.envelope import Envelope
from deniable.contract.task import Task
from tests.collect.crowd import envelope
from tests.collect.rows import rows_of
from tests.system.certificates import make_certificate
from tests.system.conftest import COMMAND, Server

TASK = """
name = "unique"
question = "Which number is yours?"
owner = "tests"
epsilon = {epsilon}
weak_privacy = true
lasts = "2 hours"
period = "1 hour"
late = "1 minute"
minimum_batch = 2
{domain}
"""
CLEAR = TASK.format(epsilon="inf", domain='[domain]\nrange = 1000\n[mechanism]\nname = "Identity"')
HIDDEN = TASK.format(epsilon="1.0", domain="[domain]\nyes_no = true")


def published(server: Server, toml: str, admin: str) -> Task:
    return Task.from_json(server.get(f"/v1/tasks/{server.publish(toml, admin)}").json["task"].encode())


def test_from_a_task_to_an_estimate_over_real_sockets(server):
    """Published, answered, its time over, sealed by itself, estimated; stopped, rebuilt to the same bytes."""
    admin, analyst = server.token("admin"), server.token("analyst")
    task = published(server, CLEAR, admin)
    sent = [envelope(task, value) for value in (7, 7, 9)]
    assert (server.send(*sent).status, server.send(sent[0]).status) == (201, 201)
    assert server.get(f"/v1/tasks/{task.id.hex()}/status", analyst).json["periods"][0]["state"] == "open"
    server.ahead(3700)
    for _ in range(600):
        states = [period["state"] for period in server.get(f"/v1/tasks/{task.id.hex()}/status", analyst).json["periods"]]
        if states == ["sealed"]:
            break
        time.sleep(0.05)  # it tends itself, and tells nobody
    assert states == ["sealed"]
    answer = server.get(f"/v1/tasks/{task.id.hex()}/estimate?period=0", analyst).json["answers"][0]
    assert {row["value"]: row["count"] for row in rows_of(answer) if row["count"]} == {7: 2.0, 9: 1.0}
    assert server.send(sent[1]).status == 201  # counted before: a success
    late = server.send(envelope(task, 8)).json["rejected"]
    assert [entry["code"] for entry in late] == ["sealed"]
    assert server.stop() == 0
    rebuilt = json.loads(server.run("rebuild", "--store", server.store, "--json"))["buckets"]
    assert [(row["period"], row["result"]) for row in rebuilt] == [(0, "same")]


def test_every_answer_has_the_security_headers(server):
    answers = [server.get(path) for path in ("/healthz", "/v1/absent", "/v1/tasks", "/v1/tasks/0/status")]
    answers += [server.request("PUT", "/v1/tasks"), server.request("OPTIONS", "/v1/reports"), server.request("POST", "/v1/reports")]
    assert [answer.status for answer in answers] == [200, 404, 200, 401, 405, 204, 415]
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-security-policy"] == "default-src 'none'"
        assert not {"server", "strict-transport-security"} & set(answer.headers)


def test_the_head_of_an_answer_has_no_body(server):
    whole, head = server.get("/openapi.json"), server.request("HEAD", "/openapi.json")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == str(len(whole.body))


def test_garbage_is_no_request(server):
    with socket.create_connection((urlsplit(server.url).hostname, urlsplit(server.url).port)) as connection:
        connection.sendall(b"\x16\x03\x01 not HTTP at all\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")
    assert server.get("/healthz").status == 200


@pytest.mark.parametrize("beginning", [b"", b"GET /hea", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: "])
def test_whoever_does_not_finish_a_head_is_sent_away(beginning, tmp_path):
    server = Server(tmp_path / "collector")
    server.environment["DENIABLE_LIMITS_BODY_SECONDS"] = "0.5"
    with server, socket.create_connection((urlsplit(server.url).hostname, urlsplit(server.url).port), timeout=300) as connection:
        connection.sendall(beginning)
        assert connection.recv(1) == b""  # the other side has closed it; a time-out would raise
        assert server.get("/healthz").status == 200


def test_more_connections_than_are_kept(tmp_path):
    server = Server(tmp_path / "collector")
    server.environment["DENIABLE_LIMITS_CONNECTIONS"] = "3"
    with server, ExitStack() as stack:
        address = urlsplit(server.url).hostname, urlsplit(server.url).port
        kept = [stack.enter_context(socket.create_connection(address, timeout=300)) for _ in range(3)]
        for connection in kept:  # answered, so it is there
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        with socket.create_connection(address, timeout=300) as another, another.makefile("rb") as answer:
            told = answer.read()
            assert told.startswith(b"HTTP/1.1 503 ")
            assert json.loads(told.partition(b"\r\n\r\n")[2])["error"]["code"] == "busy"
        kept[0].sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        while kept[0].recv(1 << 16):  # closed by the server, so there is room
            pass
        with socket.create_connection(address, timeout=300) as another:
            another.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert another.recv(1 << 16).startswith(b"HTTP/1.1 200 ")


def test_a_head_without_end_is_not_listened_to(server):
    with socket.create_connection((urlsplit(server.url).hostname, urlsplit(server.url).port), timeout=300) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: ")
        with pytest.raises((ConnectionResetError, BrokenPipeError)):
            connection.sendall(b"x" * (64 << 20))
    assert server.get("/healthz").status == 200


def test_the_log_never_names_a_sender_or_what_was_sent(server):
    """Requests good and bad, with marks in every place that could leak into a line."""
    admin = server.token("admin")
    task = published(server, CLEAR, admin)
    mark = "fee1dead"
    server.send(Envelope(task.id, 0, 0, 0, bytes.fromhex(mark) * 4, b"\x01\x02"))
    server.request("GET", f"/v1/tasks?{mark}=1", User_Agent=mark, X_Forwarded_For="203.0.113.7", token=mark)
    server.request("POST", f"/v1/tasks?new_meaning={mark}", mark.encode(), token=admin, Content_Type="application/toml")
    server.request("POST", "/v1/tasks", mark.encode(), token=admin, Content_Type="application/toml")
    server.get(f"/v1/tasks/{task.id.hex()}/estimate?stratum={mark}:x", admin)
    server.request("POST", f"/v1/tasks/{task.id.hex()}/close", token=admin)
    assert server.stop() == 0
    written = server.errors.read_text()
    for secret in (mark, admin, "203.0.113.7", "127.0.0.1"):
        assert secret not in written
    events = [line["event"] for line in server.log()]
    assert [events[0], events[-1]] == ["starting", "stopped"]
    assert {"published a task", "closed a task"} <= set(events)
    assert all(set(line) >= {"level", "event"} for line in server.log())


def test_a_stop_waits_for_nobody_for_long(tmp_path):
    """A sender in the middle of a body, another that never begins: the process ends all the same, although they had an hour."""
    server = Server(tmp_path / "collector")
    server.environment["DENIABLE_LIMITS_BODY_SECONDS"] = "3600"
    with server, ExitStack() as stack:
        address = urlsplit(server.url).hostname, urlsplit(server.url).port
        slow, _ = (stack.enter_context(socket.create_connection(address)) for _ in range(2))
        slow.sendall(b"POST /v1/reports HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
        assert server.get("/healthz").status == 200  # so the first bytes have arrived
        assert server.stop() == 0


@pytest.mark.parametrize("environment", [{}, {"DENIABLE_TESTING": "0"}, {"DENIABLE_TESTING": "true"}])
def test_what_is_for_tests_does_nothing_outside_of_them(environment, tmp_path):
    """No answers in the clear, and a clock that cannot be set."""
    server = Server(tmp_path / "collector", testing=False)
    server.environment |= environment | {"DENIABLE_TEST_CLOCK": str(server.offset)}
    server.ahead(7200)
    with server:
        admin = server.token("admin")
        refused = server.request("POST", "/v1/tasks", CLEAR.encode(), token=admin, Content_Type="application/toml")
        assert (refused.status, refused.code) == (422, "refused")
        assert "Identity" in refused.json["error"]["message"]
        task = published(server, HIDDEN, admin)
        assert abs(task.start - time.time()) < 600


def test_a_store_has_one_collector(server):
    done = subprocess.run(
        [COMMAND, "serve", "--store", server.store, "--port", "0"], env=server.environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "by another process" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_taken_port_is_told_plainly(server, tmp_path):
    arguments = ["--store", str(tmp_path / "other"), "--port", str(urlsplit(server.url).port)]
    done = subprocess.run([COMMAND, "serve", *arguments], env=server.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "in use" in done.stderr


def test_tls(tmp_path):
    certificate, key_file = tmp_path / "certificate.pem", tmp_path / "key.pem"
    make_certificate(certificate, key_file)
    with Server(tmp_path / "s", "--certificate", str(certificate), "--key-file", str(key_file), cafile=str(certificate)) as server:
        assert server.url.startswith("https://127.0.0.1:")
        answer = server.get("/readyz")
        assert (answer.status, answer.json) == (200, {"status": "ready"})
        assert answer.headers["strict-transport-security"].startswith("max-age=")


def test_tokens_can_come_and_go_while_it_runs(server):
    path = "/v1/tasks/" + "0" * 64 + "/status"
    token = server.run("token", "add", "visitor", "--role", "analyst", "--store", server.store).strip()
    assert token.startswith("dn_")
    assert server.get(path, token).status == 404
    server.run("token", "remove", "visitor", "--store", server.store)
    assert server.get(path, token).status == 401
    assert json.loads(server.run("token", "list", "--store", server.store, "--json")) == {"tokens": []}
