"""The roles of a sum under encryption: parties who upload once, an aggregator who multiplies, and a committee that opens.

Kinds of messages, in the layout of ``message``; bodies are ciphertexts one after the other::

    1 ENCRYPTED   party          its packed vector
    2 TO_OPEN     aggregator     the parties that are in the sum (a count, then their numbers, 4 bytes each), then the product of theirs
    3 OPENED      decryptor      its share of each ciphertext; ``party`` is its place, from 1 on

The sum that stands in every message is the digest of terms, key and packing. A decryptor opens one sum once, and none of fewer parties than
the terms allow: of two sums that differ in one party, it would show that party.

**Trust.** The aggregator is taken to keep to the protocol: ciphertexts can be turned into others, so that one that does not could have a
single party's numbers opened, with the help of any party or by telling decryptors different sums. Terms with ``active=True`` are refused;
``masking`` is for them.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field

import numpy as np

from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError, ProtocolError, WireError
from deniable.kernels.compiled import Array
from deniable.multiparty.message import Message, cut
from deniable.multiparty.paillier.encryption import Encryptor
from deniable.multiparty.paillier.keys import KeyShare, PublicKey
from deniable.multiparty.paillier.packing import Packing
from deniable.multiparty.terms import Terms, check_place

ENCRYPTED, TO_OPEN, OPENED = 1, 2, 3
_NUMBER = struct.Struct("<I")


@dataclass(frozen=True)
class Agreement:
    """What all roles of a sum under encryption agree on: its terms, the committee's key, and how numbers are packed."""

    terms: Terms
    key: PublicKey
    packing: Packing

    def __post_init__(self) -> None:
        if self.terms.active:
            raise ParameterError("active", True, allowed="False for sums under encryption", fix="take masking, or trust the aggregator")
        fits = (self.packing.length, self.packing.bits) == (self.terms.length, self.key.bits)
        if not fits or self.packing.parties < len(self.terms.parties):
            received = (self.packing.length, self.packing.bits, self.packing.parties)
            allowed = f"length {self.terms.length}, {self.key.bits} bits, {len(self.terms.parties)} parties or more"
            raise ParameterError("packing", received, allowed=allowed, fix="one that overflows spoils its neighbor")

    @property
    def id(self) -> bytes:
        """What stands in every message."""
        parts = (self.key.modulus, self.key.base, self.key.decryptors, self.key.threshold, self.packing.largest, self.packing.width)
        return hashlib.sha256(self.terms.id + repr(parts).encode()).digest()


@dataclass
class PaillierParty:
    """One party; ``first`` is all that it ever sends."""

    agreement: Agreement
    number: int
    identity: bytes = field(repr=False)
    encryptor: Encryptor = field(repr=False)
    vector: Array = field(repr=False)
    source: Source = field(default=SYSTEM, repr=False)

    def __post_init__(self) -> None:
        check_place(self.agreement.terms, self.number, self.identity)
        if self.encryptor.public != self.agreement.key:
            raise ParameterError("encryptor", "of another key", allowed="the key that was agreed on", fix="make one for it")
        if np.asarray(self.vector).dtype.kind not in "iu":
            raise ParameterError("vector", np.asarray(self.vector).dtype.name, allowed="integers", fix="encode numbers first")

    def first(self) -> bytes:
        """The packed vector, encrypted."""
        key, packing = self.agreement.key, self.agreement.packing
        packed = packing.pack([int(number) for number in self.vector], key.modulus)
        body = b"".join(key.write(self.encryptor.encrypt(plain, self.source)) for plain in packed)
        return Message(ENCRYPTED, self.number, self.agreement.id, body).pack()


def _ciphertexts(body: bytes, agreement: Agreement) -> list[int]:
    found = [agreement.key.read(piece) for piece in cut(body, agreement.key.cipher_bytes, "ciphertexts")]
    if len(found) != agreement.packing.plaintexts:
        raise WireError("ciphertexts", len(found), allowed=f"{agreement.packing.plaintexts} of them", fix="send the message whole")
    return found


