"""The roles of a sum under encryption: parties who upload once, an aggregator who multiplies, and a committee that opens.

Kinds of messages, in the layout of ``message``; bodies are ciphertexts one after the other::

    1 ENCRYPTED   party          its packed vector
    2 TO_OPEN     aggregator     the parties that are in the sum (a count, then their numbers, 4 bytes each), then the product of theirs
    3 OPENED      decryptor      its share of each ciphertext

Decryptors are numbered after the parties: of U parties, the decryptor whose key share has place i (from 1 on) is number U + i - 1. The sum
that stands in every message is the digest of terms, key and packing. A party encrypts once, and sends the same bytes however often it is
started. A decryptor opens one sum once, and none of fewer parties than the terms allow, as the aggregator lists them: of two sums that
differ in one party, it would show that party. A ciphertext does not show whose numbers are in it, so the list is the aggregator's word.

**Trust.** The aggregator is taken to keep to the protocol: ciphertexts can be turned into others, so that one that does not could have a
single party's numbers opened, with the help of any party or by telling decryptors different sums. Terms with ``active=True`` are refused;
``masking`` is for them.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError, ProtocolError, WireError
from deniable.kernels.compiled import Array
from deniable.multiparty.message import Message, cut
from deniable.multiparty.paillier.encryption import Encryptor
from deniable.multiparty.paillier.keys import KeyShare, PublicKey
from deniable.multiparty.paillier.packing import Packing
from deniable.multiparty.state import not_due, opened_state, pack_state
from deniable.multiparty.terms import SumTerms, check_place

ENCRYPTED, TO_OPEN, OPENED = 1, 2, 3
NUMBER = struct.Struct("<I")
WIDEST = 64
"""Bits of a slot: sums are 64-bit integers."""


@dataclass(frozen=True)
class PaillierAgreement:
    """What all roles of a sum under encryption agree on: its terms, the committee's key, and how numbers are packed."""

    terms: SumTerms
    key: PublicKey
    packing: Packing

    def __post_init__(self) -> None:
        if self.terms.active:
            raise ParameterError("active", True, allowed="False for sums under encryption", fix="use masking, or trust the aggregator")
        fits = (self.packing.length, self.packing.bits) == (self.terms.length, self.key.bits)
        if not fits or self.packing.parties < len(self.terms.parties) or self.packing.width > WIDEST:
            received = (self.packing.length, self.packing.bits, self.packing.parties, self.packing.width)
            allowed = f"length {self.terms.length}, {self.key.bits} bits, {len(self.terms.parties)} parties or more, {WIDEST} wide at most"
            raise ParameterError(
                "packing",
                received,
                allowed=allowed,
                fix="use a shorter vector or fewer parties: a slot that overflows corrupts its neighbor",
            )

    @cached_property
    def id(self) -> bytes:
        """What stands in every message."""
        parts = (self.key.modulus, self.key.base, self.key.decryptors, self.key.threshold, self.packing.largest, self.packing.width)
        return hashlib.sha256(self.terms.id + repr(parts).encode()).digest()

    @property
    def committee(self) -> range:
        """The numbers of the decryptors, which come after those of the parties."""
        return range(len(self.terms.parties), len(self.terms.parties) + self.key.decryptors)

    def ciphertexts(self, body: bytes) -> list[int]:
        """A vector's, or a decryptor's shares of them; WireError if they are not as many, or no ciphertexts."""
        found = [self.key.read(piece) for piece in cut(body, self.key.cipher_bytes, "ciphertexts")]
        if len(found) != self.packing.plaintexts:
            raise WireError("ciphertexts", len(found), allowed=f"{self.packing.plaintexts} of them", fix="send the message whole")
        return found


