"""Hybrid sums: closed to whoever breaks X25519 or ML-KEM alone, opened after losses as others are, and loud about every changed byte."""

from __future__ import annotations

import hmac
import sys

import numpy as np
import pytest
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import mlkem

from deniable.errors import ParameterError, ProtocolError, WireError
from deniable.multiparty.engines import MaskingRoles
from deniable.multiparty.masking import hybrid, layout, secrets
from deniable.multiparty.masking.hybrid import CIPHERTEXT_BYTES, Exchange
from deniable.multiparty.masking.side import PartyKeys, Side
from deniable.multiparty.message import Message
from deniable.multiparty.pairwise import PairwiseAggregator, PairwiseParty
from deniable.multiparty.roles import run_sum
from deniable.multiparty.shamir import recover_secret
from tests.multiparty.conftest import MaskedSum

SOME = {"corrupt": "1/5", "lost": "1/5", "honest": "3/5"}
NOTHING = bytes(32)
"""What a breaker puts in for a secret that it does not know."""


# --- whoever breaks one of the two ---


class Breaker:
    """Has recorded a whole sum, and breaks one of X25519 and ML-KEM: it knows all private keys of that kind."""

    def __init__(self, whole: MaskedSum, broken: str) -> None:
        self.whole, self.broken = whole, broken
        self.sent = whole.aggregator._messages
        self.keys = {party: PartyKeys.read(message.body) for party, message in self.sent[layout.ADVERTISE].items()}
        self.seeds = {number: party._seeds for number, party in whole.parties.items()}

    def row(self, sender: int, receiver: int) -> bytes:
        return layout.open_shares_message(self.sent[layout.SHARES][sender].body, self.whole.terms, sender)[1][receiver]

    def combined(self, purpose: str, sender: int, receiver: int, ciphertext: bytes) -> bytes:
        one, other = self.keys[sender], self.keys[receiver]
        public = (getattr(one, purpose), getattr(other, purpose), getattr(other, f"{purpose}_kem"))
        secret, shared, seed = NOTHING, NOTHING, self.seeds[receiver][purpose]
        if self.broken == "ml-kem":
            secret = hybrid.kem_private(seed, purpose.encode()).decapsulate(ciphertext)
        else:
            shared = secrets.agree(secrets.private_key(seed, purpose.encode()), public[0])
        return Exchange(purpose.encode(), self.whole.terms.id, sender, receiver, *public, ciphertext).combined(secret, shared)

    def seeds_by_shares(self, target: int) -> dict[str, bytes]:
        """Open the shares that a party sealed for its neighbors, and with them recover both of its secrets."""
        shares: dict[str, dict[int, bytes]] = {"self": {}, "mask": {}}
        for other in range(len(self.keys)):
            if other != target:
                row = self.row(target, other)
                key = self.combined("seal", target, other, row[:CIPHERTEXT_BYTES])
                end = CIPHERTEXT_BYTES + secrets.SEALED_BYTES
                found = secrets.open_shares(key, self.whole.terms.id, target, other, row[CIPHERTEXT_BYTES:end], beside=row[end:])
                shares["self"][other + 1], shares["mask"][other + 1] = found
        return {name: recover_secret(parts) for name, parts in shares.items()}

    def vector_by_shares(self, target: int) -> np.ndarray:
        seeds = self.seeds_by_shares(target)
        side = Side(self.whole.terms, target, {"mask": seeds["mask"]})
        agreed = {n: side.agreed(n, key, self.row(*sorted((n, target)))) for n, key in self.keys.items() if n != target}
        return self.unmasked(target, seeds["self"], agreed)

    def vector_by_masks(self, target: int) -> np.ndarray:
        """As the aggregator, who knows the own mask of a survivor: take off the masks with the others."""
        rows = {n: sorted((n, target)) for n in self.keys if n != target}
        at = CIPHERTEXT_BYTES + secrets.SEALED_BYTES
        agreed = {n: self.combined("mask", low, high, self.row(low, high)[at : at + CIPHERTEXT_BYTES]) for n, (low, high) in rows.items()}
        return self.unmasked(target, self.seeds[target]["self"], agreed)

    def unmasked(self, target: int, own: bytes, agreed: dict[int, bytes]) -> np.ndarray:
        left = np.frombuffer(self.sent[layout.MASKED][target].body, dtype="<u4").copy()
        secrets.add_mask(left, secrets.self_seed(own, self.whole.terms.id), sign=-1)
        for other, secret in agreed.items():
            secrets.add_mask(left, secrets.pair_seed(secret, self.whole.terms.id, target, other), sign=-1 if target < other else 1)
        return left.view("<i4")


