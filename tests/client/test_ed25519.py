"""Signatures: RFC 8032's vectors, another library as the judge, and the forgeries that lax verifiers let through."""

from __future__ import annotations

import hashlib

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from deniable.contract import ed25519
from deniable.contract.ed25519 import ORDER, P, verify

RFC_8032 = {
    "TEST 1": (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    "TEST 2": (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    "TEST 3": (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
    "TEST SHA(abc)": (
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        hashlib.sha512(b"abc").hexdigest(),
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ),
}
ORDER_EIGHT = bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")
SEED = bytes(range(32))
SECRET = int.from_bytes(hashlib.sha512(SEED).digest()[:32], "little") & (1 << 254) - 8 | 1 << 254
KEY = Ed25519PrivateKey.from_private_bytes(SEED).public_key().public_bytes_raw()


@pytest.mark.parametrize("name", RFC_8032)
def test_the_vectors_of_the_standard(name):
    key, message, signature = (bytes.fromhex(text) for text in RFC_8032[name])
    assert verify(key, message, signature)
    assert not verify(key, message + b"\0", signature)


def other_library(key: bytes, message: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def test_agrees_with_another_library_on_good_and_on_damaged_signatures():
    verdicts = set()
    for i in range(24):
        signer = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(bytes([i])).digest())
        key, message = signer.public_key().public_bytes_raw(), hashlib.sha512(bytes([i])).digest() * i
        signature = signer.sign(message)
        bit = hashlib.sha256(signature).digest()[0] * 2 + 1  # any bit of R or s
        damaged = (int.from_bytes(signature, "little") ^ 1 << bit).to_bytes(64, "little")
        mirrored = bytes([*key[:31], key[31] ^ 0x80])
        for case in ((key, message, signature), (key, message, damaged), (mirrored, message, signature)):
            assert verify(*case) == other_library(*case), case
            verdicts.add(verify(*case))
    assert verdicts == {True, False}


def sign(r: int, point: ed25519.Point, key: bytes, secret: int, message: bytes, multiple: int = 0) -> bytes:
    """A signature with a commitment of our choice: the point, of discrete logarithm r up to a point of small order."""
    commitment = ed25519._encode(point)
    k = int.from_bytes(hashlib.sha512(commitment + key + message).digest(), "little") % ORDER
    return commitment + ((r + k * secret) % ORDER + multiple * ORDER).to_bytes(32, "little")


def times_base(number: int) -> ed25519.Point:
    return ed25519._combine(number, 0, ed25519._NEUTRAL)


def test_a_second_signature_cannot_be_made_from_the_first():
    """Malleability: s and s + the order solve the same equation."""
    assert verify(KEY, b"m", sign(7, times_base(7), KEY, SECRET, b"m"))
    assert not verify(KEY, b"m", sign(7, times_base(7), KEY, SECRET, b"m", multiple=1))


def test_a_commitment_of_small_order_is_refused():
    assert not verify(KEY, b"m", sign(0, ed25519._NEUTRAL, KEY, SECRET, b"m"))


def test_the_equation_is_the_one_without_the_cofactor():
    """R shifted by a point of order 8: verifiers that multiply by 8 accept it, ours and the other library's do not."""
    torsion = ed25519._decode(ORDER_EIGHT)
    shifted = sign(7, ed25519._add(times_base(7), torsion), KEY, SECRET, b"m")
    assert not verify(KEY, b"m", shifted)
    assert not other_library(KEY, b"m", shifted)


def small_order_keys() -> list[bytes]:
    torsion = ed25519._decode(ORDER_EIGHT)
    points = [ed25519._NEUTRAL]
    for _ in range(7):
        points.append(ed25519._add(points[-1], torsion))
    return [ed25519._encode(point) for point in points]


def test_keys_of_small_order_verify_nothing():
    """Under such a key anyone can sign: k A vanishes for one message in eight at least."""
    keys = small_order_keys()
    assert len(set(keys)) == 8
    forged = 0
    for key in keys:
        for i in range(64):
            signature = sign(7, times_base(7), key, 0, bytes([i]))
            forged += other_library(key, bytes([i]), signature)
            assert not verify(key, bytes([i]), signature)
    assert forged > 64  # a verifier that is not strict takes them: this test would notice


@pytest.mark.parametrize(
    "spelling",
    [
        (P + 1).to_bytes(32, "little"),  # y = 1, not reduced
        (1 | 1 << 255).to_bytes(32, "little"),  # x = 0 cannot be odd
        (2).to_bytes(32, "little"),  # on no point of the curve
        b"\xff" * 32,
    ],
)
def test_points_have_one_spelling(spelling):
    assert ed25519._decode(spelling) is None
    assert not verify(spelling, b"m", sign(7, times_base(7), spelling, 0, b"m"))


def test_other_lengths_are_no_signatures():
    signature = sign(7, times_base(7), KEY, SECRET, b"m")
    assert not verify(KEY, b"m", signature + b"\0")
    assert not verify(KEY, b"m", signature[:63])
    assert not verify(KEY[:31], b"m", signature)


def test_the_same_signature_is_verified_once_in_a_process():
    signature = sign(11, times_base(11), KEY, SECRET, b"once")
    before = ed25519._verify.cache_info()
    assert all(verify(KEY, b"once", signature) for _ in range(100))
    after = ed25519._verify.cache_info()
    assert (after.misses - before.misses, after.hits - before.hits) == (1, 99)