@dataclass
class PaillierParty:
    """One party; ``first`` is all that it ever sends, and the same every time. Its numbers are forgotten once they are encrypted."""

    agreement: PaillierAgreement
    number: int
    identity: bytes = field(repr=False)
    encryptor: Encryptor = field(repr=False)
    vector: Array = field(repr=False)
    source: Source = field(default=SYSTEM, repr=False)
    message: bytes = field(default=b"", repr=False)
    """What it sends, once that is encrypted."""

    def __post_init__(self) -> None:
        check_place(self.agreement.terms, self.number, self.identity)
        if self.encryptor.public != self.agreement.key:
            raise ParameterError("encryptor", "of another key", allowed="the key that was agreed on", fix="make one for it")
        if np.asarray(self.vector).dtype.kind not in "iu":
            raise ParameterError("vector", np.asarray(self.vector).dtype.name, allowed="integers", fix="encode numbers first")

    def first(self) -> bytes:
        """The packed vector, encrypted."""
        if not self.message:
            key, packing = self.agreement.key, self.agreement.packing
            packed = packing.pack([int(number) for number in self.vector], key.modulus)
            body = b"".join(key.write(self.encryptor.encrypt(plain, self.source)) for plain in packed)
            self.message, self.vector = Message(ENCRYPTED, self.number, self.agreement.id, body).pack(), np.zeros(0, dtype=np.int64)
        return self.message

    def answer(self, data: bytes) -> bytes:
        """None: ProtocolError."""
        raise not_due()

    def save(self) -> bytes:
        """What it sends; its numbers as long as that is not encrypted."""
        vector = [int(number) for number in self.vector]
        return pack_state("party", self.agreement.id, number=self.number, message=self.message.hex(), vector=vector)

    @classmethod
    def resume(
        cls, data: bytes, *, agreement: PaillierAgreement, identity: bytes, encryptor: Encryptor, source: Source = SYSTEM
    ) -> PaillierParty:
        """The party as it was saved; WireError if this is not its state in this sum."""
        with opened_state(data, "party", agreement.id) as content:
            vector, message = np.array(content["vector"], dtype=np.int64), bytes.fromhex(content["message"])
            return cls(agreement, content["number"], identity, encryptor, vector, source, message)


@dataclass
class Decryptor:
    """One member of the committee. It opens one sum, and however often it is asked for that, its answer is the same."""

    agreement: PaillierAgreement
    share: KeyShare
    opened: bytes = b""
    """SHA-256 of the message that it opened; empty before."""

    def __post_init__(self) -> None:
        if self.share.public != self.agreement.key:
            raise ParameterError("share", "of another key", allowed="a share of the key that was agreed on", fix="use its own")

    @property
    def number(self) -> int:
        """Its number in this sum."""
        return self.agreement.committee[self.share.place - 1]

    def first(self) -> None:
        """Nothing: it waits until there is a sum to open."""

    def answer(self, data: bytes) -> bytes:
        """Its shares of a sum; ProtocolError, and nothing is opened, if the sum has too few parties or it opened another."""
        message = Message.open(data).unsigned().expect(kind=TO_OPEN, sum=self.agreement.id, party=self.number)
        asked = hashlib.sha256(data).digest()
        if self.opened not in (b"", asked):
            raise ProtocolError(
                "sum",
                self.agreement.id.hex()[:16],
                allowed="the one that it opened",
                fix="begin a new sum for another opening: two opened sums would show one party's numbers",
            )
        product = self._checked(message.body)
        self.opened = asked
        body = b"".join(self.agreement.key.write(self.share.decrypt(ciphertext)) for ciphertext in product)
        return Message(OPENED, self.number, self.agreement.id, body).pack()

    def _checked(self, body: bytes) -> list[int]:
        """The ciphertexts of a sum that has enough parties."""
        terms = self.agreement.terms
        if len(body) < NUMBER.size:
            raise WireError("sum", f"{len(body)} bytes", allowed="a count of parties first", fix="send the message whole")
        count = NUMBER.unpack_from(body)[0]
        end = NUMBER.size * (count + 1)
        parties = {NUMBER.unpack(piece)[0] for piece in cut(body[NUMBER.size : end], NUMBER.size, "parties")}
        product = self.agreement.ciphertexts(body[end:])
        if len(parties) != count or not all(party < len(terms.parties) for party in parties):
            raise WireError("sum", f"{count} parties", allowed="each party once", fix="send the message whole")
        if count < terms.least:
            raise ProtocolError(
                "parties", count, allowed=f"{terms.least} or more", fix="wait for more parties: the noise of so few hides nobody"
            )
        return product

    def save(self) -> bytes:
        """Which sum it opened. The key share is not in it."""
        return pack_state("decryptor", self.agreement.id, place=self.share.place, opened=self.opened.hex())

    @classmethod
    def resume(cls, data: bytes, *, agreement: PaillierAgreement, share: KeyShare) -> Decryptor:
        """The decryptor as it was saved; WireError if this is not its state in this sum."""
        with opened_state(data, "decryptor", agreement.id) as content:
            if content["place"] != share.place:
                raise ValueError("of another decryptor")
            return cls(agreement, share, bytes.fromhex(content["opened"]))
