"""A party of a masked sum: it answers each message of the aggregator with one of its own, and shows its numbers to nobody.

``first`` begins, ``answer`` goes on; each is a step, and ``save`` keeps all that the next one needs. A message that is not due, not of this
sum or not signed by whom it says is refused, and the party stays where it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.blind_rsa import draw_bytes
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ProtocolError
from deniable.kernels.compiled import Array
from deniable.multiparty.masking import hybrid, layout, secrets
from deniable.multiparty.masking.side import PartyKeys, Side
from deniable.multiparty.message import Message
from deniable.multiparty.shamir import SECRET_BYTES, share_secret
from deniable.multiparty.state import opened_state, pack_state
from deniable.multiparty.terms import SumTerms, as_words, check_place

_DUE = {layout.ADVERTISE: layout.KEYS, layout.SHARES: layout.FOR_YOU, layout.MASKED: layout.SURVIVORS, layout.AGREED: layout.AGREEMENT}
"""What a party waits for after it has sent a message of a kind."""


@typed
@dataclass
class MaskingParty:
    """One party of a sum on the ``terms`` that all agreed on, where ``number`` is its place.

    ``identity`` is the seed of its Ed25519 key, ``vector`` its numbers: integers that are taken modulo 2^word_bits. ``data`` is a message
    of the aggregator, or what ``save`` gave.
    """

    terms: SumTerms
    number: int
    identity: bytes = field(repr=False)
    vector: Array = field(repr=False)
    source: Source = field(default=SYSTEM, repr=False)
    sent: int = 0
    """The kind of the last message that it sent."""
    _seeds: dict[str, bytes] = field(default_factory=dict, repr=False)
    _keys: dict[int, PartyKeys] = field(default_factory=dict, repr=False)
    _agreed: dict[int, bytes] = field(default_factory=dict, repr=False)
    """Secrets of masks that this party chose, in hybrid sums."""
    _shares: dict[int, tuple[bytes, bytes]] = field(default_factory=dict, repr=False)
    _survivors: list[int] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        check_place(self.terms, self.number, self.identity)
        self.terms.degree  # noqa: B018  # refuses shares for which there is no graph
        if not self._hidden:
            self.vector = as_words(self.vector, self.terms)
        if self.terms.hybrid:
            hybrid.check_available()

    @property
    def _hidden(self) -> bool:
        """Whether the masked vector was made: from then on its numbers, and what hides them, are of no use but to a thief."""
        return self.sent >= layout.MASKED

    # --- the steps ---

    def first(self) -> bytes:
        """The first message: the public keys."""
        if self.sent not in (0, layout.ADVERTISE):
            raise ProtocolError("party", "under way", allowed="a party that has not begun", fix="go on with answer(): a sum is begun once")
        if not self._seeds:
            self._seeds = {name: draw_bytes(self.source, 32)[:SECRET_BYTES] for name in ("seal", "mask", "self")}
        return self._send(layout.ADVERTISE, self._side().public.body)

    def answer(self, data: bytes) -> bytes | None:
        """The answer to a message of the aggregator; None if there is nothing more to say."""
        if self.sent not in _DUE:
            raise ProtocolError(
                "message",
                "none is due",
                allowed="messages between first() and the end",
                fix="drop it: each message is used once, in its turn",
            )
        message = Message.open(data).unsigned().expect(kind=_DUE[self.sent], sum=self.terms.id, party=self.number)
        steps = {
            layout.KEYS: self._share,
            layout.FOR_YOU: self._mask,
            layout.SURVIVORS: self._agree if self.terms.active else self._reveal,
            layout.AGREEMENT: self._check_agreement,
        }
        return steps[message.kind](message.body)

    def _share(self, body: bytes) -> bytes:
        """Both secrets, in shares that are sealed for the neighbors."""
        keys = layout.open_keys(body, self.terms)
        neighbors, threshold = self.terms.degree
        wrong = [party for party in keys if party == self.number or not 0 <= party < len(self.terms.parties)]
        if wrong or not threshold <= len(keys) <= neighbors:
            allowed = f"{threshold} to {neighbors} other parties"
            raise ProtocolError("neighbors", f"{len(keys)}, {len(wrong)} of them wrong", allowed=allowed, fix="abort this sum")
        parts = [part for key in keys.values() for part in key.parts]
        if len(set(parts)) < len(parts):
            raise ProtocolError("keys", "the same twice", allowed="different keys for every party", fix="abort this sum")
        for party, key in keys.items():
            if self.terms.active:
                self._check(Message(layout.ADVERTISE, party, self.terms.id, key.body, key.signature))
        places = [party + 1 for party in keys]
        own = share_secret(self._seeds["self"], threshold=threshold, places=places, source=self.source)
        pairs = share_secret(self._seeds["mask"], threshold=threshold, places=places, source=self.source)
        side = self._side()
        sealed = {party: side.seal(party, key, own[party + 1] + pairs[party + 1]) for party, key in keys.items()}
        self._keys = keys
        self._agreed = {party: agreed for party, (_, agreed) in sealed.items() if agreed}
        rows = layout.pack_table({party: row for party, (row, _) in sealed.items()})
        return self._send(layout.SHARES, secrets.commitment(self._seeds["self"], self.terms.id) + rows)

    def _mask(self, body: bytes) -> bytes:
        """The vector under its own mask and those that it has in common with the neighbors who sent shares."""
        sealed = layout.open_for_you(body, self.terms, self.number)
        strangers = sealed.keys() - self._keys.keys()
        if strangers or len(sealed) < self.terms.degree.threshold:
            allowed = f"{self.terms.degree.threshold} or more of its neighbors"
            raise ProtocolError("shares", f"{len(sealed)}, {len(strangers)} of strangers", allowed=allowed, fix="abort this sum")
        side, opened, masked = self._side(), {}, self.vector.copy()
        secrets.add_mask(masked, secrets.self_seed(self._seeds["self"], self.terms.id), sign=1)
        for party, row in sealed.items():
            key = self._keys[party]
            opened[party] = side.open(party, key, row)
            agreed = self._agreed[party] if party in self._agreed else side.agreed(party, key, row)
            secrets.add_mask(masked, secrets.pair_seed(agreed, self.terms.id, self.number, party), sign=1 if self.number < party else -1)
        self._shares = opened
        return self._send(layout.MASKED, masked.tobytes())

    def _agree(self, body: bytes) -> bytes:
        """Sign the list of survivors, so that all parties get the same one."""
        self._survivors = self._check_survivors(body)
        return self._send(layout.AGREED, self._digest())

    def _check_agreement(self, body: bytes) -> bytes:
        signatures = layout.open_table(body, 64, "signatures")
        for party, signature in signatures.items():
            if party in {*self._survivors, self.number}:
                self._check(Message(layout.AGREED, party, self.terms.id, self._digest(), signature))
        if len(signatures.keys() & {*self._survivors, self.number}) < max(self.terms.degree.threshold, self.terms.least):
            allowed = f"{max(self.terms.degree.threshold, self.terms.least)} survivors or more"
            raise ProtocolError("signatures", len(signatures), allowed=allowed, fix="abort: survivors were not agreed on")
        return self._open()

    def _reveal(self, body: bytes) -> bytes:
        self._survivors = self._check_survivors(body)
        return self._open()

    def _check_survivors(self, body: bytes) -> list[int]:
        count, survivors = layout.open_survivors(body)
        if not self.terms.least <= count <= len(self.terms.parties):
            allowed = f"{self.terms.least} or more"
            raise ProtocolError("survivors", count, allowed=allowed, fix="abort: the noise of so few does not hide anybody")
        if not set(survivors) <= self._shares.keys() or len(survivors) < self.terms.degree.threshold:
            allowed = f"{self.terms.degree.threshold} or more of the neighbors who sent shares"
            raise ProtocolError("survivors", len(survivors), allowed=allowed, fix="abort this sum")
        if self.terms.active and count != len(survivors) + 1:
            raise ProtocolError("survivors", count, allowed="as many as are named", fix="abort: everybody is a neighbor here")
        return sorted(survivors)

    def _open(self) -> bytes:
        """For every neighbor one share, of its own mask or of its keys."""
        alive = set(self._survivors)
        rows = {
            party: bytes([layout.OWN]) + own if party in alive else bytes([layout.PAIRS]) + pairs
            for party, (own, pairs) in self._shares.items()
        }
        return self._send(layout.REVEALED, layout.pack_table(rows))

    def _digest(self) -> bytes:
        return layout.survivors_digest({*self._survivors, self.number})

    # --- keys, signatures, and what is kept ---

    def _side(self) -> Side:
        return Side(self.terms, self.number, self._seeds)

    def _send(self, kind: int, body: bytes) -> bytes:
        message = Message(kind, self.number, self.terms.id, body)
        if self.terms.active:
            message = message.signed(self.identity)
        self.sent = kind
        return message.pack()

    def _check(self, message: Message) -> None:
        if not message.signed_by(self.terms.parties[message.party]):
            allowed = "what that party signed"
            raise ProtocolError("signature", f"of party {message.party}", allowed=allowed, fix="abort: the message is forged")

    def save(self) -> bytes:
        """All that the next step needs, secrets included, and no more: keep it where nobody else reads."""
        return pack_state(
            "party",
            self.terms.id,
            number=self.number,
            sent=self.sent,
            vector="" if self._hidden else self.vector.tobytes().hex(),
            seeds={} if self._hidden else {name: seed.hex() for name, seed in self._seeds.items()},
            agreed={} if self._hidden else {str(party): secret.hex() for party, secret in self._agreed.items()},
            keys={str(party): [part.hex() for part in key] for party, key in self._keys.items()},
            shares={str(party): [share.hex() for share in pair] for party, pair in self._shares.items()},
            survivors=self._survivors,
        )

    @classmethod
    def resume(cls, data: bytes, *, terms: SumTerms, identity: bytes, source: Source = SYSTEM) -> MaskingParty:
        """The party as it was saved; WireError if this is not its state in this sum."""
        with opened_state(data, "party", terms.id) as content:
            vector = np.frombuffer(bytes.fromhex(content["vector"]), dtype=f"<u{terms.word_bits // 8}")
            party = cls(terms, content["number"], identity, vector, source, content["sent"])
            party._seeds = {name: bytes.fromhex(seed) for name, seed in content["seeds"].items()}
            party._agreed = {int(number): bytes.fromhex(secret) for number, secret in content.get("agreed", {}).items()}
            party._keys = {int(number): PartyKeys(*map(bytes.fromhex, parts)) for number, parts in content["keys"].items()}
            party._shares = {int(number): (bytes.fromhex(own), bytes.fromhex(pairs)) for number, (own, pairs) in content["shares"].items()}
            party._survivors = list(content["survivors"])
        return party
