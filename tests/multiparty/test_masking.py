"""Masked sums: exact to the integer whoever is lost, opened only with enough survivors, and nothing but uniform words on the way."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from deniable.errors import ParameterError, ProtocolError, WireError
from deniable.multiparty.masking import layout, secrets
from deniable.multiparty.masking.aggregator import MaskingAggregator
from deniable.multiparty.masking.party import MaskingParty
from deniable.multiparty.message import HEADER, Message
from deniable.multiparty.roles import run_sum
from deniable.multiparty.terms import SumTerms
from tests.multiparty.conftest import MaskedSum

NOBODY = {"corrupt": "0", "lost": "0", "honest": "1"}
SOME = {"corrupt": "1/5", "lost": "1/5", "honest": "3/5"}


@pytest.mark.parametrize("parts", [{}, {"word_bits": 64}, {"active": True}, {"hybrid": True}, {"hybrid": True, "active": True}], ids=str)
@pytest.mark.parametrize(("parties", "lost"), [(2, {}), (5, {}), (5, {3: 0}), (5, {3: 1}), (5, {3: 2}), (5, {3: 3}), (20, {0: 2, 19: 2})])
def test_sums_are_exact_whoever_is_lost(parties, lost, parts):
    """By how many messages a party still sends: who has sent its masked vector, the third, is counted."""
    whole = MaskedSum(parties, **(NOBODY if parties == 2 else SOME), **parts)
    counted = [number for number in range(parties) if lost.get(number, 9) >= 3]
    assert run_sum(whole.parties, whole.aggregator, lost=lost).tolist() == whole.vectors[counted].sum(axis=0).tolist()


def test_a_thousand_parties_with_few_neighbors():
    whole = MaskedSum(1000, 2)
    lost = {number: number % 4 for number in range(0, 1000, 12)}
    assert whole.terms.degree.neighbors == 46
    counted = [number for number in range(1000) if lost.get(number, 9) >= 3]
    assert run_sum(whole.parties, whole.aggregator, lost=lost).tolist() == whole.vectors[counted].sum(axis=0).tolist()


def test_sums_wrap_around_and_nothing_else():
    whole = MaskedSum(5, 1, **SOME)
    for party in whole.parties.values():
        party.vector = np.array([2**31 - 1], dtype="<u4")
    assert run_sum(whole.parties, whole.aggregator).tolist() == [(5 * (2**31 - 1) + 2**31) % 2**32 - 2**31]


# --- what is never opened ---


@pytest.mark.parametrize("kind", [layout.ADVERTISE, layout.SHARES, layout.MASKED])
def test_too_few_survivors_are_never_opened(small, kind):
    """Four of five must stay: three honest ones, and one who may be corrupt."""
    steps = {layout.ADVERTISE: lambda: small.begin(without={1, 2})}
    if kind != layout.ADVERTISE:
        messages = small.begin()
        messages = messages if kind == layout.SHARES else small.advance(messages)
        steps[kind] = lambda: small.advance(messages, without={1, 2})
    with pytest.raises(ProtocolError, match="nothing was opened"):
        steps[kind]()
    assert small.aggregator.total is None
    assert small.aggregator.step == 0


def test_a_party_does_not_open_for_fewer_survivors_than_were_agreed_on(small):
    """The aggregator lies about who is there: it names one survivor less than the terms allow, or none at all."""
    messages = small.advance(small.advance(small.begin()))
    honest = Message.open(messages[0])
    for body in (layout.pack_survivors(3, [1, 2]), layout.pack_survivors(4, []), layout.pack_survivors(4, [1, 2, 9]), b""):
        with pytest.raises((ProtocolError, WireError)):
            small.parties[0].answer(honest._replace(body=body).pack())
    assert small.parties[0].sent == layout.MASKED  # it stays where it was, and the true message still goes through
    assert small.parties[0].answer(messages[0])


@pytest.mark.parametrize("parts", [{}, {"hybrid": True}], ids=str)
@pytest.mark.parametrize("resumed", [False, True])
def test_never_both_secrets_of_one_party(parts, resumed):
    """Asked about the same neighbors twice, first as survivors and then as lost ones, a party says nothing the second time."""
    small = MaskedSum(5, **SOME, **parts)
    messages = small.advance(small.advance(small.begin()))
    message, party = Message.open(messages[0]), small.parties[0]
    first = layout.open_revealed(Message.open(party.answer(messages[0])).body)
    assert {kind for kind, _ in first.values()} == {layout.OWN}
    if resumed:
        party = MaskingParty.resume(party.save(), terms=small.terms, identity=small.identities[0])
    with pytest.raises(ProtocolError, match="in its turn"):
        party.answer(message._replace(body=layout.pack_survivors(4, [1, 2, 3])).pack())
    with pytest.raises(ProtocolError, match="begun once"):
        party.first()


def test_an_active_aggregator_cannot_tell_parties_different_survivors():
    """It shows party 0 that 4 is lost and the others that 0 is: signatures of one set are none of the other."""
    whole = MaskedSum(5, **SOME, active=True)
    messages = whole.advance(whole.advance(whole.begin()))
    told = {
        0: layout.pack_survivors(4, [1, 2, 3]),
        **{number: layout.pack_survivors(4, sorted({1, 2, 3, 4} - {number})) for number in (1, 2, 3, 4)},
    }
    signed = {}
    for number, body in told.items():
        reply = Message.open(whole.parties[number].answer(Message.open(messages[number])._replace(body=body).pack()))
        signed[number] = reply.signature
    agreement = Message(layout.AGREEMENT, 0, whole.terms.id, layout.pack_table({n: s for n, s in signed.items() if n != 4}))
    with pytest.raises(ProtocolError, match="forged"):
        whole.parties[0].answer(agreement.pack())


def test_an_active_aggregator_cannot_make_up_keys():
    """Without signatures it could stand between all parties; with them it is found out at the first one."""
    whole = MaskedSum(5, **SOME, active=True)
    messages = whole.begin()
    message = Message.open(messages[0])
    keys = layout.open_keys(message.body, whole.terms)
    own = secrets.public_bytes(b"m" * 31, b"mask")
    forged = layout.pack_table({n: (key.seal + own if n == 1 else key.seal + key.mask) + key.signature for n, key in keys.items()})
    with pytest.raises(ProtocolError, match="forged"):
        whole.parties[0].answer(message._replace(body=forged).pack())


# --- what the aggregator sees ---


def bytes_seen(vector: np.ndarray, repetitions: int, *, twin: bool = False, hybrid: bool = False) -> np.ndarray:
    """How often each byte stands in masked vectors of one party, in sums of their own."""
    counts = np.zeros(256)
    for repetition in range(repetitions):
        whole = MaskedSum(2, len(vector), key=f"uniform {repetition}", **NOBODY, hybrid=hybrid)
        whole.parties[0].vector = vector.astype("<u4")
        messages = whole.advance(whole.begin())
        masked = np.frombuffer(Message.open(whole.parties[0].answer(messages[0])).body, dtype="<u4")
        if twin:  # both masks taken off again: what it would be without them, noise of 16 bits added
            masked = vector.astype("<u4") + (masked & 0xFFFF)
        counts += np.bincount(masked.view(np.uint8), minlength=256)
    return counts


@pytest.mark.parametrize("hybrid", [False, True])
def test_masked_vectors_are_uniform_words(hybrid):
    """Chi-square over the bytes of 200,000 words at 1e-6; masks of half the bits are found out."""
    vector = np.full(10_000, 7)
    assert stats.chisquare(bytes_seen(vector, 20, hybrid=hybrid)).pvalue > 1e-6
    assert stats.chisquare(bytes_seen(vector, 2, twin=True, hybrid=hybrid)).pvalue < 1e-6


def test_two_sums_share_no_mask():
    """The same numbers of the same parties under another label: nothing is equal, so no difference says anything."""
    seen = []
    for label in ("monday", "tuesday"):
        whole = MaskedSum(3, 50, key=label, **NOBODY)
        whole.parties[0].vector = np.full(50, 7, dtype="<u4")
        messages = whole.advance(whole.begin())
        seen.append(np.frombuffer(Message.open(whole.parties[0].answer(messages[0])).body, dtype="<u4"))
    assert not np.any(seen[0] == seen[1])


# --- what is refused ---


def test_messages_of_another_sum_kind_or_party_are_refused(small):
    other = MaskedSum(5, key="another", **SOME)
    messages, foreign = small.begin(), other.begin()
    with pytest.raises(ProtocolError, match="do not mix two sums"):
        small.parties[0].answer(foreign[0])
    with pytest.raises(ProtocolError, match="another party"):
        small.parties[0].answer(messages[1])
    with pytest.raises(ProtocolError, match="in its turn"):
        small.parties[0].answer(Message.open(messages[0])._replace(kind=layout.SURVIVORS).pack())
    reply = small.parties[0].answer(messages[0])
    small.aggregator.receive(reply)
    small.aggregator.receive(reply)  # the same again changes nothing
    with pytest.raises(ProtocolError, match="another one"):
        small.aggregator.receive(Message.open(reply)._replace(body=bytes(32) + Message.open(reply).body[32:]).pack())
    with pytest.raises(ProtocolError, match="in its turn"):
        small.aggregator.receive(small.parties[1].first())
    with pytest.raises(ProtocolError, match="all earlier"):
        small.aggregator.receive(Message.open(reply)._replace(party=77).pack())


DAMAGES = [lambda m: b"", lambda m: m[:-1], lambda m: m + b"x", lambda m: b"\x02" + m[1:], lambda m: m[:8] + b"\xff" * 4 + m[12:]]


@pytest.mark.parametrize("damage", DAMAGES)
def test_bytes_that_are_no_message(small, damage):
    with pytest.raises(WireError):
        small.aggregator.receive(damage(small.parties[0].first()))
    messages = small.begin()
    with pytest.raises(WireError):
        small.parties[0].answer(damage(messages[0]))


def test_bodies_that_do_not_fit_are_refused_at_once(small):
    """By the aggregator, before they could spoil the sum; and a good message still goes through after each."""

    def refuse(reply: bytes, *bodies: bytes) -> None:
        for body in bodies:
            with pytest.raises((WireError, ProtocolError)):
                small.aggregator.receive(Message.open(reply)._replace(body=body).pack())
        small.aggregator.receive(reply)

    refuse(small.parties[0].first(), b"", bytes(63))
    for number in (1, 2, 3, 4):
        small.aggregator.receive(small.parties[number].first())
    messages = small.aggregator.close()
    reply = small.parties[0].answer(messages[0])
    body = Message.open(reply).body
    refuse(reply, b"", body[:32], body[:-84], body + body[-84:])
    messages = small.advance({number: message for number, message in messages.items() if number})
    reply = small.parties[0].answer(messages[0])
    refuse(reply, b"", Message.open(reply).body[:-4])
    messages = small.advance({number: message for number, message in messages.items() if number})
    reply = small.parties[0].answer(messages[0])
    body = Message.open(reply).body
    refuse(reply, b"", body[:-37], body[:4] + b"\x01" + body[5:], body[:4] + b"\x07" + body[5:], body[:37] + body[:37] + body[74:])
    assert small.advance({number: message for number, message in messages.items() if number}) == {}
    assert small.aggregator.total.tolist() == small.vectors.sum(axis=0).tolist()


@pytest.mark.parametrize("lost", [set(), {4}])
def test_a_wrong_share_is_found_out_and_never_spoils_a_sum(small, lost):
    messages = small.advance(small.advance(small.begin()), without=lost)
    for number, message in messages.items():
        reply = Message.open(small.parties[number].answer(message))
        body = bytearray(reply.body)
        if number == 0:
            body[-1] ^= 1  # its share of the last neighbor
        small.aggregator.receive(reply._replace(body=bytes(body)).pack())
    with pytest.raises(ProtocolError, match="wrong share"):  # without that one, it could be opened
        small.aggregator.close()
    assert small.aggregator.total is None


def test_shares_that_were_sealed_for_somebody_else_are_refused(small):
    messages = small.advance(small.begin())
    message = Message.open(messages[0])
    rows = layout.open_table(message.body, secrets.SEALED_BYTES, "shares")
    swapped = rows | {1: rows[2], 2: rows[1]}
    with pytest.raises(ProtocolError, match="sealed for this one"):
        small.parties[0].answer(message._replace(body=layout.pack_table(swapped)).pack())


def test_keys_of_small_order_and_repeated_keys_are_refused(small):
    messages = small.begin()
    message = Message.open(messages[0])
    rows = layout.open_table(message.body, 64, "keys")
    for changed in (rows | {1: bytes(64)}, rows | {1: rows[2]}, {n: row for n, row in rows.items() if n < 3}, rows | {0: rows[1]}):
        with pytest.raises(ProtocolError):
            small.parties[0].answer(message._replace(body=layout.pack_table(changed)).pack())


SMALL = [bytes(32), (1).to_bytes(32, "little"), (2**255 - 20).to_bytes(32, "little")]  # of orders 2, 4 and 4 on the curve or its twist


@pytest.mark.parametrize("parts", [{}, {"hybrid": True}], ids=str)
@pytest.mark.parametrize("resumed", [False, True])
def test_the_aggregator_names_who_sends_such_keys(parts, resumed):
    """Otherwise one party could stop all others, and nobody would know who: they are given no chance to, and the sum goes on."""
    whole = MaskedSum(5, **SOME, **parts)
    whole.aggregator.receive(whole.parties[1].first())
    if resumed:
        whole.aggregator = MaskingAggregator.resume(whole.aggregator.save(), terms=whole.terms)
    other, message = Message.open(whole.parties[1].first()).body, Message.open(whole.parties[0].first())
    body, ends = message.body, [0, 32, 64] + ([1248, 2432] if parts else [])
    places = [slice(*pair) for pair in pairwise(ends)]
    changed = [body[: at.start] + other[at] + body[at.stop :] for at in places] + [other, body[:32] + body[:32] + body[64:]]
    changed += [body[: at.start] + key + body[at.stop :] for key in SMALL for at in places[:2]]
    for wrong in changed:
        with pytest.raises(ProtocolError, match="of party 0"):
            whole.aggregator.receive(message._replace(body=wrong).pack())
    assert whole.aggregator.waiting == {0, 2, 3, 4}
    assert run_sum(whole.parties, whole.aggregator).tolist() == whole.vectors.sum(axis=0).tolist()


# --- going on after a crash ---


@pytest.mark.parametrize("lost", [None, 0, 4])
@pytest.mark.parametrize("parts", [{}, {"active": True}, {"hybrid": True}], ids=str)
def test_every_role_goes_on_from_what_it_saved(parts, lost):
    """Party and aggregator are thrown away and made anew after every step; one party may be lost before it sends its vector."""
    small = MaskedSum(5, **SOME, **parts)
    out = {number: party.first() for number, party in small.parties.items()}
    while out:
        if small.aggregator.step == layout.MASKED and lost is not None:
            del out[lost]
        for number, message in out.items():
            small.aggregator.receive(message)
            assert b"identity" not in small.aggregator.save()
            small.aggregator = MaskingAggregator.resume(small.aggregator.save(), terms=small.terms)
            saved = small.parties[number].save()
            older = saved.replace(b'"role": "party", ', b"")  # as it was before states named their role
            assert older != saved
            kept = older if number % 2 else saved
            small.parties[number] = MaskingParty.resume(kept, terms=small.terms, identity=small.identities[number])
        sent = small.aggregator.close()
        out = {number: small.parties[number].answer(message) for number, message in sent.items()}
    assert small.aggregator.total.tolist() == small.vectors[[number for number in range(5) if number != lost]].sum(axis=0).tolist()
    with pytest.raises(WireError, match="saved state"):
        MaskingParty.resume(small.parties[0].save(), terms=MaskedSum(5, key="other", **SOME).terms, identity=small.identities[0])
    for other in (b"{}", b"[]", small.parties[0].save()):
        with pytest.raises(WireError, match="saved state"):
            MaskingAggregator.resume(other, terms=small.terms)


@pytest.mark.parametrize("parts", [{}, {"hybrid": True}], ids=str)
def test_numbers_and_what_hides_them_are_not_kept_once_they_are_hidden(parts):
    """Who steals a party's folder after its vector was sent finds neither its numbers nor the masks that the aggregator would need."""
    whole = MaskedSum(5, **SOME, **parts)
    messages, party = whole.advance(whole.begin()), whole.parties[0]
    secret = [party.vector.tobytes(), *party._seeds.values(), *party._agreed.values()]
    assert len(secret) == 4 + 4 * bool(parts)
    assert all(each.hex() in party.save().decode() for each in secret)
    assert Message.open(party.answer(messages[0])).kind == layout.MASKED
    assert not [each for each in secret if each.hex() in party.save().decode()]


