"""``deniable task`` as a person runs it: files first, then a collector's answers, true ones and forged ones."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from typer.testing import CliRunner

from deniable.cli.app import command_line
from deniable.cli.task_template import template
from deniable.collect.tasks.task_file import read_task
from deniable.contract.ed25519 import ROUND_CONTEXT, TASK_CONTEXT
from deniable.sealing.identity import public_key, sign

SEED = bytes(range(32))
NOW = 1_795_000_000.0
TEXT = (
    template("morning-drink").replace("answers = 1 ", "answers = 1\nend = 2096-01-01\nstart = 2026-12-01 #").replace("lasts =", "# lasts =")
)


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("DENIABLE_URL", "DENIABLE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments, status=0, **options):
        result = CliRunner().invoke(command_line("task"), ["task", *map(str, arguments)], **options)
        assert result.exit_code == status, result.output + result.stderr + str(result.exception)
        return result

    return call


def test_new_writes_a_file_that_check_takes(invoke, tmp_path):
    invoke("new", "Morning Drink.toml")
    assert 'name = "morning-drink"' in (tmp_path / "Morning Drink.toml").read_text()
    shown = invoke("check", "Morning Drink.toml").stdout
    for words in ("morning-drink: What do you drink in the morning?", "GRR: the smallest predicted error", "of 10,000", "65 bytes"):
        assert words in shown
    assert "1 for an answer, 1 over a lifetime" in shown
    assert "What is not protected:" in shown


def test_new_never_overwrites(invoke, tmp_path):
    (tmp_path / "mine.toml").write_text("precious")
    assert "mine.toml" in invoke("new", "mine.toml", status=2).stderr
    assert (tmp_path / "mine.toml").read_text() == "precious"


def test_check_as_data_agrees_with_what_will_be_published(invoke, tmp_path):
    (tmp_path / "a.toml").write_text(TEXT)
    content = json.loads(invoke("check", "a.toml", "--json").stdout)
    task = read_task(TEXT.encode(), key=bytes(32), now=NOW)
    (question,) = task.survey.questions
    assert content["statement"] == task.statement
    assert (content["start"], content["end"], content["lifetime_epsilon"]) == (task.start, task.end, 1.0)
    (told,) = content["questions"]
    assert told["mechanism"] == question.spec.mechanism
    assert told["error"] == pytest.approx(question.spec.variance(10_000, 0.25) ** 0.5)
    assert content["changes_of_meaning"] == []


def test_check_explains_a_search(invoke, tmp_path):
    text = TEXT.replace('default = "water"', "").replace("[domain]\ncategories", "[search]\nk = 8\n[domain]\ntext = 6\n#")
    (tmp_path / "a.toml").write_text(text)
    shown = invoke("check", "a.toml").stdout
    assert "PEM: the usual search" in shown
    assert "rounds that you close by hand" in " ".join(shown.split())
    assert "prefix-" in shown


def test_check_says_what_is_wrong(invoke, tmp_path):
    (tmp_path / "a.toml").write_text(TEXT.replace("epsilon =", "epsilom ="))
    result = invoke("check", "a.toml", status=2)
    assert "did you mean epsilon?" in result.stderr
    assert result.stdout == ""
    assert "absent.toml" in invoke("check", "absent.toml", status=2).stderr


def test_check_against_an_earlier_file_is_a_gate(invoke, tmp_path):
    (tmp_path / "old.toml").write_text(TEXT)
    (tmp_path / "later.toml").write_text(TEXT.replace("2096", "2097"))
    (tmp_path / "other.toml").write_text(TEXT.replace("epsilon = 1.0", "epsilon = 2.0"))
    invoke("check", "later.toml", "--against", "old.toml")
    assert "changes the meaning: epsilon: 1.0 became 2.0" in invoke("check", "other.toml", "--against", "old.toml", status=1).stderr
    content = json.loads(invoke("check", "other.toml", "--against", "old.toml", "--json", status=1).stdout)
    assert "epsilon: 1.0 became 2.0" in content["changes_of_meaning"]
    invoke("check", "other.toml", "--against", "old.toml", "--new-meaning")
    assert "--against" in invoke("check", "old.toml", "--against", "absent.toml", status=2).stderr


def test_a_collector_must_be_named(invoke, tmp_path):
    (tmp_path / "a.toml").write_text(TEXT)
    assert "DENIABLE_URL" in invoke("publish", "a.toml", status=2).stderr
    assert "Connection refused" in invoke("list", "--url", "http://127.0.0.1:9", status=2).stderr
    assert "https" in invoke("list", "--url", "http://collector.example", status=2).stderr  # a token must not travel in the clear


# --- a collector that answers as it is told, to see what is sent and how its answers are taken ---


@pytest.fixture
def server():
    """A server on loopback: ``answers`` by method and path, ``requests`` as they came."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.server.requests.append((self.command, self.path, dict(self.headers), body))
            status, content = self.server.answers[self.command, self.path.split("?")[0]]
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_DELETE = answer  # noqa: N815  # the library's names

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as made:
        made.answers, made.requests = {}, []
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()


