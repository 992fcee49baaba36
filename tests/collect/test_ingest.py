from __future__ import annotations

import asyncio
import json
import threading

import pytest

from deniable.collect.storage.block import Bucket
from deniable.collect.web.ingest import LOOKUPS_AT_ONCE
from deniable.errors import ParameterError
from tests.collect.asgi import Site, as_json, pieces, play, silence, unread
from tests.collect.crowd import envelope

JSON = "application/json"


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
        stuck = [asyncio.ensure_future(site.request(once(b"x" * 400), content_type=JSON)) for _ in range(2)]
        await asyncio.sleep(0)
        answer = await site.request(once(b"x" * 400), content_type=JSON)
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


def test_a_period_that_is_full_takes_nothing_more():
    async def scenario(site):
        site.collector.stored_bytes = 999
        assert (await site.hand_in(envelope(site.task, 1))).status == 201
        site.collector.stored_bytes = 1000
        answer = await site.hand_in(envelope(site.task, 2))
        assert (answer.status, answer.code, answer.headers["retry-after"]) == (429, "period_full", "60")
        assert len(site.collector.ids) == 1

    play(scenario, period_bytes=1000)


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


@pytest.mark.parametrize(("stop", "expected"), [(False, (429, "queue_full", "1")), (True, (503, "stopping", "5"))])
def test_the_room_that_is_gone_when_a_request_comes_back(stop, expected):
    """Tokens are checked in a thread; meanwhile others take the room, or the collector is stopped."""

    async def scenario(site):
        site.collector.gate.clear()
        checked = threading.Event()
        admit = site.collector.admit
        site.collector.admit = lambda sent: (checked.wait(60) if any(one.token for one in sent) else True) and admit(sent)
        sent = envelope(site.task, 1)
        request = asyncio.ensure_future(site.hand_in(sent, envelope(site.task, 2)._replace(token=b"t")))
        others = [asyncio.ensure_future(site.hand_in(envelope(site.task, i))) for i in range(20)]
        await site.collector.appending()
        assert site.committer.full
        stopping = asyncio.ensure_future(site.ingest.stop()) if stop else asyncio.ensure_future(asyncio.sleep(0))
        await asyncio.sleep(0)
        checked.set()
        answer = await request
        assert (answer.status, answer.code, answer.headers["retry-after"]) == expected
        site.collector.gate.set()
        await asyncio.gather(stopping, *others)
        assert sent.id not in site.collector.ids

    play(scenario, most_waiting=1000)


def test_only_some_look_for_what_is_sealed_at_one_time():
    async def scenario(site):
        sent = [envelope(site.task, i) for i in range(LOOKUPS_AT_ONCE + 1)]
        assert (await site.hand_in(*sent)).status == 201
        site.collector.seal(0)
        free, known = threading.Event(), site.collector.known
        site.collector.known = lambda again: free.wait(60) and known(again)
        lookups = [asyncio.ensure_future(site.hand_in(one)) for one in sent[:-1]]
        await asyncio.sleep(0)
        answer = await site.hand_in(sent[-1])
        assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "busy", "1")
        free.set()
        assert {answer.status for answer in await asyncio.gather(*lookups)} == {201}
        assert (await site.hand_in(sent[-1])).status == 201

    play(scenario)


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
        names = {line.split(b" ")[0] for line in site.metrics.render().splitlines()}
        counted = envelope(site.task, 1)
        await site.hand_in(counted, *(envelope(site.task, 1)._replace(task=bytes([i]) * 32) for i in range(20)))
        site.collector.seal(0)
        await site.hand_in(counted)
        await site.post(b"", "text/plain")
        assert {line.split(b" ")[0] for line in site.metrics.render().splitlines()} == names
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
        head = bytes([64 - 4 + 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0])
        body = head + site.task.id + bytes(range(16)) + b"\x34\x12"
        assert (await site.post(body)).status == 201
        assert site.collector.stored == {Bucket(site.task.id, 0): {bytes(range(16)): b"\x34\x12"}}

    play(scenario)


def test_limits_that_make_no_sense_are_refused():
    with pytest.raises(ParameterError, match="max_body"):
        Site(max_body=0)
