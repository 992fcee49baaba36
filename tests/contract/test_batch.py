"""The batch message: what was signed comes out as it was, and nothing else comes out at all."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from deniable.contract.batch import BATCH_CONTEXT, MOST_SEALS, Manifest, open_batch, open_manifest, pack_batch
from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.contract.mixing import Threshold
from deniable.errors import WireError

SHUFFLER = Ed25519PrivateKey.from_private_bytes(bytes(32))
KEY = SHUFFLER.public_key().public_bytes_raw()
SEALS = [bytes([i]) * 40 for i in range(5)]


def message(seals=SEALS, signer=SHUFFLER, **changed) -> tuple[Manifest, bytes]:
    manifest = Manifest.of(seals, **{"batch": b"b" * 16, "task": b"t" * 32, "period": 7, **changed})
    return manifest, pack_batch(manifest, signer.sign(manifest.signed), seals)


@pytest.mark.parametrize("threshold", [None, Threshold(minimum=20, sigma="2.5")])
def test_a_batch_comes_out_as_it_went_in(threshold):
    manifest, data = message(threshold=threshold)
    found = open_batch(data, KEY)
    assert (found.manifest, found.seals) == (manifest, tuple(SEALS))
    assert open_manifest(data[: len(data) - 200], KEY) == (manifest, len(data) - 200)  # before the seals are there
    assert manifest.signed.startswith(BATCH_CONTEXT)
    assert (b"threshold" in manifest.canonical) == (threshold is not None)


def test_every_byte_is_signed():
    _, data = message()
    for place in range(len(data)):
        with pytest.raises(WireError):
            open_batch(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :], KEY)
    for cut in (data[:-1], data[:-40], data + b"\0", data + SEALS[0], data[:3], b""):
        with pytest.raises(WireError):
            open_batch(cut, KEY)


@given(st.binary(max_size=400))
def test_garbage_is_a_wire_error(data):
    with pytest.raises(WireError):
        open_batch(data, KEY)


def test_nobody_else_can_sign_it():
    _, data = message(signer=Ed25519PrivateKey.from_private_bytes(b"\1" * 32))
    with pytest.raises(WireError, match="signature"):
        open_batch(data, KEY)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"count": 0},
        {"count": MOST_SEALS + 1},
        {"count": True},
        {"size": 0},
        {"period": -1},
        {"period": 1 << 32},
        {"batch": "00"},
        {"task": "zz" * 32},
        {"items": 5},
        {"threshold": {"minimum": 0, "sigma": "1"}},
        {"threshold": {"minimum": 5}},
        {"more": 1},
    ],
)
def test_a_signed_manifest_that_means_nothing_is_refused(change):
    manifest, _ = message()
    text = canonical_json(parse_canonical(manifest.canonical) | change)
    data = len(text).to_bytes(4, "little") + text + SHUFFLER.sign(BATCH_CONTEXT + text) + b"".join(SEALS)
    with pytest.raises(WireError):
        open_batch(data, KEY)


def test_seals_of_different_sizes_are_no_batch():
    with pytest.raises(WireError, match="one size"):
        message([*SEALS, b"short"])
    with pytest.raises(WireError):
        message([])
    with pytest.raises(WireError):
        pack_batch(message()[0], b"", SEALS)
