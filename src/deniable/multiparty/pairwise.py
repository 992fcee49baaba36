"""Sums among a few who must all be there: masks between every two of them, and nothing to recover anybody by.

Two messages of each: a public key, signed, and its vector under the masks that it shares with each of the others. The sum opens itself when
all are added up, and until then every proper part of the vectors is uniform to all others together, the one who adds included. Where
somebody is missing there is no sum: begin again without them. (``masking`` goes on without the lost ones, and for that shares secrets among
neighbors, enough of whom must be honest; here nobody else has to be.)

Messages, in the layout of ``message``: 1 KEY, a party's X25519 key; 2 KEYS, all of them, each with its number and signature; 3 MASKED.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from deniable.contract.blind_rsa import draw_bytes
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ProtocolError, WireError
from deniable.kernels.compiled import Array
from deniable.multiparty.masking import secrets
from deniable.multiparty.masking.layout import open_table, pack_table
from deniable.multiparty.message import SIGNATURE_BYTES, Message
from deniable.multiparty.terms import Terms, as_words, check_place

KEY, KEYS, MASKED = 1, 2, 3


@dataclass
class PairwiseParty:
    """One of those who add up their vectors."""

    terms: Terms
    number: int
    identity: bytes = field(repr=False)
    vector: Array = field(repr=False)
    source: Source = field(default=SYSTEM, repr=False)
    sent: int = 0
    _seed: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        check_place(self.terms, self.number, self.identity)
        self.vector = as_words(self.vector, self.terms)

    def first(self) -> bytes:
        """The first message: a public key, signed."""
        if self.sent not in (0, KEY):
            raise ProtocolError("party", "under way", allowed="a party that has not begun", fix="a sum is begun once: go on with answer()")
        self._seed = self._seed or draw_bytes(self.source, 32)[:31]
        self.sent = KEY
        return self._signed(Message(KEY, self.number, self.terms.id, secrets.public_bytes(self._seed, b"mask")))

    def answer(self, data: bytes) -> bytes:
        """The masked vector. A second set of keys gets none: under other masks it would say something about the vector."""
        if self.sent != KEY:
            raise ProtocolError("message", "none is due", allowed="the keys, once, after first()", fix="each is used in its turn")
        message = Message.open(data).unsigned().expect(kind=KEYS, sum=self.terms.id, party=self.number)
        rows = open_table(message.body, secrets.KEY_BYTES + SIGNATURE_BYTES, "keys")
        if rows.keys() != set(range(len(self.terms.parties))) or len({row[:32] for row in rows.values()}) < len(rows):
            raise ProtocolError("keys", len(rows), allowed="a different one of each party", fix="begin again without the missing ones")
        if rows[self.number][:32] != secrets.public_bytes(self._seed, b"mask"):
            raise ProtocolError("keys", "another one of this party", allowed="its own as it was sent", fix="abort: somebody made it up")
        own, masked = secrets.private_key(self._seed, b"mask"), self.vector.copy()
        for party, row in rows.items():
            _check(Message(KEY, party, self.terms.id, row[:32], row[32:]), self.terms)
            if party != self.number:
                pair = secrets.pair_seed(secrets.agree(own, row[:32]), self.terms.id, self.number, party)
                secrets.add_mask(masked, pair, sign=1 if self.number < party else -1)
        self.sent = MASKED
        return self._signed(Message(MASKED, self.number, self.terms.id, masked.tobytes()))

    def _signed(self, message: Message) -> bytes:
        return message.signed(self.identity).pack()


@dataclass
class PairwiseAggregator:
    """Passes keys on and adds vectors up; any of the parties may do it."""

    terms: Terms
    total: Array | None = None
    _messages: dict[int, dict[int, Message]] = field(default_factory=lambda: {KEY: {}, MASKED: {}}, repr=False)
    _step: int = KEY

    def receive(self, data: bytes) -> None:
        """Keep a message of a party; the same again changes nothing."""
        message = Message.open(data).expect(kind=self._step, sum=self.terms.id)
        if not 0 <= message.party < len(self.terms.parties):
            raise ProtocolError("party", message.party, allowed="one of the parties", fix="take the terms that name it")
        _check(message, self.terms)
        size = secrets.KEY_BYTES if self._step == KEY else self.terms.length * self.terms.word_bits // 8
        if len(message.body) != size:
            raise WireError("message", f"{len(message.body)} bytes", allowed=f"{size}", fix="send it whole")
        if self._messages[self._step].setdefault(message.party, message) != message:
            raise ProtocolError("message", f"another one of party {message.party}", allowed="the same again", fix="each is sent once")

    def close(self) -> dict[int, bytes]:
        """What to send to whom; then the sum. ProtocolError if anybody is missing."""
        kept = self._messages[self._step]
        if len(kept) < len(self.terms.parties):
            missing = f"{len(kept)} of {len(self.terms.parties)}"
            raise ProtocolError("parties", missing, allowed="all of them", fix="nothing was opened; begin again without the missing ones")
        if self._step == KEY:
            self._step = MASKED
            body = pack_table({party: message.body + message.signature for party, message in sorted(kept.items())})
            return {party: Message(KEYS, party, self.terms.id, body).pack() for party in kept}
        vectors = [np.frombuffer(message.body, dtype=f"<u{self.terms.word_bits // 8}") for message in kept.values()]
        self.total = np.add.reduce(vectors, dtype=vectors[0].dtype).view(f"<i{self.terms.word_bits // 8}")
        return {}


def _check(message: Message, terms: Terms) -> None:
    if not message.signed_by(terms.parties[message.party]):
        raise ProtocolError("signature", f"of party {message.party}", allowed="its own", fix="abort: somebody made it up")