COMBINERS = {
    "shipped": None,
    "ignores ML-KEM": lambda exchange, secret, shared: secrets.derive(shared, exchange.ciphertext, 32),
    "ignores X25519": lambda exchange, secret, shared: secrets.derive(secret, exchange.ciphertext, 32),
}


@pytest.mark.parametrize("attack", ["shares", "masks"])
@pytest.mark.parametrize("broken", ["x25519", "ml-kem"])
@pytest.mark.parametrize("combiner", COMBINERS)
def test_a_recorded_sum_stays_closed_to_who_breaks_one_of_the_two(monkeypatch, combiner, broken, attack):
    """Combiners that leave one out are the evil twins: the same attack has the vector to the last bit, and so it is a real one."""
    if COMBINERS[combiner]:
        monkeypatch.setattr(Exchange, "combined", COMBINERS[combiner])
    whole = MaskedSum(5, 40, **SOME, hybrid=True)
    assert run_sum(whole.parties, whole.aggregator).tolist() == whole.vectors.sum(axis=0).tolist()
    breaker = Breaker(whole, broken)
    falls = (combiner, broken) in {("ignores ML-KEM", "x25519"), ("ignores X25519", "ml-kem")}
    if not falls and attack == "shares":
        with pytest.raises(ProtocolError, match="sealed for this one"):
            breaker.vector_by_shares(2)
        return
    found = breaker.vector_by_shares(2) if attack == "shares" else breaker.vector_by_masks(2)
    assert np.array_equal(found, whole.vectors[2]) == falls
    assert falls or (found == whole.vectors[2]).mean() < 0.1


EXCHANGE = Exchange(b"mask", b"s" * 32, 3, 7, b"a" * 32, b"b" * 32, b"k" * 1184, b"c" * 1088)


def test_what_two_agree_on_hangs_on_every_byte_of_both_secrets_and_of_all_that_is_public():
    """By the documented layout, with HKDF (RFC 5869) from the standard library; then everything is changed, one by one."""
    info = b"hybrid mask" + b"s" * 32 + b"\3\0\0\0\7\0\0\0" + b"a" * 32 + b"b" * 32 + b"k" * 1184 + b"c" * 1088
    extracted = hmac.digest(b"deniable masking 1", b"m" * 32 + b"x" * 32, "sha256")
    expected = hmac.digest(extracted, info + b"\1", "sha256")
    assert EXCHANGE.combined(b"m" * 32, b"x" * 32) == expected
    changes = {"purpose": b"seal", "sum": b"t" * 32, "sender": 4, "receiver": 8, "sender_key": b"A" * 32, "receiver_key": b"B" * 32}
    changes |= {"kem_key": b"K" * 1184, "ciphertext": b"C" * 1088}
    assert changes.keys() == set(Exchange._fields)
    found = {EXCHANGE._replace(**{name: value}).combined(b"m" * 32, b"x" * 32) for name, value in changes.items()}
    found |= {EXCHANGE.combined(b"M" * 32, b"x" * 32), EXCHANGE.combined(b"m" * 32, b"X" * 32), EXCHANGE.combined(b"x" * 32, b"m" * 32)}
    assert len(found | {expected}) == len(changes) + 3 + 1


# --- changed bytes ---


ROW = {"ciphertext of shares": 5, "sealed shares": 1090, "ciphertext of a mask": 1500, "what is kept": 2260, "commitment": 2300}


@pytest.mark.parametrize("place", ROW.values(), ids=ROW)
def test_a_changed_row_is_refused_by_its_receiver_who_goes_on_with_the_true_one(place):
    whole = MaskedSum(5, **SOME, hybrid=True, active=True)
    messages = whole.advance(whole.begin())
    message = Message.open(messages[4])
    assert len(message.body) == 4 * (4 + CIPHERTEXT_BYTES + 80 + CIPHERTEXT_BYTES + 64)  # party 4 comes after all others
    body = bytearray(message.body)
    body[4 + place] ^= 1
    with pytest.raises(ProtocolError, match="sealed for this one"):
        whole.parties[4].answer(message._replace(body=bytes(body)).pack())
    while messages:
        messages = whole.advance(messages)
    assert whole.aggregator.total.tolist() == whole.vectors.sum(axis=0).tolist()


