"""A source that replays given words."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from hashlib import shake_128

from deniable.contract.source import Source
from deniable.errors import ProtocolError

_BLOCK = 1 << 14


class ReplaySource(Source):
    """The words that it was given, in order, or an endless fixed stream.

    >>> ReplaySource([5, 7]).words(2)
    (5, 7)
    >>> ReplaySource.from_key("docs").below(100)
    43
    """

    def __init__(self, words: Iterable[int]) -> None:
        self._words = iter(words)
        self.consumed = 0

    @classmethod
    def from_key(cls, key: str) -> ReplaySource:
        """An endless stream that depends on the key alone: SHAKE-128 of the key and a block number."""
        return cls(_stream(key.encode()))

    def word(self) -> int:
        try:
            word = next(self._words)
        except StopIteration:
            raise ProtocolError(
                "source", f"{self.consumed} words", allowed="as many words as are drawn", fix="record a longer stream"
            ) from None
        self.consumed += 1
        return word

    def fill(self, buffer: memoryview) -> int:
        filled = 0
        for filled, word in zip(range(1, len(buffer) + 1), self._words, strict=False):  # counted after the loop
            buffer[filled - 1] = word
        self.consumed += filled
        return filled


def _stream(key: bytes) -> Iterator[int]:
    number = 0
    while True:
        block = shake_128(b"deniable/replay/1" + number.to_bytes(8, "little") + key).digest(8 * _BLOCK)
        yield from struct.unpack(f"<{_BLOCK}Q", block)
        number += 1
