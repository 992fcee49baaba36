from __future__ import annotations

import asyncio
import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.collect.block import Bucket
from deniable.contract.envelope import Envelope
from tests.collect.asgi import Site, pieces, play, silence, unread
from tests.collect.crowd import envelope

JSON = "application/json"


def as_json(*envelopes):
    fields = ("task", "period", "question", "stratum", "id", "payload", "token")
    reports = [{name: value.hex() if isinstance(value := getattr(sent, name), bytes) else value for name in fields} for sent in envelopes]
    return {"reports": reports}


# --- what is taken ---


def test_an_accepted_report_is_stored_when_the_answer_comes():
    async def scenario(site):
        sent = envelope(site.task, 7, stratum=1)
        answer = await site.hand_in(sent)
        assert (answer.status, answer.body) == (201, b"")
        assert answer.headers["access-control-allow-origin"] == "*"
        assert site.collector.stored == {Bucket(site.task.id, 0): {sent.id: sent.payload}}

    play(scenario)


def test_json_and_binary_mean_the_same():
    async def scenario(site):
        sent = [envelope(site.task, i) for i in range(3)]
        text = json.dumps(as_json(*sent)).encode()
        assert (await site.post(text, "Application/JSON; charset=utf-8")).status == 201
        by_hand = dict(site.collector.stored)
        site.collector.stored.clear()
        assert (await site.hand_in(*sent)).status == 201
        assert site.collector.stored == by_hand

    play(scenario)


def test_a_body_may_come_in_pieces_without_a_declared_length():
    async def scenario(site):
        sent = [envelope(site.task, i) for i in range(5)]
        body = b"".join(one.pack() for one in sent)
        answer = await site.request(pieces([body[:1], b"", body[1:100], body[100:]]), content_type="application/vnd.deniable.reports.v1")
        assert answer.status == 201
        assert site.collector.ids == {one.id for one in sent}

    play(scenario)


def test_what_is_not_counted_is_listed_in_the_order_of_the_request_and_the_rest_is_stored():
    async def scenario(site):
        good = [envelope(site.task, i) for i in range(3)]
        bad = {
            "unknown_task": envelope(site.task, 1)._replace(task=b"?" * 32),
            "bad_payload": envelope(site.task, 1)._replace(payload=b"too long"),
            "bad_question": envelope(site.task, 1)._replace(question=9),
            "too_early": envelope(site.task, 1, period=2),
            "bad_stratum": envelope(site.task, 1, stratum=2),
            "bad_token": envelope(site.task, 1)._replace(token=b"t"),
        }
        answer = await site.hand_in(good[0], *list(bad.values())[:3], good[1], *list(bad.values())[3:], good[2])
        assert answer.status == 200
        assert answer.rejected == [(sent.id, code) for code, sent in bad.items()]
        assert site.collector.ids == {sent.id for sent in good}

    play(scenario)


def test_a_resend_of_what_a_sealed_period_holds_is_a_success():
    async def scenario(site):
        counted, late = envelope(site.task, 1), envelope(site.task, 2)
        assert (await site.hand_in(counted)).status == 201
        site.collector.seal(0)
        assert (await site.hand_in(counted)).status == 201
        answer = await site.hand_in(counted, late)
        assert answer.rejected == [(late.id, "sealed")]

    play(scenario)


def test_a_period_that_is_sealed_while_reports_wait():
    async def scenario(site):
        counted, late = envelope(site.task, 1), envelope(site.task, 2)
        assert (await site.hand_in(counted)).status == 201
        site.collector.seal(0, quietly=True)
        answer = await site.hand_in(counted, late, envelope(site.task, 3)._replace(question=9))
        assert [code for _, code in answer.rejected] == ["sealed", "bad_question"]
        assert answer.rejected[0][0] == late.id
        assert (await site.hand_in(counted)).status == 201
        assert site.collector.ids == {counted.id}

    play(scenario)


# --- what is refused ---


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
        ("token", "0" * 512),
        ("color", "red"),
    ],
)
def test_json_with_a_field_that_is_not_exactly_right_counts_nothing(name, value):
    refuse_json(lambda content: content["reports"][1].update({name: value}))


@pytest.mark.parametrize("name", ["task", "period", "question", "stratum", "id", "payload"])
def test_json_with_a_field_missing_counts_nothing(name):
    refuse_json(lambda content: content["reports"][1].pop(name) and None)


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"[]", b"null", b'{"reports": []}', b'{"reports": [], "more": 1}', b'{"reports": [{}]}', b'{"reports": ' + b"[" * 100_000]
    + [b'{"reports": [{"task": "\xff"}]}', b'{"reports": [{"task": "\\ud800"}]}', b'{"reports": [{"period": ' + b"9" * 5000 + b"}]}"],
    ids=range(11),
)  # fmt: skip
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
        assert (await site.hand_in(envelope(site.task, 1))).status == 201

    play(scenario, body_seconds=0.01)