@pytest.mark.parametrize("lost", [0, 4], ids=["who sent it", "who received it"])
@pytest.mark.parametrize("place", [1500, 2260, 2300], ids=["ciphertext", "kept", "commitment"])
def test_what_is_wrong_in_the_row_of_a_lost_party_is_found_out_and_never_spoils_a_sum(lost, place):
    """A row from 0 to 4, changed where the aggregator keeps it; a party that kept something else than it sent comes to the same."""
    whole = MaskedSum(5, **SOME, hybrid=True)
    messages = whole.advance(whole.advance(whole.begin()), without={lost})
    sent = whole.aggregator._messages[layout.SHARES][0]
    body = bytearray(sent.body)
    body[len(body) - (1168 + 1152) + place] ^= 1
    whole.aggregator._messages[layout.SHARES][0] = sent._replace(body=bytes(body))
    if lost == 4 and place == 2260:  # the sender is there: what it kept for the case of its loss is not needed
        whole.advance(messages)
        assert whole.aggregator.total.tolist() == whole.vectors[:4].sum(axis=0).tolist()
        return
    with pytest.raises(ProtocolError, match=r"of party 0.*committed"):
        whole.advance(messages)
    assert whole.aggregator.total is None


def test_a_party_that_answers_twice_never_uses_a_pad_twice():
    """Rolled back to before its shares: two deposits for one neighbor, and their difference says nothing about what was agreed on."""
    whole = MaskedSum(5, **SOME, hybrid=True)
    message, saved, pads = whole.begin()[0], whole.parties[0].save(), set()
    for _ in range(2):
        party = type(whole.parties[0]).resume(saved, terms=whole.terms, identity=whole.identities[0])
        row = layout.open_shares_message(Message.open(party.answer(message)).body, whole.terms, 0)[1][4]
        pads.add(int.from_bytes(row[2256:2288]) ^ int.from_bytes(party._agreed[4]))
    assert len(pads) == 2


def test_keys_that_are_none_and_sums_with_other_options_are_refused():
    whole, plain = MaskedSum(5, **SOME, hybrid=True), MaskedSum(5, **SOME)
    assert whole.terms.id != plain.terms.id
    for one, other in ((whole, plain), (plain, whole)):
        with pytest.raises(ProtocolError, match="do not mix two sums"):
            one.aggregator.receive(other.parties[0].first())
    first = Message.open(whole.parties[0].first())
    with pytest.raises(ProtocolError, match=r"ML-KEM key.*of party 0"):
        whole.aggregator.receive(first._replace(body=first.body[:64] + b"\xff" * 2368).pack())
    for body in (first.body[:64], first.body + b"x"):
        with pytest.raises(WireError, match="2432"):
            whole.aggregator.receive(first._replace(body=body).pack())
    message = Message.open(whole.begin()[1])
    rows = layout.open_table(message.body, 2432, "keys")
    for row in (rows[0][:-1184] + rows[2][-1184:], rows[0][:64] + b"\xff" * 2368):  # somebody else's, or none
        with pytest.raises(ProtocolError):
            whole.parties[1].answer(message._replace(body=layout.pack_table(rows | {0: row})).pack())


def test_an_active_aggregator_cannot_make_up_keys_of_ml_kem():
    whole = MaskedSum(5, **SOME, hybrid=True, active=True)
    message = Message.open(whole.begin()[1])
    rows = layout.open_table(message.body, 2432 + 64, "keys")
    for place in (64, 1248):
        own = hybrid.kem_private(b"m" * 31, b"mask").public_key().public_bytes_raw()
        forged = rows | {0: rows[0][:place] + own + rows[0][place + 1184 :]}
        with pytest.raises(ProtocolError, match="forged"):
            whole.parties[1].answer(message._replace(body=layout.pack_table(forged)).pack())


# --- what it takes ---


