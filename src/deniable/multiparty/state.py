"""What a role saves of itself, and how it comes back: JSON of one role in one sum, refused in any other.

``version`` (1), ``role`` and ``sum`` (the sum's id, in hexadecimal) stand in every state; what else there is belongs to the role. A state
is kept before the message that it stands for is sent: so a role that was stopped sends the same again, or nothing.

>>> state = pack_state("party", bytes(32), number=7)
>>> with opened_state(state, "party", bytes(32)) as content:
...     content["number"]
7
>>> with opened_state(state, "party", b"another sum, of which it knows ..") as content:
...     content["number"]
Traceback (most recent call last):
deniable.errors.WireError: state: got '...'; allowed: the saved state of this sum's party; begin anew
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deniable.errors import DeniableError, ProtocolError, WireError


def pack_state(role: str, sum_: bytes, **content: Any) -> bytes:
    """A state as bytes."""
    return json.dumps({"version": 1, "role": role, "sum": sum_.hex(), **content}).encode()


@contextmanager
def opened_state(data: bytes, role: str, sum_: bytes) -> Iterator[dict[str, Any]]:
    """What a role saved. WireError if it is another's, of another sum, or if what is done with it fails: then it is damaged."""
    try:
        content = json.loads(data)
        if (content["version"], content.get("role", role), content["sum"]) != (1, role, sum_.hex()):  # masked sums once saved no role
            raise ValueError("of another role or sum")
        yield content
    except (ValueError, TypeError, KeyError, AttributeError, DeniableError) as error:
        allowed = f"the saved state of this sum's {role}"
        raise WireError("state", f"{len(data)} bytes", allowed=allowed, fix="begin anew") from error


def not_due() -> ProtocolError:
    """For a role that is asked though it sends one message alone."""
    return ProtocolError("message", "none is due", allowed="nothing: a party sends one message here", fix="wait for the sum")
