"""Steps of ledgers that keep permanent answers: what is paid for once, what a change of value costs, and the rules that hold for both.

Part of ``client_vectors``. Such a step names the spec, the value and the question; ``words`` are more than a report can need, because some
devices draw before the ledger looks, and forget what it refuses. What came of the step says what was drawn.
"""

from __future__ import annotations

from typing import Any

from task_vectors import TASK

from deniable.client import LOLOHA, RAPPOR, DBitFlipPM, LongitudinalGRR
from deniable.client.diary import Diary
from deniable.client.longitudinal import Longitudinal
from deniable.contract.spec import spec_from_json
from deniable.testing import ReplaySource

ENOUGH = 32
SPECS: dict[str, Longitudinal] = {
    "symbols": LongitudinalGRR(domain_size=5, epsilon=0.5),
    "hashed": LOLOHA(domain_size=100, epsilon=0.5, hash_range=2),
    "buckets": DBitFlipPM(domain_size=8, epsilon=0.5, bits=2, first_epsilon=0.25),
    "filters": RAPPOR(domain_size=50, epsilon=0.5, bits=16, hashes=1, cohorts=4),
}


def step(key: str, task: str, kind: str, value: int, *, period: int = 0, question: str = "q") -> dict[str, Any]:
    """One answer drawn from a permanent one, to be given if the ledger allows it."""
    spec = SPECS[kind]
    words = [f"{word:016x}" for word in ReplaySource.from_key(f"again/{key}").words(ENOUGH)]
    asked = {"do": "spend", "task": task, "period": period, "epsilon": repr(spec.epsilon), "when": TASK.start + 0.9}
    return {**asked, "diary": {"spec": spec.canonical.decode(), "value": value, "question": question}, "words": words}


def diary_of(asked: dict[str, Any]) -> Diary | None:
    """The diary that a step names; none in most."""
    if "diary" not in asked:
        return None
    named, spec = asked["diary"], spec_from_json(asked["diary"]["spec"].encode())
    assert isinstance(spec, Longitudinal)  # noqa: S101  # a script's own check
    return Diary(spec, named["value"], named["question"])


def hexed(kept: dict[str, bytes]) -> dict[str, str]:
    """What is kept, as text."""
    return {name: answer.hex() for name, answer in sorted(kept.items())}


def again_by_hand() -> dict[str, tuple[str, list[dict[str, Any]]]]:
    """Histories at the edges of every rule: the lifetime's epsilon, and the steps."""
    found: dict[str, tuple[str, list[dict[str, Any]]]] = {}
    for kind in SPECS:
        values = [step(f"{kind}/{i}", "often", kind, value) for i, value in enumerate((0, 0, 1, 0, 2, 1, 3, 4, 2, 0))]
        found[f"a value is paid for once, {kind}"] = ("1.0", values)
    daily = [step(f"daily/{period}/{i}", "daily", "symbols", 0, period=period) for i, period in enumerate((1, 1, 0, 2, 3, 4))]
    found["all other rules hold for what is free"] = ("8.0", daily)
    first, second, third, fourth = (step(f"back/{i}", "often", "hashed", 7) for i in range(4))
    moved = {"do": "withdraw", "task": "often"}, {"do": "consent", "task": "often"}
    found["whoever withdraws and comes back keeps the same answer"] = ("8.0", [first, moved[0], second, moved[1], third, fourth])
    apart = [("often", "symbols", "q"), ("often", "symbols", "r"), ("daily", "symbols", "q"), ("often", "buckets", "q")]
    found["another question, task or mechanism draws for itself"] = (
        "8.0",
        [step(f"apart/{i}/{j}", task, kind, 3, question=asked, period=j) for j in (0, 1) for i, (task, kind, asked) in enumerate(apart)],
    )
    return found


def again_at_random(number: int) -> list[dict[str, Any]]:
    """Values that change, questions that alternate, and people who come and go."""
    source = ReplaySource.from_key(f"again/{number}")
    steps: list[dict[str, Any]] = []
    period = 0
    for i in range(20):
        task, kind = ("often", "daily")[source.below(5) == 0], list(SPECS)[(number + source.below(2)) % 4]
        choice = source.below(16)
        if choice < 3:
            steps.append({"do": ("withdraw", "consent", "consent")[choice], "task": task})
            continue
        period = max(0, period + source.below(3) - (source.below(8) == 0))
        steps.append(step(f"random/{number}/{i}", task, kind, source.below(3), period=period))
        steps[-1]["settled"] = [None, "sent", "refused"][source.below(3)]
    return steps
