"""Answers of a collector mark what is significant, and a search that names nothing says why, in JSON, Parquet and on the page."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import deniable as dn
from deniable.cli.answer_tables import print_answer
from deniable.collect.analysis.answer import charts_of, parquet_of
from deniable.collect.analysis.shares import Shares
from deniable.collect.analysis.tables import Tables, reports_behind
from deniable.collect.dashboard.question_view import tell
from deniable.contract.subsets import Subsets
from deniable.tasks.itemsets import SVSM
from deniable.testing import ReplaySource


def listed():
    spec = dn.GRR(domain_size=30, epsilon=1.0)
    return spec.estimate(spec.tally(spec.privatize([0] * 2000 + [1] * 2000, source=ReplaySource.from_key("listed"))))


def nothing():
    values = np.random.default_rng(0).integers(0, 2**32, 300, dtype=np.uint64)
    return dn.PEM(bits=32, k=5, epsilon=1.0, people=300).run(values, source=ReplaySource.from_key("none"))["heavy_hitters"]


def page(estimate):
    return str(tell("q", estimate, 0, picture="/chart.svg", titled=True).section)


def test_rows_of_a_list_are_marked():
    answer = Shares().estimate_json("q", listed())
    assert [row["value"] for row in answer["rows"] if row["significant"]] == [0, 1]
    assert len(answer["rows"]) == 30
    assert "notes" not in answer
    shown = page(listed())
    assert shown.count("(may be noise)") == 18  # of the 20 that are shown
    assert "Shares that may be noise" in shown


def test_a_search_without_a_result_explains_itself():
    answer = Shares().estimate_json("q", nothing())
    assert answer["rows"] == []
    [note] = answer["notes"]
    assert note.startswith("nothing was found: none of ")
    assert "one that 10 % hold takes about" in note
    assert "Nothing was found: none of" in page(nothing())
    content = {"answers": [answer]}
    assert parquet_of(content)
    assert charts_of(content)


def test_sets_that_are_none_are_still_shown_to_be_none():
    """The reports behind an empty table are those of the people who counted, so the answer is not withheld for having none."""
    empty = SVSM(domain=Subsets(dn.IndexRange(20)), k=3, epsilon=1.0).run([[]] * 400, source=ReplaySource.from_key("sets"))["itemsets"]
    assert empty.values == []
    assert reports_behind(empty) > 50
    answer = Tables().estimate_json("itemsets", empty)
    assert answer["about"][-1].startswith("nothing was found: none of")


def test_a_search_that_drops_nothing_prints_the_interval_of_each_value(capsys):
    """Where every candidate stays, each row has its own interval, and the caption must not promise more."""
    spec = dn.GRR(domain_size=2, epsilon=2.0)
    both = spec.estimate(spec.tally(spec.privatize([0, 1] * 1000, source=ReplaySource.from_key("both")))).found([0, 1], share=Fraction(1))
    answer = Shares().estimate_json("q", both)
    assert "each value on its own" in answer["interval"]
    print_answer({"name": "n", "question": "?", "answers": [answer], "withheld": [], "provisional": False}, 10)
    shown = " ".join(capsys.readouterr().out.split())
    assert "95 % intervals of each value; 2 candidates were tested" in shown
