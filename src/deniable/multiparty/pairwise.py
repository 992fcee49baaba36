"""Sums among a few who must all be there: masks between every two of them, and nothing to recover anybody by.

Two messages of each: a public key, signed, and its vector under the masks that it shares with each of the others. The sum opens itself when
all are added up, and until then every proper part of the vectors is uniform to all others together, the one who adds included. Where
somebody is missing there is no sum: begin again without them. (``masking`` goes on without the lost ones, and for that shares secrets among
neighbors, enough of whom must be honest; here nobody else has to be.)

Messages, in the layout of ``message``, all of parties signed::

    1 KEY           party        its X25519 key (32); in hybrid sums then its ML-KEM key (1184)
    2 KEYS          aggregator   of every party: number (4), keys, signature of KEY (64)
    3 MASKED        party        the masked vector
    4 CIPHERTEXTS   party        hybrid sums only, before MASKED: for every party with a larger number: number (4), ciphertext (1088),
                                 signature (64) of a message of kind 6 with that number and that ciphertext
    5 PASSED_ON     aggregator   of every party with a smaller number: number (4), ciphertext (1088), signature (64)

In hybrid sums a mask is made of X25519 and of ML-KEM-768 together (``masking.hybrid``). A ciphertext that was changed would open to another
secret: so each is signed for its receiver.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from deniable.contract.blind_rsa import draw_bytes
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ProtocolError, WireError
from deniable.kernels.compiled import Array
from deniable.multiparty.masking import hybrid, secrets
from deniable.multiparty.masking.layout import open_table, pack_table
from deniable.multiparty.message import SIGNATURE_BYTES, Message
from deniable.multiparty.terms import SumTerms, as_words, check_place

KEY, KEYS, MASKED, CIPHERTEXTS, PASSED_ON, CIPHERTEXT = range(1, 7)
_NUMBER = struct.Struct("<I")


@dataclass
class PairwiseParty:
    """One of those who add up their vectors."""

    terms: SumTerms
    number: int
    identity: bytes = field(repr=False)
    vector: Array = field(repr=False)
    source: Source = field(default=SYSTEM, repr=False)
    sent: int = 0
    _seed: bytes = field(default=b"", repr=False)
    _own: bytes = field(default=b"", repr=False)
    _keys: dict[int, bytes] = field(default_factory=dict, repr=False)
    _agreed: dict[int, bytes] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        check_place(self.terms, self.number, self.identity)
        self.vector = as_words(self.vector, self.terms)
        if self.terms.hybrid:
            hybrid.check_available()

    def first(self) -> bytes:
        """The first message: the public key, signed; in hybrid sums both."""
        if self.sent not in (0, KEY):
            raise ProtocolError("party", "under way", allowed="a party that has not begun", fix="go on with answer(): a sum is begun once")
        self._seed = self._seed or draw_bytes(self.source, 32)[:31]
        self.sent = KEY
        return self._signed(Message(KEY, self.number, self.terms.id, self._public()))

    def answer(self, data: bytes) -> bytes:
        """The masked vector, or what goes before. A second set of keys gets none: other masks would say something about the vector."""
        if self.sent not in (KEY, CIPHERTEXTS):
            raise ProtocolError(
                "message", "none is due", allowed="the keys, once, after first()", fix="drop it: each message is used once, in its turn"
            )
        kind = KEYS if self.sent == KEY else PASSED_ON
        message = Message.open(data).unsigned().expect(kind=kind, sum=self.terms.id, party=self.number)
        if kind == PASSED_ON:
            return self._mask(self._open(message.body))
        keys = self._read_keys(message.body)
        if self.terms.hybrid:
            return self._encapsulate(keys)
        own = secrets.private_key(self._seed, b"mask")
        return self._mask({party: secrets.agree(own, key) for party, key in keys.items()})

    def _read_keys(self, body: bytes) -> dict[int, bytes]:
        """The keys of the others, whose signatures hold."""
        size = _key_bytes(self.terms)
        rows = open_table(body, size + SIGNATURE_BYTES, "keys")
        if rows.keys() != set(range(len(self.terms.parties))) or len({row[:32] for row in rows.values()}) < len(rows):
            raise ProtocolError("keys", len(rows), allowed="a different one of each party", fix="begin again without the missing parties")
        if rows[self.number][:size] != self._public():
            raise ProtocolError("keys", "another one of this party", allowed="its own as it was sent", fix="abort: the message is forged")
        for party, row in rows.items():
            _check(Message(KEY, party, self.terms.id, row[:size], row[size:]), self.terms)
        return {party: row[:size] for party, row in rows.items() if party != self.number}

    def _encapsulate(self, keys: dict[int, bytes]) -> bytes:
        """A ciphertext for each party with a larger number."""
        rows, agreed = {}, {}
        for party, key in keys.items():
            if party > self.number:
                secret, ciphertext = hybrid.kem_public(key[32:], party).encapsulate()
                agreed[party] = self._combined(self.number, party, key, ciphertext, secret)
                rows[party] = ciphertext + self._row(self.number, party, ciphertext).signed(self.identity).signature
        self._keys, self._agreed, self.sent = keys, agreed, CIPHERTEXTS
        return self._signed(Message(CIPHERTEXTS, self.number, self.terms.id, pack_table(rows)))

    def _open(self, body: bytes) -> dict[int, bytes]:
        """What is agreed on with everybody: with those before it by their ciphertexts."""
        rows = open_table(body, hybrid.CIPHERTEXT_BYTES + SIGNATURE_BYTES, "ciphertexts")
        if rows.keys() != set(range(self.number)):
            raise ProtocolError("ciphertexts", len(rows), allowed="one of each party before this one", fix="begin a new sum")
        private, agreed = hybrid.kem_private(self._seed, b"mask"), dict(self._agreed)
        for party, row in rows.items():
            ciphertext, signature = row[: hybrid.CIPHERTEXT_BYTES], row[hybrid.CIPHERTEXT_BYTES :]
            _check(self._row(party, self.number, ciphertext)._replace(signature=signature), self.terms)
            agreed[party] = self._combined(party, self.number, self._keys[party], ciphertext, private.decapsulate(ciphertext))
        return agreed

    def _combined(self, sender: int, receiver: int, other: bytes, ciphertext: bytes, secret: bytes) -> bytes:
        own = self._public()
        first, second = (own, other) if sender == self.number else (other, own)
        exchange = hybrid.Exchange(b"mask", self.terms.id, sender, receiver, first[:32], second[:32], second[32:], ciphertext)
        return exchange.combined(secret, secrets.agree(secrets.private_key(self._seed, b"mask"), other[:32]))

    def _mask(self, agreed: dict[int, bytes]) -> bytes:
        masked = self.vector.copy()
        for party, secret in agreed.items():
            secrets.add_mask(masked, secrets.pair_seed(secret, self.terms.id, self.number, party), sign=1 if self.number < party else -1)
        self.sent = MASKED
        return self._signed(Message(MASKED, self.number, self.terms.id, masked.tobytes()))

    def _public(self) -> bytes:
        if not self._own:
            kem = hybrid.kem_private(self._seed, b"mask").public_key().public_bytes_raw() if self.terms.hybrid else b""
            self._own = secrets.public_bytes(self._seed, b"mask") + kem
        return self._own

    def _row(self, sender: int, receiver: int, ciphertext: bytes) -> Message:
        return Message(CIPHERTEXT, sender, self.terms.id, _NUMBER.pack(receiver) + ciphertext)

    def _signed(self, message: Message) -> bytes:
        return message.signed(self.identity).pack()


@dataclass
class PairwiseAggregator:
    """Passes keys on and adds vectors up; any of the parties may do it."""

    terms: SumTerms
    total: Array | None = None
    _messages: dict[int, dict[int, Message]] = field(default_factory=lambda: {KEY: {}, CIPHERTEXTS: {}, MASKED: {}}, repr=False)
    _step: int = KEY

    def receive(self, data: bytes) -> None:
        """Keep a message of a party; the same again changes nothing."""
        message = Message.open(data).expect(kind=self._step, sum=self.terms.id)
        if not 0 <= message.party < len(self.terms.parties):
            raise ProtocolError("party", message.party, allowed="one of the parties", fix="take the terms that name it")
        _check(message, self.terms)
        row, after = 4 + hybrid.CIPHERTEXT_BYTES + SIGNATURE_BYTES, range(message.party + 1, len(self.terms.parties))
        sizes = {KEY: _key_bytes(self.terms), CIPHERTEXTS: row * len(after), MASKED: self.terms.length * self.terms.word_bits // 8}
        if len(message.body) != sizes[self._step]:
            raise WireError("message", f"{len(message.body)} bytes", allowed=f"{sizes[self._step]}", fix="send it whole")
        if self._step == CIPHERTEXTS and self._rows(message).keys() != set(after):
            raise ProtocolError("ciphertexts", f"of party {message.party}", allowed="one for each party after it", fix="send them all")
        if self._messages[self._step].setdefault(message.party, message) != message:
            raise ProtocolError(
                "message", f"another one of party {message.party}", allowed="the same again", fix="drop it: each message is sent once"
            )

    def close(self) -> dict[int, bytes]:
        """What to send to whom; then the sum. ProtocolError if anybody is missing."""
        kept = self._messages[self._step]
        if len(kept) < len(self.terms.parties):
            missing = f"{len(kept)} of {len(self.terms.parties)}"
            raise ProtocolError(
                "parties", missing, allowed="all of them", fix="begin again without the missing parties; nothing was opened"
            )
        if self._step == KEY:
            self._step = CIPHERTEXTS if self.terms.hybrid else MASKED
            body = pack_table({party: message.body + message.signature for party, message in sorted(kept.items())})
            return {party: Message(KEYS, party, self.terms.id, body).pack() for party in kept}
        if self._step == CIPHERTEXTS:
            self._step = MASKED
            rows = {party: self._rows(message) for party, message in sorted(kept.items())}
            passed = {party: pack_table({other: rows[other][party] for other in range(party)}) for party in rows}
            return {party: Message(PASSED_ON, party, self.terms.id, body).pack() for party, body in passed.items()}
        vectors = [np.frombuffer(message.body, dtype=f"<u{self.terms.word_bits // 8}") for message in kept.values()]
        self.total = np.add.reduce(vectors, dtype=vectors[0].dtype).view(f"<i{self.terms.word_bits // 8}")
        return {}

    def _rows(self, message: Message) -> dict[int, bytes]:
        return open_table(message.body, hybrid.CIPHERTEXT_BYTES + SIGNATURE_BYTES, "ciphertexts")


def _key_bytes(terms: SumTerms) -> int:
    return secrets.KEY_BYTES + (hybrid.KEM_KEY_BYTES if terms.hybrid else 0)


def _check(message: Message, terms: SumTerms) -> None:
    if not message.signed_by(terms.parties[message.party]):
        raise ProtocolError("signature", f"of party {message.party}", allowed="its own", fix="abort: the message is forged")
