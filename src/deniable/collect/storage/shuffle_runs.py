"""What waits, as sorted runs: a row for what came together at first, then for ever more that is merged.

Rows under random digests, one for each seal, would stand all over the file, and each append would write nearly all of it anew: the more
is held, the slower. A run is written at once. Its level follows from its size, to the base of eight, and eight runs of a level become one
of a higher level: so a seal is rewritten as often as the number of seals has digits, one that comes alone never with the thousands that
came before it, and not more than some dozens of runs are there. A run is known by its smallest digest, and what is in it stands in the
order of digests: neither says when it came. Whoever takes the disk sees which seals came together, while they are held: exactly for the
latest few appends, as in the write-ahead log, and of older ones that they are among the same eight, or sixty-four. With the release all of
it is overwritten.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from deniable.shuffle.mixer import Held

TOGETHER = 8
LARGEST = 1 << 27
"""The bytes that a run is not merged beyond."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Held]).decode


def add_run(database: sqlite3.Connection, pile: int, held: Sequence[Held]) -> None:
    """Keep some seals of a pile, in the order of their digests; inside a transaction."""
    if not held:
        return
    level = (len(held).bit_length() - 1) // 3
    of_level = "FROM run WHERE pile = ? AND level = ?"
    count, size = database.execute(f"SELECT count(*), total(length(content)) {of_level}", (pile, level)).fetchone()
    if count < TOGETHER - 1 or size > LARGEST:
        database.execute("INSERT INTO run VALUES (?, ?, ?, ?)", (pile, level, held[0].digest, _encode(held)))
        return
    runs = database.execute(f"SELECT content {of_level}", (pile, level)).fetchall()
    database.execute(f"DELETE {of_level}", (pile, level))
    add_run(database, pile, sorted([*held, *(item for (content,) in runs for item in _decode(content))]))


def read_runs(database: sqlite3.Connection, pile: int) -> list[Held]:
    """All that a pile holds, in the order of digests."""
    runs = database.execute("SELECT content FROM run WHERE pile = ?", (pile,))
    return sorted(item for (content,) in runs for item in _decode(content))