@pytest.fixture
def url(server):
    return f"http://127.0.0.1:{server.server_address[1]}"


def published(text=TEXT, seed=SEED, context=TASK_CONTEXT):
    task = read_task(text.encode(), key=public_key(SEED), now=NOW)
    return task, {"id": task.id.hex(), "task": task.canonical.decode(), "signature": sign(seed, context, task.canonical).hex()}


def listed(task):
    return {"id": task.id.hex(), "name": task.name, "question": task.question, "start": task.start, "end": task.end, "closed": False}


def test_publish_sends_the_file_and_the_token_and_verifies_the_answer(invoke, tmp_path, server, url, monkeypatch):
    (tmp_path / "a.toml").write_text(TEXT)
    task, answer = published()
    server.answers["POST", "/v1/tasks"] = 201, answer
    monkeypatch.setenv("DENIABLE_TOKEN", "secret-1")
    assert task.id.hex() in invoke("publish", "a.toml", "--url", url).stdout
    (tmp_path / "token").write_text("secret-2\n")
    content = json.loads(invoke("publish", "a.toml", "--url", url, "--token-file", "token", "--new-meaning", "--json").stdout)
    assert content == {"id": task.id.hex(), "name": task.name, "key": task.key.hex(), "start": task.start}
    first, second = server.requests
    assert (first[1], second[1]) == ("/v1/tasks", "/v1/tasks?new_meaning=true")
    assert [request[2]["Authorization"] for request in (first, second)] == ["Bearer secret-1", "Bearer secret-2"]
    assert first[2]["Content-Type"] == "application/toml"
    assert first[3] == second[3] == TEXT.encode()


def test_a_forged_answer_is_not_taken(invoke, tmp_path, server, url):
    (tmp_path / "a.toml").write_text(TEXT)
    task, good = published()
    for forged in (
        published(seed=bytes(32))[1],
        published(context=ROUND_CONTEXT)[1],
        good | {"task": good["task"].replace("morning", "evening")},
        good | {"task": good["task"] + " "},
        good | {"signature": 7},
        {"id": good["id"]},
        [],
    ):
        server.answers["POST", "/v1/tasks"] = 201, forged
        assert "allowed: " in invoke("publish", "a.toml", "--url", url, status=2).stderr
    other, answer = published(TEXT.replace("epsilon = 1.0", "epsilon = 2.0"))
    server.answers["GET", f"/v1/tasks/{task.id.hex()}"] = 200, answer
    assert other.id.hex() in invoke("check", "a.toml", "--against", task.id.hex(), "--url", url, status=2).stderr


def test_a_mistake_never_reaches_the_network(invoke, tmp_path, server, url):
    (tmp_path / "a.toml").write_text(TEXT.replace("epsilon =", "epsilom ="))
    invoke("publish", "a.toml", "--url", url, status=2)
    assert server.requests == []


