"""Reports as they are kept: rows of id and payload, together with all others that answer the same question in the same stratum."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

import numpy as np

from deniable.contract.question import Question
from deniable.core.reports import Reports
from deniable.core.tally import Tally
from deniable.kernels.compiled import Array

ID_BYTES = 16
CHUNK = 1 << 18
"""Reports tallied at a time."""


class Bucket(NamedTuple):
    """What is sealed as a whole: a period of a task, or a round of a task of several rounds."""

    task: bytes
    number: int
    """Of the period or the round."""

    def __str__(self) -> str:
        return f"{self.task.hex()[:12]}/{self.number}"


@dataclass(frozen=True, eq=False)
class Block:
    """Reports on one question from one stratum: a row for each, its id and then its payload."""

    question: int
    stratum: int
    rows: Array

    @classmethod
    def of(cls, question: int, stratum: int, width: int, rows: bytes) -> Block:
        """A block from rows laid end to end, with payloads of ``width`` bytes."""
        return cls(question, stratum, np.frombuffer(rows, np.uint8).reshape(-1, ID_BYTES + width))

    @property
    def address(self) -> tuple[int, int]:
        """Question and stratum."""
        return self.question, self.stratum


def sort_once(blocks: Sequence[Block]) -> list[Block]:
    """Each report once, sorted by id: what is left of the order of arrival is that of two reports with one id, the first of which counts.

    >>> first, second = Block.of(0, 0, 1, bytes([1] * 16 + [7])), Block.of(0, 0, 1, bytes([1] * 16 + [9] + [0] * 16 + [8]))
    >>> [block.rows[:, 16].tolist() for block in sort_once([first, second])]
    [[8, 7]]
    """
    if not blocks:
        return []
    ids = np.concatenate([block.rows[:, :ID_BYTES] for block in blocks]).view(">u8")
    order = np.lexsort((ids[:, 1], ids[:, 0]))  # stable: equal ids stay in the order in which they came
    ids = ids[order]
    fresh = np.ones(order.size, dtype=bool)
    fresh[1:] = np.any(ids[1:] != ids[:-1], axis=1)
    rank = np.full(order.size, -1, dtype=np.int64)
    rank[order[fresh]] = np.arange(np.count_nonzero(fresh))
    ranks = np.split(rank, np.cumsum([len(block.rows) for block in blocks])[:-1])
    del ids, order, fresh, rank
    parts = sorted(zip(blocks, ranks, strict=True), key=lambda part: part[0].address)
    result = [_gathered(list(group)) for _, group in groupby(parts, key=lambda part: part[0].address)]
    return [block for block in result if len(block.rows)]


def _gathered(parts: Sequence[tuple[Block, Array]]) -> Block:
    """The rows of one address that have a rank, by rank; copied once and in pieces, for a period may be as large as the memory allows."""
    ranks = np.sort(np.concatenate([rank[rank >= 0] for _, rank in parts]))
    first = parts[0][0]
    rows = np.empty((len(ranks), first.rows.shape[1]), np.uint8)
    for block, rank in parts:
        for start in range(0, len(rank), CHUNK):
            piece = rank[start : start + CHUNK]
            rows[np.searchsorted(ranks, piece[piece >= 0])] = block.rows[start : start + CHUNK][piece >= 0]
    return Block(*first.address, rows)


def split(blocks: Sequence[Block], shards: int) -> Iterator[tuple[int, list[Block]]]:
    """Blocks by shard, which the leading bits of an id say; none without rows."""
    for shard in range(shards):
        part = [block for block in blocks if len(block.rows)]
        if shards > 1:
            mine = [(block, block.rows[:, 0] // (256 // shards) == shard) for block in part]
            part = [Block(*block.address, block.rows[mask]) for block, mask in mine if mask.any()]
        if part:
            yield shard, part


def ids_of(blocks: Sequence[Block]) -> list[bytes]:
    """The ids of all rows."""
    return [row.tobytes() for block in blocks for row in block.rows[:, :ID_BYTES]]


def without(blocks: Sequence[Block], ids: Set[bytes]) -> list[Block]:
    """The blocks without the rows of some ids; a block without rows is left out."""
    if not ids:
        return list(blocks)
    kept = [(block, np.array([row.tobytes() not in ids for row in block.rows[:, :ID_BYTES]])) for block in blocks]
    return [Block(*block.address, block.rows[mask]) for block, mask in kept if mask.any()]


def tally_blocks(questions: Sequence[Question], blocks: Iterable[Block]) -> dict[tuple[int, int], Tally]:
    """The tally of each question and stratum that has reports. Blocks must hold each report once."""
    tallies: dict[tuple[int, int], Tally] = {}
    for block in blocks:
        question = questions[block.question]
        candidates = question.candidates if question.spec.candidates_at_tally else None
        for start in range(0, len(block.rows), CHUNK):
            rows = block.rows[start : start + CHUNK, ID_BYTES:].tobytes()
            part = question.spec.tally(Reports.from_rows(question.spec, rows), candidates=candidates)
            before = tallies.get(block.address)
            tallies[block.address] = part if before is None else before + part
    return tallies


def total(question: Question, place: int, tallies: Mapping[tuple[int, int, int], Tally]) -> Tally:
    """The sum of a question's tallies over periods and strata; an empty tally if there is none."""
    parts = [tally for address, tally in sorted(tallies.items()) if address[1] == place]
    candidates = question.candidates if question.spec.candidates_at_tally else None
    nothing: Tally = question.spec.tally(Reports.empty(question.spec, 0), candidates=candidates)
    return sum(parts, nothing)


def digest(blocks: Sequence[Block]) -> bytes:
    """What a seal remembers of the reports that it covers: the SHA-256 of all rows with their addresses."""
    total = hashlib.sha256()
    for block in blocks:
        total.update(b"%d %d %d\n" % (block.question, block.stratum, len(block.rows)))
        total.update(np.ascontiguousarray(block.rows).data)
    return total.digest()
