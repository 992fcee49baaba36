"""Answers of a collector mark what is significant, and a search that names nothing says why, in JSON, Parquet and on the page."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

import deniable as dn
from deniable.cli.answer_tables import print_answer
from deniable.collect.analysis.answer import AskedQuestion, parquet_of
from deniable.collect.analysis.disclosure import reports_behind
from deniable.collect.analysis.presentation import charts_of
from deniable.collect.dashboard.question_view import tell
from deniable.contract.readable import between, digits
from deniable.contract.subsets import Subsets
from deniable.tasks.itemsets import SVSM
from deniable.testing import ReplaySource
from tests.collect.rows import rows_of


def listed():
    spec = dn.GRR(domain_size=30, epsilon=1.0)
    return spec.estimate(spec.tally(spec.privatize([0] * 2000 + [1] * 2000, source=ReplaySource.from_key("listed"))))


def nothing():
    values = np.random.default_rng(0).integers(0, 2**32, 300, dtype=np.uint64)
    return dn.PEM(bits=32, k=5, epsilon=1.0, people=300).run(values, source=ReplaySource.from_key("none"))


def asked(estimate):
    return AskedQuestion("q", "GRR", estimate.guarantee)


def page(estimate):
    return str(tell(asked(estimate), estimate, 0, picture="/chart.svg?question=0", titled=True).section)


def test_rows_of_a_list_are_marked():
    answer = asked(listed()).answer(listed())
    assert len(rows_of(answer)) == 30
    assert answer["estimate"]["notes"] == []
    some = rows_of(asked(listed()).answer(listed().shortened(20)))
    assert [row["value"] for row in some if row["significant"]] == [0, 1]
    assert [page(listed()).count(f"<td>{mark}</td>") for mark in ("no", "yes")] == [18, 2]  # of the 20 that are shown
    assert "the first 20 of 30 rows" in page(listed())


def test_on_a_page_the_largest_come_first_with_limits_that_hold_together():
    """Also where all values are shown, but for yes and no: of two values one says what the other does."""
    few, two = (dn.GRR(domain_size=size, epsilon=2.0) for size in (4, 2))
    for spec, together in ((few, True), (two, False)):
        found = spec.estimate(spec.tally(spec.privatize([0] * 900 + [1] * 100, source=ReplaySource.from_key("few"))))
        low, high = found.interval(0.95, simultaneous=together)
        assert between(low[0] / 1000, high[0] / 1000, digits((high[0] - low[0]) / 1000)) in page(found)
        assert ("for all 4 values together" in page(found)) == together
        assert ("significant" in page(found)) == together


def test_a_search_without_a_result_explains_itself():
    answer = asked(nothing()).answer(nothing())
    assert rows_of(answer) == []
    [note] = answer["estimate"]["notes"]
    assert note.startswith("nothing was found: none of ")
    assert "one that 10 % hold takes about" in note
    assert "Nothing was found: none of" in page(nothing())
    content = {"answers": [answer]}
    assert parquet_of(content)
    assert charts_of(content)


def test_sets_that_are_none_are_still_shown_to_be_none():
    """The reports behind an empty table are those of the people who counted, so the answer is not withheld for having none."""
    empty = SVSM(domain=Subsets(dn.IndexRange(20)), k=3, epsilon=1.0).run([[]] * 400, source=ReplaySource.from_key("sets"))
    assert empty.values == []
    assert reports_behind(empty) > 50
    answer = asked(empty).answer(empty)
    assert answer["estimate"]["notes"][-1].startswith("nothing was found: none of")


def test_a_search_that_drops_nothing_prints_the_interval_of_each_value(capsys):
    """Where every candidate stays, each row has its own interval, and the caption must not promise more."""
    spec = dn.GRR(domain_size=2, epsilon=2.0)
    both = spec.estimate(spec.tally(spec.privatize([0, 1] * 1000, source=ReplaySource.from_key("both")))).found([0, 1], share=Fraction(1))
    answer = asked(both).answer(both)
    assert (answer["estimate"]["together"], answer["estimate"]["level"]) == (False, 0.95)
    print_answer({"name": "n", "question": "?", "answers": [answer], "withheld": [], "provisional": False}, 10)
    shown = " ".join(capsys.readouterr().out.split())
    assert "low and high: 95 %, noise only" in shown
    assert "2 candidates were tested" in shown
