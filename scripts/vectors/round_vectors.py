"""The vectors of what a round may ask where people hold records or sets, or where it asks for numbers. Part of ``client_vectors``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from model_vectors import BODY, CENTERS, ILL
from set_vectors import PAIRS, SHOP
from task_vectors import TASK

from deniable.client import GRR, Duchi, Hybrid, LongitudinalGRR, OneBitMeanPM, Piecewise, SignRR, SquareWave
from deniable.client.answerable import takes_all, task_domain
from deniable.contract.canonical import canonical_json
from deniable.contract.cells import Cell
from deniable.contract.clusters import ClusterSide, Magnitude
from deniable.contract.domain import Categories, IndexRange, Integers
from deniable.contract.encoder import Attribute, Encoder, Identity
from deniable.contract.features import HALF, Features
from deniable.contract.gradient import LARGEST_GRADIENT as ONE
from deniable.contract.gradient import Gradient
from deniable.contract.numbers import Numbers
from deniable.contract.question import Question
from deniable.contract.sets import HeldCount, Overflow, PadAndSample, SetCode
from deniable.contract.spec import Spec
from deniable.contract.subsets import Subsets

PLACE, STARS, NEW, AGES = Categories("bar", "inn", "spa"), Integers(1, 4), IndexRange(2), Numbers(0, 120)
COLUMNS = [
    {"name": "place", "domain": PLACE.to_json()}, {"name": "stars", "domain": STARS.to_json()},
    {"name": "new", "domain": NEW.to_json()}, {"name": "land", "only": "Norway"},
]  # fmt: skip
MODEL = {"protocol": "LogisticRegression", "features": BODY.to_json(), "label": "ill", "classes": ILL.to_json()}
PROTOCOLS: list[dict[str, Any]] = [
    {"protocol": "Marginals", "columns": COLUMNS}, MODEL, {"protocol": "KMeans", "features": BODY.to_json()},
    {"protocol": "SVIM", "domain": SHOP.to_json()}, {"protocol": "means", "domain": AGES.to_json()},
]  # fmt: skip
REFUSED: list[dict[str, Any]] = [
    {}, {"columns": []}, {"columns": "place"}, {"columns": [{"name": "place"}]}, {"columns": [{**COLUMNS[0], "only": "bar"}]},
    {"columns": [{**COLUMNS[0], "name": ""}]}, {"columns": [{**COLUMNS[0], "name": 7}]}, {"columns": [{"name": "land", "only": 7}]},
    {"columns": [{"name": "land", "only": ""}]}, {"columns": [COLUMNS[0]] * 2}, {"columns": COLUMNS, "domain": SHOP.to_json()},
    {"features": {}}, {"features": BODY.to_json(), "label": "ill"}, {**MODEL, "label": "age"}, {**MODEL, "columns": COLUMNS},
    {**MODEL, "classes": "yes"}, {"domain": {"kind": "record", "columns": COLUMNS}}, {"domain": {"kind": "categories", "labels": ["a"]}},
]  # fmt: skip


def protocols() -> dict[str, Any]:
    """Each question in each task: whether everybody can answer it. And protocols that do not say what people hold."""
    cases = []
    for content in PROTOCOLS:
        task = _task(content)
        for encoder, spec in _questions():
            question = Question(name="q", spec=spec, encoder=encoder)
            said = {"protocol": task.protocol.decode(), "question": canonical_json(question.to_json()).decode()}
            cases.append({**said, "all": takes_all(question, task_domain(task))})
    return {"asked": cases, "refused": [_task(content).protocol.decode() for content in REFUSED]}


def _task(content: dict[str, Any]) -> Any:
    return replace(TASK, protocol=canonical_json(content), rounds=True, period=0)


def _questions() -> list[tuple[Encoder, Spec]]:
    """Encoders, each before mechanisms that take just enough, and one too few."""
    counted: list[tuple[Encoder, int]] = [
        (Cell((("place", PLACE), ("stars", STARS))), 12), (Cell((("stars", STARS), ("new", NEW)), (3, 1)), 2),
        (Cell((("place", Categories("bar", "spa", "inn")),)), 3), (Cell((("new", Integers(0, 1)),)), 2), (Cell((("ill", ILL),)), 2),
        (Cell((("land", Categories("Norway", "Sweden")),)), 2), (Magnitude(BODY), 9), (ClusterSide(BODY, CENTERS, 1), 8),
        (ClusterSide(Features(BODY.columns[:1]), ((0,),), 0, 3), 2), (Magnitude(Features.of({"age": (0, 121)})), 9),
        (PadAndSample(SHOP, 2), 6), (PadAndSample(SHOP, 2, PAIRS), 5), (Overflow(SHOP, 2, PAIRS), 2), (HeldCount(SHOP, PAIRS), 4),
        (SetCode(SHOP), 16), (SetCode(Subsets(IndexRange(4))), 16),
    ]  # fmt: skip
    found: list[tuple[Encoder, Spec]] = []
    for encoder, inputs in counted:
        found.append((encoder, GRR(domain_size=inputs, epsilon=1.0)))
        found.append((encoder, GRR(domain=Integers(1, inputs), epsilon=1.0) if inputs < 3 else GRR(domain_size=inputs - 1, epsilon=1.0)))
    found += [(Attribute(name), GRR(domain=domain, epsilon=1.0)) for name in ("place", "new", "taste") for domain in (PLACE, NEW)]
    exact, clipped = (Gradient(BODY, "ill", ILL, (300, -2000, 777), 1, clip) for clip in (0, 8))
    ranges = [(-ONE, ONE), (-ONE - 1, ONE + 0.5), (-ONE, ONE - 1), (1 - ONE, ONE)]
    found += [(exact, Duchi(low=low, high=high, epsilon=1.0)) for low, high in ranges]
    found += [(clipped, kind(low=-(ONE >> 8), high=ONE >> 8, epsilon=1.0)) for kind in (Piecewise, Hybrid, SquareWave, SignRR)]
    found += [(clipped, Duchi(low=-1, high=1, clip=True, epsilon=1.0)), (clipped, OneBitMeanPM(low=-ONE, high=ONE, steps=2, epsilon=1.0))]
    found += [(Gradient(BODY, "ill", other, (0, 0, 0), 0), Duchi(low=-ONE, high=ONE, epsilon=1.0)) for other in (NEW, ILL)]
    found += [(Attribute("age"), Duchi(domain=domain, epsilon=1.0)) for domain in (AGES, Numbers(0, 120, 2 * HALF))]
    kinds = (Duchi(domain=AGES, epsilon=1.0), SquareWave(domain=AGES, epsilon=1.0), SignRR(domain=Numbers(0, 120, 1), epsilon=1.0))
    return found + [(Identity(), spec) for spec in (*kinds, LongitudinalGRR(domain_size=4, epsilon=1.0))]
