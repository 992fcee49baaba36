"""Shamir's sharing and the graph of neighbors: any t shares give the secret and fewer say nothing, and the degrees of the reference."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, cycle

import pytest

from deniable.errors import ParameterError
from deniable.multiparty import shamir
from deniable.multiparty.graph import Degree, degree, neighbors_of
from deniable.testing import ReplaySource

SECRET = bytes(range(31))


@pytest.mark.parametrize(("threshold", "places"), [(1, [1]), (1, [3, 9]), (2, [1, 2, 5]), (3, [1, 2, 3, 4, 65536])])
def test_any_threshold_of_shares_gives_the_secret(threshold, places):
    shares = shamir.share_secret(SECRET, threshold=threshold, places=places)
    for some in combinations(places, threshold):
        assert shamir.recover_secret({place: shares[place] for place in some}) == SECRET
    assert shamir.recover_secret(shares) == SECRET


def test_fewer_shares_fit_every_secret_equally_often(monkeypatch):
    """Over a field of 11 elements, all polynomials: given t - 1 shares, each secret has just as many of them."""
    monkeypatch.setattr(shamir, "PRIME", 11)
    seen = Counter()
    for first in range(11):
        for second in range(11):
            drawn = cycle((first, second))
            monkeypatch.setattr(shamir, "_draw", lambda _, drawn=drawn: next(drawn))
            for secret in range(11):
                shares = shamir.share_secret(secret.to_bytes(31, "big"), threshold=3, places=[1, 4, 7])
                seen[tuple(shares[place] for place in (1, 4)), secret] += 1
    assert set(seen.values()) == {1}
    assert len(seen) == 11**3


def test_the_wrong_shares_are_found_out():
    """Two shares of a secret for three give a number below 2^248 by chance, in one case of 128; here in none of 5."""
    shares = shamir.share_secret(SECRET, threshold=3, places=[1, 2, 3], source=ReplaySource.from_key("shares"))
    for some in [(1, 2), (1, 3), (2, 3)]:
        with pytest.raises(ParameterError, match="shares of one secret"):
            shamir.recover_secret({place: shares[place] for place in some})
    changed = shares | {2: shares[1]}
    with pytest.raises(ParameterError, match="shares of one secret"):
        shamir.recover_secret(changed)
    with pytest.raises(ParameterError, match="below the prime"):
        shamir.recover_secret(shares | {2: b"\xff" * 32})


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: shamir.share_secret(b"short", threshold=1, places=[1]),
        lambda: shamir.share_secret(SECRET, threshold=3, places=[1, 2]),
        lambda: shamir.share_secret(SECRET, threshold=0, places=[1, 2]),
        lambda: shamir.share_secret(SECRET, threshold=1, places=[0]),
        lambda: shamir.share_secret(SECRET, threshold=1, places=[2, 2]),
        lambda: degree(1, corrupt=0.1, lost=0.1),
        lambda: degree(10, corrupt=1.0, lost=0.1),
        lambda: degree(10, corrupt=0.5, lost=0.5),
        lambda: neighbors_of(10, 3),
        lambda: neighbors_of(10, 10),
    ],
)
def test_mistakes_are_refused_and_secrets_not_shown(wrong):
    with pytest.raises(ParameterError) as caught:
        wrong()
    assert "short" not in str(caught.value)
    assert str(SECRET) not in str(caught.value)


CELLS = {
    1_000: [(32, 18), (46, 26), (98, 54), (162, 99)],
    10_000: [(34, 20), (54, 30), (120, 65), (206, 126)],
    100_000: [(36, 21), (58, 33), (132, 71), (230, 140)],
}


@pytest.mark.parametrize("parties", CELLS)
def test_the_degrees_of_the_reference(parties):
    shares = [(0.05, 0.05), (0.1, 0.1), (0.2, 0.2), (0.33, 0.2)]
    assert [degree(parties, corrupt=corrupt, lost=lost) for corrupt, lost in shares] == [Degree(*cell) for cell in CELLS[parties]]


@pytest.mark.parametrize("parties", [2, 3, 5, 20, 28])
def test_few_parties_are_all_neighbors(parties):
    """And more than half of them are needed, so that no two groups without a common member recover two secrets."""
    neighbors, threshold = degree(parties, corrupt=0.0, lost=0.1)
    assert neighbors == parties - 1
    assert neighbors < 2 * threshold <= 2 * neighbors


@pytest.mark.parametrize(("parties", "neighbors"), [(2, 1), (7, 6), (9, 4), (50, 12)])
def test_neighbors_are_mutual_and_as_many_as_said(parties, neighbors):
    found = neighbors_of(parties, neighbors, ReplaySource.from_key("circle"))
    for party, others in enumerate(found):
        assert len(set(others)) == len(others) == neighbors
        assert party not in others
        assert all(party in found[other] for other in others)
    if neighbors < parties - 1:
        assert found != neighbors_of(parties, neighbors, ReplaySource.from_key("another circle"))
