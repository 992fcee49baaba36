"""One side of what two neighbors agree on: a key that seals shares, and the secret of the mask that they have in common.

By X25519 both are known to both at once. In hybrid sums ML-KEM is added (``hybrid``), which has a direction: the party that seals shares
sends a ciphertext along with them, and of two neighbors the one with the smaller number sends one for their mask, in the same row::

    ciphertext (1088), sealed shares (80); if the receiver's number is the larger one: ciphertext (1088), kept (32), commitment (32)

* The shares are sealed under what their own ciphertext gives, and authenticate the rest of the row: by X25519 with keys that are signed,
  so a row is its sender's or it is refused.
* **Dropouts.** Recovering the seed of a party's masks must give its masks, and nobody else's. The seed is that of its ML-KEM key too: so it
  opens the ciphertexts which that party received. What it *sent* cannot be drawn anew from a seed, so it is kept: what was agreed on, under
  a pad that is derived from the sender's seed and the ciphertext. Shares are sealed with keys from another seed, which nobody recovers.
* **Commitment.** The receiver, and the aggregator where it recovers, check what they have found: a ciphertext or a row that was changed,
  or a sender who kept something else than it sent, is found out, and no sum is spoiled in silence.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from deniable.errors import ProtocolError
from deniable.multiparty.masking import hybrid, secrets
from deniable.multiparty.masking.hybrid import CIPHERTEXT_BYTES, Exchange
from deniable.multiparty.masking.secrets import KEY_BYTES, SEALED_BYTES
from deniable.multiparty.terms import SumTerms

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey

PAIR_BYTES = CIPHERTEXT_BYTES + 32 + 32
_PAIR = CIPHERTEXT_BYTES + SEALED_BYTES
"""Where in a row that begins which is about the mask."""
_NUMBERS = struct.Struct("<II")


class PartyKeys(NamedTuple):
    """The public keys of a party, and its signature of them where messages are signed; those of ML-KEM where sums are hybrid."""

    seal: bytes
    mask: bytes
    signature: bytes = b""
    seal_kem: bytes = b""
    mask_kem: bytes = b""

    @property
    def body(self) -> bytes:
        """What the party published, and signed."""
        return self.seal + self.mask + self.seal_kem + self.mask_kem

    @property
    def parts(self) -> tuple[bytes, ...]:
        """Each of them, without the signature."""
        return tuple(part for part in (self.seal, self.mask, self.seal_kem, self.mask_kem) if part)

    @classmethod
    def read(cls, body: bytes, signature: bytes = b"") -> PartyKeys:
        """The keys behind a published body, whose length was checked."""
        x25519, kem = body[: 2 * KEY_BYTES], body[2 * KEY_BYTES :]
        half = len(kem) // 2
        return cls(x25519[:KEY_BYTES], x25519[KEY_BYTES:], signature, kem[:half], kem[half:])


def keys_bytes(terms: SumTerms) -> int:
    """How long a party's public keys are."""
    return 2 * KEY_BYTES + (2 * hybrid.KEM_KEY_BYTES if terms.hybrid else 0)


def row_bytes(terms: SumTerms, sender: int, receiver: int) -> int:
    """How long the row of a sender for a receiver is."""
    if not terms.hybrid:
        return SEALED_BYTES
    return _PAIR + (PAIR_BYTES if sender < receiver else 0)


