"""A malicious issuer: a modulus of small primes, which divide what it signs and the signature of the same device alike."""

from __future__ import annotations

from collections import Counter
from math import gcd, isqrt, lcm, prod

import pytest

from deniable.client import GRR
from deniable.client.enrolment import enrol
from deniable.contract.admission import MODULUS_BYTES, NO_ISSUER
from deniable.contract.blind_rsa import (
    EXPONENT,
    SALT_BYTES,
    SMALLEST_FACTOR,
    Blinded,
    blind,
    blind_with,
    draw_bytes,
    encode,
    finalize,
    small_factor,
    verify,
)
from deniable.contract.source import SYSTEM
from deniable.errors import ProtocolError, WireError
from deniable.testing import ReplaySource
from tests.client.fake import KEY, Device, FakeCollector, drink_task
from tests.collect.mixing import shuffle_task
from tests.conftest import vectors
from tests.contract.test_blind_rsa import Signer
from tests.sealing.parties import ISSUER

PEOPLE = 40
ISSUERS = vectors("tokens")["issuers"]


class MaliciousIssuer:
    """An issuer whose modulus is a product of the smallest odd primes, with one more to fill 2048 bits. It signs like any other."""

    def __init__(self) -> None:
        self.primes = [number for number in range(3, 1460, 2) if is_prime(number)]
        most = (1 << 8 * MODULUS_BYTES) // prod(self.primes)
        self.primes.append(next(number for number in range(most, 1460, -1) if is_prime(number)))
        self.n = prod(self.primes)
        self.d = pow(EXPONENT, -1, lcm(*(prime - 1 for prime in self.primes)))
        self.modulus = self.n.to_bytes(MODULUS_BYTES, "big")

    def sign(self, blinded: bytes) -> bytes:
        return pow(int.from_bytes(blinded, "big"), self.d, self.n).to_bytes(MODULUS_BYTES, "big")

    def zeros(self, number: bytes) -> int:
        """The product of the primes that divide a number."""
        return gcd(int.from_bytes(number, "big"), self.n)

    def named(self, blinding, finishing) -> int:
        """How many people it links to their tokens: those whose zeros nobody else has, neither in what was signed nor in the tokens."""
        source, seen, spent = ReplaySource.from_key("people"), [], []
        for person in range(PEOPLE):
            message = b"token %d" % person
            blinded = blinding(self.modulus, message, source)
            seen.append(self.zeros(blinded.message))
            spent.append(self.zeros(finishing(self.modulus, message, self.sign(blinded.message), blinded)))
        signed, tokens = Counter(seen), Counter(spent)
        return sum(signed[mine] == tokens[mine] == 1 for mine in spent)


def is_prime(number: int) -> bool:
    return number % 2 == 1 and all(number % factor for factor in range(3, isqrt(number) + 1, 2))


def blind_once(modulus: bytes, message: bytes, source: ReplaySource):
    """The evil twin of ``blind``: it keeps the first salt, whatever the encoded message has in common with the modulus."""
    n, salt = int.from_bytes(modulus, "big"), draw_bytes(source, SALT_BYTES)
    while gcd(r := int.from_bytes(draw_bytes(source, len(modulus)), "big") % n, n) != 1:
        pass
    return blind_with(modulus, message, salt, r)


def finalize_any(modulus: bytes, message: bytes, answer: bytes, blinded: Blinded) -> bytes:
    """The evil twin of ``finalize``: it keeps every signature that verifies."""
    n = int.from_bytes(modulus, "big")
    signature = (int.from_bytes(answer, "big") * int.from_bytes(blinded.inverse, "big") % n).to_bytes(len(modulus), "big")
    assert verify(modulus, message, signature)
    return signature


def test_a_modulus_of_small_primes_links_tokens_only_if_a_salt_is_never_drawn_again():
    issuer = MaliciousIssuer()
    assert issuer.n.bit_length() == 2048
    assert issuer.named(blind_once, finalize_any) > PEOPLE / 2
    assert issuer.named(blind, finalize) == 0


def test_a_message_that_was_drawn_with_a_common_factor_is_not_finalized():
    """By a release that did not look at it; the ledger keeps what was drawn."""
    issuer, source, refused = MaliciousIssuer(), ReplaySource.from_key("older"), 0
    for person in range(PEOPLE):
        message = b"token %d" % person
        blinded = blind_once(issuer.modulus, message, source)
        if issuer.zeros(blinded.message) > 1:
            refused += 1
            with pytest.raises(WireError, match=r"factor in common .* do not trust"):
                finalize(issuer.modulus, message, issuer.sign(blinded.message), blinded)
    assert refused > PEOPLE / 2


