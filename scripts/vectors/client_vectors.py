"""The vectors of what a device does beside randomizing: what it may spend, and which rounds it answers.

Part of ``make_vectors``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

from again_vectors import again_at_random, again_by_hand, diary_of, hexed
from round_vectors import protocols
from task_vectors import TASK

from deniable.client import OLH, MemoryLedger
from deniable.client.answerable import takes_all
from deniable.client.ledger import Entry
from deniable.contract.canonical import canonical_json
from deniable.contract.codes import code_bits
from deniable.contract.domain import Bytes, Categories, Domain, IndexRange, Integers, Text
from deniable.contract.encoder import Attribute, Encoder, Identity, Prefix
from deniable.contract.fragment import Fragment
from deniable.contract.lines import Interval, Parity
from deniable.contract.question import Question
from deniable.contract.segments import Segments
from deniable.errors import BudgetExceeded
from deniable.testing import ReplaySource

LARGE = 2**64 - 1

# --- the budget: what was asked of a ledger, and what it said ---

PLAIN = replace(TASK, strata=(), answers=3)
PAYING = {
    "often": replace(PLAIN, name="often", answers=100, answers_per_period=100, epsilon=0.5),
    "daily": replace(PLAIN, name="daily", question='Tea or\ncoffee? "日本"'),
    "twice": replace(PLAIN, name="twice", answers=5, answers_per_period=2, epsilon=0.3),
}


def budget() -> dict[str, Any]:
    """Histories of ledgers, step by step: by hand at the edges of every rule, then at random."""
    tenths = [_spend("often", 0, "0.1"), _spend("daily", 0, "0.2")]
    by_hand: dict[str, tuple[str, list[dict[str, Any]]]] = {
        "nothing was told": ("8.0", []),
        "a tenth and two tenths are three, exactly": ("0.3", [*_agree(), *tenths, _spend("often", 0, "1e-08")]),
        "no consent, before all else": ("8.0", [_spend("daily", 0, "nan"), *_agree(), _spend("daily", 0, "nan")]),
        "the clock set back": ("8.0", [*_agree(), *(_spend("daily", period) for period in (5, 4, 0, 5, 6, 2**32 - 1))]),
        "the caps of period and task": ("8.0", [*_agree(), *(_spend("twice", period, "0.1") for period in (0, 0, 0, 1, 1, 1, 2, 3, 3))]),
        "what is refused and what is withdrawn stays spent": (
            "1.0",
            [
                *_agree(), _spend("often", 0), _settle(1, "refused", "too_late"), _spend("often", 1), {"do": "withdraw", "task": "often"},
                _spend("often", 2), _spend("daily", 0, "0.5"), {"do": "consent", "task": "often"}, _spend("often", 2),
            ],
        ),
        "what was sent stays sent": (
            "8.0",
            [
                *_agree(), _spend("daily", 0), _settle(1, "sent"), _settle(1, "refused", "sealed"), _spend("daily", 1),
                _settle(2, "refused", "late"), _settle(2, "sent"), {"do": "withdraw", "task": "daily"},
            ],
        ),
        "more than anybody can tell": ("100", [*_agree(), *(_spend("often", 0) for _ in range(29))]),
        "odds in the thousands": ("100", [*_agree(), *(_spend("often", 0, "0.499999999999") for _ in range(15))]),
    }  # fmt: skip
    histories = [_history(why, *rest) for why, rest in by_hand.items()]
    histories += [_history(f"at random, {i}", ("0.7", "1.5", "8", "2.00000001")[i % 4], _at_random(i)) for i in range(8)]
    histories += [_history(f"again: {why}", lifetime, [*_agree(), *steps]) for why, (lifetime, steps) in again_by_hand().items()]
    histories += [_history(f"again, at random, {i}", ("1.5", "2.5", "8")[i % 3], [*_agree(), *again_at_random(i)]) for i in range(6)]
    return {"tasks": {name: task.canonical.decode() for name, task in PAYING.items()}, "histories": histories}


def _agree() -> list[dict[str, Any]]:
    return [{"do": "consent", "task": name} for name in PAYING]


def _spend(task: str, period: int, epsilon: str | None = None, when: float = TASK.start + 0.9) -> dict[str, Any]:
    return {"do": "spend", "task": task, "period": period, "epsilon": epsilon or repr(PAYING[task].epsilon), "when": when}


def _settle(number: int, state: str, code: str = "") -> dict[str, Any]:
    return {"do": "settle", "number": number, "state": state, "code": code}


def _at_random(number: int) -> list[dict[str, Any]]:
    source = ReplaySource.from_key(f"budget/{number}")
    steps, period = [*_agree()[: 2 + number % 2]], 0
    for i in range(30):
        task = list(PAYING)[source.below(3)]
        choice = source.below(24)
        if choice == 0:
            steps.append({"do": "withdraw", "task": task})
        elif choice in (1, 2):
            steps.append({"do": "consent", "task": task})
        else:
            period += source.below(3) - (source.below(4) == 0)
            epsilon = [None, None, "0.1", "0.2", "0.3", "0.25", "1e-08", "0.0", "-1.0", "inf", "1.5"][source.below(11)]
            steps.append(_spend(task, max(period, 0), epsilon, TASK.start + 86_400 * i + 0.5))
            steps[-1]["settled"] = [None, "sent", "refused"][source.below(3)]
    return steps


def _history(why: str, lifetime: str, steps: list[dict[str, Any]]) -> dict[str, Any]:
    """The steps with what came of each, and the ledger at the end."""
    ledger, told = MemoryLedger(lifetime_epsilon=lifetime), []
    for i, step in enumerate(steps):
        wanted = step.pop("settled", None)
        told.append(step)
        number = _take(ledger, step, f"report {i}".encode())
        if wanted and number:
            told.append(_settle(number, wanted, "" if wanted == "sent" else "sealed"))
            _take(ledger, told[-1], b"")
    entries = [_entry(entry) for entry in ledger.entries()]
    kept = {name: {asked: hexed(found) for asked, found in ledger.kept(task.id).items()} for name, task in PAYING.items()}
    return {
        "why": why, "lifetime_epsilon": lifetime, "steps": told, "entries": entries, "spent": str(ledger.spent()),
        "statement": ledger.statement(), "kept": {name: found for name, found in kept.items() if found},
    }  # fmt: skip


def _take(ledger: MemoryLedger, step: dict[str, Any], report: bytes) -> int | None:
    """One step; the number of its entry if it was an expense."""
    if step["do"] == "settle":
        step["then"] = ledger.settle(step["number"], step["state"], step["code"]).state
    elif step["do"] != "spend":
        getattr(ledger, step["do"])(PAYING[step["task"]].id)
    else:
        diary = diary_of(step)
        if not diary:
            step["report"] = report.hex()

        def make(place: int) -> bytes:
            step["place"] = place
            if not diary:
                return report
            payload = diary.spec.encode(diary.report(ReplaySource(int(word, 16) for word in step["words"])))
            step.update(known=not diary.drawn, drawn=hexed(diary.drawn), report=payload.hex())
            return payload

        try:
            task, period, epsilon, when = PAYING[step["task"]], step["period"], float(step["epsilon"]), step["when"]
            return ledger.spend(task, period=period, epsilon=epsilon, when=when, make=make, diary=diary).number
        except BudgetExceeded as error:
            said = {"parameter": error.parameter, "received": str(error.received), "allowed": error.allowed, "fix": error.fix}
            step["refused"] = said
    return None


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        name: value.hex() if isinstance(value, bytes) else str(value) if name == "epsilon" else value
        for name, value in entry._asdict().items()
    }


# --- rounds that everyone can answer ---


def answerable() -> dict[str, Any]:
    """What a round may ask in a task about a domain: behind which encoder, over which domain, and whether every value has an answer."""
    domains = [Text(10), Bytes(8), Integers(0, 255), Integers(-3, 40), IndexRange(16), Categories("tea", "coffee")]
    found = []
    for i, domain in enumerate(domains):
        for encoder, inputs in _encoders(domain):
            found += [(domain, encoder, asked) for asked in (domain, *_asked(inputs))]
            found += [(domains[i - 1], encoder, asked) for asked in (domain, *_asked(inputs)[:1])]
    return {"cases": [whether_all(*case) for case in found], "protocols": protocols()}


def whether_all(domain: Domain, encoder: Encoder, asked: Domain) -> dict[str, Any]:
    """A case: whether every value of a domain can answer a question behind an encoder, over the domain that is ``asked``."""
    texts = {"domain": domain.to_json(), "encoder": encoder.to_json(), "asked": asked.to_json()}
    question = Question(name="q", spec=OLH(domain=asked, epsilon=1.0), encoder=encoder)
    return {**{name: canonical_json(plain).decode() for name, plain in texts.items()}, "all": takes_all(question, domain)}


def _encoders(domain: Domain) -> Iterator[tuple[Encoder, int]]:
    """Encoders with the number of their inputs."""
    yield Identity(), 2
    yield Attribute("drink"), 2
    for length, candidates in product((1, 5, 72), (None, (0,), (0, 1))):
        if length <= code_bits(domain):
            most = 1 << length
            yield Prefix(domain, length, candidates), min(most, len(candidates) + 1) if candidates else most
    yield Fragment(domain, 0, 1), 2
    yield Fragment(domain, 0, 1, hash_bits=3), 16
    for parts in (((0, 1),), ((0, 1), (0, 1))):
        yield Segments(domain, parts), 1 << len(parts)
        yield Segments(domain, parts, (0,)), 2
    if domain.listed:
        yield Interval(domain, (0, 1)), 2
        yield Parity(domain, 1), 2


def _asked(inputs: int) -> list[Domain]:
    """Around so many inputs: just enough, shifted, one too few; and of another kind."""
    if inputs > 1 << 64:
        size = (inputs.bit_length() + 6) // 8
        return [Bytes(size), Bytes(size - 1), Text(size), Integers(0, LARGE)]
    fit = [Integers(0, inputs - 1), Integers(1, inputs), Integers(-9, inputs - 2), IndexRange(inputs)]
    return [*fit, IndexRange(inputs - 1) if inputs > 2 else Categories("a", "b")]
