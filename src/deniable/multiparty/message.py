r"""Messages between the roles of a secure sum. Integers are little-endian::

    offset  size  field
    0       1     version, 1
    1       1     kind: see each engine
    2       2     0
    4       4     party: who sent it, or whom it is for
    8       4     length of the body
    12      32    sum: the digest of the terms that everybody agreed on
    44      ...   body
    ...     64    signature, in sums whose terms ask for it: Ed25519 by the party, of "deniable sum 1\n" and all before

A message of another sum, of another kind or from another party than is due raises ProtocolError; bytes that are no message, WireError.

>>> message = Message(kind=1, party=7, sum=bytes(32), body=b"hello")
>>> len(message.pack()), Message.open(message.pack()) == message
(49, True)
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from deniable.errors import ProtocolError, WireError
from deniable.sealing.identity import sign, verified

VERSION = 1
HEADER = struct.Struct("<BBHII32s")
SIGNATURE_BYTES = 64
CONTEXT = b"deniable sum 1\n"
LARGEST_BODY = 1 << 28


class Message(NamedTuple):
    """One message; ``signature`` is empty where the terms ask for none."""

    kind: int
    party: int
    sum: bytes
    body: bytes
    signature: bytes = b""

    def pack(self) -> bytes:
        """The message as bytes."""
        return self.signed_part() + self.signature

    def signed_part(self) -> bytes:
        """Everything but the signature."""
        return HEADER.pack(VERSION, self.kind, 0, self.party, len(self.body), self.sum) + self.body

    @classmethod
    def open(cls, data: bytes) -> Message:
        """The message behind bytes; WireError if there is none."""
        if len(data) < HEADER.size:
            raise WireError("message", f"{len(data)} bytes", allowed=f"{HEADER.size} bytes or more", fix="send it whole")
        version, kind, zero, party, length, sum_ = HEADER.unpack_from(data)
        rest = len(data) - HEADER.size - length
        if version != VERSION or zero:
            raise WireError("message", f"version {version}.{zero}", allowed=f"version {VERSION}.0", fix="upgrade deniable")
        if length > LARGEST_BODY or rest not in (0, SIGNATURE_BYTES):
            raise WireError("message", f"a length of {length} in {len(data)} bytes", allowed="lengths that add up", fix="send it whole")
        end = HEADER.size + length
        return cls(kind, party, sum_, data[HEADER.size : end], data[end:])

    def signed(self, identity: bytes) -> Message:
        """The message with the signature of a party, by the seed of its identity."""
        return self._replace(signature=sign(identity, CONTEXT, self.signed_part()))

    def signed_by(self, key: bytes) -> bool:
        """Whether the holder of a public key signed it."""
        return verified(key, CONTEXT, self.signed_part(), self.signature)

    def unsigned(self) -> Message:
        """The message itself, where none is signed; WireError for one that is."""
        if self.signature:
            raise WireError("message", "signed", allowed="no signature", fix="send it unsigned")
        return self

    def expect(self, *, kind: int, sum: bytes, party: int | None = None) -> Message:  # as the field is called
        """The message itself, if it is the one that is due."""
        if self.sum != sum:
            raise ProtocolError("sum", self.sum.hex()[:16], allowed=f"messages of the sum {sum.hex()[:16]}", fix="do not mix two sums")
        if self.kind != kind:
            raise ProtocolError("kind", self.kind, allowed=f"{kind} now", fix="drop it: a message is used once, in its turn")
        if party is not None and self.party != party:
            raise ProtocolError("party", self.party, allowed=f"{party}", fix="drop it: it is another party's message")
        return self


def cut(body: bytes, size: int, what: str) -> list[bytes]:
    """The body as pieces of one size; WireError if they do not add up."""
    if size <= 0 or len(body) % size:
        raise WireError(what, f"{len(body)} bytes", allowed=f"a multiple of {size} bytes", fix="send the message whole")
    return [body[start : start + size] for start in range(0, len(body), size)]
