"""The vectors of tokens and signatures: from a draw to the report that a token is spent on, and what a device takes for signed.

Part of ``make_vectors``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace
from math import gcd
from typing import Any

import gmpy2
from client_vectors import LARGE, PLAIN

from deniable.client import BLH, GRR, OLH, MemoryLedger
from deniable.client.enrolment import DRAWN, TOKENS, enrol, read_secret, stamp_for
from deniable.client.transport import Response
from deniable.contract import ed25519
from deniable.contract.admission import SECRET_MARK, prove, token_message
from deniable.contract.assigned import assigned_seed, seed_words
from deniable.contract.blind_rsa import EXPONENT, blind, blind_with, draw_bytes, encode, small_factor, verify
from deniable.contract.domain import Integers
from deniable.contract.ed25519 import ORDER, P
from deniable.contract.envelope import Envelope
from deniable.contract.question import Question
from deniable.contract.spec import Spec
from deniable.contract.task import Task
from deniable.testing import ReplaySource

ORDER_EIGHT = "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"
"""A point whose order divides the cofactor."""


SEEDED = [OLH(domain_size=1024, epsilon=1.0), BLH(domain=Integers(0, LARGE), epsilon=1.0), GRR(domain_size=4, epsilon=1.0)]
"""Two with a seed, of two words and of three, and one without."""


class Issuer:
    """A key that depends on its name alone. It signs whatever it is given."""

    def __init__(self, name: str) -> None:
        top, seed = 3 << 1022, f"deniable vectors {name}".encode()
        p, q = (int(gmpy2.next_prime(top | int.from_bytes(hashlib.shake_256(seed + end).digest(127), "big"))) for end in (b"p", b"q"))
        self.n, self.d = p * q, pow(EXPONENT, -1, (p - 1) * (q - 1))
        self.modulus = self.n.to_bytes(256, "big")

    def sign(self, blinded: str) -> str:
        return pow(int(blinded, 16), self.d, self.n).to_bytes(256, "big").hex()


def tokens() -> dict[str, Any]:
    """Tokens from their draw to the report that they are spent on, answers that are none, and reports under a shared secret."""
    issuer, other = Issuer("issuer"), Issuer("other")
    task = replace(PLAIN, admission="token", issuer=issuer.modulus, answers=3)
    sent = Envelope(task=task.id, period=1, question=0, stratum=0, id=bytes(range(16)), payload=b"\x01")
    case, signatures = _enrolled(task, issuer, sent)
    first, *rest = signatures
    flipped = f"{int(first, 16) ^ 1:0512x}"
    bad: dict[str, Any] = {
        "signed by another": [other.sign(case["blinded"][0]), *rest], "not signed": [case["blinded"][0], *rest],
        "a bit flipped": [flipped, *rest], "in another order": [rest[0], first, rest[1]], "one too few": rest,
        "one too many": [*signatures, first], "cut": [first[2:], *rest], "with a byte before": ["00" + first, *rest],
        "nothing": ["", *rest], "zeros": ["00" * 256, *rest], "a number": [7, *rest], "not hexadecimal": ["zz" * 256, *rest],
        "none at all": [],
    }  # fmt: skip
    answers = {why: json.dumps({"signatures": listed}) for why, listed in bad.items()}
    answers |= {"another name": json.dumps({"signed": signatures}), "a list": json.dumps(signatures), "no JSON": "<html>", "empty": ""}
    secret = hashlib.sha256(b"shared").digest()
    texts = [f"{SECRET_MARK}{secret.hex()}", secret.hex(), f" {SECRET_MARK}{secret.hex().upper()}\n"]
    assert all(read_secret(text) == secret for text in texts)  # noqa: S101  # a script's own check
    return {
        "blinding": [_blinding(issuer.modulus), *(_blinding_again(modulus) for modulus in _factored(issuer.n, (3, 257)))],
        "cases": [case],
        "refused": [{"why": why, "answer": answer} for why, answer in answers.items()],
        "refused_drawn": [_drawn_before(issuer)],
        "assigned": [_assigned(spec, bytes.fromhex(case["tokens"])[288 * i : 288 * (i + 1)]) for spec in SEEDED for i in range(3)],
        "secrets": [{"text": text, "envelope": sent.pack().hex(), "proof": prove(secret, sent).hex()} for text in texts],
        "issuers": _issuers(issuer),
        "refused_secrets": ["", "ds_", texts[0][:-2], f"{texts[0][:-1]}g", f"dc_{secret.hex()}", f"{texts[0]}00"],
    }


def _enrolled(task: Task, issuer: Issuer, sent: Envelope) -> tuple[dict[str, Any], list[str]]:
    source, ledger, asked = ReplaySource.from_key("tokens"), MemoryLedger(lifetime_epsilon=8), []

    def post(body: bytes) -> Response:
        asked.extend(json.loads(body)["blinded"])
        return Response(200, {}, json.dumps({"signatures": [issuer.sign(part) for part in asked]}).encode())

    enrol(task, "dc_0", ledger, post, source)
    stamp = stamp_for(task, ledger, None)
    drawn, kept = ledger.recall(task.id, DRAWN), ledger.recall(task.id, TOKENS)
    words = [f"{word:016x}" for word in ReplaySource.from_key("tokens").words(source.consumed)]
    signatures = [issuer.sign(part) for part in asked]
    case = {
        "task": task.canonical.decode(), "words": words, "drawn": (drawn or b"").hex(), "blinded": asked, "signatures": signatures,
        "tokens": (kept or b"").hex(), "envelope": sent.pack().hex(), "stamped": [stamp(sent, place).pack().hex() for place in range(3)],
    }  # fmt: skip
    return case, signatures


def _assigned(spec: Spec, token: bytes) -> dict[str, Any]:
    """A report under the seed of its token, where it has one; the words are what the device draws itself."""
    key = f"assigned/{spec.mechanism}/{token[:8].hex()}"
    source, seed = ReplaySource.from_key(key), assigned_seed(token, seed_words(spec))
    report = Question(name="q", spec=spec).answer(1, source, seed)
    words = [f"{word:016x}" for word in ReplaySource.from_key(key).words(source.consumed)]
    return {
        "spec": spec.canonical.decode(), "value": 1, "token": token.hex(), "seed": [f"{word:016x}" for word in seed], "words": words,
        "report": spec.encode(report).hex(),
    }  # fmt: skip


def _blinding(modulus: bytes) -> dict[str, Any]:
    """A factor of 0 and one above the modulus are drawn again."""
    words = [*range(6), *[0] * 32, *[LARGE] * 32, *[1] * 32]
    made = blind(modulus, b"message", ReplaySource(words))
    listed = [f"{word:016x}" for word in words]
    return {
        "modulus": modulus.hex(),
        "message": b"message".hex(),
        "words": listed,
        "blinded": made.message.hex(),
        "inverse": made.inverse.hex(),
    }


def _blinding_again(modulus: bytes) -> dict[str, Any]:
    """Salts are drawn until the encoded message is coprime to the modulus, which only a malicious issuer's is not."""
    n, source = int.from_bytes(modulus, "big"), ReplaySource.from_key(f"salts/{modulus[-8:].hex()}")
    shared: dict[bool, list[list[int]]] = {True: [], False: []}
    while len(shared[True]) < 2 or not shared[False]:
        salt = list(source.words(6))
        encoded = encode(b"message", b"".join(word.to_bytes(8, "big") for word in salt), n.bit_length())
        shared[gcd(int.from_bytes(encoded, "big"), n) != 1].append(salt)
    words = [*shared[True][0], *shared[True][1], *shared[False][0], *[1] * 32]
    made = blind(modulus, b"message", ReplaySource(words))
    return {
        "modulus": modulus.hex(),
        "message": b"message".hex(),
        "words": [f"{word:016x}" for word in words],
        "blinded": made.message.hex(),
        "inverse": made.inverse.hex(),
    }


