"""The vectors of the encoders for ratings: what a device works out from what its person rated. Part of ``make_vectors``."""

from __future__ import annotations

from typing import Any

from client_vectors import whether_all
from encoder_vectors import changed, without, written

from deniable.contract.domain import IndexRange, Integers
from deniable.contract.encoder import Encoder
from deniable.contract.numbers import Numbers
from deniable.contract.ratings import LARGEST_ITEM, ONE, HeldRating, Rated, RatingGradient

FILMS = Rated(4, Numbers(1, 5, steps=2 * ONE))
MODEL = ((0, 400, -900), (300, -700, 20), (-2048, 0, 0), (5, 1024, 1024))
STEEP = ((LARGEST_ITEM, -LARGEST_ITEM, LARGEST_ITEM),) * 4
RATINGS: list[Any] = [{}, {"0": 5}, {"3": 1, "0": 4.5}, {"0": 1, "1": 2, "2": 3, "3": 4}, {"1": 2.5000001}]

ENCODERS: list[tuple[Encoder, list[Any]]] = [
    *((HeldRating(FILMS, item), RATINGS) for item in (0, 3)),
    *((RatingGradient(FILMS, 0, MODEL, coordinate), RATINGS) for coordinate in range(3)),
    *((RatingGradient(FILMS, 1, MODEL, coordinate, clip), RATINGS) for coordinate, clip in ((0, 1), (2, 8))),
    *((RatingGradient(FILMS, 3, STEEP, coordinate), RATINGS) for coordinate in (0, 2)),
    (RatingGradient(Rated(1, Numbers(0, 10, steps=2 * ONE)), 0, ((7,),), 0), [{"0": 10}, {}]),
]


def ratings() -> dict[str, Any]:
    """What a device holds, and what a mechanism is asked about; and whether everybody can answer."""
    wrong = [7, [5, 4], "0", {"4": 1}, {"0": 6}, {"0": "5"}, {"-1": 1}, {"00": 1}, {"\u0663": 1}]
    values = [(encoder, value) for encoder in (ENCODERS[0][0], ENCODERS[2][0]) for value in wrong]
    found = {**written("ratings", ENCODERS, values, _refused()), "answerable": []}
    for encoder, _ in ENCODERS[:3]:
        inputs = [IndexRange(2), Integers(1, 2)] if encoder.inputs == 2 else [Integers(-(1 << 26), 1 << 26), Integers(0, 1 << 26)]
        found["answerable"] += [whether_all(domain, encoder, asked) for domain in (FILMS, Rated(5, FILMS.scale)) for asked in inputs]
    return found


def _refused() -> list[Any]:
    held, gradient = ENCODERS[0][0].to_json(), ENCODERS[2][0].to_json()
    rows: list[Any] = [[], [[0]], [[0]] * 3, [[]] * 4, [[0], [0], [0], [0, 0]], [["0"]] * 4, [[LARGEST_ITEM + 1]] * 4, "0000"]
    domains = [FILMS.to_json() | {name: value} for name, value in (("items", 0), ("items", "4"), ("scale", IndexRange(9).to_json()))]
    changes = [(gradient, "model", rows), (gradient, "coordinate", [-1, 3, "0", True]), (gradient, "clip", [-1, 9, "1", True])]
    changes += [(whole, "item", [-1, 4, "0", True]) for whole in (held, gradient)]
    changes += [(whole, "domain", [*domains, FILMS.scale.to_json(), 7]) for whole in (held, gradient)]
    return changed(changes) + without("item", held, gradient) + without("model", gradient) + without("domain", held)
