"""The vectors of the encoders for models, and of the logistic curve behind them. Part of ``make_vectors``."""

from __future__ import annotations

from typing import Any

from encoder_vectors import changed, without, written

from deniable.contract.clusters import ClusterSide, Magnitude
from deniable.contract.domain import Categories, IndexRange
from deniable.contract.encoder import Encoder
from deniable.contract.features import Features
from deniable.contract.gradient import CELL_BITS, LARGEST_WEIGHT, Gradient, sigmoid
from deniable.contract.numbers import Numbers

BODY = Features.of({"age": (0, 120), "dose": Numbers(-1.5, 2, clip=True)})
ILL = Categories("no", "yes")
RECORDS = [{"age": 0, "dose": -1.5, "ill": "yes"}, {"age": 60, "dose": 0.25, "ill": "no"}, {"age": 119.99, "dose": 17, "ill": "yes"}]
STEEP = (-LARGEST_WEIGHT, LARGEST_WEIGHT, LARGEST_WEIGHT)
CENTERS = ((-1024, 0), (1024, 0), (1024, 0), (0, 2048))

ENCODERS: list[tuple[Encoder, list[Any]]] = [
    *((Gradient(BODY, "ill", ILL, (0, 0, 0), j), RECORDS) for j in range(3)),
    *((Gradient(BODY, "ill", ILL, (300, -2000, 777), j, clip=clip), RECORDS) for j, clip in ((0, 0), (1, 1), (2, 8))),
    (Gradient(BODY, "ill", ILL, STEEP, 1), RECORDS),
    (Gradient(BODY, "new", IndexRange(2), (1024, 1, -1), 2), [{"age": 33, "dose": 1, "new": 1}, {"new": 0, "dose": -1, "age": 90, "x": 7}]),
    *((ClusterSide(BODY, CENTERS, j, clip=clip), RECORDS) for j, clip in ((0, 0), (1, 1), (0, 8))),
    (ClusterSide(BODY, CENTERS[:1], 1), RECORDS),
    (Magnitude(BODY), [{"age": age, "dose": 0.25} for age in (0, 30, 31, 46, 59.9, 60, 90.1)]),
]


def models() -> dict[str, Any]:
    """What a device holds, and what a mechanism is asked about; and the curve at each entry of its table, between them and far out."""
    wrong = [{"age": 121, "dose": 0, "ill": "no"}, {"age": 1, "ill": "no"}, {"age": "1", "dose": 0, "ill": "no"}, "age"]
    pairs = [(encoder, value) for encoder in (ENCODERS[0][0], ENCODERS[8][0], Magnitude(BODY)) for value in wrong]
    pairs += [(ENCODERS[0][0], {"age": 1, "dose": 0, "ill": "maybe"}), (ENCODERS[0][0], {"age": 1, "dose": 0})]
    margins = [(-1) ** cell * ((cell << CELL_BITS) + 797 * cell) for cell in range(165)]
    curve = {str(margin): sigmoid(margin) for margin in [*margins, 1 << 39, -(1 << 39), 1, -1, (1 << CELL_BITS) - 1]}
    return {**written("models", ENCODERS, pairs, _refused()), "sigmoid": curve}


def _refused() -> list[Any]:
    gradient, side, magnitude = (encoder.to_json() for encoder in (ENCODERS[4][0], ENCODERS[8][0], Magnitude(BODY)))
    coarse = [{"name": "age", "domain": Numbers(0, 120, steps=8).to_json()}] * 2
    changes: list[tuple[dict[str, Any], str, list[Any]]] = [
        (gradient, "weights", [[], [0, 0], [0] * 4, [0, 0, LARGEST_WEIGHT + 1], [0, 0, "0"], [0, 0, True], "000", 7]),
        (gradient, "coordinate", [-1, 3, "1", True]),
        (gradient, "clip", [-1, 9, "1", True]),
        (gradient, "label", ["", "age", 7]),
        (gradient, "classes", [Categories("a", "b", "c").to_json(), "no", {"kind": "text", "max_length": 3}]),
        (side, "centers", [[], [[0]], [[0, 0, 0]], [[0, 2049]], [[0, "0"]], [0, 0], [[0, True]], "00", [[0, 0]] * 257]),
        (side, "coordinate", [-1, 2, "1", True]),
        (side, "clip", [-1, 9, "1"]),
    ]
    features: list[Any] = [[], "age", [7], BODY.to_json() * 2, coarse[:1], [{"name": "", "domain": BODY.to_json()[0]["domain"]}]]
    changes += [(whole, "features", features) for whole in (gradient, side, magnitude)]
    return changed(changes) + without("features", gradient, side, magnitude)