class Side:
    """A party with its seeds; or the aggregator with the seed of a lost party's masks, which can do what ``agreed`` does."""

    def __init__(self, terms: SumTerms, number: int, seeds: Mapping[str, bytes]) -> None:
        self._terms, self._number, self._seeds = terms, number, seeds
        self._private = {name: secrets.private_key(seeds[name], name.encode()) for name in ("seal", "mask") if name in seeds}
        self._public = {name: key.public_key().public_bytes_raw() for name, key in self._private.items()}

    @cached_property
    def _kem(self) -> dict[str, MLKEM768PrivateKey]:
        return {name: hybrid.kem_private(self._seeds[name], name.encode()) for name in self._private if self._terms.hybrid}

    @cached_property
    def public(self) -> PartyKeys:
        """What it publishes; empty where it has no seed."""
        kem = {name: key.public_key().public_bytes_raw() for name, key in self._kem.items()}
        return PartyKeys(self._public.get("seal", b""), self._public["mask"], b"", kem.get("seal", b""), kem.get("mask", b""))

    # --- shares ---

    def seal(self, other: int, keys: PartyKeys, plain: bytes) -> tuple[bytes, bytes]:
        """The row for a neighbor; and what they have agreed on for their mask, if that is this party's to say."""
        shared = secrets.agree(self._private["seal"], keys.seal)
        if not self._terms.hybrid:
            return secrets.seal_shares(shared, self._terms.id, self._number, other, plain), b""
        pair, agreed = self._offer(other, keys) if self._number < other else (b"", b"")
        secret, ciphertext = hybrid.kem_public(keys.seal_kem, other).encapsulate()
        exchange = Exchange(b"seal", self._terms.id, self._number, other, self._public["seal"], keys.seal, keys.seal_kem, ciphertext)
        sealed = secrets.seal_shares(exchange.combined(secret, shared), self._terms.id, self._number, other, plain, beside=pair)
        return ciphertext + sealed + pair, agreed

    def open(self, other: int, keys: PartyKeys, row: bytes) -> tuple[bytes, bytes]:
        """Both shares of a neighbor; ProtocolError if any byte of the row is not as that neighbor sent it."""
        shared = secrets.agree(self._private["seal"], keys.seal)
        if not self._terms.hybrid:
            return secrets.open_shares(shared, self._terms.id, other, self._number, row)
        ciphertext, sealed, pair = row[:CIPHERTEXT_BYTES], row[CIPHERTEXT_BYTES:_PAIR], row[_PAIR:]
        secret = self._kem["seal"].decapsulate(ciphertext)
        exchange = Exchange(b"seal", self._terms.id, other, self._number, keys.seal, self.public.seal, self.public.seal_kem, ciphertext)
        return secrets.open_shares(exchange.combined(secret, shared), self._terms.id, other, self._number, sealed, beside=pair)

    # --- masks ---

    def agreed(self, other: int, keys: PartyKeys, row: bytes = b"") -> bytes:
        """The secret of the mask with a neighbor; in hybrid sums from the row of the one with the smaller number."""
        if not self._terms.hybrid:
            return secrets.agree(self._private["mask"], keys.mask)
        sender = min(self._number, other)
        pair = row[_PAIR:]
        ciphertext, kept, commitment = pair[:CIPHERTEXT_BYTES], pair[CIPHERTEXT_BYTES:-32], pair[-32:]
        if sender == self._number:
            found = _xor(kept, self._pad(other, ciphertext))
        else:
            exchange = Exchange(b"mask", self._terms.id, other, self._number, keys.mask, self.public.mask, self.public.mask_kem, ciphertext)
            shared = secrets.agree(self._private["mask"], keys.mask)
            found = exchange.combined(self._kem["mask"].decapsulate(ciphertext), shared)
        if self._commitment(sender, max(self._number, other), found) != commitment:
            allowed = "a ciphertext of the committed secret"
            raise ProtocolError("ciphertext", f"of party {sender}", allowed=allowed, fix="begin a new sum: somebody changed it")
        return found

    def _offer(self, other: int, keys: PartyKeys) -> tuple[bytes, bytes]:
        """What goes to a neighbor with a larger number, and what it will find there."""
        secret, ciphertext = hybrid.kem_public(keys.mask_kem, other).encapsulate()
        exchange = Exchange(b"mask", self._terms.id, self._number, other, self._public["mask"], keys.mask, keys.mask_kem, ciphertext)
        agreed = exchange.combined(secret, secrets.agree(self._private["mask"], keys.mask))
        kept = _xor(agreed, self._pad(other, ciphertext))
        return ciphertext + kept + self._commitment(self._number, other, agreed), agreed

    def _pad(self, other: int, ciphertext: bytes) -> bytes:
        """Used once: the ciphertext is in it."""
        info = b"kept" + self._terms.id + _NUMBERS.pack(self._number, other) + ciphertext
        return secrets.derive(self._seeds["mask"], info, 32)

    def _commitment(self, sender: int, receiver: int, agreed: bytes) -> bytes:
        """Of 256 bits that are random to everybody else: so it shows nothing of them."""
        return hashlib.sha256(b"deniable mask secret 1\n" + self._terms.id + _NUMBERS.pack(sender, receiver) + agreed).digest()


def _xor(first: bytes, second: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(first, second, strict=True))
