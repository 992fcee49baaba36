"""The roles of a sum under encryption: parties who upload once, an aggregator who multiplies, and a committee that opens.

Kinds of messages, in the layout of ``message``; bodies are ciphertexts one after the other::

    1 ENCRYPTED   party          its packed vector
    2 TO_OPEN     aggregator     the parties that are in the sum (a count, then their numbers, 4 bytes each), then the product of theirs;
                                 where messages are signed: the messages themselves, each after its length (4 bytes)
    3 OPENED      decryptor      its share of each ciphertext; ``party`` is its place, from 1 on

A decryptor opens one sum once, and none of fewer parties than the terms allow: of two sums that differ in one party, it would show that
party. Where messages are signed it multiplies for itself, so that no aggregator can have a single party's numbers opened.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from deniable.contract.source import SYSTEM, Source
from deniable.errors import ProtocolError, WireError
from deniable.kernels.compiled import Array
from deniable.multiparty.identity import sign, verified
from deniable.multiparty.message import CONTEXT, Message, cut
from deniable.multiparty.paillier.encryption import Encryptor
from deniable.multiparty.paillier.keys import KeyShare, PublicKey
from deniable.multiparty.paillier.packing import Packing
from deniable.multiparty.terms import Terms, check_place

ENCRYPTED, TO_OPEN, OPENED = 1, 2, 3
_NUMBER = struct.Struct("<I")


@dataclass
class PaillierParty:
    """One party; ``first`` is all that it ever sends."""

    terms: Terms
    number: int
    identity: bytes = field(repr=False)
    encryptor: Encryptor = field(repr=False)
    packing: Packing
    vector: Array = field(repr=False)
    source: Source = field(default=SYSTEM, repr=False)

    def __post_init__(self) -> None:
        check_place(self.terms, self.number, self.identity)

    def first(self) -> bytes:
        """The packed vector, encrypted."""
        key = self.encryptor.public
        packed = self.packing.pack([int(number) for number in self.vector], key.modulus)
        body = b"".join(key.write(self.encryptor.encrypt(plain, self.source)) for plain in packed)
        message = Message(ENCRYPTED, self.number, self.terms.id, body)
        if self.terms.active:
            message = message._replace(signature=sign(self.identity, CONTEXT + message.signed_part()))
        return message.pack()


def read_upload(message: Message, terms: Terms, key: PublicKey, packing: Packing) -> list[int]:
    """The ciphertexts of a party's message; WireError or ProtocolError if it is none of this sum."""
    message.expect(kind=ENCRYPTED, sum=terms.id)
    if not 0 <= message.party < len(terms.parties):
        raise ProtocolError("party", message.party, allowed="one of the parties", fix="take the terms that name it")
    if terms.active and not verified(terms.parties[message.party], CONTEXT + message.signed_part(), message.signature):
        raise ProtocolError("signature", f"of party {message.party}", allowed="its own", fix="somebody made it up")
    found = [key.read(piece) for piece in cut(message.body, key.cipher_bytes, "ciphertexts")]
    if len(found) != packing.plaintexts:
        raise WireError("ciphertexts", len(found), allowed=f"{packing.plaintexts} of them", fix="send the message whole")
    return found


