"""Blind RSA signatures against the published vector, against another implementation of RSA-PSS, and against the algebra."""

from __future__ import annotations

import json

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256, SHA384

from deniable.contract.blind_rsa import EXPONENT, blind, blind_with, draw_bytes, encode, finalize, verify
from deniable.contract.source import SYSTEM
from deniable.errors import WireError
from deniable.testing import ReplaySource
from tests.conftest import ROOT

VECTOR = json.loads((ROOT / "tests" / "data" / "rfc9474.json").read_text())
"""RFC 9474, appendix A, RSABSSA-SHA384-PSS-Deterministic: p, q, msg, salt, inv, blinded_msg, sig."""


class Signer:
    """A key of so many bits, which signs whatever it is given."""

    def __init__(self, bits: int = 2048) -> None:
        self.private = rsa.generate_private_key(EXPONENT, bits)
        numbers = self.private.private_numbers()
        self.n, self.d = numbers.public_numbers.n, numbers.d
        self.modulus = self.n.to_bytes((bits + 7) // 8, "big")

    def sign(self, blinded: bytes) -> bytes:
        return pow(int.from_bytes(blinded, "big"), self.d, self.n).to_bytes(len(self.modulus), "big")

    def others_agree(self, message: bytes, signature: bytes) -> bool:
        try:
            self.private.public_key().verify(signature, message, padding.PSS(padding.MGF1(SHA384()), 48), SHA384())
        except InvalidSignature:
            return False
        return True


@pytest.fixture(scope="module")
def signer():
    return Signer()


def test_the_published_vector():
    p, q, inverse = (int(VECTOR[name], 16) for name in ("p", "q", "inv"))
    message, salt, expected = (bytes.fromhex(VECTOR[name]) for name in ("msg", "salt", "sig"))
    n = p * q
    modulus = n.to_bytes(512, "big")
    blinded = blind_with(modulus, message, salt, pow(inverse, -1, n))
    assert blinded.message.hex() == VECTOR["blinded_msg"]
    assert blinded.inverse.hex() == VECTOR["inv"]
    answer = pow(int(VECTOR["blinded_msg"], 16), pow(EXPONENT, -1, (p - 1) * (q - 1)), n).to_bytes(512, "big")
    assert finalize(modulus, message, answer, blinded) == expected
    assert verify(modulus, message, expected)


@pytest.mark.parametrize("bits", [2048, 2050, 2054])
def test_a_blind_signature_is_one_for_everybody(bits):
    signer, message = Signer(bits), b"a number that nobody else has"
    blinded = blind_with(signer.modulus, message, draw_bytes(SYSTEM, 48), 12345)
    signature = finalize(signer.modulus, message, signer.sign(blinded.message), blinded)
    assert signer.others_agree(message, signature)
    assert not verify(signer.modulus, message + b"!", signature)


def test_keys_of_one_bit_more_than_whole_bytes(signer):
    """The encoding then fills its bytes to the last bit; a salt for either value of that bit."""
    p, q, message = Signer(2050).private.private_numbers().p, signer.private.private_numbers().q, b"message"
    n, d = p * q, pow(EXPONENT, -1, (p - 1) * (q - 1))
    assert n.bit_length() == 2049
    modulus, others = n.to_bytes(257, "big"), rsa.RSAPublicNumbers(EXPONENT, n).public_key()
    for high in (False, True):
        salt = next(salt for i in range(64) if (encode(message, salt := bytes([i]) * 48, 2049)[0] >= 0x80) == high)
        blinded = blind_with(modulus, message, salt, 12345)
        answer = pow(int.from_bytes(blinded.message, "big"), d, n).to_bytes(257, "big")
        others.verify(finalize(modulus, message, answer, blinded), message, padding.PSS(padding.MGF1(SHA384()), 48), SHA384())


def test_salt_and_factor_come_from_the_source_and_a_factor_that_does_not_fit_is_drawn_again(signer):
    salt, zero, large, fits = range(6), (0,) * 32, (2**64 - 1,) * 32, (1,) * 32
    drawn = blind(signer.modulus, b"message", ReplaySource((*salt, *zero, *large, *fits)))
    factor = int.from_bytes(bytes.fromhex("0000000000000001" * 32), "big")
    assert drawn == blind_with(signer.modulus, b"message", b"".join(word.to_bytes(8, "big") for word in salt), factor)


def test_signatures_of_others_are_verified_and_near_misses_are_not(signer):
    message = b"message"

    def signed(salt=48, digest=SHA384):
        return signer.private.sign(message, padding.PSS(padding.MGF1(digest()), salt), digest())

    right = signed()
    assert verify(signer.modulus, message, right)
    larger = (int.from_bytes(right, "big") + signer.n).to_bytes(257, "big")
    wrong = [right[:-1], right + b"\0", larger, bytes(256), signer.modulus, b"", signed(salt=47), signed(salt=0), signed(digest=SHA256)]
    wrong += [bytes(256 - i) + right[256 - i :] for i in (1, 255)]
    wrong += [right[:i] + bytes([right[i] ^ 1]) + right[i + 1 :] for i in (0, 100, 255)]
    assert not any(verify(signer.modulus, message, signature) for signature in wrong)


def test_every_bit_of_the_encoding_counts(signer):
    """Signed by the true key, and still refused: padding, trailer, digest and the bit that the key is longer by."""
    right = int.from_bytes(encode(b"message", bytes(48), 2048), "big")
    assert verify(signer.modulus, b"message", signer.sign(right.to_bytes(256, "big")))
    for bit in (0, 7, 8, 300, 400, 700, 800, 1500, 2040, 2047):
        changed = right ^ 1 << bit
        if changed < signer.n:
            assert not verify(signer.modulus, b"message", signer.sign(changed.to_bytes(256, "big"))), bit


def test_an_answer_that_is_no_signature_is_found_out(signer):
    blinded = blind(signer.modulus, b"message", SYSTEM)
    answer = signer.sign(blinded.message)
    assert finalize(signer.modulus, b"message", answer, blinded)
    for wrong in (blinded.message, answer[1:], b"\0" + answer, bytes(256), Signer().sign(blinded.message)):
        with pytest.raises(WireError, match="do not trust"):
            finalize(signer.modulus, b"message", wrong, blinded)


def test_what_was_signed_fits_every_message(signer):
    """For each blinded message and each token there is one factor that connects them: nobody can tell which it was."""
    messages = [b"the first", b"the second"]
    blinded = [int.from_bytes(blind(signer.modulus, message, SYSTEM).message, "big") for message in messages]
    for product in blinded:
        for message in messages:
            salt = draw_bytes(SYSTEM, 48)
            encoded = int.from_bytes(encode(message, salt, 2048), "big")
            r = pow(product * pow(encoded, -1, signer.n), signer.d, signer.n)
            assert blind_with(signer.modulus, message, salt, r).message == product.to_bytes(256, "big")
