"""Seals as they are made here: one length whatever the answer, fresh every time, opened by their own keys alone, in one process or many."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import get_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.contract.mixing import Threshold
from deniable.contract.notice import ANALYST, SHUFFLER, KeyNotice
from deniable.contract.sealed import (
    HEADER,
    HPKE_BYTES,
    ROUTE_BYTES,
    Header,
    Outer,
    crowd_of,
    open_seals,
    pack_seals,
    read_header,
    read_outer,
    read_padded,
    route_of,
    seal_id,
    seal_sizes,
)
from deniable.errors import ParameterError, WireError
from deniable.sealing.keys import KeyPair
from deniable.sealing.seal import dummy, open_inner, open_inners, open_outer, open_outers, seal_report
from tests.client.fake import TASK, drink_task
from tests.sealing.parties import Parties

THRESHOLD = Threshold(minimum=20, sigma="2.5")


@pytest.mark.parametrize("admission", ["open", "token"])
@pytest.mark.parametrize("threshold", [None, THRESHOLD], ids=["no threshold", "threshold"])
@pytest.mark.parametrize("relays", [1, 3])
def test_all_seals_of_a_task_have_one_length_at_each_station(relays, threshold, admission):
    parties = Parties(relays, threshold=threshold, admission=admission)
    lengths = set()
    for number, payload in enumerate((b"", b"\0", b"\xff" * 48)):
        envelope = parties.envelope(payload, period=number, number=number)
        seal, seen = parties.seal(envelope), []
        for place, pair in enumerate(parties.shufflers):
            seen.append(len(seal))
            outer = open_outer(pair, seal)
            last = place == relays - 1
            assert outer.token == (envelope.token if last and admission == "token" else b"")
            assert outer.crowd == (crowd_of(envelope) if last and threshold else b"")
            seal = outer.next
        assert open_inner(parties.collector, seal, parties.task) == envelope
        lengths.add((*seen, len(seal)))
    assert lengths == {seal_sizes(parties.task)}
    assert len(dummy(parties.task, 0, parties.analyst)) == seal_sizes(parties.task)[-1]


def test_no_two_seals_of_one_report_are_alike():
    """Nobody can tell from two seals whether they hold the same: every layer has an ephemeral key of its own."""
    parties = Parties(2)
    seals = [parties.seal(parties.envelope()) for _ in range(50)]
    inner = [open_outer(parties.shufflers[0], seal).next for seal in seals]
    for layer in (seals, inner):
        assert len({seal[HEADER.size : HEADER.size + 32] for seal in layer}) == 50
        assert len({seal[HEADER.size + 32 :] for seal in layer}) == 50
        assert {seal[: HEADER.size] for seal in layer} == {layer[0][: HEADER.size]}


def test_a_key_given_to_one_person_gives_another_route_to_every_shuffler():
    """What an honest shuffler groups by, wherever it stands in the chain: nobody's key id comes out of a crowd of others."""
    parties = Parties(3)
    others = [open_layers(parties, parties.seal(parties.envelope(number=number))) for number in range(3)]
    assert others[0] == others[1] == others[2]
    marked = KeyPair(b"\x55" * 32, parties.collector.start, parties.collector.end)
    found = open_layers(parties, seal_report(parties.task, parties.envelope(), marked.notice(ANALYST), parties.relays))
    assert all(route != usual for route, usual in zip(found, others[0], strict=True))
    relays = [*parties.relays[:2], marked.notice(SHUFFLER)]  # the last shuffler's key, seen by those before it
    first = open_outer(parties.shufflers[0], seal_report(parties.task, parties.envelope(), parties.analyst, relays))
    second = open_outer(parties.shufflers[1], first.next)
    assert (first.route != others[0][0], second.route != others[0][1]) == (True, True)


def test_two_keys_with_one_id_are_two_routes(monkeypatch):
    """A collector finds two keys with one id of 8 bytes in 2^32 tries; here all keys have one. The route is of the whole keys."""
    monkeypatch.setattr(KeyNotice, "id", property(lambda _: b"the same"))
    parties = Parties(2)
    for pair in parties.shufflers:
        pair.__dict__["id"] = b"the same"
    usual = open_layers(parties, parties.seal(parties.envelope()))
    marked = KeyPair(b"\x55" * 32, parties.collector.start, parties.collector.end).notice(ANALYST)
    assert marked.id == parties.analyst.id
    found = open_layers(parties, seal_report(parties.task, parties.envelope(), marked, parties.relays))
    assert all(route != other and len(route) == ROUTE_BYTES == 32 for route, other in zip(found, usual, strict=True))
    with pytest.raises(ParameterError, match="32 bytes"):
        route_of([parties.analyst.id])


def open_layers(parties, seal):
    routes = []
    for pair in parties.shufflers:
        outer = open_outer(pair, seal)
        routes.append(outer.route)
        seal = outer.next
    return routes


