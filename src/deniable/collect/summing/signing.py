r"""Who sends a request: every one of a party is signed with its identity, so that nobody else answers in its name or looks on.

The header ``Deniable-Signature`` has 128 hexadecimal digits: Ed25519, by the key that the agreement has for the party, of::

    "deniable sum request 1\n", the method, a space, the path from /v1 on, "\n", the body

A request that is sent again is harmless: a message counts once, and what is there for a party is the same until it answers. But the
signature of a GET is the same for the whole sum. Whoever reads one on its way could ask in the party's name from then on, and see what the
aggregator has for it (keys, sealed shares, who survived; no numbers) and how the sum ends. **Against onlookers it takes TLS.**
"""

from __future__ import annotations

import re

from deniable.collect.summing.agreement import Agreement
from deniable.sealing.identity import sign, verified

HEADER = "deniable-signature"
MEDIA_TYPE = "application/vnd.deniable.sum"
PATH = re.compile(r"/v1/sums/([0-9a-f]{64})/parties/(0|[1-9][0-9]{0,5})")
_CONTEXT = b"deniable sum request 1\n"


def path_of(agreement: Agreement, party: int) -> str:
    """Where a party sends its messages to, and asks for those for it.

    >>> PATH.fullmatch("/v1/sums/" + "ab" * 32 + "/parties/7").groups()[1]
    '7'
    """
    return f"/v1/sums/{agreement.id.hex()}/parties/{party}"


def sign_request(identity: bytes, method: str, path: str, body: bytes) -> str:
    """What stands in the header."""
    return sign(identity, _CONTEXT, _signed(method, path, body)).hex()


def request_verified(key: bytes, signature: bytes, method: str, path: str, body: bytes) -> bool:
    """Whether the party with this key signed the request; ``signature`` is the header as it came."""
    try:
        found = bytes.fromhex(signature.decode("ascii"))
    except ValueError:
        return False
    return verified(key, _CONTEXT, _signed(method, path, body), found)


def _signed(method: str, path: str, body: bytes) -> bytes:
    return f"{method} {path}\n".encode() + body
