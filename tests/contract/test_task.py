"""The task and the round as opened: one byte string for one meaning, and nothing else is read."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, replace
from fractions import Fraction
from itertools import pairwise

import pytest

import deniable as dn
from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.contract.question import Round
from deniable.contract.task import OpenedRound, Task
from deniable.errors import DomainError, ParameterError, WireError

DRINKS = dn.Survey((dn.Question(name="drink", spec=dn.GRR(domain=dn.Categories("tea", "coffee"), epsilon=1.0)),))
TASK = Task(
    name="morning-drink",
    question="What do you drink in the morning?",
    owner="research@example.org",
    statement="Nobody learns what you drink.",
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
ISSUER = b"\x80" + bytes(254) + b"\x01"
WITH_TOKENS = replace(TASK, admission="token", issuer=ISSUER)
OPENED = OpenedRound(
    task=TASK.id,
    number=2,
    scale=12,
    round=Round((dn.Question(name="a", spec=dn.RR(epsilon=1.0), share=Fraction(1, 4)),), Fraction(1, 3)),
    state=bytes(32),
)


def test_the_id_is_the_hash_of_the_bytes_that_devices_receive():
    assert TASK.id == hashlib.sha256(TASK.canonical).digest()
    again = Task.from_json(TASK.canonical)
    assert again == TASK
    assert again.survey == DRINKS


def test_every_field_is_part_of_the_meaning():
    others = {
        "name": "evening-drink", "question": "?", "owner": "b", "statement": "c", "epsilon": 0.5, "key": bytes(32), "start": 1,
        "end": 2_000_000, "period": 3600, "rounds": True, "answers_per_period": 2, "answers": 8, "strata": (),
        "default": None, "minimum_batch": 7, "late": 1,
        "retention": 1, "protocol": dn.Survey((dn.Question(name="drink", spec=dn.RR(epsilon=1.0)),)).canonical,
        "admission": "secret",
    }  # fmt: skip
    elsewhere = {"issuer", "seeds", "model", "mixing"}  # the last two: tests/contract/test_mixing.py
    assert set(others) | elsewhere == {field.name for field in fields(Task)}
    ids = {replace(TASK, **{name: value}).id for name, value in others.items()}
    ids |= {replace(TASK, admission="token", issuer=issuer).id for issuer in (ISSUER, ISSUER[:-1] + b"\x03")}
    assert len(ids | {TASK.id}) == len(others) + 3


def test_an_open_task_says_nothing_about_admission():
    """So that its bytes are what they were before there was a choice."""
    assert not {"admission", "issuer"} & set(parse_canonical(TASK.canonical))
    with pytest.raises(WireError):
        Task.from_json(canonical_json(parse_canonical(TASK.canonical) | {"admission": "open"}))


@pytest.mark.parametrize("document", [TASK, WITH_TOKENS, OPENED], ids=["task", "with tokens", "round"])
def test_whatever_is_not_the_canonical_form_is_refused(document):
    data = document.canonical
    content = parse_canonical(data)
    assert type(document).from_json(data) == document
    damaged = [data + b" ", data[:-1], b" " + data, json.dumps(content).encode(), b"[]", b"null", b"", b"\xff"]
    damaged += [
        canonical_json({name: value for name, value in content.items() if name != missing}) for missing in content if missing != "default"
    ]
    damaged += [canonical_json(content | {"extra": 1}), canonical_json(content | {"version": 2})]
    for name in content:
        damaged += [canonical_json(content | {name: wrong}) for wrong in (True, -1, [], {}, "\u0000", [["a"]], 1 << 52)]
    accepted = []
    for bad in damaged:
        try:
            accepted.append(type(document).from_json(bad))
        except WireError:
            continue
    # What a changed field may be is another valid document, of another id: never the same one.
    assert all(other.canonical != data for other in accepted)
    assert all(type(document).from_json(other.canonical) == other for other in accepted)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"name": "Morning Drink"}, "name"),
        ({"name": "-a"}, "name"),
        ({"question": ""}, "question"),
        ({"owner": 7}, "owner"),
        ({"statement": "x" * 5000}, "statement"),
        ({"protocol": "text"}, "protocol"),
        ({"key": b"short"}, "key"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"start": -1}, "start"),
        ({"end": 1.5}, "end"),
        ({"end": TASK.start}, "start, end, period"),
        ({"period": 0}, "start, end, period"),
        ({"period": 86_400 * 11}, "start, end, period"),
        ({"answers": 0}, "answers"),
        ({"answers": True}, "answers"),
        ({"minimum_batch": 0}, "minimum_batch"),
        ({"model": "central"}, "model"),
        ({"admission": "friends"}, "admission"),
        ({"admission": True}, "admission"),
        ({"issuer": ISSUER}, "issuer"),
        ({"admission": "secret", "issuer": ISSUER}, "issuer"),
        ({"admission": "token"}, "issuer"),
        ({"admission": "token", "issuer": ISSUER[1:]}, "issuer"),
        ({"admission": "token", "issuer": ISSUER[:-1] + b"\x02"}, "issuer"),
        ({"admission": "token", "issuer": b"\x7f" + ISSUER[1:]}, "issuer"),
        ({"admission": "token", "issuer": ISSUER, "answers": 367}, "answers"),
        ({"admission": "token", "issuer": ISSUER, "retention": 11}, "retention"),
        ({"strata": (("platform", ("phone",)),)}, "strata"),
        ({"strata": (("platform", ("phone", "phone")),)}, "strata"),
        ({"strata": (("a", ("x", "y")), ("a", ("x", "y")))}, "strata"),
        ({"strata": (("", ("x", "y")),)}, "strata"),
        ({"strata": tuple((f"s{i}", ("x", "y")) for i in range(17))}, "strata"),
    ],
)
def test_a_task_that_cannot_be_meant_is_refused_by_name(change, named):
    with pytest.raises(ParameterError) as caught:
        replace(TASK, **change)
    assert caught.value.parameter == named


def test_periods_divide_the_time_of_the_task_without_gap_or_overlap():
    spans = [TASK.period_span(period) for period in range(TASK.period_count)]
    assert TASK.period_count == 11  # ten days and a second
    assert spans[0][0] == TASK.start
    assert spans[-1] == (TASK.end - 1, TASK.end)
    assert all(before[1] == after[0] for before, after in pairwise(spans))
    for period, (start, end) in enumerate(spans):
        assert TASK.period_at(start) == TASK.period_at(end - 0.001) == period
    assert TASK.period_at(TASK.start - 0.001) is None
    assert TASK.period_at(TASK.end) is None


def test_a_task_of_rounds_has_no_clock_and_no_survey():
    searching = replace(TASK, rounds=True, period=0)
    with pytest.raises(ParameterError):
        searching.period_at(TASK.start)
    with pytest.raises(WireError):
        _ = searching.survey


def test_strata_are_numbered_one_to_one():
    numbers = {TASK.stratum({"plan": plan, "platform": platform}) for plan in ("free", "paid") for platform in ("phone", "web", "desk")}
    assert numbers == set(range(TASK.stratum_count)) == set(range(6))
    assert all(TASK.stratum(TASK.stratum_labels(number)) == number for number in numbers)
    assert TASK.stratum({"platform": "web", "plan": "paid"}) == 3  # mixed radix, the first most significant
    assert replace(TASK, strata=()).stratum({}) == 0
    for labels in ({}, {"platform": "web"}, {"platform": "web", "plan": "paid", "age": "9"}, {"platform": "tv", "plan": "paid"}):
        with pytest.raises(DomainError):
            TASK.stratum(labels)


def test_devices_do_not_get_the_candidates():
    question = dn.Question(name="word", spec=dn.OLH(domain=dn.Text(8), epsilon=1.0), candidates=("tea", "coffee"))
    opened = replace(OPENED, round=Round((question,)))
    assert b"coffee" not in opened.canonical
    assert OpenedRound.from_json(opened.canonical).round.questions[0].spec == question.spec


def test_a_scale_that_does_not_fit_the_shares_is_refused():
    with pytest.raises(WireError):
        OpenedRound.from_json(OPENED.canonical.replace(b'"scale":12', b'"scale":13'))
