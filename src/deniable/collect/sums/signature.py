r"""Who sends a request: every one of a party is signed with its identity, so that nobody else answers in its name or looks on.

The header ``Deniable-Digest`` has the SHA-256 of the body in hexadecimal digits, and ``Deniable-Signature`` 128 of them: Ed25519, by the
key that the agreement has for the party, of::

    "deniable sum request 2\n", the method, " ", the path from /v1 on, " ", the length of the body in decimal digits, " ", its digest, "\n"

So the aggregator knows who sends before it reads the body, and reads nothing of a stranger's. A message can be of 134 MB.

A request that is sent again is harmless: a message counts once, and what is there for a party is the same until it answers. But the
signature of a GET is the same for the whole sum. Anyone who reads one on its way could ask in the party's name from then on, and see what
the aggregator has for it (keys, sealed shares, who survived; no numbers) and how the sum ends. **Against onlookers it takes TLS.**
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from deniable.collect.sums.agreement import Agreement
from deniable.sealing.identity import sign, verified

SIGNATURE, DIGEST = "deniable-signature", "deniable-digest"
"""Headers."""
MEDIA_TYPE = "application/vnd.deniable.sum"
PATH = re.compile(r"/v1/sums/(?P<sum>[0-9a-f]{64})/parties/(?P<party>0|[1-9][0-9]{0,5})")
_CONTEXT = b"deniable sum request 2\n"


def path_of(agreement: Agreement, party: int) -> str:
    """Where a party sends its messages to, and asks for those for it.

    >>> PATH.fullmatch("/v1/sums/" + "ab" * 32 + "/parties/7").groups()[1]
    '7'
    """
    return f"/v1/sums/{agreement.id.hex()}/parties/{party}"


def sign_request(identity: bytes, method: str, path: str, body: bytes) -> dict[str, str]:
    """The headers of a request by a party with this identity."""
    digest = hashlib.sha256(body).hexdigest()
    return {DIGEST: digest, SIGNATURE: sign(identity, _CONTEXT, _signed(method, path, len(body), digest)).hex()}


def signed_digest(key: bytes, headers: Mapping[bytes, bytes], method: str, path: str, length: int) -> str:
    """The digest of the body that the party with this key signed for a request; empty if it signed none of this length."""
    try:
        digest = headers.get(DIGEST.encode(), b"").decode("ascii")
        signature = bytes.fromhex(headers.get(SIGNATURE.encode(), b"").decode("ascii"))
    except ValueError:
        return ""
    return digest if verified(key, _CONTEXT, _signed(method, path, length, digest), signature) else ""


def _signed(method: str, path: str, length: int, digest: str) -> bytes:
    return f"{method} {path} {length} {digest}\n".encode()
