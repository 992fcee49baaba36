"""Shuffle trust in a task: every part of it is part of the task's meaning, and what would split the crowd is refused."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

import deniable as dn
from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.contract.mixing import Mixing, Relay, Threshold
from deniable.contract.task import Task
from deniable.errors import ParameterError, WireError
from tests.contract.test_task import TASK, WITH_TOKENS

RELAY, OTHER = Relay("https://one.example.org", bytes([1]) * 32), Relay("http://127.0.0.1:8100/mix", bytes([2]) * 32)
MIXING = Mixing(epsilon=0.25, delta=1e-6, minimum=1000, shufflers=(RELAY,), size=65)
SHUFFLED = replace(TASK, strata=(), model="shuffle", mixing=MIXING)
TWO = dn.Survey.of(drink=dn.GRR(domain_size=4, epsilon=1.0), smoker=dn.RR(epsilon=1.0))


def test_a_task_of_local_trust_keeps_its_bytes_and_its_id():
    """Devices have pinned them."""
    assert TASK.id.hex() == "006bdf01fac6b6d0b2d050ebc587071e2272172c52150d089a6aca0af62e403e"
    assert WITH_TOKENS.id.hex() == "d7b3629f681dbac474a05e47f96f63fb2cb9e96a23eed0838746ed44e6523c8a"
    assert "mixing" not in parse_canonical(TASK.canonical)


def test_every_part_of_the_mixing_is_part_of_the_meaning():
    others = {
        "epsilon": 0.5, "delta": 1e-7, "minimum": 1001, "shufflers": (RELAY, OTHER), "size": 66, "honest": "9/10",
        "threshold": Threshold(minimum=20, sigma="2.5"),
    }  # fmt: skip
    assert set(others) == {field.name for field in fields(Mixing)}
    tasks = [replace(SHUFFLED, mixing=replace(MIXING, **{name: value})) for name, value in others.items()]
    tasks.append(replace(SHUFFLED, mixing=replace(MIXING, shufflers=(OTHER, RELAY))))
    assert len({task.id for task in (*tasks, SHUFFLED, TASK)}) == len(tasks) + 2
    assert [Task.from_json(task.canonical) for task in tasks] == tasks


def test_whatever_is_not_the_canonical_form_of_a_mixing_is_refused():
    full = replace(SHUFFLED, mixing=replace(MIXING, threshold=Threshold(minimum=20, sigma="2.5")))
    content = parse_canonical(full.canonical)
    mixing = content["mixing"]
    damaged = [{name: value for name, value in mixing.items() if name != missing} for missing in mixing if missing != "threshold"]
    damaged += [mixing | {name: wrong} for name in mixing for wrong in (True, -1, [], {}, "", "x", [["a"]], "1e400", "0.250")]
    damaged += [mixing | {"extra": 1}, mixing | {"honest": "2/2"}, mixing | {"delta": "0.000001"}, [], "x"]
    for bad in damaged:
        with pytest.raises(WireError):
            Task.from_json(canonical_json(content | {"mixing": bad}))
    for missing in ("mixing", "model"):
        with pytest.raises(WireError):
            Task.from_json(canonical_json({name: value for name, value in content.items() if name != missing}))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"model": "local"}, "model"),
        ({"mixing": None}, "model"),
        ({"model": "central"}, "model"),
        ({"rounds": True}, "protocol"),
        ({"protocol": TWO.canonical}, "protocol"),
        ({"strata": TASK.strata}, "strata"),
        ({"answers_per_period": 2}, "answers_per_period"),
        ({"admission": "token", "issuer": WITH_TOKENS.issuer, "seeds": "assigned"}, "seeds"),
        ({"key": RELAY.key}, "shufflers"),
        ({"admission": "secret"}, "admission"),  # each person could be given another
        ({"late": 4}, "late"),  # what the shuffler lets go at the end of a period would never be counted
    ],
)
def test_what_would_split_the_crowd_or_join_the_parties_is_refused(change, named):
    with pytest.raises(ParameterError) as caught:
        replace(SHUFFLED, **change)
    assert caught.value.parameter == named


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"minimum": 1}, "minimum"),
        ({"minimum": 2**16}, "minimum"),
        ({"minimum": True}, "minimum"),
        ({"size": 63}, "size"),
        ({"shufflers": ()}, "shufflers"),
        ({"shufflers": (RELAY, Relay("https://two.example.org", RELAY.key))}, "shufflers"),
        ({"shufflers": [RELAY]}, "shufflers"),
        ({"shufflers": ("https://one.example.org",)}, "shufflers"),
        ({"honest": "11/10"}, "honest"),
        ({"honest": "0"}, "honest"),
        ({"honest": "1/0"}, "honest"),
        ({"honest": "0.9"}, "honest"),
        ({"honest": 1}, "honest"),
        ({"threshold": 20}, "threshold"),
    ],
)
def test_a_mixing_that_cannot_be_meant_is_refused_by_name(change, named):
    with pytest.raises(ParameterError) as caught:
        replace(MIXING, **change)
    assert caught.value.parameter == named


@pytest.mark.parametrize(
    "url", ["", "ftp://a.org", "https://", "https://a.org/", "https://a@b.org", "https://a.org?x=1", "https://a.org#x"]
)
def test_a_shuffler_has_a_plain_address(url):
    with pytest.raises(ParameterError):
        Relay(url, bytes(32))


@pytest.mark.parametrize(
    ("minimum", "sigma"), [(0, "1"), (20, "0"), (20, "2.50"), (20, "1e3"), (20, 2.5), (True, "1"), (20, "-1"), (20, "01")]
)
def test_a_threshold_is_a_count_and_a_decimal_in_text(minimum, sigma):
    with pytest.raises(ParameterError):
        Threshold(minimum=minimum, sigma=sigma)


def test_people_are_rounded_down():
    assert [replace(MIXING, honest="9/10").people(count) for count in (0, 9, 10, 11, 1999)] == [0, 8, 9, 9, 1799]
    assert MIXING.people(1000) == 1000
