"""What the aggregator does with the revealed shares: recover just the masks that do not cancel, and take them off.

A survivor's own mask and a lost party's masks with its surviving neighbors are left in the sum of the masked vectors. What is recovered is
checked against what its party published, so that a wrong share is found out and said, and never spoils a sum in silence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from deniable.errors import ParameterError, ProtocolError
from deniable.kernels.compiled import Array
from deniable.multiparty.masking import layout, secrets
from deniable.multiparty.masking.side import PartyKeys, Side
from deniable.multiparty.message import Message
from deniable.multiparty.shamir import recover_secret, weights_at_zero
from deniable.multiparty.terms import SumTerms


class Unmasking:
    """The messages of a sum whose shares were revealed."""

    def __init__(self, terms: SumTerms, messages: Mapping[int, Mapping[int, Message]], neighbors: Mapping[int, list[int]]) -> None:
        self.terms = terms
        self._neighbors = neighbors
        self._sharers = messages[layout.SHARES]
        self._keys = {party: PartyKeys.read(messages[layout.ADVERTISE][party].body) for party in self._sharers}
        self._masked = messages[layout.MASKED]
        self._shown: dict[int, dict[int, bytes]] = defaultdict(dict)
        for sender, message in messages[layout.REVEALED].items():
            for party, (_, share) in layout.open_revealed(message.body).items():
                self._shown[party][sender + 1] = share
        self._weights: dict[tuple[int, ...], list[int]] = {}
        self._rows: dict[int, dict[int, bytes]] = {}

    def total(self) -> Array:
        """The sum of the survivors' vectors, as signed integers."""
        dtype = f"<u{self.terms.word_bits // 8}"
        total = np.zeros(self.terms.length, dtype=dtype)
        for message in self._masked.values():
            total += np.frombuffer(message.body, dtype=dtype)
        for party in self._masked:
            secrets.add_mask(total, secrets.self_seed(self._own(party), self.terms.id), sign=-1)
        for party in self._sharers.keys() - self._masked.keys():
            self._take_off(total, party)
        return total.view(f"<i{self.terms.word_bits // 8}")

    def _take_off(self, total: Array, lost: int) -> None:
        """The masks of a lost party in its neighbors' vectors."""
        alive = [other for other in self._neighbors[lost] if other in self._masked]
        if not alive:
            return  # nobody masked with it
        side = self._pairs(lost)
        for other in alive:
            agreed = side.agreed(other, self._keys[other], self._row(lost, other))
            pair = secrets.pair_seed(agreed, self.terms.id, lost, other)
            secrets.add_mask(total, pair, sign=-1 if other < lost else 1)  # the other had added it if its own number is the smaller one

    def _row(self, lost: int, other: int) -> bytes:
        """In hybrid sums, what the one with the smaller number sent to the other."""
        if not self.terms.hybrid:
            return b""
        low, high = sorted((lost, other))
        if low not in self._rows:
            self._rows[low] = layout.open_shares_message(self._sharers[low].body, self.terms, low)[1]
        return self._rows[low][high]

    def _own(self, party: int) -> bytes:
        seed = self._recover(party)
        if secrets.commitment(seed, self.terms.id) != self._sharers[party].body[: secrets.KEY_BYTES]:
            raise self._spoiled(party)
        return seed

    def _pairs(self, party: int) -> Side:
        """What a lost party could agree on; from now on everybody's."""
        side, published = Side(self.terms, party, {"mask": self._recover(party)}), self._keys[party]
        if (side.public.mask, side.public.mask_kem) != (published.mask, published.mask_kem):
            raise self._spoiled(party)
        return side

    def _recover(self, party: int) -> bytes:
        shares = dict(sorted(self._shown[party].items())[: self.terms.degree.threshold])
        if len(shares) < self.terms.degree.threshold:
            allowed = f"{self.terms.degree.threshold} or more"
            raise ProtocolError("shares", f"{len(shares)} of party {party}", allowed=allowed, fix="begin a new sum: it cannot be opened")
        places = tuple(shares)
        if places not in self._weights:
            self._weights[places] = weights_at_zero(places)
        try:
            return recover_secret(shares, self._weights[places])
        except ParameterError as error:
            raise self._spoiled(party) from error

    def _spoiled(self, party: int) -> ProtocolError:
        allowed = "the shares that this party handed out"
        return ProtocolError(
            "shares",
            f"of party {party}",
            allowed=allowed,
            fix="begin a new sum: somebody showed a wrong share, and the epsilon of this sum is spent",
        )