def test_nothing_secret_is_shown(small):
    small.begin()
    party = small.parties[0]
    for secret in (party.identity, *party._seeds.values()):
        assert secret.hex() not in repr(party)
        assert repr(secret) not in repr(party)
    assert str(small.vectors[0, 0]) not in repr(party)


# --- terms ---


@pytest.mark.parametrize(
    "parts",
    [
        {"label": ""},
        {"parties": (bytes(32),)},
        {"parties": (bytes(32), bytes(32))},
        {"parties": (b"short", bytes(32))},
        {"length": 0},
        {"word_bits": 16},
        {"corrupt": "0.1"},
        {"corrupt": "1"},
        {"lost": "2/4"},
        {"honest": "9/10", "lost": "1/5"},
        {"honest": 1},
        {"active": 1},
        {"hybrid": "yes"},
    ],
    ids=str,
)
def test_terms_that_cannot_be_kept(parts):
    usual = {"label": "x", "parties": tuple(bytes([number]) * 32 for number in range(10)), "length": 2}
    with pytest.raises(ParameterError):
        SumTerms(**usual | parts)


def test_a_party_needs_its_own_place_and_numbers_that_fit(small):
    usual = {"terms": small.terms, "number": 0, "identity": small.identities[0], "vector": [1, 2, 3]}
    vectors = [[1, 2], [1.5, 2, 3], [1, 2, 2**31], [1, 2, -(2**40)]]
    for parts in ({"number": 1}, {"number": 9}, *({"vector": vector} for vector in vectors)):
        with pytest.raises(ParameterError):
            MaskingParty(**usual | parts)


def test_the_layout_of_messages():
    assert HEADER.size == 44
    whole = MaskedSum(5, 3, **SOME)
    assert len(whole.parties[0].first()) == 44 + 64
    messages = whole.begin()
    assert len(messages[0]) == 44 + 4 * 68
    assert len(whole.parties[0].answer(messages[0])) == 44 + 32 + 4 * 84