def test_only_the_right_key_opens():
    parties = Parties(2)
    seal = parties.seal(parties.envelope())
    with pytest.raises(WireError, match="key"):
        open_outer(parties.shufflers[1], seal)
    lying = KeyPair(b"\x66" * 32, 0, 1)
    lying.__dict__["id"] = parties.shufflers[0].id  # another key under the same id
    with pytest.raises(WireError, match="seal"):
        open_outer(lying, seal)
    inner = open_outer(parties.shufflers[1], open_outer(parties.shufflers[0], seal).next).next
    with pytest.raises(WireError):
        open_inner(parties.collector, inner, drink_task(model="shuffle", mixing=parties.task.mixing, name="another"))


def test_what_does_not_fit_is_never_sealed():
    parties = Parties(2, size=80)
    with pytest.raises(ParameterError, match="at most 80 bytes"):
        parties.seal(parties.envelope(b"\0" * 17))
    with pytest.raises(ParameterError, match="task"):
        parties.seal(parties.envelope()._replace(task=TASK.id))
    for analyst, relays in ((parties.relays[0], parties.relays), (parties.analyst, parties.relays[:1])):
        with pytest.raises(ParameterError, match="2 shufflers"):
            seal_report(parties.task, parties.envelope(), analyst, relays)
    with pytest.raises(ParameterError, match="analyst"):
        dummy(parties.task, 0, parties.relays[0])
    with pytest.raises(ParameterError, match="shuffle trust"):
        dummy(TASK, 0, parties.analyst)
    short = Parties(1, admission="token")
    with pytest.raises(ParameterError, match="enrol"):
        short.seal(short.envelope()._replace(token=b"\1"))
    with pytest.raises(WireError):
        parties.seal(parties.envelope(period=1 << 32))


def test_many_are_opened_in_order_whatever_is_wrong_with_some():
    """In this process and in others: keys and errors go there and back."""
    parties = Parties(1)
    pair, stranger = parties.shufflers[0], KeyPair(b"\x77" * 32, 0, 1)
    seals = [parties.seal(parties.envelope(number=number)) for number in range(1100)]
    seals[700] = seals[700][:-1]
    seals[5] = seals[5][:1] + stranger.id + seals[5][9:]
    envelopes = [parties.envelope(number=number) for number in range(1100)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for given_pool in (None, pool):
            opened = open_outers({pair.id: pair}, seals, given_pool)
            assert [place for place, result in enumerate(opened) if isinstance(result, WireError)] == [5, 700]
            assert opened[5].parameter == "key"
            inner = [result.next if isinstance(result, Outer) else b"" for result in opened]
            inner[9] = dummy(parties.task, 0, parties.analyst)
            found = open_inners({parties.collector.id: parties.collector}, inner, parties.task, given_pool)
            assert [place for place, result in enumerate(found) if isinstance(result, WireError)] == [5, 700]
            assert found[9] is None
            assert all(result == envelopes[place] for place, result in enumerate(found) if place not in {5, 9, 700})


def test_no_secret_shows():
    parties = Parties(1, admission="token")
    envelope = parties.envelope()
    outer = open_outer(parties.shufflers[0], parties.seal(envelope))
    assert repr(envelope.token)[2:-1][:40] not in repr(outer)
    pair = parties.shufflers[0]
    assert pair.private.hex() not in repr(pair)
    assert repr(pair.private)[2:-1] not in repr(vars(pair).keys())
    assert pickle.loads(pickle.dumps(pair)).private == pair.private


# --- layouts ---


def test_bodies_of_requests():
    seals = [bytes([number]) * (HEADER.size + HPKE_BYTES + number) for number in range(4)]
    body = pack_seals(seals)
    assert open_seals(body) == seals
    assert open_seals(b"") == []
    assert len({seal_id(seal) for seal in seals}) == 4
    for bad in (body[:-1], body + b"\0", b"\0\0\0\0", (92).to_bytes(4, "little") + bytes(92), (1 << 31).to_bytes(4, "little") + body):
        with pytest.raises(WireError):
            open_seals(bad)
    with pytest.raises(WireError, match="at most 3"):
        open_seals(body, most=3)


HEAD = Header(bytes(8), bytes(32), 0)


@given(st.binary(max_size=300), st.sampled_from([64, 65, 200]))
def test_garbage_raises_only_wire_errors(data, size):
    """Whatever a device locked into its box: the layouts read it, or refuse it."""
    for read in (
        read_header,
        open_seals,
        lambda given: read_outer(given, HEAD),
        lambda given: read_padded(given.ljust(size, b"\0"), HEAD, size),
    ):
        with suppress(WireError):
            read(data)


@given(st.binary(min_size=ROUTE_BYTES, max_size=ROUTE_BYTES), st.binary(max_size=300), st.binary(max_size=32))
def test_what_is_packed_is_read(route, token, crowd):
    following = Header(b"12345678", bytes(32), 0).pack() + bytes(HPKE_BYTES)
    outer = Outer(route, token, crowd, following)
    assert read_outer(outer.pack(), HEAD) == outer
    for size in range(len(outer.pack())):
        with pytest.raises(WireError):
            read_outer(outer.pack()[:size], HEAD)
