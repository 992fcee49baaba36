"""The vectors of what people are told about the strength of a promise: numbers, and tasks with all answers that they may ask.

Part of ``make_vectors``.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

from task_vectors import MANY, SEARCH, TASK

from deniable.client import GRR, LOLOHA, RAPPOR, DBitFlipPM, LongitudinalGRR, LongitudinalUnary, OneBitMeanPM
from deniable.contract.domain import Text
from deniable.contract.mixing import Mixing, Relay
from deniable.contract.question import Question
from deniable.contract.survey import Survey
from deniable.contract.verdict import Verdict
from deniable.contract.verdict import verdicts as judged

NUMBERS = [
    *((epsilon, 0.0) for epsilon in (1e-8, 0.1, 0.5, 1.0, 1.0004, 1.0006, 2.0, 3.0, 3.001, 4.5, 4.6, 6.0, 6.001, 8.0, 13.8, 14.0, 800.0)),
    *((epsilon, delta) for epsilon in (0.5, 1.0, 6.0, 8.0) for delta in (1e-9, 1e-6, 1e-3, 0.2, 1.0)),
]
AGAIN = [
    LongitudinalGRR(domain_size=3, epsilon=2.0),
    LongitudinalUnary(domain_size=100, epsilon=0.5),
    LOLOHA(domain=Text(8), epsilon=1.0),
    RAPPOR(domain=Text(1), epsilon=1.0, bits=16, hashes=2, cohorts=8),
    DBitFlipPM(domain_size=50, bits=4, epsilon=1.0),
    OneBitMeanPM(low=0, high=100, steps=10, epsilon=1.0),
]
RELAYS = tuple(Relay(f"https://shuffler-{i}.example.org", bytes([i]) * 32) for i in (1, 2))


def verdicts() -> dict[str, Any]:
    """Numbers and tasks, and what is said about them."""
    plain = replace(TASK, strata=(), default=None, admission="open")
    mixing = Mixing(epsilon=0.25, delta=1e-6, minimum=1000, shufflers=RELAYS[:1], size=65)
    shuffled = replace(plain, model="shuffle", mixing=mixing, epsilon=2.0)
    tasks = [
        *(replace(plain, answers=answers) for answers in (1, 3, 7)),
        replace(plain, protocol=MANY.canonical, answers=6),
        replace(plain, protocol=SEARCH.canonical, rounds=True, period=0, epsilon=2.0, answers=1),
        shuffled,
        replace(shuffled, answers=1, mixing=replace(mixing, shufflers=RELAYS)),
        *(
            replace(plain, protocol=Survey((Question(name="again", spec=spec),)).canonical, epsilon=spec.epsilon, answers=300)
            for spec in AGAIN
        ),
        replace(plain, protocol=Survey((Question(name="again", spec=AGAIN[0]),)).canonical, epsilon=2.0, answers=1),
        replace(plain, protocol=Survey.of(again=AGAIN[0], fresh=GRR(domain_size=3, epsilon=2.0)).canonical, epsilon=2.0, answers=2),
    ]
    return {
        "numbers": [{"epsilon": epsilon, "delta": delta, **_said(Verdict(epsilon, delta))} for epsilon, delta in NUMBERS],
        "tasks": [{"task": task.canonical.decode(), "said": [_said(verdict) for verdict in judged(task)]} for task in tasks],
    }


def _said(verdict: Verdict) -> dict[str, Any]:
    strength = None if verdict.strength == inf else verdict.strength
    return {"strength": strength, "level": verdict.level, "text": str(verdict)}