@pytest.mark.parametrize("case", ISSUERS, ids=lambda case: case["why"])
def test_moduli_with_small_factors_are_found(case):
    assert small_factor(bytes.fromhex(case["modulus"])) == case["factor"]


def test_the_vectors_have_moduli_on_both_sides_of_the_bound():
    found = {case["factor"] for case in ISSUERS}
    assert {None, 3, 65_521} <= found
    assert max(factor for factor in found if factor) < SMALLEST_FACTOR


class Untouchable:
    """A value that nobody may look at."""

    def __getattribute__(self, name: str) -> object:
        raise AssertionError(name)

    def __eq__(self, other: object) -> bool:
        raise AssertionError("compared")

    __hash__ = None


REFUSED = [bytes.fromhex(case["modulus"]) for case in ISSUERS if case["factor"]] + [NO_ISSUER, MaliciousIssuer().modulus]


@pytest.mark.parametrize("trust", ["local", "shuffle"])
def test_a_device_refuses_the_task_before_it_looks_at_its_data(trust):
    """Whether it shows the task, enrols or reports with tokens from an earlier release; nothing is drawn, spent or sent."""
    for modulus in REFUSED:
        rules = {"admission": "token", "issuer": modulus, "retention": 90}
        key = KEY.public_key().public_bytes_raw()
        task = drink_task(**rules) if trust == "local" else shuffle_task(key, GRR(domain_size=4, epsilon=1.0), **rules)
        collector = FakeCollector(task)
        device = Device(collector, task, now=task.start + 5.0)
        device.ledger.remember(task.id, "tokens", lambda answers=task.answers: bytes(288 * answers))
        for step in (lambda d=device: d.reporter.task, lambda d=device: d.reporter.enrol("dc_0"), lambda d=device: d.report(Untouchable())):
            with pytest.raises(ProtocolError, match=r"issuer: got 'a multiple of .*do not trust this collector"):
                step()
        assert device.ledger.entries() == []
        assert not any(request.startswith("POST") for request in collector.requests)
        with pytest.raises(ProtocolError, match="issuer"):
            enrol(task, "dc_0", device.ledger, pytest.fail, SYSTEM)


def test_a_device_takes_a_task_with_an_honest_key():
    task = drink_task(admission="token", issuer=ISSUER, retention=90)
    assert Device(FakeCollector(task), task).reporter.task == task


def test_an_answer_that_signs_another_encoding_of_the_message_is_refused():
    """It would verify. But an issuer that could choose the encoding of each device would recognize its tokens."""
    signer, message = Signer(), b"message"
    r, (salt, other) = 12_345, (bytes(SALT_BYTES), bytes([1]) * SALT_BYTES)
    blinded = blind_with(signer.modulus, message, salt, r)
    assert finalize(signer.modulus, message, signer.sign(blinded.message), blinded)
    another = blind_with(signer.modulus, message, other, r)
    assert encode(message, salt, 2048) != encode(message, other, 2048)
    with pytest.raises(WireError, match="do not trust"):
        finalize(signer.modulus, message, signer.sign(another.message), blinded)


def laws_of_a_token(n, exponent, messages):
    """How many laws the message and its signature have, given the blinded message: one, if the issuer learns nothing."""
    factors = [factor for factor in range(n) if gcd(factor, n) == 1]
    answers = {pow(answer, exponent, n): answer for answer in range(n)}  # one root of each blinded message
    found = {}
    for message in messages:
        for factor in factors:
            blinded = message * pow(factor, exponent, n) % n
            if blinded in answers:
                found.setdefault(blinded, Counter())[message, answers[blinded] * pow(factor, -1, n) % n] += 1
    return len({frozenset(law.items()) for law in found.values()})


def test_for_every_small_modulus_a_token_is_independent_of_what_the_issuer_saw():
    """The theorem in numbers: the exponent 3 often divides the group's order; messages with common factors are told apart."""
    for n in range(3, 60, 2):
        assert laws_of_a_token(n, 3, [message for message in range(n) if gcd(message, n) == 1]) == 1
    assert laws_of_a_token(15, 3, range(15)) == 4
