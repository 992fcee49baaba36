"""The vectors of the encoders for tracks: what is asked about the cells that a person visited. Part of ``make_vectors``."""

from __future__ import annotations

from typing import Any

from client_vectors import whether_all
from encoder_vectors import changed, without, written

from deniable.contract.domain import Domain, IndexRange, Integers, Text
from deniable.contract.encoder import Encoder
from deniable.contract.tracks import DrawnMove, FirstVisit, LastVisit, MoveCount, Track

INSIDE, ANYWHERE = Track(12), Track(12, outside=True)
TRACKS: list[Any] = [[], [0], [11, 10], [5, 5, 5], [0, 1, 6, 11, 3], [2, 10] * 20]
"""Nowhere, no move, one, staying, a walk with a jump, to and fro."""
ABROAD: list[Any] = [*TRACKS, [12], [12, 12], [4, 12, 4]]

ENCODERS: list[tuple[Encoder, list[Any]]] = [
    (FirstVisit(INSIDE), TRACKS),
    (FirstVisit(ANYWHERE), ABROAD),
    (LastVisit(INSIDE), TRACKS),
    (LastVisit(ANYWHERE), ABROAD),
    (MoveCount(INSIDE, 2), TRACKS),
    (MoveCount(ANYWHERE, 1 << 20), ABROAD),
    (DrawnMove(INSIDE, 4, 1), TRACKS),
    (DrawnMove(ANYWHERE, 4, 1), ABROAD),
    (DrawnMove(INSIDE, 12, 64), TRACKS),
    (DrawnMove(Track(1 << 24), 1 << 12, 64), [[(1 << 24) - 1, (1 << 24) - (1 << 12) * 65, 0]]),
]


def tracks() -> dict[str, Any]:
    """What a device holds, and what a mechanism is asked about; and whether everybody can answer."""
    wrong = [7, "0,1", b"\x01", {"cells": 1}, [12], [-1], ["1"], [0, b"\x01"]]
    values = [(encoder, value) for encoder, _ in ENCODERS[::2] for value in wrong if encoder.domain is INSIDE]  # type: ignore[attr-defined]
    found = {**written("tracks", ENCODERS, values, _refused()), "answerable": []}
    for encoder, _ in ENCODERS:
        for domain in (INSIDE, ANYWHERE, Track(13), Integers(0, 11)):
            found["answerable"] += [whether_all(domain, encoder, asked) for asked in _asked(encoder)]
    return found


def _asked(encoder: Encoder) -> list[Domain]:
    """Just enough inputs, and too few; and others than numbers."""
    return [IndexRange(encoder.inputs), Integers(0, encoder.inputs - 2), Integers(1, encoder.inputs), Text(6)]


def _refused() -> list[Any]:
    first, last, count, move = (ENCODERS[place][0].to_json() for place in (0, 2, 4, 6))
    domains: list[Any] = [
        "track", {"kind": "track"}, {"kind": "track", "cells": 12}, {"kind": "index", "size": 12},
        *({"kind": "track", "cells": cells, "outside": False} for cells in (1, 0, -1, "12", True, (1 << 24) + 1)),
        *({"kind": "track", "cells": 12, "outside": outside} for outside in (1, "yes")),
    ]  # fmt: skip
    changes = [(whole, "domain", domains) for whole in (first, last, count, move)]
    changes += [
        (count, "longest", [0, -1, "2", True, (1 << 20) + 1]),
        (move, "reach", [0, 65, "1", True]),
        (move, "columns", [0, 5, 13, 24]),
    ]
    return changed(changes) + without("domain", first, last) + without("longest", count) + without("reach", move) + without("columns", move)
