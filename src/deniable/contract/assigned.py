r"""Assigned hash functions, which nobody chooses: the seed of a report follows from the one-time token that it carries.

A device that draws its own seed can search for one that puts everything it wants to promote on one symbol (``lab.seeds`` measures the
effect). If the seed followed from something that the device can draw again, a report's id or a token's number, such a search would only
cost some hashes. The signature on a token is different. The device cannot know it before the issuer has signed, and the issuer, who signs
blindly, does not know it either. There is one signature for each number, and each costs a token. So::

    seed = first words, little-endian, of SHA-256(b"deniable seed 1\n" + token)

Anyone who sees a token can check the seed. Privacy does not depend on it: epsilon holds for every seed, no matter who chose it.
"""

from __future__ import annotations

import hashlib
import struct

from deniable.contract.envelope import Envelope
from deniable.contract.source import Source
from deniable.contract.spec import Spec

_LABEL = b"deniable seed 1\n"
_WORD_BYTES = 8


def seed_words(spec: Spec) -> int:
    """Return how many words a token assigns to a report; none for mechanisms without a seed. Memoized ones keep theirs."""
    return spec.seed_words if spec.assignable else 0


def assigned_seed(token: bytes, count: int) -> tuple[int, ...]:
    """Return the seed that follows from a token: up to four words.

    >>> [f"{word:016x}" for word in assigned_seed(bytes(288), 2)]
    ['c1a8137e2cf65b12', '5edd1b2cf271bc0a']
    """
    return struct.unpack_from(f"<{count}Q", hashlib.sha256(_LABEL + token).digest())


def has_assigned_seed(spec: Spec, envelope: Envelope) -> bool:
    """Return whether a report begins with the seed that its token assigns, where there is one."""
    count = seed_words(spec)
    begin = envelope.payload[: count * _WORD_BYTES]
    return begin == struct.pack(f"<{count}Q", *assigned_seed(envelope.token, count))


class Assigned(Source):
    """A source that gives the assigned words first, and then those of another source."""

    def __init__(self, words: tuple[int, ...], then: Source) -> None:
        self._words, self._then = list(reversed(words)), then

    def word(self) -> int:
        return self._words.pop() if self._words else self._then.word()
