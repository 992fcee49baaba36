"""A source that replays given words."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator
from hashlib import shake_128

from deniable.contract.arguments import typed
from deniable.contract.source import Source
from deniable.errors import ProtocolError

_BLOCK, _FIRST = 1 << 14, 1 << 8
"""Words that are hashed at a time, and how many of a stream are made alone: most streams are short."""


@typed
class ReplaySource(Source):
    """The ``words`` that it was given, in order, or an endless fixed stream.

    >>> source = ReplaySource([5, 7])
    >>> source.words(2), source
    ((5, 7), <ReplaySource: 2 words consumed>)
    >>> ReplaySource.from_key("docs").below(100)
    43
    """

    def __init__(self, words: Iterable[int]) -> None:
        self._blocks: Iterator[array[int]] = iter(())
        self._block = array("Q", words)
        self._position = 0
        self.consumed = 0

    def __repr__(self) -> str:
        return f"<ReplaySource: {self.consumed:,} words consumed>"

    @classmethod
    def from_key(cls, key: str) -> ReplaySource:
        """Return an endless stream that depends on the key alone: SHAKE-128 of the key and a block number."""
        source = cls([])
        source._blocks = _stream(key.encode())
        return source

    def word(self) -> int:
        if not self._ready():
            raise ProtocolError("source", f"{self.consumed} words", allowed="as many words as are drawn", fix="record a longer stream")
        self._position += 1
        self.consumed += 1
        return self._block[self._position - 1]

    def fill(self, buffer: memoryview) -> int:
        out, filled = buffer.cast("B"), 0
        while filled < len(buffer) and self._ready():
            count = min(len(buffer) - filled, len(self._block) - self._position)
            out[8 * filled : 8 * (filled + count)] = memoryview(self._block).cast("B")[8 * self._position : 8 * (self._position + count)]
            self._position += count
            filled += count
        self.consumed += filled
        return filled

    def unread(self, words: memoryview) -> None:
        self._block = array("Q", words.tobytes()) + self._block[self._position :]
        self._position = 0
        self.consumed -= len(words)

    def _ready(self) -> bool:
        if self._position == len(self._block):
            self._block, self._position = next(self._blocks, array("Q")), 0
        return self._position < len(self._block)


def _stream(key: bytes) -> Iterator[array[int]]:
    number = 0
    while True:
        block = shake_128(b"deniable/replay/1" + number.to_bytes(8, "little") + key)
        if number == 0:
            yield _words(block.digest(8 * _FIRST))  # a shorter digest is the beginning of a longer one
        yield _words(block.digest(8 * _BLOCK)[8 * _FIRST * (number == 0) :])
        number += 1


def _words(content: bytes) -> array[int]:
    words = array("Q", content)
    if sys.byteorder == "big":
        words.byteswap()
    return words
