from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.collect.asgi import as_json, pieces, play, silence, unread
from tests.collect.crowd import envelope

JSON = "application/json"


def refuse_json(change, expected="malformed"):
    async def scenario(site):
        content = as_json(envelope(site.task, 1), envelope(site.task, 2))
        text = change(content)
        body = text if isinstance(text, bytes) else json.dumps(content).encode()
        answer = await site.post(body, JSON)
        assert (answer.status, answer.code) == (400, expected)
        assert not site.collector.ids

    play(scenario)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("period", True),
        ("period", 0.0),
        ("period", -1),
        ("period", 1 << 32),
        ("period", "0"),
        ("question", 1 << 16),
        ("stratum", False),
        ("stratum", None),
        ("id", "0" * 31),
        ("id", "0" * 34),
        ("id", "0" * 32 + "\n"),
        ("id", "A" * 32),
        ("id", "0x" + "0" * 30),
        ("id", " " * 32),
        ("task", "é" * 64),
        ("task", 0),
        ("payload", "abc"),
        ("payload", "0 0 "),
        ("token", "0" * 2 * 65536),
        ("color", "red"),
    ],
)
def test_json_with_a_field_that_is_not_exactly_right_counts_nothing(name, value):
    refuse_json(lambda content: content["reports"][1].update({name: value}))


def test_json_with_more_than_reports_counts_nothing():
    refuse_json(lambda content: content.update(more=1))


@pytest.mark.parametrize("name", ["task", "period", "question", "stratum", "id", "payload"])
def test_json_with_a_field_missing_counts_nothing(name):
    refuse_json(lambda content: content["reports"][1].pop(name) and None)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b'{"reports": []}',
        b'{"reports": [{}]}',
        b'{"reports": ' + b"[" * 100_000,
        b'{"reports": [{"task": "\xff"}]}',
        b'{"reports": [{"task": "\\ud800"}]}',
        b'{"reports": [{"period": ' + b"9" * 5000 + b"}]}",
    ],
    ids=range(10),
)
def test_json_that_is_something_else_counts_nothing(body):
    refuse_json(lambda _: body)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: data + b"\0", lambda data: b"", lambda data: data[:4] + b"\2" + data[5:]]
)
def test_a_damaged_batch_counts_nothing(damage):
    async def scenario(site):
        body = b"".join(envelope(site.task, i).pack() for i in range(3))
        answer = await site.post(damage(body))
        assert (answer.status, answer.code) == (400, "malformed")
        assert not site.collector.ids

    play(scenario)


@given(st.binary(max_size=300), st.integers(0, 200), st.sampled_from(["application/vnd.deniable.reports.v1", JSON]))
def test_made_up_bytes_get_a_declared_answer(noise, cut, kind):
    async def scenario(site):
        body = envelope(site.task, 1).pack() * 3 if kind != JSON else json.dumps(as_json(envelope(site.task, 1))).encode()
        answer = await site.post(body[:cut] + noise + body[cut + len(noise) :], kind)
        assert answer.status in {200, 201, 400}

    play(scenario)


@pytest.mark.parametrize("length", ["1001", "9" * 18, "9" * 5000])
def test_a_body_that_is_declared_too_large_is_not_read(length):
    async def scenario(site):
        answer = await site.request(unread, content_type=JSON, content_length=length)
        assert (answer.status, answer.code, answer.headers["connection"]) == (413, "too_large", "close")

    play(scenario, max_body=1000)


@pytest.mark.parametrize("length", ["-1", "+5", "5_0", "five", ""])
def test_a_length_that_is_no_number_is_refused(length):
    async def scenario(site):
        assert (await site.request(unread, content_type=JSON, content_length=length)).status == 400

    play(scenario)


def test_a_body_that_grows_too_large_is_not_read_to_its_end():
    async def scenario(site):
        read = 0

        async def endless():
            nonlocal read
            read += 100
            return {"type": "http.request", "body": b"x" * 100, "more_body": True}

        answer = await site.request(endless, content_type=JSON)
        assert (answer.status, answer.code, answer.headers["connection"]) == (413, "too_large", "close")
        assert read == 1100
        assert (await site.request(pieces([b"x" * 1001]), content_type=JSON)).status == 413

    play(scenario, max_body=1000)


def test_a_batch_with_too_many_reports_is_refused_whole():
    async def scenario(site):
        sent = [envelope(site.task, i) for i in range(4)]
        assert (await site.hand_in(*sent)).status == 413
        assert not site.collector.ids
        assert (await site.hand_in(*sent[:3])).status == 201

    play(scenario, max_reports=3)


@pytest.mark.parametrize("encoding", ["gzip", "identity", ""])
def test_an_encoded_body_is_not_read(encoding):
    async def scenario(site):
        answer = await site.request(unread, content_type=JSON, content_encoding=encoding)
        assert (answer.status, answer.code) == (415, "encoded")

    play(scenario)


@pytest.mark.parametrize("headers", [{}, {"content_type": "text/plain"}, {"content_type": "application/vnd.deniable.reports.v2"}])
def test_a_body_of_another_type_is_not_read(headers):
    async def scenario(site):
        answer = await site.request(unread, **headers)
        assert (answer.status, answer.code) == (415, "wrong_type")

    play(scenario)


@pytest.mark.parametrize("first", [None, b"", b"some"])
def test_a_body_that_does_not_come_is_given_up(first):
    async def scenario(site):
        begun = False

        async def dribble():
            nonlocal begun
            if begun or first is None:
                await silence()
            begun = True
            return {"type": "http.request", "body": first, "more_body": True}

        answer = await site.request(dribble, content_type=JSON)
        assert (answer.status, answer.code, answer.headers["connection"]) == (408, "too_slow", "close")
        assert not asyncio.current_task().cancelling()  # the server's task goes on to its next request
        assert (await site.hand_in(envelope(site.task, 1))).status == 201

    play(scenario, body_seconds=0.01)


def test_a_server_that_gives_a_request_up_is_not_told_that_the_body_was_slow():
    async def scenario(site):
        request = asyncio.ensure_future(site.request(silence, content_type=JSON))
        await asyncio.sleep(0)
        request.cancel()
        answer = await request
        assert (answer.status, answer.code) == (503, "stopping")

    play(scenario)


@pytest.mark.parametrize("before", [[], [b"some"]])
def test_a_sender_who_goes_away_gets_no_answer(before):
    async def scenario(site):
        messages = [{"type": "http.request", "body": body, "more_body": True} for body in before] + [{"type": "http.disconnect"}]

        async def receive():
            return messages.pop(0)

        assert await site.request(receive, content_type=JSON) is None

    play(scenario)


def test_other_methods_and_the_question_of_a_browser():
    async def scenario(site):
        preflight = await site.request(unread, method="OPTIONS", origin="https://example.org")
        assert preflight.status == 204
        assert preflight.headers["access-control-allow-origin"] == "*"
        assert preflight.headers["access-control-allow-methods"] == "POST"
        assert preflight.headers["access-control-allow-headers"] == "content-type"
        answer = await site.request(unread, method="GET")
        assert (answer.status, answer.headers["allow"]) == (405, "POST, OPTIONS")

    play(scenario)
