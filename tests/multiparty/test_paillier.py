"""Threshold Paillier: any t of l open exactly, fewer do not, slots stay apart, and a committee opens one sum once."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from itertools import combinations

import gmpy2
import numpy as np
import pytest

from deniable.errors import DomainError, ParameterError, ProtocolError, WireError
from deniable.multiparty.message import Message
from deniable.multiparty.paillier.aggregator import PaillierAggregator
from deniable.multiparty.paillier.encryption import Encryptor
from deniable.multiparty.paillier.keys import deal, deal_with, safe_prime
from deniable.multiparty.paillier.packing import Packing
from deniable.multiparty.paillier.roles import TO_OPEN, Decryptor, PaillierAgreement, PaillierParty
from deniable.multiparty.terms import SumTerms
from deniable.sealing.identity import new_identity, public_key
from deniable.testing import ReplaySource
from tests.multiparty.small_keys import FIRST, PUBLIC, SECOND, SHARES, SOURCE

ENCRYPTOR = Encryptor(PUBLIC)


def opened(ciphertext: int, places: tuple[int, ...]) -> int:
    return PUBLIC.open({place: SHARES[place - 1].decrypt(ciphertext) for place in places})


@pytest.mark.parametrize("bits", [16, 64, 256])
def test_safe_primes_are(bits):
    for key in "abc":
        prime = safe_prime(bits, ReplaySource.from_key(key))
        assert prime.bit_length() == bits
        assert all(gmpy2.is_prime(number, 50) for number in (prime, (prime - 1) // 2))


@pytest.mark.parametrize("number", [0, 1, 12345, PUBLIC.modulus // 2, PUBLIC.modulus - 1])
def test_any_threshold_of_decryptors_opens_exactly(number):
    ciphertext = ENCRYPTOR.encrypt(number)
    for places in combinations(range(1, 6), 3):
        assert opened(ciphertext, places) == number
    assert opened(ciphertext, (1, 2, 3, 4, 5)) == number


def test_fewer_decryptors_are_refused_and_could_not():
    """Two of three shares, combined as if two were enough, give something else."""
    ciphertext = ENCRYPTOR.encrypt(7)
    with pytest.raises(ParameterError, match="wait for more"):
        opened(ciphertext, (1, 2))
    two_of_five = copy(PUBLIC)
    object.__setattr__(two_of_five, "threshold", 2)  # which no key has
    with pytest.raises(WireError, match="wrong share"):
        two_of_five.open({place: SHARES[place - 1].decrypt(ciphertext) for place in (1, 2)})


def test_products_are_sums_and_ciphertexts_are_fresh():
    first, second = ENCRYPTOR.encrypt(40), ENCRYPTOR.encrypt(2)
    assert opened(first * second % PUBLIC.square, (1, 3, 5)) == 42
    assert ENCRYPTOR.encrypt(40) != first
    assert len({ENCRYPTOR.encrypt(0) for _ in range(50)}) == 50


def test_encryption_by_table_is_the_power_that_it_stands_for():
    """Against one exponentiation with the same random bytes, and without a table."""
    ciphertext = ENCRYPTOR.encrypt(9, ReplaySource.from_key("table"))
    assert Encryptor(PUBLIC, few=True).encrypt(9, ReplaySource.from_key("table")) == ciphertext
    again = ReplaySource.from_key("table")
    size = -(-PUBLIC.bits // 16)
    random = b"".join(word.to_bytes(8, "little") for word in again.words(-(-size // 8)))[:size]
    expected = (1 + 9 * PUBLIC.modulus) * pow(PUBLIC.base, int.from_bytes(random, "little"), PUBLIC.square) % PUBLIC.square
    assert ciphertext == expected


def test_publishing_what_the_slides_need_publishes_the_key():
    """L((1 + N)^k) = k exactly, for any key k below N. Nothing that is public here depends on the order of the group."""
    order = (FIRST - 1) * (SECOND - 1) // 2
    shown = pow(1 + PUBLIC.modulus, order, PUBLIC.square)
    assert (shown - 1) // PUBLIC.modulus == order
    assert pow(PUBLIC.base, (FIRST - 1) * (SECOND - 1) // 4 * 2, PUBLIC.square) == 1  # the base is an N-th power: it says nothing of x


@pytest.mark.parametrize("damage", [0, PUBLIC.square, PUBLIC.square + 5, FIRST, SECOND * 7], ids=["zero", "square", "large", "p", "7 q"])
def test_what_is_no_ciphertext_is_refused(damage):
    with pytest.raises(WireError, match="ciphertext"):
        PUBLIC.read(damage.to_bytes(PUBLIC.cipher_bytes, "little"))
    with pytest.raises(WireError, match="ciphertext"):
        PUBLIC.read(PUBLIC.write(ENCRYPTOR.encrypt(1))[:-1])


# --- packing ---


@pytest.mark.parametrize("length", [1, 11, 12, 13, 50])
def test_slots_stay_apart_up_to_their_bound(length):
    """The largest sums of either sign, next to each other."""
    packing = Packing(bits=PUBLIC.bits, length=length, parties=4, largest=(1 << 37) - 1)
    signs = [1 if place % 2 else -1 for place in range(length)]
    vectors = [[sign * packing.largest for sign in signs]] * 4
    plain = [0] * packing.plaintexts
    for vector in vectors:
        plain = [(a + b) % PUBLIC.modulus for a, b in zip(plain, packing.pack(vector, PUBLIC.modulus), strict=True)]
    assert packing.unpack(plain, PUBLIC.modulus) == [4 * sign * packing.largest for sign in signs]


def test_bounds_that_could_overflow_are_refused():
    with pytest.raises(ParameterError, match="corrupts its neighbor"):
        Packing(bits=512, length=3, parties=4, largest=1 << 37)
    packing = Packing(bits=512, length=3, parties=4, largest=100)
    for numbers in ([1, 2], [1, 2, 101], [1, 2, -101]):
        with pytest.raises(DomainError):
            packing.pack(numbers, PUBLIC.modulus)
    with pytest.raises(DomainError, match="more than its slots"):
        packing.unpack([1 << 300], PUBLIC.modulus)


# --- the roles ---


class Encrypted:
    """All roles of a sum of four parties, of whom one may be lost."""

    def __init__(self, *, key: str = "paillier") -> None:
        self.identities = [new_identity() for _ in range(4)]
        shares = {"corrupt": "1/4", "lost": "1/4", "honest": "1/2"}
        self.terms = SumTerms(label=key, parties=tuple(map(public_key, self.identities)), length=30, **shares)
        self.packing = Packing(bits=PUBLIC.bits, length=30, parties=4, largest=1 << 20)
        self.agreement = PaillierAgreement(self.terms, PUBLIC, self.packing)
        self.vectors = np.random.default_rng(4).integers(-(2**20), 2**20, (4, 30))
        self.parties = [self.party(number) for number in range(4)]
        self.aggregator = PaillierAggregator(self.agreement)
        self.committee = [Decryptor(self.agreement, share) for share in SHARES]

    def party(self, number: int) -> PaillierParty:
        return PaillierParty(self.agreement, number, self.identities[number], ENCRYPTOR, self.vectors[number])

    def opened_by(self, *places: int) -> None:
        """Have decryptors answer."""
        for place in places:
            decryptor = self.committee[place - 1]
            self.aggregator.receive(decryptor.answer(self.to_open[decryptor.number]))

    def upload(self, *numbers: int) -> None:
        """Have parties send theirs, and end that."""
        for number in numbers:
            self.aggregator.receive(self.parties[number].first())
        self.to_open = self.aggregator.close()


@pytest.fixture
def encrypted():
    return Encrypted()


@pytest.mark.parametrize("lost", [None, 0, 3])
@pytest.mark.parametrize("openers", [(1, 2, 3), (2, 4, 5), (1, 2, 3, 4, 5)])
def test_sums_are_exact_whoever_is_lost(encrypted, lost, openers):
    kept = [number for number in range(4) if number != lost]
    encrypted.upload(*kept)
    assert encrypted.aggregator.present == {*kept, 4, 5, 6, 7, 8}
    encrypted.opened_by(*openers)
    assert not encrypted.aggregator.waiting  # more are not needed
    assert encrypted.aggregator.close() == {}
    assert encrypted.aggregator.total.tolist() == encrypted.vectors[kept].sum(axis=0).tolist()


def test_too_few_parties_are_not_opened(encrypted):
    with pytest.raises(ProtocolError, match="nothing was opened"):
        encrypted.upload(0, 1)


def test_too_few_decryptors_do_not_open(encrypted):
    encrypted.upload(0, 1, 2, 3)
    encrypted.opened_by(2, 5)
    assert encrypted.aggregator.waiting == {4, 6, 7}
    with pytest.raises(ProtocolError, match="nothing was opened"):
        encrypted.aggregator.close()
    assert encrypted.aggregator.total is None


def test_a_decryptor_opens_one_sum_once_and_none_of_few(encrypted):
    """Two sums that differ in one party would show that party; so would a sum of one. A decryptor that is started again knows it still."""
    encrypted.upload(0, 1, 2, 3)
    messages, fewer = encrypted.to_open, PaillierAggregator(encrypted.agreement)
    for party in encrypted.parties[:3]:
        fewer.receive(party.first())
    other = fewer.close()
    decryptor = Decryptor.resume(encrypted.committee[0].save(), agreement=encrypted.agreement, share=SHARES[0])
    reply = decryptor.answer(messages[4])
    for again in (decryptor, Decryptor.resume(decryptor.save(), agreement=encrypted.agreement, share=SHARES[0])):
        with pytest.raises(ProtocolError, match="begin a new sum"):
            again.answer(other[4])
        assert again.answer(messages[4]) == reply
    assert Decryptor(encrypted.agreement, SHARES[0]).answer(other[4]) != reply  # the evil twin, which forgot: now both are open
    with pytest.raises(ProtocolError, match="another party"):
        encrypted.committee[1].answer(messages[4])
    body = Message.open(messages[5]).body
    alone = (1).to_bytes(4, "little") + (0).to_bytes(4, "little") + body[-PUBLIC.cipher_bytes * encrypted.packing.plaintexts :]
    with pytest.raises((ProtocolError, WireError)):
        encrypted.committee[1].answer(Message(TO_OPEN, 5, encrypted.agreement.id, alone).pack())
    assert not encrypted.committee[1].opened


def test_what_was_not_agreed_on_is_refused(encrypted):
    """An aggregator that does not keep to it is not defended against, so nobody may ask for that; slots must fit all parties."""
    identity = encrypted.identities[0]
    other, _ = deal_with(FIRST, SECOND, decryptors=5, threshold=3, source=SOURCE)
    usual = {"label": "x", "parties": encrypted.terms.parties, "length": 30, "corrupt": "1/4", "lost": "1/4", "honest": "1/2"}
    for wrong in (
        lambda: PaillierAgreement(SumTerms(**usual, active=True), PUBLIC, encrypted.packing),
        lambda: PaillierAgreement(encrypted.terms, PUBLIC, Packing(bits=PUBLIC.bits, length=30, parties=3, largest=1 << 20)),
        lambda: PaillierAgreement(encrypted.terms, PUBLIC, Packing(bits=PUBLIC.bits, length=29, parties=4, largest=1 << 20)),
        lambda: PaillierAgreement(encrypted.terms, PUBLIC, Packing(bits=1024, length=30, parties=4, largest=1 << 20)),
        lambda: PaillierParty(encrypted.agreement, 0, identity, Encryptor(other), encrypted.vectors[0]),
        lambda: PaillierParty(encrypted.agreement, 0, identity, ENCRYPTOR, np.array([1.9] * 30)),
        lambda: PaillierAgreement(encrypted.terms, PUBLIC, Packing(bits=PUBLIC.bits, length=30, parties=4, largest=1 << 62, width=66)),
        lambda: Decryptor(PaillierAgreement(encrypted.terms, other, encrypted.packing), SHARES[0]),
    ):
        with pytest.raises(ParameterError):
            wrong()
    assert PaillierAgreement(encrypted.terms, other, encrypted.packing).id != encrypted.agreement.id


def test_messages_of_another_sum_and_other_messages_of_one_party(encrypted):
    other = Encrypted(key="another")
    with pytest.raises(ProtocolError, match="do not mix two sums"):
        encrypted.aggregator.receive(other.parties[0].first())
    encrypted.aggregator.receive(encrypted.parties[0].first())
    with pytest.raises(ProtocolError, match="another one"):
        encrypted.aggregator.receive(encrypted.party(0).first())  # encrypted anew, so it is not the same message
    encrypted.aggregator.receive(encrypted.parties[0].first())
    for damaged in (b"", encrypted.parties[1].first()[:-1], encrypted.parties[1].first() + b"x"):
        with pytest.raises(WireError):
            encrypted.aggregator.receive(damaged)


def test_a_wrong_share_is_found_out(encrypted):
    encrypted.upload(0, 1, 2, 3)
    encrypted.opened_by(1, 2)
    reply = Message.open(encrypted.committee[2].answer(encrypted.to_open[6]))
    wrong = PUBLIC.write(ENCRYPTOR.encrypt(5)) + reply.body[PUBLIC.cipher_bytes :]
    encrypted.aggregator.receive(reply._replace(body=wrong).pack())
    with pytest.raises(ProtocolError, match="wrong share"):
        encrypted.aggregator.close()
    assert encrypted.aggregator.total is None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: deal(bits=1024, decryptors=3, threshold=2),
        lambda: deal_with(FIRST, FIRST, decryptors=3, threshold=2),
        lambda: deal_with(FIRST, SECOND, decryptors=21, threshold=2),
        lambda: deal_with(FIRST, SECOND, decryptors=3, threshold=4),
        lambda: deal_with(FIRST, SECOND, decryptors=4, threshold=2),  # two and two would open two sums, whose difference is a party
        lambda: replace(PUBLIC, threshold=2),
        lambda: replace(PUBLIC, base=1),
        lambda: replace(PUBLIC, base=PUBLIC.square - 1),
        lambda: replace(PUBLIC, base=1 + 5 * PUBLIC.modulus),  # whose powers, 1 + x N too, are no masks
        lambda: ENCRYPTOR.encrypt(PUBLIC.modulus),
        lambda: ENCRYPTOR.encrypt(-1),
        lambda: safe_prime(15),
    ],
)
def test_mistakes_are_refused(wrong):
    with pytest.raises(ParameterError):
        wrong()


def test_no_key_is_shown():
    assert str(SHARES[0].value) not in repr(SHARES[0])