def test_a_server_that_gives_a_request_up_is_not_told_that_the_body_was_slow():
    async def scenario(site):
        request = asyncio.ensure_future(site.request(silence, content_type=JSON))
        await asyncio.sleep(0)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request

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


# --- trouble ---


def test_a_storage_failure_acknowledges_nothing_and_passes():
    async def scenario(site):
        site.collector.failing = True
        sent = [envelope(site.task, i) for i in range(8)]
        answers = await asyncio.gather(*(site.hand_in(one) for one in sent))
        assert {(answer.status, answer.code, answer.headers["retry-after"]) for answer in answers} == {(507, "storage", "5")}
        assert not site.collector.ids
        site.collector.failing = False
        answers = await asyncio.gather(*(site.hand_in(one) for one in sent))
        assert {answer.status for answer in answers} == {201}
        assert site.collector.ids == {one.id for one in sent}

    play(scenario)


def test_requests_that_come_together_share_few_appends():
    async def scenario(site):
        site.collector.gate.clear()
        first = asyncio.ensure_future(site.hand_in(envelope(site.task, 0)))
        await site.collector.appending()
        others = [asyncio.ensure_future(site.hand_in(envelope(site.task, i))) for i in range(1, 65)]
        await asyncio.sleep(0)
        site.collector.gate.set()
        assert {answer.status for answer in await asyncio.gather(first, *others)} == {201}
        assert site.collector.appends == 2
        assert len(site.collector.ids) == 65

    play(scenario)


def test_the_same_report_on_many_connections_is_stored_once():
    async def scenario(site):
        sent = envelope(site.task, 1)
        answers = await asyncio.gather(*(site.hand_in(sent) for _ in range(64)))
        assert {answer.status for answer in answers} == {201}
        assert site.collector.ids == {sent.id}

    play(scenario)


def test_overload_is_refused_and_what_waits_stays_bounded():
    async def scenario(site):
        site.collector.gate.clear()
        sent = [envelope(site.task, i) for i in range(200)]
        size = len(sent[0].pack())
        requests = [asyncio.ensure_future(site.hand_in(one)) for one in sent]
        await site.collector.appending()
        refused = [request.result() for request in requests if request.done()]
        assert 1000 <= site.committer.waiting < 1000 + size
        assert len(refused) == 200 - -(-1000 // size)
        assert {(answer.status, answer.code, answer.headers["retry-after"]) for answer in refused} == {(429, "queue_full", "1")}
        site.collector.gate.set()
        answers = await asyncio.gather(*requests)
        acknowledged = {one.id for one, answer in zip(sent, answers, strict=True) if answer.status == 201}
        assert acknowledged == site.collector.ids
        assert site.committer.waiting == 0
        assert (await site.hand_in(sent[-1])).status == 201

    play(scenario, most_waiting=1000)


def test_bodies_that_are_not_complete_are_bounded_together():
    async def scenario(site):
        async def half():
            return await pause.wait() or {"type": "http.request", "body": b"x" * 400, "more_body": True}

        pause = asyncio.Event()
        stuck = [asyncio.ensure_future(site.request(once(b"x" * 400), content_type=JSON)) for _ in range(2)]
        await asyncio.sleep(0)
        pause.set()
        answer = await site.request(half, content_type=JSON)
        assert (answer.status, answer.code) == (429, "queue_full")
        assert (await site.hand_in(envelope(site.task, 1))).status == 201  # a small one, complete, is not in the way
        for request in stuck:
            request.cancel()
        await asyncio.gather(*stuck, return_exceptions=True)
        whole = as_json(*(envelope(site.task, i) for i in range(3)))
        text = json.dumps(whole).encode()
        assert (await site.request(pieces([text[:500], text[500:]]), content_type=JSON)).status == 201  # what they held is free again

    play(scenario, most_waiting=1000)


def once(body):
    """A ``receive`` that brings the beginning of a body, and then nothing."""
    messages = [{"type": "http.request", "body": body, "more_body": True}]

    async def receive():
        return messages.pop() if messages else await silence()

    return receive


def test_too_many_requests_at_once():
    async def scenario(site):
        site.collector.gate.clear()
        two = [asyncio.ensure_future(site.hand_in(envelope(site.task, i))) for i in range(2)]
        await site.collector.appending()
        answer = await site.request(unread, content_type=JSON)
        assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "busy", "1")
        site.collector.gate.set()
        assert [answer.status for answer in await asyncio.gather(*two)] == [201, 201]
        assert (await site.hand_in(envelope(site.task, 3))).status == 201

    play(scenario, requests_at_once=2)


