"""The vectors of the encoders for sets, and of what an answer costs behind them. Part of ``make_vectors``."""

from __future__ import annotations

from typing import Any

from encoder_vectors import changed, without, written

from deniable.client import GRR, OLH
from deniable.contract.canonical import canonical_json
from deniable.contract.domain import Categories, IndexRange, Integers
from deniable.contract.encoder import Encoder
from deniable.contract.question import Question
from deniable.contract.sets import HeldCount, Overflow, PadAndSample, SetCode
from deniable.contract.subsets import Subsets

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
    (Overflow(SHOP, 1, PAIRS), [[], ["tea"], ["bread", "tea"], ["tea", "milk", "bread", "jam"]]),
]
COSTS = [(GRR(domain_size=4 + length, epsilon=epsilon), length) for length in (1, 2, 1000) for epsilon in (0.001, 1.0, 2.5, 8.0)]
COSTS += [(OLH(domain_size=7, epsilon=1.0), 3)]


def sets() -> dict[str, Any]:
    """What a device holds, and what a mechanism is asked about; and what that costs, encoder and mechanism together."""
    pairs = [(encoder, value) for encoder, _ in ENCODERS[1:3] for value in (["beer"], ["tea", "tea"], [0])]
    return {**written("sets", ENCODERS, pairs, _refused()), "costs": [_cost(*asked) for asked in COSTS]}


def _cost(spec: GRR | OLH, length: int) -> dict[str, str]:
    question = Question(name="items", spec=spec, encoder=PadAndSample(SHOP, length))
    return {"question": canonical_json(question.to_json()).decode(), "epsilon": repr(question.epsilon)}


def _refused() -> list[Any]:
    every = (PadAndSample(SHOP, 2, PAIRS), HeldCount(SHOP, PAIRS), SetCode(SHOP), Overflow(SHOP, 1, PAIRS))
    padded, held, code, over = (encoder.to_json() for encoder in every)
    nested = {"kind": "subsets", "items": SHOP.to_json()}
    lists: list[Any] = [[[2], [0]], [[0], [0]], [[2, 0]], [[4]], [[-1]], [[]], [0], [["0"]], "0", [[True]], [[0, 0]], {"0": 1}]
    domains: list[Any] = [
        SHOP.items.to_json(),
        nested,
        {"kind": "subsets"},
        {"kind": "subsets", "items": {"kind": "text", "max_length": 4}},
    ]
    changes = [(padded, "length", [0, -1, "2", True, 65_537]), (padded, "candidates", lists), (held, "candidates", [*lists, []])]
    changes += [(over, "length", [0, "1"]), (over, "candidates", [*lists[:2], []])]
    changes += [(whole, "domain", domains) for whole in (padded, held, code, over)]
    bad = changed(changes) + without("domain", padded, held, code, over)
    large = Subsets(IndexRange(25)).to_json()
    return [*bad, {key: part for key, part in held.items() if key != "candidates"}, {**code, "domain": large}]
