"""``deniable account`` as a person runs it."""

from __future__ import annotations

import json

import pytest

from deniable.accounting import BudgetFilter, Pure, Repeated, account
from tests.cli.running import run

EVENTS = """
delta = 1e-6
[[event]]
kind = "Pure"
epsilon = 0.1
times = 100
when = 2026-01-05
label = "weekly question"
[[event]]
kind = "Shuffled"
epsilon0 = 2.0
n = 100_000
when = 2026-03-01
"""


def test_the_bill_of_a_list_of_events_with_a_chart(tmp_path):
    (tmp_path / "events.toml").write_text(EVENTS)
    shown = run("account", "events.toml", "--chart", "spent.svg", cwd=tmp_path).stdout
    for words in ("weekly question", "2026-03-01", "epsilon so far", "PLD", "why not", "for neighbors by replace"):
        assert words in shown
    assert "<svg" in (tmp_path / "spent.svg").read_text()


def test_the_bill_as_data(tmp_path):
    (tmp_path / "events.toml").write_text(EVENTS)
    content = json.loads(run("account", "events.toml", "--json", cwd=tmp_path).stdout)
    alone = account(Repeated(event=Pure(epsilon=0.1), times=100), delta=1e-6)
    assert [step["label"] for step in content["events"]] == ["weekly question", "Shuffled"]
    assert content["events"][0]["epsilon"] == alone.epsilon
    assert alone.epsilon < content["epsilon"] == content["epsilons"]["PLD"] < content["epsilons"]["basic"]
    assert "Shuffled" in content["refusals"]["zCDP"]
    tighter = json.loads(run("account", "events.toml", "--json", "--delta", "1e-9", cwd=tmp_path).stdout)
    assert tighter["epsilon"] > content["epsilon"]


def test_the_bill_of_a_ledger(tmp_path):
    book = BudgetFilter(tmp_path / "book.ledger", epsilon=1.0, neighbors="add-remove")
    for i in range(3):
        book.reserve(f"q{i}", Pure(epsilon=0.1, neighbors="add-remove"))
    content = json.loads(run("account", "book.ledger", "--json", cwd=tmp_path).stdout)
    assert (content["epsilon"], content["certificate"]) == (0.3, "basic")
    assert "budget is epsilon 1.0" in content["caveat"]
    with open(book.path, "ab") as file:
        file.write(b'{"bo')
    assert "unfinished last line of 4 bytes" in json.loads(run("account", "book.ledger", "--json", cwd=tmp_path).stdout)["caveat"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["[[event]]"]),
        ("delta = 'much'", ["[[event]]"]),
        ("[[event]]\nkind = 'Pur'\nepsilon = 1.0", ["Pur", "Pure"]),
        ("[[event]]\nkind = 'Pure'\nepsilon = -1.0", ["epsilon", "-1.0"]),
        ("[[event]]\nkind = 'Pure'\nepsilon = 1.0\ntimes = 0", ["times"]),
        ("[[event]]\nkind = 'Pure'\nepsilon = 1.0\nwhen = 5", ["when", "date"]),
        ("[[event]]\nkind = 'Gaussian'\nsigma = 1.0", ["delta"]),
        ("delta = 1e-6\n[[event]]\nkind = 'Pure'\nepsilon = 1.0\n[[event]]\nkind = 'Gaussian'\nsigma = 1.0", ["relation", "Replaced"]),
        ("not toml", ["TOML"]),
        ('{"body": 1}\n', ["line 1"]),
    ],
)
def test_mistakes_are_told_in_one_line(text, words, tmp_path):
    (tmp_path / "events.toml").write_text(text)
    told = " ".join(run("account", "events.toml", cwd=tmp_path, status=2).stderr.split())
    for word in words:
        assert word in told
