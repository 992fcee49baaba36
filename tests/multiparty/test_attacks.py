"""Attacks on masked sums that were found once: an active aggregator, parties rolled back, and what a mutant would give away."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest

from deniable.errors import ParameterError, ProtocolError, WireError
from deniable.multiparty.graph import degree
from deniable.multiparty.masking import layout, secrets
from deniable.multiparty.masking.party import MaskingParty
from deniable.multiparty.masking.side import PartyKeys, Side
from deniable.multiparty.message import Message
from deniable.multiparty.roles import run_sum
from deniable.multiparty.shamir import recover_secret
from tests.multiparty.conftest import MaskedSum

SOME = {"corrupt": "1/5", "lost": "1/5", "honest": "3/5"}


@pytest.mark.parametrize("parties", [3, 5, 10, 20, 37, 100])
def test_two_groups_of_neighbors_with_all_corrupt_ones_in_both_never_recover_two_secrets(parties):
    """Where everybody is a neighbor: an honest one shows one secret of a party, a corrupt one both."""
    for numerator in range(parties):
        corrupt = Fraction(numerator, parties)
        try:
            neighbors, threshold = degree(parties, corrupt=corrupt, lost=Fraction(0), complete=True)
        except ParameterError:
            assert 2 * numerator >= parties - 2  # refused only where too few are honest
            continue
        assert 2 * threshold > neighbors + floor(corrupt * parties)


def test_terms_under_which_an_active_aggregator_could_split_the_parties_are_refused():
    """Three of ten corrupt and three lost: six of nine shares would be needed twice, and three of them show both."""
    with pytest.raises(ParameterError, match="corrupt, lost"):
        MaskedSum(10, corrupt="3/10", lost="3/10", honest="1/10", active=True)
    with pytest.raises(ParameterError, match="corrupt, lost"):
        MaskedSum(20, corrupt="3/10", lost="7/20", honest="7/20", active=True)


def test_shares_of_corrupt_parties_are_counted_exactly():
    """57/100 of 100 is 57: in floats it was 56, and 57 parties held enough shares."""
    assert degree(100, corrupt=Fraction(57, 100), lost=Fraction(0), complete=True).threshold > 57


def test_a_quorum_that_is_one_short_opens_nothing():
    whole = MaskedSum(5, **SOME, active=True)
    messages = whole.advance(whole.advance(whole.begin()))
    signed = {number: Message.open(whole.parties[number].answer(messages[number])).signature for number in range(5)}
    enough = max(whole.terms.degree.threshold, whole.terms.least)
    some = dict(list(signed.items())[: enough - 1])
    with pytest.raises(ProtocolError, match="not agreed on"):
        whole.parties[0].answer(Message(layout.AGREEMENT, 0, whole.terms.id, layout.pack_table(some)).pack())
    assert whole.parties[0].answer(Message(layout.AGREEMENT, 0, whole.terms.id, layout.pack_table(signed)).pack())


def test_a_party_that_is_asked_before_it_began_says_so():
    whole = MaskedSum(5, **SOME)
    messages = whole.begin()
    fresh = MaskingParty(whole.terms, 0, whole.identities[0], whole.vectors[0])
    for message in (messages[0], Message(0, 0, whole.terms.id, b"").pack()):
        with pytest.raises(ProtocolError, match="in its turn"):
            fresh.answer(message)


def test_signatures_that_nobody_asked_for_are_not_passed_on():
    whole = MaskedSum(5, **SOME)
    with pytest.raises(WireError, match="no signature"):
        whole.aggregator.receive(whole.parties[0].first() + bytes(64))


def aggregators_view(lost: set[int], *, hybrid: bool) -> tuple[MaskedSum, dict[int, np.ndarray], dict[int, bytes], dict[int, bytes]]:
    """A sum as its aggregator sees it: masked vectors, and the secrets that the revealed shares give."""
    whole = MaskedSum(5, 40, **SOME, hybrid=hybrid)
    messages = whole.advance(whole.advance(whole.begin()), without=lost)
    masked = {n: np.frombuffer(m.body, dtype="<u4") for n, m in whole.aggregator._messages[layout.MASKED].items()}
    shown: dict[int, dict[int, bytes]] = {}
    for number, message in messages.items():
        reply = whole.parties[number].answer(message)
        for party, (_, share) in layout.open_revealed(Message.open(reply).body).items():
            shown.setdefault(party, {})[number + 1] = share
    found = {party: recover_secret(dict(list(shares.items())[: whole.terms.degree.threshold])) for party, shares in shown.items()}
    own = {party: seed for party, seed in found.items() if party in masked}
    return whole, masked, own, {party: seed for party, seed in found.items() if party not in masked}


@pytest.mark.parametrize("lost", [set(), {0}, {4}], ids=str)
@pytest.mark.parametrize("hybrid", [False, True])
def test_what_the_aggregator_may_recover_leaves_every_vector_masked(lost, hybrid):
    """With all own masks and the keys of the lost, two survivors still share a mask that nobody else can make."""
    whole, masked, own, pairs = aggregators_view(lost, hybrid=hybrid)
    keys = {number: PartyKeys.read(message.body) for number, message in whole.aggregator._messages[layout.ADVERTISE].items()}
    sent = {n: layout.open_shares_message(m.body, whole.terms, n)[1] for n, m in whole.aggregator._messages[layout.SHARES].items()}
    for number, vector in masked.items():
        left = vector.copy()
        secrets.add_mask(left, secrets.self_seed(own[number], whole.terms.id), sign=-1)
        for gone, seed in pairs.items():
            agreed = Side(whole.terms, gone, {"mask": seed}).agreed(number, keys[number], sent[min(gone, number)][max(gone, number)])
            secrets.add_mask(left, secrets.pair_seed(agreed, whole.terms.id, number, gone), sign=-1 if number < gone else 1)
        true = whole.vectors[number].astype("<u4")
        assert (left == true).mean() < 0.1
        assert abs(float((left - true).mean()) / 2**32 - 0.5) < 0.3  # and no constant lies between them


def test_no_two_masks_are_alike():
    """Of all pairs and of all parties, in one sum and in the next one of the same parties."""
    seen = set()
    for label in ("monday", "tuesday"):
        whole = MaskedSum(4, key=label, corrupt="0", lost="0", honest="1")
        whole.begin()
        for number, party in whole.parties.items():
            seen.add(secrets.self_seed(party._seeds["self"], whole.terms.id))
            for other in range(number + 1, 4):
                key = secrets.public_bytes(whole.parties[other]._seeds["mask"], b"mask")
                shared = secrets.agree(secrets.private_key(party._seeds["mask"], b"mask"), key)
                seen.add(secrets.pair_seed(shared, whole.terms.id, number, other))
    assert len(seen) == 2 * (4 + 6)


def test_seeds_are_drawn_and_not_derived():
    """The same party in the same sum, twice with the system's randomness."""
    whole = MaskedSum(3, corrupt="0", lost="0", honest="1")
    drawn = []
    for _ in range(2):
        party = MaskingParty(whole.terms, 0, whole.identities[0], whole.vectors[0])
        party.first()
        drawn.append(set(party._seeds.values()))
    assert not drawn[0] & drawn[1]
    assert len(drawn[0]) == 3


def test_the_sum_of_a_crowd_of_which_many_never_begin():
    """The present set is smaller than the degree: everybody left is a neighbor of everybody."""
    whole = MaskedSum(12, corrupt="0", lost="1/3", honest="1/2")
    lost = dict.fromkeys(range(4), 0)
    assert run_sum(whole.parties, whole.aggregator, lost=lost).tolist() == whole.vectors[4:].sum(axis=0).tolist()
