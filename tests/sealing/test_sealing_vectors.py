"""Sealing replayed: RFC 9180's own message, seals that were made by another HPKE, and everything that must be refused."""

from __future__ import annotations

import json

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.bindings._rust import openssl
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from deniable.contract.envelope import open_batch
from deniable.contract.notice import ANALYST, SHUFFLER, KeyNotice, read_keys, read_notice
from deniable.contract.sealed import read_header, seal_sizes
from deniable.contract.task import Task
from deniable.errors import ProtocolError, WireError
from deniable.sealing.keys import KeyPair
from deniable.sealing.seal import SUITE, dummy, open_inner, open_inners, open_outer, open_outers
from tests.conftest import vectors

SEALING = vectors("sealing")
KINDS = {"WireError": WireError, "ProtocolError": ProtocolError}


def pair(private):
    return KeyPair(bytes.fromhex(private), 0, 1)


def test_the_library_opens_the_message_of_the_rfc():
    for case in SEALING["hpke"]:
        data = {name: bytes.fromhex(text) for name, text in case.items() if name != "why"}
        key = X25519PrivateKey.from_private_bytes(data["private"])
        decrypt = openssl.hpke._decrypt_with_aad  # the public one takes no associated data, which the RFC's message has
        assert decrypt(SUITE, data["sealed"], key, data["info"], data["aad"]) == data["plain"]
        with pytest.raises(InvalidTag):
            decrypt(SUITE, data["sealed"], key, data["info"] + b"\0", data["aad"])


@pytest.mark.parametrize("case", SEALING["cases"], ids=lambda case: case["why"])
def test_seals_open_layer_by_layer(case):
    task, seals = Task.from_json(case["task"].encode()), [bytes.fromhex(seal) for seal in case["seals"]]
    assert tuple(map(len, seals)) == seal_sizes(task)
    for private, expected, seal, following in zip(case["privates"], case["opened"], seals, seals[1:], strict=False):
        found = open_outer(pair(private), seal)
        assert {"route": found.route.hex(), "token": found.token.hex(), "crowd": found.crowd.hex()} == expected
        assert found.next == following
    (sent,) = open_batch(bytes.fromhex(case["envelope"]))
    assert open_inner(pair(case["privates"][-1]), seals[-1], task) == sent
    assert [read_header(seal).period for seal in seals] == [sent.period] * len(seals)


def test_only_the_last_shuffler_sees_what_the_collector_sees():
    """A token or crowd before the last hop would let its shuffler and the collector join what they saw, around an honest one."""
    for case in SEALING["cases"]:
        *before, last = case["opened"]
        assert all(layer["token"] == layer["crowd"] == "" for layer in before)
        assert len({layer["route"] for layer in case["opened"]}) == len(case["opened"])
    assert last["token"]
    assert len(last["crowd"]) == 64


def test_a_dummy_is_nothing():
    case = SEALING["cases"][0]
    task, key = Task.from_json(case["task"].encode()), pair(case["privates"][-1])
    assert open_inner(key, bytes.fromhex(SEALING["dummy"]), task) is None
    made = dummy(task, 3, key.notice(ANALYST))
    assert open_inner(key, made, task) is None
    assert (len(made), read_header(made).period) == (seal_sizes(task)[-1], 3)


@pytest.mark.parametrize("bad", SEALING["refused_seals"], ids=lambda bad: f"{bad['station']} {bad['why']}")
def test_whatever_is_no_seal_is_refused_in_the_same_way_alone_and_in_bulk(bad):
    case = SEALING["cases"][0]
    task, seal = Task.from_json(case["task"].encode()), bytes.fromhex(bad["seal"])
    keys = [pair(private) for private in case["privates"]]
    good = bytes.fromhex(case["seals"][bad["station"]])
    if bad["station"] == 0:
        with pytest.raises(WireError) as refused:
            open_outer(keys[0], seal)
        results = open_outers({key.id: key for key in keys}, [good, seal, good])
    else:
        with pytest.raises(WireError) as refused:
            open_inner(keys[1], seal, task)
        results = open_inners({key.id: key for key in keys}, [good, seal, good], task)
    assert isinstance(results[1], WireError)
    assert results[0] == results[2]
    assert not isinstance(results[0], WireError)
    whole = f"{refused.value!r} {refused.value} {refused.value.received!r}"
    assert all(private not in whole for private in case["privates"])
    assert case["envelope"][128:] not in refused.value.fix


@pytest.mark.parametrize("bad", SEALING["refused_keys"], ids=lambda bad: bad["why"])
def test_nothing_is_sealed_for_a_key_that_hides_nothing(bad):
    task = Task.from_json(SEALING["cases"][0]["task"].encode())
    with pytest.raises(WireError, match="small order"):
        dummy(task, 0, KeyNotice(role=ANALYST, public=bytes.fromhex(bad["public"]), start=0, end=1))


@pytest.mark.parametrize("case", SEALING["notices"], ids=lambda case: case["why"])
def test_key_notices_replay(case):
    asked = case["body"].encode(), bytes.fromhex(case["key"]), case["now"], case["role"], case["since"]
    if case["outcome"] not in KINDS:
        assert read_keys(*asked).public.hex() == case["outcome"]
        return
    with pytest.raises(KINDS[case["outcome"]]):
        read_keys(*asked)


def test_one_notice_is_read_like_a_list_of_one():
    met = set()
    for case in SEALING["notices"]:
        try:
            (item,) = json.loads(case["body"])["keys"]
            data, signature = item["notice"].encode(), bytes.fromhex(item["signature"])
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        met.add(case["outcome"] if case["outcome"] in KINDS else "good")
        asked = data, signature, bytes.fromhex(case["key"]), case["now"], SHUFFLER
        if case["outcome"] in KINDS:
            with pytest.raises(KINDS[case["outcome"]]):
                read_notice(*asked)
        else:
            assert read_notice(*asked).public.hex() == case["outcome"]
    assert met == {"good", *KINDS}


@pytest.mark.parametrize("bad", SEALING["refused_tasks"], ids=lambda bad: bad["why"])
def test_tasks_that_cannot_be_mixed_are_refused(bad):
    with pytest.raises(WireError):
        Task.from_json(bad["task"].encode())
