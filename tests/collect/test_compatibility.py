"""Which edits change what a task means, and which leave it as it was."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from deniable.collect.tasks import compatibility
from deniable.collect.tasks.compatibility import changes_of_meaning
from deniable.collect.tasks.task_file import read_task
from deniable.contract.task import Task

KEY = bytes(32)
BASE = """
name = "morning-drink"
question = "What do you drink?"
owner = "research@example.org"
epsilon = 1.0
weak_privacy = true
start = 2026-12-01
end = 2027-01-01
period = "1 day"
answers = 7
minimum_batch = 100
default = "water"
retention = "90 days"
late = "1 hour"

[domain]
categories = ["tea", "coffee", "water"]

[mechanism]
name = "OLH"
hash_range = 8

[strata]
platform = ["phone", "web"]
age = ["young", "old"]
"""
OPEN = BASE.replace('categories = ["tea", "coffee", "water"]', 'text = 8\ncandidates = ["tea", "water"]')
SEARCH = """
name = "words"
question = "Which word?"
owner = "research@example.org"
epsilon = 2.0
lasts = "30 days"
people = 5000
[domain]
text = 6
[search]
protocol = "PEM"
k = 8
"""
SEVERAL = """
name = "habits"
question = "What do you do?"
owner = "research@example.org"
epsilon = 1.0
lasts = "30 days"
[[questions]]
name = "drink"
domain = { range = 4 }
mechanism = "GRR"
[[questions]]
name = "smoker"
domain = { yes_no = true }
mechanism = "RR"
"""


def read(text):
    return read_task(text.encode(), key=KEY, now=1_795_000_000.0)


def changes(text, *edits):
    new = text
    for old, edited in edits:
        assert old in new
        new = new.replace(old, edited)
    return changes_of_meaning(read(text), read(new))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            '"What do you drink?"',
            '"What do you like to drink?"',
            "the question's text: What do you drink? became What do you like to drink?",
        ),
        ('"tea", "coffee"', '"coffee", "tea"', 'the domain: {"kind": "categories", "labels": ["tea"'),
        ('"coffee", "water"', '"coffee", "water", "beer"', "the domain"),
        ('name = "OLH"\nhash_range = 8', 'name = "OUE"', "the mechanism: OLH became OUE"),
        ("hash_range = 8", "hash_range = 9", "the mechanism's hash_range: 8 became 9"),
        ("epsilon = 1.0", "epsilon = 1.5", "epsilon: 1.0 became 1.5"),
        ("epsilon = 1.0", "epsilon = 0.5", "epsilon: 1.0 became 0.5"),
        ('period = "1 day"', 'period = "12 hours"', "the period: 1 day became 12 hours"),
        ("answers = 7", "answers = 8", "the answers of a person: 7 became 8"),
        ("answers = 7", "answers = 7\nanswers_per_period = 2", "the answers of a person in a period: 1 became 2"),
        ("minimum_batch = 100", "minimum_batch = 99", "the smallest crowd that anything is shown about: 100 became 99"),
        ('retention = "90 days"', 'retention = "91 days"', "the days for which reports are kept: 90 became 91"),
        ('default = "water"', 'default = "tea"', "what a device sends without an answer: 'water' became 'tea'"),
        ('default = "water"\n', "", "what a device sends without an answer: 'water' became nothing"),
        ('["phone", "web"]', '["web", "phone"]', "the labels of platform"),
        ('age = ["young", "old"]\n', "", "age is no longer asked for"),
        ('age = ["young", "old"]\n', 'age = ["young", "old"]\nsex = ["f", "m"]\n', "sex is asked for, in the clear"),
        (
            'platform = ["phone", "web"]\nage = ["young", "old"]\n',
            'age = ["young", "old"]\nplatform = ["phone", "web"]\n',
            "the order of the strata",
        ),
    ],
)
def test_what_changes_the_meaning(old, new, words):
    assert any(change.startswith(words) for change in changes(BASE, (old, new))), changes(BASE, (old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("end = 2027-01-01", "end = 2027-02-01"),
        ("end = 2027-01-01", "end = 2026-12-20"),
        ("start = 2026-12-01", "start = 2026-12-02"),
        ("research@", "privacy@"),
        ("minimum_batch = 100", "minimum_batch = 101"),
        ('retention = "90 days"', 'retention = "89 days"'),
        ("answers = 7", "answers = 6"),
        ('late = "1 hour"', 'late = "2 hours"'),
        ("answers = 7", 'answers = 7\nnote = "Thank you."'),
        ("answers = 7", "answers = 7\npeople = 77"),  # the mechanism is named: nothing is chosen
    ],
)
def test_what_does_not(old, new):
    assert changes(BASE, (old, new)) == []
    assert read(BASE.replace(old, new)).answers <= 7  # and it is read: no edit is lost


def test_a_task_that_is_counted_once_may_end_later():
    once = ('period = "1 day"\nanswers = 7', "")
    assert changes(BASE.replace(*once), ("end = 2027-01-01", "end = 2027-02-01")) == []
    assert changes(BASE, once) == ["the period: 1 day became the whole time"]


def test_candidates_are_part_of_the_meaning():
    (change,) = changes(OPEN, ('["tea", "water"]', '["tea", "water", "maté"]'))
    assert change == 'the candidates: ["tea", "water"] became ["tea", "water", "maté"]'


def test_defaults_of_different_types_are_different():
    old = replace(read(BASE), default=1)
    assert changes_of_meaning(old, replace(old, default="1")) == ["what a device sends without an answer: 1 became '1'"]
    assert changes_of_meaning(old, replace(old, default=b"1"))
    assert changes_of_meaning(replace(old, default="nothing"), replace(old, default=None))


def test_searches_by_their_settings():
    assert changes(SEARCH, ("k = 8", "k = 9"))[0].startswith("the protocol's k: 8 became 9")
    assert changes(SEARCH, ("text = 6", "text = 5"))[0].startswith("the protocol's ")
    assert any(change.startswith("the protocol's domain: ") for change in changes(SEARCH, ("text = 6", "text = 5")))
    assert changes(SEARCH, ('protocol = "PEM"', 'protocol = "TreeHist"')) == ["the way of asking: PEM became TreeHist"]
    assert changes(SEARCH, ("k = 8", 'k = 8\nround = "1 hour"')) == ["the period: until closed by hand became 1 hour"]
    assert changes(SEARCH, ("epsilon = 2.0", "epsilon = 1.0"))[0] == "epsilon: 2.0 became 1.0"
    assert changes(SEARCH, ('lasts = "30 days"', 'lasts = "60 days"')) == []


def test_questions_by_name():
    more = SEVERAL + '[[questions]]\nname = "age"\ndomain = { range = 9 }\n'
    found = changes_of_meaning(read(SEVERAL), read(more))
    assert "the question 'age' is new" in found
    assert "the share of 'drink': 1/2 became 1/3" in found
    assert "the question 'age' is gone" in changes_of_meaning(read(more), read(SEVERAL))
    (change,) = changes(SEVERAL, ("range = 4", "range = 5"))
    assert change.startswith("the domain of 'drink'")
    head, first, second = SEVERAL.split("[[questions]]")
    assert changes_of_meaning(read(SEVERAL), read("[[questions]]".join([head, second, first]))) == ["the order of the questions"]


def test_thresholds_that_differ_at_equal_parameters_are_named():
    """As from a release that rounds otherwise: the law on the devices is another one."""
    old = read(BASE)
    threshold = next(part for part in old.protocol.decode().split('"thresholds":{')[1].split("}")[0].split(","))
    name, value = threshold.split(":")
    new = replace(old, protocol=old.protocol.replace(threshold.encode(), f'{name}:"{int(value.strip(chr(34))) - 1}"'.encode()))
    (change,) = changes_of_meaning(old, new)
    assert change.startswith("the mechanism's thresholds: ")


def test_key_and_rounds():
    old = read(BASE)
    assert changes_of_meaning(old, replace(old, key=bytes(31) + b"\1"))[0].startswith("the collector's key")
    assert changes_of_meaning(old, replace(old, rounds=True))[0] == "whether there are rounds: False became True"
    assert changes_of_meaning(old, replace(old, name="other")) == ["the name: morning-drink became other"]


def test_every_field_of_a_task_has_been_thought_of():
    """A new field must be put into one of the groups before anything can be published under an old name."""
    groups = [
        *compatibility.HARMLESS,
        *compatibility.SAME,
        *compatibility.LOWERED_ONLY,
        *compatibility.RAISED_ONLY,
        *compatibility.SPECIAL,
    ]
    assert sorted(groups) == sorted(field.name for field in fields(Task))


def test_who_is_counted_may_not_change_and_every_task_has_its_own_issuer():
    tokens = BASE.replace("answers = 7", 'answers = 7\nadmission = "token"')
    assert changes(BASE, ("answers = 7", 'answers = 7\nadmission = "token"')) == ["who is counted: open became token"]
    assert changes_of_meaning(read(tokens), replace(read(tokens), issuer=b"\x80" + bytes(254) + b"\x01")) == []
