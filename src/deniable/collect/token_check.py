"""Whether a report may be counted for the token that it carries, or for carrying none. Nothing is looked up and nothing kept."""

from __future__ import annotations

import hmac
from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.hashes import SHA384

from deniable.contract.admission import NUMBER_BYTES, OPEN, SECRET, TOKEN_BYTES, prove, spend_id, token_message
from deniable.contract.blind_rsa import EXPONENT, SALT_BYTES
from deniable.contract.envelope import Envelope
from deniable.contract.task import Task

_PADDING = padding.PSS(padding.MGF1(SHA384()), SALT_BYTES)


def holds(task: Task, secret: bytes, envelope: Envelope) -> bool:
    """Whether a report's token is what its task asks for; ``secret`` is the one that those who take part share."""
    if task.admission == OPEN:
        return not envelope.token
    if task.admission == SECRET:
        return bool(secret) and hmac.compare_digest(envelope.token, prove(secret, envelope))
    return envelope.id == spend_id(envelope.token[:NUMBER_BYTES]) and is_issued(task, envelope.token)


def is_issued(task: Task, token: bytes) -> bool:
    """True if the issuer of the task has signed this one-time token."""
    number, signature = token[:NUMBER_BYTES], token[NUMBER_BYTES:]
    if len(token) != TOKEN_BYTES:
        return False
    try:
        _key(task.issuer).verify(signature, token_message(task.id, number), _PADDING, SHA384())
    except InvalidSignature:
        return False
    return True


@lru_cache(maxsize=64)
def _key(modulus: bytes) -> rsa.RSAPublicKey:
    return rsa.RSAPublicNumbers(EXPONENT, int.from_bytes(modulus, "big")).public_key()
