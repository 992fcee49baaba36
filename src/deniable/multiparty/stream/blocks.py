"""The blocks of Chan, Shi and Song: which parties a stream sum that survives losses would add up. The protocol itself is not here.

Party u belongs to about log2(U) + 1 blocks: itself, its pair, its four, and so on up to all. In the published protocol it encrypts its
number once for each of them, with a secret and a noise share of that block. When parties fail, the sum is put together from the largest
blocks without a failure.

A number is then in log2(U) + 1 sums, each with noise for epsilon / (log2(U) + 1), and some f log2(U) blocks are added after f failures:
the error is larger than that of one sum by several times the logarithm, which at practical sizes is worse than asking again. Masking
and the committee tolerate losses at the error of one sum.

References: Chan, Shi, Song 2012; Grining, Klonowski, Syga 2016 (how inaccurate it is).
"""

from __future__ import annotations

from collections.abc import Iterable

from deniable.errors import ParameterError

Block = range
"""Parties from a first to before an end."""


def blocks_of(party: int, parties: int) -> list[Block]:
    """The blocks of a party, the smallest first; the last one is everybody.

    >>> blocks_of(5, 6)
    [range(5, 6), range(4, 6), range(0, 6)]
    """
    if type(parties) is not int or parties < 1 or type(party) is not int or not 0 <= party < parties:
        raise ParameterError(
            "party", (party, parties), allowed="a party's number, below the number of parties", fix="number parties from 0 on"
        )
    found: list[Block] = []
    size = 1
    while True:
        start = party // size * size
        block = range(start, min(start + size, parties))
        if not found or len(block) > len(found[-1]):
            found.append(block)
        if size >= parties:
            return found
        size *= 2


def whole_blocks(parties: int, lost: Iterable[int]) -> list[Block]:
    """The fewest blocks that hold all parties but the lost ones.

    >>> whole_blocks(8, lost=[2])
    [range(0, 2), range(3, 4), range(4, 8)]
    """
    gone = set(lost)
    if not all(0 <= party < parties for party in gone):
        raise ParameterError("lost", sorted(gone), allowed=f"parties from 0 to {parties - 1}", fix="number parties from 0 on")
    found, party = [], 0
    while party < parties:
        if party in gone:
            party += 1
            continue
        whole = [block for block in blocks_of(party, parties) if block.start == party and gone.isdisjoint(block)]
        found.append(whole[-1])
        party = whole[-1].stop
    return found