def test_layouts_and_the_largest_message():
    """As the reference has them; the first party's rows are the longest, the last one's the shortest."""
    whole = MaskedSum(5, 3, **SOME, hybrid=True)
    sizes = {number: [len(party.first())] for number, party in whole.parties.items()}
    messages = whole.begin()
    while messages:
        assert len(messages[0]) in {44 + 4 * (4 + 2432), 44 + 4 * (4 + 1168), 44 + 4 + 4 * 4}
        replies = {number: whole.parties[number].answer(message) for number, message in messages.items()}
        for number, reply in replies.items():
            sizes[number].append(len(reply))
            whole.aggregator.receive(reply)
        messages = whole.aggregator.close()
    assert sizes[0] == [44 + 2432, 44 + 32 + 4 * (4 + 1168 + 1152), 44 + 12, 44 + 4 * 37]
    assert sizes[4] == [44 + 2432, 44 + 32 + 4 * (4 + 1168), 44 + 12, 44 + 4 * 37]
    assert MaskingRoles(whole.terms).largest == max(sizes[0]) + 64


@pytest.mark.parametrize("missing", ["module", "algorithm"])
def test_where_there_is_no_ml_kem_the_error_says_what_to_install(monkeypatch, missing):
    whole = MaskedSum(3, corrupt="0", lost="0", honest="1", hybrid=True)
    if missing == "module":
        monkeypatch.setitem(sys.modules, mlkem.__name__, None)
    else:

        def unsupported(data):
            raise UnsupportedAlgorithm("ML-KEM-768 is not supported by this backend.")

        monkeypatch.setattr(mlkem.MLKEM768PrivateKey, "from_seed_bytes", unsupported)
    made = {
        "party": lambda: type(whole.parties[0])(whole.terms, 0, whole.identities[0], whole.vectors[0]),
        "aggregator": lambda: type(whole.aggregator)(whole.terms),
        "pairwise": lambda: PairwiseParty(whole.terms, 0, whole.identities[0], whole.vectors[0]),
    }
    for make in made.values():
        with pytest.raises(ParameterError, match=r'^hybrid: .*OpenSSL 3\.5.*pip install --upgrade "cryptography>=48"'):
            make()


# --- a few who must all be there ---


def pairwise(count: int) -> tuple[MaskedSum, dict[int, PairwiseParty], PairwiseAggregator]:
    whole = MaskedSum(count, corrupt="0", lost="0", honest="1", hybrid=True)
    made = {n: PairwiseParty(whole.terms, n, whole.identities[n], whole.vectors[n]) for n in range(count)}
    return whole, made, PairwiseAggregator(whole.terms)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_pairwise_sums_are_exact(count):
    whole, parties, aggregator = pairwise(count)
    assert run_sum(parties, aggregator).tolist() == whole.vectors.sum(axis=0).tolist()
    whole, parties, aggregator = pairwise(count)
    with pytest.raises(ProtocolError, match="nothing was opened"):
        run_sum(parties, aggregator, lost={1: 2})


def test_a_pairwise_ciphertext_is_its_senders_for_this_receiver_or_refused():
    whole, parties, aggregator = pairwise(4)
    for party in parties.values():
        aggregator.receive(party.first())
    for number, message in aggregator.close().items():
        reply = Message.open(parties[number].answer(message))
        if number == 0:
            for body in (reply.body[:-1156], reply.body[:1156] * 3, b""):
                changed = reply._replace(body=body).signed(whole.identities[0])
                with pytest.raises((ProtocolError, WireError)):
                    aggregator.receive(changed.pack())
        aggregator.receive(reply.pack())
    messages = aggregator.close()
    message = Message.open(messages[3])
    rows = layout.open_table(message.body, 1088 + 64, "ciphertexts")
    other = layout.open_table(Message.open(messages[2]).body, 1088 + 64, "ciphertexts")
    made_up = mlkem.MLKEM768PublicKey.from_public_bytes(parties[3]._own[32:]).encapsulate()[1]
    for row in (bytes([rows[0][0] ^ 1]) + rows[0][1:], other[0], made_up + rows[0][1088:]):
        with pytest.raises(ProtocolError, match="forged"):
            parties[3].answer(message._replace(body=layout.pack_table(rows | {0: row})).pack())
    for changed in ({0: rows[0], 1: rows[1]}, {}):
        with pytest.raises(ProtocolError, match="each party before"):
            parties[3].answer(message._replace(body=layout.pack_table(changed)).pack())
    for number, sent in messages.items():
        aggregator.receive(parties[number].answer(sent))
    aggregator.close()
    assert aggregator.total.tolist() == whole.vectors.sum(axis=0).tolist()