def _drawn_before(issuer: Issuer) -> dict[str, Any]:
    """A token as releases drew it that took any salt, with a factor in common with the modulus, and the right signature for it.

    The factor is none that a device finds in the modulus.
    """
    (modulus,), factor = _factored(issuer.n, [65_539]), 65_539
    n, task = int.from_bytes(modulus, "big"), replace(PLAIN, admission="token", issuer=modulus, answers=1)
    source, r = ReplaySource.from_key("drawn before"), 3
    number = draw_bytes(source, 32)
    message, salt = token_message(task.id, number), draw_bytes(source, 48)
    while int.from_bytes(encode(message, salt, n.bit_length()), "big") % factor:
        salt = draw_bytes(source, 48)
    blinded = blind_with(modulus, message, salt, r)
    d = pow(EXPONENT, -1, (factor - 1) * (n // factor - 1))
    signed = pow(int.from_bytes(blinded.message, "big"), d, n)
    assert verify(modulus, message, (signed * pow(r, -1, n) % n).to_bytes(256, "big"))  # noqa: S101  # a script's own check
    return {
        "why": "a factor in common with the modulus", "task": task.canonical.decode(),
        "drawn": (number + blinded.inverse + blinded.message).hex(), "answer": json.dumps({"signatures": [f"{signed:0512x}"]}),
    }  # fmt: skip


def _factored(n: int, factors: Iterable[int]) -> list[bytes]:
    """For each factor, a modulus of 2048 bits that has no smaller one: the factor times a prime."""
    return [(factor * int(gmpy2.next_prime(n // factor))).to_bytes(256, "big") for factor in factors]


def _issuers(issuer: Issuer) -> list[dict[str, Any]]:
    """Moduli, and the small factor for which a device refuses them; None for those that it takes."""
    cases: list[tuple[str, bytes, int | None]] = [("two primes of 1024 bits", issuer.modulus, None)]
    refused = (3, 5, 257, 65_519, 65_521)
    cases += [(f"a multiple of {factor}", modulus, factor) for factor, modulus in zip(refused, _factored(issuer.n, refused), strict=True)]
    taken = (65_537, 65_539)
    cases += [(f"a multiple of {factor}", modulus, None) for factor, modulus in zip(taken, _factored(issuer.n, taken), strict=True)]
    cases += [("a power of a small prime", (65_521**128).to_bytes(256, "big"), 65_521)]
    cases += [("all ones", b"\xff" * 256, 3), ("a one at both ends", b"\x80" + bytes(254) + b"\x01", 3)]
    assert all(small_factor(modulus) == factor for _, modulus, factor in cases)  # noqa: S101  # a script's own check
    return [{"why": why, "modulus": modulus.hex(), "factor": factor} for why, modulus, factor in cases]


# --- signatures ---


def signatures() -> dict[str, Any]:
    """What a device takes for a signature, and the forgeries that lax verifiers let through."""
    secret = int.from_bytes(hashlib.sha512(bytes(32)).digest()[:32], "little") & (1 << 254) - 8 | 1 << 254
    secret %= ORDER
    key, torsion = ed25519._encode(_times(secret)), ed25519._decode(bytes.fromhex(ORDER_EIGHT)) or ed25519._NEUTRAL
    right = _sign(7, _times(7), key, secret, b"m")
    small = [ed25519._NEUTRAL]
    for _ in range(7):
        small.append(ed25519._add(small[-1], torsion))
    cases = [("right", key, b"m", right), ("right, and long", key, bytes(1000), _sign(9, _times(9), key, secret, bytes(1000)))]
    cases += [("right, under a context", key, b"deniable task 1\n{}", _sign(5, _times(5), key, secret, b"deniable task 1\n{}"))]
    cases += [("another message", key, b"n", right), ("a bit of R", key, b"m", bytes([right[0] ^ 1]) + right[1:])]
    cases += [("a bit of s", key, b"m", right[:40] + bytes([right[40] ^ 1]) + right[41:]), ("another key", key[::-1], b"m", right)]
    cases += [("s and the order", key, b"m", _sign(7, _times(7), key, secret, b"m", more=ORDER))]
    cases += [("R of small order", key, b"m", _sign(0, point, key, secret, b"m")) for point in small]
    cases += [("R shifted by a small one", key, b"m", _sign(7, ed25519._add(_times(7), torsion), key, secret, b"m"))]
    spelled = [P + 1, P - 1 | 1 << 255, 1 | 1 << 255, 2, 2**256 - 1, P, P + 3]
    keys = [*(ed25519._encode(point) for point in small), *(number.to_bytes(32, "little") for number in spelled)]
    for bad in keys:  # for the messages that a lax verifier takes: k A vanishes for one in eight at least
        taken = [bytes([i]) for i in range(64) if int.from_bytes(_challenge(_times(7), bad, bytes([i])), "little") % ORDER % 8 == 0]
        cases += [("a key of small order or of no order", bad, message, _sign(7, _times(7), bad, 0, message)) for message in taken[:2]]
    cases += [
        ("short", key, b"m", right[:63]),
        ("long", key, b"m", right + b"\0"),
        ("none", key, b"m", b""),
        ("a short key", key[1:], b"m", right),
    ]
    return {
        "cases": [
            {
                "why": why,
                "key": key.hex(),
                "message": message.hex(),
                "signature": signature.hex(),
                "right": ed25519.verify(key, message, signature),
            }
            for why, key, message, signature in cases
        ]
    }


def _times(number: int) -> ed25519.Point:
    return ed25519._combine(number, 0, ed25519._NEUTRAL)


def _challenge(point: ed25519.Point, key: bytes, message: bytes) -> bytes:
    return hashlib.sha512(ed25519._encode(point) + key + message).digest()


def _sign(r: int, point: ed25519.Point, key: bytes, secret: int, message: bytes, *, more: int = 0) -> bytes:
    """With a commitment of our choice, whose logarithm is r up to a point of small order."""
    k = int.from_bytes(_challenge(point, key, message), "little") % ORDER
    return ed25519._encode(point) + ((r + k * secret) % ORDER + more).to_bytes(32, "little")