def test_check_against_a_published_task(invoke, tmp_path, server, url):
    task, answer = published()
    server.answers["GET", f"/v1/tasks/{task.id.hex()}"] = 200, answer
    (tmp_path / "same.toml").write_text(TEXT)
    (tmp_path / "other.toml").write_text(TEXT.replace("What do you", "What would you"))
    invoke("check", "same.toml", "--against", task.id.hex(), "--url", url)
    assert "the question's text" in invoke("check", "other.toml", "--against", task.id.hex(), "--url", url, status=1).stderr


@pytest.mark.parametrize(
    ("status", "content", "words"),
    [
        (401, {"error": {"code": "unauthorized", "message": "a token is needed"}}, ["a token is needed", "401", "DENIABLE_TOKEN"]),
        (403, {"error": {"code": "forbidden", "message": "not an admin"}}, ["not an admin", "403 forbidden"]),
        (400, {"error": {"code": "bad_task", "message": "epsilon: got 0"}}, ["epsilon: got 0", "400 bad_task"]),
        (503, {}, ["503"]),
        (500, b"<html>", ["500", "no answer from a collector"]),
        (200, b"\xff", ["no answer from a collector"]),
        (404, ["odd"], ["404"]),
    ],
)
def test_refusals_are_told_in_plain_words(invoke, tmp_path, server, url, status, content, words):
    (tmp_path / "a.toml").write_text(TEXT)
    server.answers["POST", "/v1/tasks"] = status, content
    told = invoke("publish", "a.toml", "--url", url, status=2).stderr
    assert all(word in told for word in words), told
    assert "Traceback" not in told


def test_list_and_the_life_of_a_task(invoke, server, url, monkeypatch):
    task, _ = published()
    twin, _ = published(TEXT.replace("2096", "2097"))
    path = f"/v1/tasks/{task.id.hex()}"
    server.answers["GET", "/v1/tasks"] = 200, [listed(task)]
    for method, action in (("POST", "/close"), ("POST", "/seal"), ("DELETE", "")):
        server.answers[method, path + action] = 200, b""
    server.answers["GET", f"{path}/status"] = 200, {"current": 2}
    server.answers["POST", f"{path}/advance"] = 200, {"more": True}
    monkeypatch.setenv("DENIABLE_URL", url)
    monkeypatch.setenv("DENIABLE_TOKEN", "secret")
    assert task.id.hex()[:12] in invoke("list").stdout
    assert json.loads(invoke("list", "--json").stdout) == {"tasks": [listed(task)]}
    invoke("close", "morning-drink")
    invoke("seal", task.id.hex()[:6], 3)
    assert "closed round 2" in invoke("advance", task.id.hex()).stdout
    assert "opened the next" in invoke("advance", task.id.hex(), "--round", 1, "--force").stdout
    invoke("delete", "morning-drink", status=130, input="n\n")
    invoke("delete", "morning-drink", "--yes")
    sent = [(method, address) for method, address, _, _ in server.requests if address != "/v1/tasks"]
    advanced = [("GET", f"{path}/status"), ("POST", f"{path}/advance?round=2"), ("POST", f"{path}/advance?round=1&force=true")]
    assert sent == [("POST", f"{path}/close"), ("POST", f"{path}/seal?period=3"), *advanced, ("DELETE", path)]
    server.answers["GET", "/v1/tasks"] = 200, [listed(task), listed(twin)]
    assert twin.id.hex()[:12] in invoke("close", "morning-drink", status=2).stderr  # both are named, neither is closed
    assert "deniable task list" in invoke("close", "evening-drink", status=2).stderr
    assert len(server.requests) == len(sent) + 10


@pytest.mark.parametrize("token", ["", "two words", "line\nbreak", "é"])
def test_a_token_that_is_none_is_refused_and_not_shown(invoke, tmp_path, token):
    (tmp_path / "token").write_text(token)
    told = invoke("close", "x", "--url", "http://127.0.0.1:9", "--token-file", "token", status=2).stderr
    assert "one line, without spaces" in told
    assert not token or token not in told
