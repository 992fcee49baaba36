"""Sums of a few parties for the tests."""

from __future__ import annotations

import numpy as np
import pytest

from deniable.multiparty.masking.aggregator import MaskingAggregator
from deniable.multiparty.masking.party import MaskingParty
from deniable.multiparty.terms import SumTerms
from deniable.sealing.identity import new_identity, public_key
from deniable.testing import ReplaySource


class MaskedSum:
    """All roles of a sum, with numbers of each party that the tests know."""

    def __init__(self, parties: int, length: int = 3, *, key: str = "sum", **parts) -> None:
        source = ReplaySource.from_key(key)
        self.identities = [new_identity(source) for _ in range(parties)]
        self.terms = SumTerms(label=key, parties=tuple(map(public_key, self.identities)), length=length, **parts)
        drawn = np.random.default_rng(parties)
        self.vectors = drawn.integers(-(2**20), 2**20, (parties, length))
        self.parties = {
            number: MaskingParty(self.terms, number, identity, vector, source)
            for number, (identity, vector) in enumerate(zip(self.identities, self.vectors, strict=True))
        }
        self.aggregator = MaskingAggregator(self.terms, source)

    def advance(self, messages: dict[int, bytes], *, without: set[int] = frozenset()) -> dict[int, bytes]:
        """One step: every party answers, but for some, and the aggregator closes."""
        for number, message in messages.items():
            if number not in without:
                self.aggregator.receive(self.parties[number].answer(message))
        return self.aggregator.close()

    def begin(self, *, without: set[int] = frozenset()) -> dict[int, bytes]:
        """The first step."""
        for number, party in self.parties.items():
            if number not in without:
                self.aggregator.receive(party.first())
        return self.aggregator.close()


@pytest.fixture
def small():
    """Five parties, of whom one may be lost."""
    return MaskedSum(5, corrupt="1/5", lost="1/5", honest="3/5")
