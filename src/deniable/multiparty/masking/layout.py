"""The bodies of masking's messages. Integers are little-endian, 4 bytes each unless said otherwise::

kind            from         body
1 ADVERTISE     party        public keys for sealing and for masks, 32 bytes each; in hybrid sums then both of ML-KEM, 1184 each
2 KEYS          aggregator   for each neighbor: its number, its keys, and where messages are signed its signature of them (64)
3 SHARES        party        commitment to its own mask (32); for each neighbor: its number, two sealed shares (80) in a row (``side``)
4 FOR_YOU       aggregator   for each neighbor who sent some: its number, its row for this party
5 MASKED        party        the masked vector
6 SURVIVORS     aggregator   how many sent theirs; then the number of each neighbor who did
7 AGREED        party        SHA-256 of the survivors (32); only where messages are signed
8 AGREEMENT     aggregator   for each survivor: its number, its signature of that (64)
9 REVEALED      party        for each neighbor who had sent shares: its number, 1 byte 0 or 1, one share (32): that of its own mask for
those who survived (0), that of its keys for the others (1), never both
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable

from deniable.errors import WireError
from deniable.multiparty.masking.secrets import KEY_BYTES
from deniable.multiparty.masking.side import PartyKeys, keys_bytes, row_bytes
from deniable.multiparty.message import SIGNATURE_BYTES, cut
from deniable.multiparty.shamir import SHARE_BYTES
from deniable.multiparty.terms import SumTerms

ADVERTISE, KEYS, SHARES, FOR_YOU, MASKED, SURVIVORS, AGREED, AGREEMENT, REVEALED = range(1, 10)
_NUMBER = struct.Struct("<I")
OWN, PAIRS = 0, 1
"""Which secret a share is of: a party's own mask, or the key of its masks with others."""


def pack_table(rows: dict[int, bytes]) -> bytes:
    """Numbers of parties, each with its bytes."""
    return b"".join(_NUMBER.pack(party) + row for party, row in rows.items())


def open_table(body: bytes, size: int, what: str) -> dict[int, bytes]:
    """The same, with rows of one size; WireError if a party stands there twice."""
    pieces = cut(body, _NUMBER.size + size, what)
    found = {_NUMBER.unpack_from(piece)[0]: piece[_NUMBER.size :] for piece in pieces}
    if len(found) < len(pieces):
        raise WireError(what, f"{len(pieces) - len(found)} repeated parties", allowed="each party once", fix="send each once")
    return found


def open_keys(body: bytes, terms: SumTerms) -> dict[int, PartyKeys]:
    """The body of KEYS."""
    size = keys_bytes(terms)
    rows = open_table(body, size + (SIGNATURE_BYTES if terms.active else 0), "keys")
    return {party: PartyKeys.read(row[:size], row[size:]) for party, row in rows.items()}


def open_shares_message(body: bytes, terms: SumTerms, sender: int) -> tuple[bytes, dict[int, bytes]]:
    """The body of SHARES: the commitment, and the row for each neighbor."""
    if len(body) < KEY_BYTES:
        raise WireError("shares", f"{len(body)} bytes", allowed="a commitment of 32 bytes first", fix="send the message whole")
    return body[:KEY_BYTES], _open_rows(body[KEY_BYTES:], lambda receiver: row_bytes(terms, sender, receiver))


def open_for_you(body: bytes, terms: SumTerms, receiver: int) -> dict[int, bytes]:
    """The body of FOR_YOU: the row of each neighbor."""
    return _open_rows(body, lambda sender: row_bytes(terms, sender, receiver))


def _open_rows(body: bytes, size_of: Callable[[int], int]) -> dict[int, bytes]:
    """Rows whose size follows from their number; WireError if they do not add up, or a party stands there twice."""
    rows: dict[int, bytes] = {}
    start, count = 0, 0
    while start + _NUMBER.size <= len(body):
        party = _NUMBER.unpack_from(body, start)[0]
        end = start + _NUMBER.size + size_of(party)
        rows[party] = body[start + _NUMBER.size : end]
        start, count = end, count + 1
    if start != len(body) or len(rows) < count:
        raise WireError("shares", f"{len(body)} bytes", allowed="rows that add up, of each party once", fix="send the message whole")
    return rows


def pack_survivors(count: int, neighbors: list[int]) -> bytes:
    """The body of SURVIVORS."""
    return _NUMBER.pack(count) + b"".join(_NUMBER.pack(party) for party in neighbors)


def open_survivors(body: bytes) -> tuple[int, list[int]]:
    """How many survived in all, and which neighbors did."""
    numbers = [_NUMBER.unpack(piece)[0] for piece in cut(body, _NUMBER.size, "survivors")]
    if not numbers or len(set(numbers[1:])) < len(numbers) - 1:
        raise WireError("survivors", len(numbers), allowed="a count, then each neighbor once", fix="send the message whole")
    return numbers[0], numbers[1:]


def survivors_digest(everybody: set[int]) -> bytes:
    """What survivors sign, where everybody is a neighbor."""
    return hashlib.sha256(b"".join(_NUMBER.pack(party) for party in sorted(everybody))).digest()


def open_revealed(body: bytes) -> dict[int, tuple[int, bytes]]:
    """By party, which of its secrets is shown, and the share."""
    rows = open_table(body, 1 + SHARE_BYTES, "revealed shares")
    if any(row[0] not in (OWN, PAIRS) for row in rows.values()):
        raise WireError("revealed shares", "an unknown kind", allowed="0 or 1", fix="upgrade deniable")
    return {party: (row[0], row[1:]) for party, row in rows.items()}