@dataclass
class PaillierAggregator:
    """Multiplies what parties send, has it opened by the committee, and learns the sum alone."""

    agreement: Agreement
    total: Array | None = None
    _uploads: dict[int, Message] = field(default_factory=dict, repr=False)
    _shares: dict[int, list[int]] = field(default_factory=dict, repr=False)
    _asked: bool = False

    def receive(self, data: bytes) -> None:
        """A party's upload, or after ``close`` a decryptor's shares; the same message again changes nothing."""
        message = Message.open(data).unsigned().expect(kind=OPENED if self._asked else ENCRYPTED, sum=self.agreement.id)
        ciphertexts = _ciphertexts(message.body, self.agreement)
        if self._asked:
            if not 1 <= message.party <= self.agreement.key.decryptors:
                raise ProtocolError("decryptor", message.party, allowed=f"from 1 to {self.agreement.key.decryptors}", fix="leave it out")
            same = self._shares.setdefault(message.party, ciphertexts) == ciphertexts
        else:
            if not 0 <= message.party < len(self.agreement.terms.parties):
                raise ProtocolError("party", message.party, allowed="one of the parties", fix="take the terms that name it")
            same = self._uploads.setdefault(message.party, message) == message
        if not same:
            raise ProtocolError("message", f"another one of {message.party}", allowed="the same again", fix="each is sent once")

    def close(self) -> dict[int, bytes]:
        """End the uploads: what to send to each decryptor, by its place. Then, with enough shares, the sum: nothing more to send."""
        key, packing, terms = self.agreement.key, self.agreement.packing, self.agreement.terms
        if self._asked:
            plain = [key.open({place: shares[at] for place, shares in self._shares.items()}) for at in range(packing.plaintexts)]
            self.total = np.array(packing.unpack(plain, key.modulus), dtype=np.int64)
            return {}
        if len(self._uploads) < terms.least:
            allowed = f"{terms.least} or more of {len(terms.parties)}"
            raise ProtocolError("parties", len(self._uploads), allowed=allowed, fix="nothing was opened; begin a new sum")
        self._asked = True
        product = [1] * packing.plaintexts
        for upload in self._uploads.values():
            ciphertexts = _ciphertexts(upload.body, self.agreement)
            product = [before * ciphertext % key.square for before, ciphertext in zip(product, ciphertexts, strict=True)]
        names = b"".join(_NUMBER.pack(party) for party in sorted(self._uploads))
        body = _NUMBER.pack(len(self._uploads)) + names + b"".join(map(key.write, product))
        return {place: Message(TO_OPEN, place, self.agreement.id, body).pack() for place in range(1, key.decryptors + 1)}


@dataclass
class Decryptor:
    """One member of the committee. ``opened`` are the sums that it has opened; keep them, it must not open one again."""

    agreement: Agreement
    share: KeyShare
    opened: set[bytes] = field(default_factory=set)

    def answer(self, data: bytes) -> bytes:
        """Its shares of a sum; ProtocolError, and nothing is opened, if the sum has too few parties or was opened before."""
        terms, key = self.agreement.terms, self.agreement.key
        message = Message.open(data).unsigned().expect(kind=TO_OPEN, sum=self.agreement.id, party=self.share.place)
        if self.agreement.id in self.opened:
            raise ProtocolError("sum", self.agreement.id.hex()[:16], allowed="one that was not opened", fix="two sums would show a party")
        if len(message.body) < _NUMBER.size:
            raise WireError("sum", f"{len(message.body)} bytes", allowed="a count of parties first", fix="send the message whole")
        count = _NUMBER.unpack_from(message.body)[0]
        end = _NUMBER.size * (count + 1)
        parties = {_NUMBER.unpack(piece)[0] for piece in cut(message.body[_NUMBER.size : end], _NUMBER.size, "parties")}
        product = _ciphertexts(message.body[end:], self.agreement)
        if len(parties) != count or not all(party < len(terms.parties) for party in parties):
            raise WireError("sum", f"{count} parties", allowed="each party once", fix="send the message whole")
        if count < terms.least:
            raise ProtocolError("parties", count, allowed=f"{terms.least} or more", fix="their noise does not hide anybody")
        self.opened.add(self.agreement.id)
        body = b"".join(key.write(self.share.decrypt(ciphertext)) for ciphertext in product)
        return Message(OPENED, self.share.place, self.agreement.id, body).pack()
