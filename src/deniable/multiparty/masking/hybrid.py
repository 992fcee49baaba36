"""One secret out of two: X25519 and ML-KEM-768 (FIPS 203) together, so that breaking one of them gains nothing.

What is recorded today may be opened by a quantum computer one day: it breaks X25519, and not ML-KEM as far as anybody knows. ML-KEM is
young, and may fall to a better idea: then X25519 holds. Both secrets are hashed with all that was said in public, in the manner of X-Wing
and of the IRTF's hybrid KEMs::

    HKDF-SHA-256 of    ML-KEM secret (32), X25519 secret (32)
    with the info      "hybrid ", purpose "seal" or "mask" (4), sum (32), numbers of sender and receiver (4 each), their X25519 keys (32
                       each), the receiver's ML-KEM key (1184), ciphertext (1088)
    gives              32 bytes

Every field has one length, so no two exchanges have the same info, and the sum is the digest of the terms. With HKDF as a random oracle,
the result is random to anyone who lacks one of the secrets. A changed ciphertext opens to another secret and to no error (ML-KEM rejects in
silence), so what was agreed on is always confirmed: see ``side``.

Encapsulation takes its randomness from OpenSSL, as HPKE does in ``sealing``: the library lets nobody else choose it.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from cryptography.exceptions import UnsupportedAlgorithm

from deniable.errors import ParameterError, ProtocolError
from deniable.multiparty.masking.secrets import derive

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey, MLKEM768PublicKey

KEM_KEY_BYTES = 1184
CIPHERTEXT_BYTES = 1088
_NUMBERS = struct.Struct("<II")


class Exchange(NamedTuple):
    """All that is public about one ciphertext: who sent it to whom, in which sum, what for, and under which keys."""

    purpose: bytes
    sum: bytes
    sender: int
    receiver: int
    sender_key: bytes
    receiver_key: bytes
    kem_key: bytes
    ciphertext: bytes

    def combined(self, secret: bytes, shared: bytes) -> bytes:
        """What both sides hold in the end: of the secret under the ciphertext, and of what they share by X25519."""
        keys = self.sender_key + self.receiver_key + self.kem_key
        info = b"hybrid " + self.purpose + self.sum + _NUMBERS.pack(self.sender, self.receiver) + keys + self.ciphertext
        return derive(secret + shared, info, 32)


def check_available() -> None:
    """ParameterError, which says what to install, where there is no ML-KEM."""
    try:
        kem_private(bytes(31), b"test")
    except (ImportError, UnsupportedAlgorithm) as error:
        allowed = "the package cryptography from 48 on, which has ML-KEM (with OpenSSL 3.5 or later if it is not from the wheel)"
        raise ParameterError("hybrid", True, allowed=allowed, fix='run: pip install --upgrade "cryptography>=48"') from error


def kem_private(seed: bytes, purpose: bytes) -> MLKEM768PrivateKey:
    """The ML-KEM key behind a seed, for "seal" or "mask"."""
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey

    return MLKEM768PrivateKey.from_seed_bytes(derive(seed, b"kem " + purpose, 64))


def kem_public(key: bytes, party: int) -> MLKEM768PublicKey:
    """The public key of a party; ProtocolError if it is none."""
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PublicKey

    try:
        return MLKEM768PublicKey.from_public_bytes(key)
    except ValueError as error:
        raise ProtocolError("ML-KEM key", f"of party {party}", allowed="one as FIPS 203 has it", fix="leave this party out") from error
