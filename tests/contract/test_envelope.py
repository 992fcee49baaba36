"""The envelope's bytes: every change of them is another report or an error, never an exception of another kind."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.contract.envelope import HEADER, Envelope, open_batch
from deniable.errors import WireError

ENVELOPES = st.builds(
    Envelope,
    task=st.binary(min_size=32, max_size=32),
    period=st.integers(0, 2**32 - 1),
    question=st.integers(0, 2**16 - 1),
    stratum=st.integers(0, 2**16 - 1),
    id=st.binary(min_size=16, max_size=16),
    payload=st.binary(max_size=40),
    token=st.one_of(st.binary(max_size=40), st.binary(min_size=288, max_size=288)),
)


@given(st.lists(ENVELOPES, max_size=5))
def test_a_batch_is_what_was_put_into_it(envelopes):
    assert open_batch(b"".join(envelope.pack() for envelope in envelopes)) == envelopes


@given(st.lists(ENVELOPES, min_size=1, max_size=3), st.data())
def test_a_batch_that_was_cut_is_refused_or_ends_between_two(envelopes, data):
    whole = b"".join(envelope.pack() for envelope in envelopes)
    cut = data.draw(st.integers(1, len(whole) - 1))
    ends = {len(b"".join(envelope.pack() for envelope in envelopes[:i])): i for i in range(len(envelopes))}
    if cut in ends:
        assert open_batch(whole[:cut]) == envelopes[: ends[cut]]
    else:
        with pytest.raises(WireError):
            open_batch(whole[:cut])


@given(st.binary(max_size=300))
def test_garbage_raises_nothing_but_wire_errors(data):
    try:
        envelopes = open_batch(data)
    except WireError:
        return
    assert b"".join(envelope.pack() for envelope in envelopes) == data  # one form only


def test_the_layout_is_the_documented_one():
    sent = Envelope(
        task=bytes([0xAA]) * 32, period=0x04030201, question=0x0605, stratum=0x0807, id=bytes([0xBB]) * 16, payload=b"pp", token=b"ttt"
    )
    assert sent.pack().hex() == "41000000" + "0100" + "0300" + "0506" + "0708" + "01020304" + "aa" * 32 + "bb" * 16 + "747474" + "7070"
    assert HEADER.size == 64


def test_another_version_and_too_many_are_refused():
    sent = Envelope(task=bytes(32), period=0, question=0, stratum=0, id=bytes(16), payload=b"").pack()
    with pytest.raises(WireError, match=r"version 2\.0"):
        open_batch(sent[:4] + b"\x02" + sent[5:])
    with pytest.raises(WireError, match=r"version 1\.9"):
        open_batch(sent[:5] + b"\x09" + sent[6:])
    with pytest.raises(WireError, match="at most 2"):
        open_batch(sent * 3, most=2)
    assert len(open_batch(sent * 2, most=2)) == 2


@pytest.mark.parametrize(
    "change", [{"task": b""}, {"id": b""}, {"period": 1 << 32}, {"question": -1}, {"stratum": 1 << 16}, {"token": bytes(1 << 16)}]
)
def test_what_does_not_fit_is_not_packed(change):
    sent = Envelope(task=bytes(32), period=0, question=0, stratum=0, id=bytes(16), payload=b"")
    with pytest.raises(WireError):
        sent._replace(**change).pack()
