"""The vectors of the encoders for sets, in a file of their own: replayed in Python, not in the browser. Part of ``make_vectors``."""

from __future__ import annotations

from typing import Any

from deniable.contract.canonical import canonical_json, to_plain
from deniable.contract.domain import Categories, IndexRange, Integers
from deniable.contract.encoder import Encoder
from deniable.contract.sets import HeldCount, PadAndSample, SetCode
from deniable.contract.subsets import Subsets
from deniable.testing import ReplaySource

SHOP = Subsets(Categories("tea", "milk", "bread", "jam"))
MANY = Subsets(IndexRange(1 << 26))
PAIRS = ((0,), (0, 2), (1, 2, 3))

ENCODERS: list[tuple[Encoder, list[Any]]] = [
    (PadAndSample(SHOP, 1), [[], ["jam"], ["jam", "tea", "milk"]]),
    (PadAndSample(SHOP, 3), [[], ["jam"], ["milk", "tea"], ["jam", "bread", "milk", "tea"]]),
    (PadAndSample(SHOP, 2, PAIRS), [[], ["tea"], ["bread", "tea"], ["jam", "bread", "milk"], ["tea", "milk", "bread", "jam"]]),
    (PadAndSample(SHOP, 2, ()), [["tea"]]),
    (PadAndSample(MANY, 65_536), [[], [(1 << 26) - 1, 0]]),
    (PadAndSample(Subsets(Integers(-3, 3)), 2), [[-3, 3, 0]]),
    (HeldCount(SHOP, PAIRS), [[], ["tea"], ["tea", "milk", "bread", "jam"]]),
    (SetCode(SHOP), [[], ["jam", "tea"]]),
]


def sets() -> dict[str, Any]:
    """What a device holds, and what a mechanism is asked about."""
    cases = []
    for number, (encoder, values) in enumerate(ENCODERS):
        for value in values:
            key = f"sets/{number}/{value!r}"
            source = ReplaySource.from_key(key)
            result = encoder.encode(value, source)
            words = [f"{word:016x}" for word in ReplaySource.from_key(key).words(source.consumed)]
            line = {"encoder": canonical_json(encoder.to_json()).decode(), "value": [to_plain(item) for item in value], "words": words}
            cases.append({**line, "input": result})
    wrong = [["beer"], ["tea", "tea"], [0]]
    refused = [{"encoder": canonical_json(encoder.to_json()).decode(), "value": value} for encoder, _ in ENCODERS[1:3] for value in wrong]
    return {"cases": cases, "refused_values": refused, "refused": _refused()}


def _refused() -> list[dict[str, str]]:
    padded, held, code = (encoder.to_json() for encoder in (PadAndSample(SHOP, 2, PAIRS), HeldCount(SHOP, PAIRS), SetCode(SHOP)))
    nested = {"kind": "subsets", "items": SHOP.to_json()}
    lists: list[Any] = [[[2], [0]], [[0], [0]], [[2, 0]], [[4]], [[-1]], [[]], [0], [["0"]], "0", [[True]], [[0, 0]], {"0": 1}]
    domains: list[Any] = [
        SHOP.items.to_json(),
        nested,
        {"kind": "subsets"},
        {"kind": "subsets", "items": {"kind": "text", "max_length": 4}},
    ]
    changes = [(padded, "length", [0, -1, "2", True, 65_537]), (padded, "candidates", lists), (held, "candidates", [*lists, []])]
    changes += [(whole, "domain", domains) for whole in (padded, held, code)]
    bad = [{**whole, name: other} for whole, name, others in changes for other in others]
    bad += [{**whole, "more": 1} for whole in (padded, held, code)]
    bad += [{name: part for name, part in whole.items() if name != "domain"} for whole in (padded, held, code)]
    large = Subsets(IndexRange(25)).to_json()
    bad += [{key: part for key, part in held.items() if key != "candidates"}, {**code, "domain": large}]
    return [{"encoder": canonical_json(data).decode()} for data in bad]
