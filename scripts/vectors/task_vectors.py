"""The vectors of what a collector and a device agree on: tasks, rounds as opened, envelopes; and what must be refused.

Part of ``make_vectors``.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

from deniable.client import GRR, OLH, RR
from deniable.contract.canonical import canonical_json, parse_canonical, to_plain
from deniable.contract.domain import Bytes, Categories, Integers, Text
from deniable.contract.encoder import Attribute
from deniable.contract.envelope import Envelope
from deniable.contract.question import Question, Round
from deniable.contract.survey import Survey
from deniable.contract.task import OpenedRound, Task
from deniable.tasks.heavy_hitters import PEM, SegmentPairs, TreeHist

LARGE = 2**64 - 1

DRINKS = Survey((Question(name="drink", spec=GRR(domain=Categories("tea", "coffee"), epsilon=1.0)),))
TASK = Task(
    name="morning-drink",
    question="What do you drink in the morning? 日本",
    owner="research@example.org",
    statement='Nobody learns what you drink: "tea" \\ or coffee.\n',
    protocol=DRINKS.canonical,
    epsilon=1.0,
    key=bytes(range(32)),
    start=1_000_000,
    end=1_000_000 + 10 * 86_400 + 1,
    period=86_400,
    answers=7,
    strata=(("platform", ("phone", "web", "desk")), ("plan", ("free", "paid"))),
    default="tea",
)
TOKENS = replace(TASK, admission="token", issuer=b"\x80" + bytes(254) + b"\x01", answers=366, retention=12)
MANY = Survey(
    (
        Question(name="a", spec=RR(epsilon=0.3), share=Fraction(1, 3), encoder=Attribute("smoker")),
        Question(name="b", spec=OLH(domain=Text(8), epsilon=1.0), share=Fraction(1, 4), candidates=("tea", "coffee")),
        Question(name="c", spec=OLH(domain=Bytes(8), epsilon=1.0), share=Fraction(1, 12), candidates=(b"\x00\xff", b"")),
        Question(name="d", spec=OLH(domain=Integers(0, LARGE), epsilon=1.0), share=Fraction(1, 12), candidates=(0, LARGE)),
    )
)
SEARCH = PEM(domain=Text(4), k=4, epsilon=2.0, people=10_000)
"""A task of rounds."""


def tasks() -> dict[str, Any]:
    """Tasks with their ids, and what a device reads off them."""
    other: dict[str, Any] = {"start": 0, "end": 2**40, "period": 1, "epsilon": 1e-8, "strata": (), "default": LARGE}
    named = {"strata": tuple((f"s{i}", ("x", "y")) for i in range(16)), "default": b"\x00\xff", "epsilon": 30.0, "name": "a" * 64}
    searching = replace(TASK, protocol=SEARCH.canonical, rounds=True, period=0, default=None, epsilon=2.0)
    short = replace(TASK, protocol=MANY.canonical, default=-7, epsilon=0.30000000000000004, name="0", question="?" * 4096)
    examples = [
        TASK,
        replace(TASK, **other),
        replace(TASK, **named),
        searching,
        short,
        replace(TASK, admission="secret", strata=TASK.strata[::-1]),
        TOKENS,
    ]
    examples.append(replace(TOKENS, period=TOKENS.end - TOKENS.start, retention=0))  # one period: no later one needs its reports
    examples.append(replace(TOKENS, seeds="assigned"))
    moments = [datetime(2026, 7, 2, 11, 59, 59, 999_999, tzinfo=timezone(timedelta(hours=-3, minutes=-30))), datetime(1, 1, 1)]
    examples += [replace(TASK, strata=(), default=default) for default in (0.1, -1e-300, *moments)]
    return {"cases": [_task_case(task) for task in examples], "refused": _refused_tasks(), "refused_surveys": _refused_surveys()}


def _task_case(task: Task) -> dict[str, Any]:
    numbers = sorted({number for number in (0, 1, 3, task.stratum_count - 1) if number < task.stratum_count})
    case: dict[str, Any] = {"task": task.canonical.decode(), "id": task.id.hex(), "stratum_count": task.stratum_count}
    case["strata"] = [[task.stratum_labels(number), number] for number in numbers]
    first = task.stratum_labels(0)
    case["refused_strata"] = [{**first, "more": "x"}, *([{}, {**first, next(iter(first)): "none of these"}] if first else [])]
    if task.default is not None:
        case["default"] = to_plain(task.default)
    if task.rounds:
        return case
    times = [task.start - 0.5, task.start, task.start + task.period - 0.5, task.start + task.period, task.end - 0.5, task.end]
    case["period_count"] = task.period_count
    case["periods"] = [[time, task.period_at(time)] for time in times]
    case["spans"] = [[period, *task.period_span(period)] for period in sorted({0, 1, task.period_count - 1})]
    case["tickets"] = _tickets(task.survey.open(), task.survey.scale)
    return case


def _tickets(questions: Round, scale: int) -> list[Any]:
    edges = sorted({ticket for edge in questions.edges(scale) for ticket in (edge - 1, edge) if 0 <= ticket < scale})
    found = [(ticket, questions.question_of(ticket, scale)) for ticket in edges]
    return [[str(ticket), None if question is None else question.name] for ticket, question in found]


def _refused_tasks() -> list[dict[str, str]]:
    content = parse_canonical(TASK.canonical)
    epsilons = [
        "1", "1.00", "01.0", ".5", "1e-5", "1E-05", "0.00001", "1e-09", "30.5", "-1.0", "0.0", "nan", "+1.0", " 1.0", "1.0 ", "1_0.0", "",
        "1.0000000000000000001", "0.30000000000000001", 1, True, {},
    ]  # fmt: skip
    changes: dict[str, list[Any]] = {
        "epsilon": epsilons,
        "version": [0, 2, True, "1"],
        "name": ["", "Morning", "-a", "a-", "a_b", "a" * 65, "a\n", "é", 7],
        "question": ["", "x" * 4097, 7],
        "owner": ["", []],
        "statement": ["", {}],
        "key": ["00" * 31, "00" * 33, "AA" * 32, "0g" * 32, " " + "00" * 32, 7],
        "start": [-1, "1", True, content["end"], str(2**60)],
        "end": [0, content["start"], 2**40 + 1],
        "period": [0, -1, content["end"], "86400", True],
        "rounds": [0, 1, "true"],
        "answers": [0, True, -7],
        "answers_per_period": [0, "1"],
        "minimum_batch": [0],
        "late": [-1, True],
        "retention": [-1, "90"],
        "model": ["central", "", 7],
        "strata": [
            {}, "ab", [["platform", ["phone"]]], [["platform", ["phone", "phone"]]], [["platform", ["phone", ""]]], [["", ["a", "b"]]],
            [[" ", ["a", "b"]]], [["a", ["x", "y"]], ["a", ["x", "y"]]], [["a", "xy"]], [["a", [1, 2]]], [[1, ["x", "y"]]], [["a"]],
            [["a", ["x", "y"], 7]], [[f"s{i}", ["x", "y"]] for i in range(17)],
        ],
        "default": [True, [], {}, {"integer": 5}, {"integer": "5"}, {"bytes": "FF"}, {"bytes": "0"}, {"bytes": "00 ff"}, {"bytes": 7},
            {"text": "a"}, {"float": "1"}, {"float": "0.10"}, {"float": 1}, {"float": "x"}, {"float": "0.1", "bytes": ""}, {"time": 7},
            {"time": "2026-01-01T00:00:00Z"}, {"time": "2026-01-01T00:00:00.5"}, {"time": "2026-02-30T00:00:00"},
            {"time": "2026-01-01T24:00:00"}, {"time": "2026-01-01T00:00:00+24:00"}, {"time": "2026-01-01"}],
    }  # fmt: skip
    bad = [(f"{name} {value!r}"[:60], canonical_json({**content, name: value})) for name, values in changes.items() for value in values]
    bad += [(f"without {name}", canonical_json({k: v for k, v in content.items() if k != name})) for name in content if name != "default"]
    bad += [("one field more", canonical_json({**content, "extra": 1})), ("a space", TASK.canonical + b" "), ("a list", b"[]")]
    bad += [(f"tokens, and {change}"[:60], _changed(TOKENS, change)) for change in _refused_admissions(TOKENS.issuer.hex())]
    bad += [
        (f"no tokens, and {change}"[:60], _changed(TASK, change))
        for change in [{"issuer": TOKENS.issuer.hex()}, {"admission": "open"}, {"seeds": "assigned"}]
    ]
    return [{"why": why, "task": data.decode()} for why, data in bad]


def _changed(task: Task, change: dict[str, Any]) -> bytes:
    return canonical_json({**parse_canonical(task.canonical), **change})


def _refused_admissions(issuer: str) -> list[dict[str, Any]]:
    issuers = ["", issuer[2:], "00" + issuer, "7f" + issuer[2:], issuer[:-2] + "02", issuer.replace("8", "A"), "x" * 512, 7, []]
    admissions = ["open", "secret", "tokens", "", "TOKEN", True, []]
    found: list[dict[str, Any]] = [{"issuer": other} for other in issuers] + [{"admission": other} for other in admissions]
    return [
        *found,
        *({"seeds": other} for other in ("own", "", "Assigned", True, [])),
        {"answers": 367},
        {"retention": 11},
        {"rounds": True, "period": TOKENS.end - TOKENS.start, "retention": 11},
    ]


def _refused_surveys() -> list[dict[str, str]]:
    """Tasks of one round whose bytes are in order, but not their questions."""
    content = parse_canonical(TASK.canonical)
    (drink,) = parse_canonical(DRINKS.canonical)["questions"]
    half = {**drink, "share": "1/2"}
    lists: dict[str, Any] = {
        "no question": [],
        "one name twice": [half, half],
        "a name that is empty": [{**drink, "name": ""}],
        "shares above 1": [{**half, "name": "a"}, {**half, "name": "b"}, {**half, "name": "c"}],
        "too fine a scale": [{**drink, "share": "1/4294967297"}],
        "a question without an encoder": [{key: value for key, value in drink.items() if key != "encoder"}],
        "one field more": [{**drink, "extra": 1}],
        "a mechanism without its thresholds": [{**drink, "spec": {**drink["spec"], "thresholds": {}}}],
        "questions in an object": {"a": drink},
        "a candidate twice": [{**drink, "candidates": ["tea", "tea"]}],
        "a candidate that is no value": [{**drink, "candidates": ["water"]}],
        "a candidate of another type": [{**drink, "candidates": [True]}],
        "candidates as text": [{**drink, "candidates": "tea"}],
    }
    lists |= {
        f"a share of {share!r}": [{**drink, "share": share}] for share in ("0", "2", "0.5", "1/0", "-1/2", "1e-2", "01/2", 1, "", "1/")
    }
    protocols = {why: {"protocol": "Survey", "questions": questions} for why, questions in lists.items()}
    protocols |= {"another protocol": {"protocol": "Poll", "questions": [drink]}, "no protocol": {"questions": [drink]}, "a list": [drink]}
    protocols["more than a survey"] = {"protocol": "Survey", "questions": [drink], "first": "0"}
    return [{"why": why, "task": canonical_json({**content, "protocol": protocol}).decode()} for why, protocol in protocols.items()]


def rounds() -> dict[str, Any]:
    """Rounds as a collector opens them, and who answers what."""
    tree, pairs = TreeHist(domain=Text(4), k=4, epsilon=2.0), SegmentPairs(domain=Text(4), k=4, epsilon=2.0)
    small = Round((Question(name="a", spec=RR(epsilon=1.0), share=Fraction(1, 4)),), Fraction(1, 3))
    large = OpenedRound(task=bytes(32), number=0, scale=12 * 2**49, round=small, state=bytes(range(32)))
    examples = [OpenedRound(task=TASK.id, number=2, scale=12, round=small, state=bytes(32)), large]
    for protocol in (SEARCH, tree, pairs, MANY, SEARCH.learned(stage=1, candidates=(1, 5, 6))):
        examples.append(OpenedRound(task=TASK.id, number=1, scale=protocol.scale, round=protocol.open(), state=bytes(32)))
    return {"cases": [_round_case(opened) for opened in examples], "refused": _refused_rounds(examples[0])}


def _round_case(opened: OpenedRound) -> dict[str, Any]:
    fields = {"task": opened.task.hex(), "number": opened.number, "scale": str(opened.scale), "state": opened.state.hex()}
    return {"round": opened.canonical.decode(), **fields, "tickets": _tickets(opened.round, opened.scale)}


def _refused_rounds(opened: OpenedRound) -> list[dict[str, str]]:
    content = parse_canonical(opened.canonical)
    (question,) = content["questions"]
    changes: dict[str, list[Any]] = {
        "version": [2, True, "1"],
        "task": ["0", "AA" * 32, " 00", 7, "zz"],
        "state": ["0", "AA", 7],
        "number": [-1, True, "2", "1.0"],
        "scale": [13, 0, -12, "12", str(12 * 2**50), True],
        "first": ["2/6", "0/1", "1", "-1/3", 0, "0.5", "5/6"],
        "questions": [
            [], {}, [{**question, "share": "2/8"}], [{**question, "share": "3/4"}], [{**question, "candidates": [0, 1]}],
            [question, question],
            [{**question, "encoder": {"encoder": "Suffix"}}],
        ],
    }  # fmt: skip
    bad = [(f"{name} {value!r}"[:60], canonical_json({**content, name: value})) for name, values in changes.items() for value in values]
    bad += [(f"without {name}", canonical_json({k: v for k, v in content.items() if k != name})) for name in content]
    bad += [("one field more", canonical_json({**content, "extra": 1})), ("a space", opened.canonical + b" "), ("text", b'"round"')]
    return [{"why": why, "round": data.decode()} for why, data in bad]


def envelopes() -> dict[str, Any]:
    """Envelopes and batches, byte by byte."""
    plain = Envelope(task=TASK.id, period=7, question=0, stratum=3, id=bytes(range(16)), payload=b"\x03")
    full = Envelope(
        task=b"\xaa" * 32, period=2**32 - 1, question=2**16 - 1, stratum=2**16 - 1, id=b"\xbb" * 16, payload=b"p" * 300, token=b"t" * 512
    )
    empty = Envelope(task=bytes(32), period=0, question=0, stratum=0, id=bytes(16), payload=b"")
    examples = [plain, full, empty]
    one, rest = plain.pack(), empty.pack() + full.pack()
    unfit: dict[str, dict[str, Any]] = {
        "a short task id": {"task": b"\x00" * 31}, "a long task id": {"task": b"\x00" * 33}, "a short id": {"id": b"\x00" * 15},
        "a large period": {"period": 2**32}, "a negative period": {"period": -1}, "a large question": {"question": 2**16},
        "a large stratum": {"stratum": 2**16},
    }  # fmt: skip
    bad = {
        "cut in the payload": one[:-1], "cut in the header": one[:63], "one byte": b"\x00", "one byte more": one + b"\x00",
        "another version": one[:4] + b"\x02" + one[5:], "a length beyond the batch": b"\xff" + one[1:],
        "a length within the header": b"\x3b" + one[1:], "a token longer than the envelope": one[:6] + b"\x02" + one[7:],
        "a byte that is not zero": one[:5] + b"\x01" + one[6:],
        "the second one cut": one + rest[:-1], "the largest length": b"\xff\xff\xff\xff" + one[4:],
    }  # fmt: skip
    return {
        "cases": [{**_fields(envelope), "bytes": envelope.pack().hex()} for envelope in examples],
        "batches": [{"bytes": data.hex(), "count": count} for data, count in ((b"", 0), (one + rest, 3), (one * 5, 5))],
        "refused_fields": [{"why": why, **_fields(plain._replace(**change))} for why, change in unfit.items()],
        "refused": [{"why": why, "bytes": data.hex()} for why, data in bad.items()],
    }


def _fields(envelope: Envelope) -> dict[str, Any]:
    return {name: value.hex() if isinstance(value, bytes) else value for name, value in envelope._asdict().items()}