def test_the_rate_of_reports_is_that_of_all_senders_together():
    now = 100.0

    async def scenario(site):
        nonlocal now
        assert (await site.hand_in(*(envelope(site.task, i) for i in range(25)))).status == 201  # whole, though it is more than a second's
        answer = await site.hand_in(envelope(site.task, 1))
        assert (answer.status, answer.code, answer.headers["retry-after"]) == (429, "rate", "2")
        now += 1.5
        assert (await site.hand_in(envelope(site.task, 1))).status == 429
        now += 0.125
        assert (await site.hand_in(envelope(site.task, 1))).status == 201
        now += 1000  # a long silence is not saved up
        assert [(await site.hand_in(envelope(site.task, i))).status for i in range(12)] == [201] * 10 + [429] * 2

    play(scenario, reports_per_second=10, clock=lambda: now)


def test_stopping_answers_what_was_taken_and_refuses_the_rest():
    async def scenario(site):
        site.collector.gate.clear()
        taken = envelope(site.task, 1)
        request = asyncio.ensure_future(site.hand_in(taken))
        await site.collector.appending()
        body = envelope(site.task, 2).pack()
        rest = asyncio.Event()

        async def slow():
            await rest.wait()
            return {"type": "http.request", "body": body, "more_body": False}

        reading = asyncio.ensure_future(site.request(slow, content_type="application/vnd.deniable.reports.v1"))
        await asyncio.sleep(0)
        stopping = asyncio.ensure_future(site.ingest.stop())
        await asyncio.sleep(0)
        rest.set()
        refused = await site.request(unread, content_type=JSON)
        for answer in (refused, await reading):
            assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "stopping", "5")
        assert not stopping.done()
        site.collector.gate.set()
        await stopping
        assert (await request).status == 201
        assert site.collector.ids == {taken.id}
        assert not [thread for thread in threading.enumerate() if thread.name.startswith("committer")]

    play(scenario)


# --- what is counted about it ---


def figure(site, name):
    lines = [line.split(" ") for line in site.metrics.render().decode().splitlines() if not line.startswith("#")]
    return next(float(value) for series, value in lines if series == name)


def test_outcomes_are_counted_and_nothing_from_a_request_becomes_a_label():
    async def scenario(site):
        names = {line.split(" ")[0] for line in site.metrics.render().splitlines()}
        counted = envelope(site.task, 1)
        await site.hand_in(counted, *(envelope(site.task, 1)._replace(task=bytes([i]) * 32) for i in range(20)))
        site.collector.seal(0)
        await site.hand_in(counted)
        await site.post(b"", "text/plain")
        assert {line.split(" ")[0] for line in site.metrics.render().splitlines()} == names
        assert figure(site, 'deniable_reports_total{outcome="accepted"}') == 1
        assert figure(site, 'deniable_reports_total{outcome="repeated"}') == 1
        assert figure(site, 'deniable_reports_total{outcome="unknown_task"}') == 20
        assert [figure(site, f'deniable_requests_total{{status="{status}"}}') for status in (200, 201, 415)] == [1, 1, 1]
        assert figure(site, "deniable_append_reports_sum") == 1

    play(scenario)


def test_what_waits_can_be_read_while_it_waits():
    async def scenario(site):
        site.collector.gate.clear()
        sent = envelope(site.task, 1)
        request = asyncio.ensure_future(site.hand_in(sent))
        await site.collector.appending()
        assert figure(site, "deniable_waiting_bytes") == len(sent.pack())
        site.collector.gate.set()
        await request
        assert figure(site, "deniable_waiting_bytes") == 0

    play(scenario)


def test_the_decoder_takes_what_a_device_packs():
    """The driver above packs with the library's own envelope; this one is written out."""

    async def scenario(site):
        head = bytes([62 - 4 + 2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0])
        body = head + site.task.id + bytes(range(16)) + b"\x34\x12"
        assert (await site.post(body)).status == 201
        assert site.collector.stored == {Bucket(site.task.id, 0): {bytes(range(16)): b"\x34\x12"}}

    play(scenario)


def test_limits_that_make_no_sense_are_refused():
    from deniable.errors import ParameterError

    with pytest.raises(ParameterError, match="max_body"):
        Site(max_body=0)
    assert isinstance(Envelope, type)