@dataclass
class PaillierAggregator:
    """Multiplies what parties send, has it opened by the committee, and learns the sum alone."""

    terms: Terms
    public: PublicKey
    packing: Packing
    total: Array | None = None
    _uploads: dict[int, Message] = field(default_factory=dict, repr=False)
    _shares: dict[int, list[int]] = field(default_factory=dict, repr=False)
    _asked: bool = False

    def receive(self, data: bytes) -> None:
        """A party's upload, or after ``close`` a decryptor's shares; the same message again changes nothing."""
        message = Message.open(data)
        if self._asked:
            self._take_shares(message.expect(kind=OPENED, sum=self.terms.id))
            return
        read_upload(message, self.terms, self.public, self.packing)
        if self._uploads.setdefault(message.party, message) != message:
            raise ProtocolError("message", f"another one of party {message.party}", allowed="the same again", fix="each is sent once")

    def _take_shares(self, message: Message) -> None:
        if not 1 <= message.party <= self.public.decryptors:
            raise ProtocolError("decryptor", message.party, allowed=f"from 1 to {self.public.decryptors}", fix="ask the committee")
        shares = [self.public.read(piece) for piece in cut(message.body, self.public.cipher_bytes, "shares")]
        if len(shares) != self.packing.plaintexts:
            raise WireError("shares", len(shares), allowed=f"{self.packing.plaintexts} of them", fix="send the message whole")
        if self._shares.setdefault(message.party, shares) != shares:
            raise ProtocolError("shares", f"others of decryptor {message.party}", allowed="the same again", fix="each is sent once")

    def close(self) -> dict[int, bytes]:
        """End the uploads: what to send to each decryptor, by its place. Then, with enough shares, the sum: nothing more to send."""
        if self._asked:
            plain = [
                self.public.open({place: shares[at] for place, shares in self._shares.items()}) for at in range(self.packing.plaintexts)
            ]
            self.total = np.array(self.packing.unpack(plain, self.public.modulus), dtype=np.int64)
            return {}
        if len(self._uploads) < self.terms.least:
            allowed = f"{self.terms.least} or more of {len(self.terms.parties)}"
            raise ProtocolError("parties", len(self._uploads), allowed=allowed, fix="nothing was opened; begin a new sum")
        self._asked = True
        parties = sorted(self._uploads)
        if self.terms.active:
            packed = [self._uploads[party].pack() for party in parties]
            body = _NUMBER.pack(len(parties)) + b"".join(_NUMBER.pack(len(each)) + each for each in packed)
        else:
            read = [read_upload(self._uploads[party], self.terms, self.public, self.packing) for party in parties]
            product = multiplied(read, self.public)
            names = b"".join(_NUMBER.pack(party) for party in parties)
            body = _NUMBER.pack(len(parties)) + names + b"".join(map(self.public.write, product))
        return {place: Message(TO_OPEN, place, self.terms.id, body).pack() for place in range(1, self.public.decryptors + 1)}


@dataclass
class Decryptor:
    """One member of the committee. ``opened`` are the sums that it has opened; keep them, it must not open one again."""

    terms: Terms
    share: KeyShare
    packing: Packing
    opened: set[bytes] = field(default_factory=set)

    def answer(self, data: bytes) -> bytes:
        """Its shares of a sum; ProtocolError, and nothing is opened, if the sum has too few parties or was opened before."""
        message = Message.open(data).expect(kind=TO_OPEN, sum=self.terms.id, party=self.share.place)
        if self.terms.id in self.opened:
            raise ProtocolError("sum", self.terms.id.hex()[:16], allowed="a sum that was not opened yet", fix="two sums would show a party")
        parties, product = self._read(message.body)
        if len(parties) < self.terms.least:
            raise ProtocolError("parties", len(parties), allowed=f"{self.terms.least} or more", fix="their noise does not hide anybody")
        self.opened.add(self.terms.id)
        body = b"".join(self.share.public.write(self.share.decrypt(ciphertext)) for ciphertext in product)
        return Message(OPENED, self.share.place, self.terms.id, body).pack()

    def _read(self, body: bytes) -> tuple[set[int], list[int]]:
        if len(body) < _NUMBER.size:
            raise WireError("sum", f"{len(body)} bytes", allowed="a count of parties first", fix="send the message whole")
        count, at, key = _NUMBER.unpack_from(body)[0], _NUMBER.size, self.share.public
        if not self.terms.active:
            end = at + _NUMBER.size * count
            parties = {_NUMBER.unpack(piece)[0] for piece in cut(body[at:end], _NUMBER.size, "parties")}
            product = [key.read(piece) for piece in cut(body[end:], key.cipher_bytes, "ciphertexts")]
            good = len(parties) == count and all(party < len(self.terms.parties) for party in parties)
            if not good or len(product) != self.packing.plaintexts:
                raise WireError("sum", f"{count} parties", allowed="each party once, then the product", fix="send the message whole")
            return parties, product
        uploads: dict[int, list[int]] = {}
        for _ in range(count):
            if len(body) < at + _NUMBER.size:
                raise WireError("sum", f"{len(body)} bytes", allowed=f"{count} messages", fix="send the message whole")
            end = at + _NUMBER.size + _NUMBER.unpack_from(body, at)[0]
            upload = Message.open(body[at + _NUMBER.size : end])
            if upload.party in uploads:
                raise ProtocolError("party", upload.party, allowed="each party once", fix="the aggregator does not keep to the protocol")
            uploads[upload.party], at = read_upload(upload, self.terms, key, self.packing), end
        if at != len(body):
            raise WireError("sum", f"{len(body) - at} bytes too many", allowed="the messages alone", fix="send the message whole")
        return set(uploads), multiplied(list(uploads.values()), key)


def multiplied(uploads: list[list[int]], key: PublicKey) -> list[int]:
    """The products of ciphertexts, which are encryptions of the sums."""
    found = [1] * (len(uploads[0]) if uploads else 0)
    for ciphertexts in uploads:
        found = [product * ciphertext % key.square for product, ciphertext in zip(found, ciphertexts, strict=True)]
    return found
