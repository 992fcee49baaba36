"""Changes of frequencies, tables and charts, from small estimates whose every figure can be worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.client import Hybrid
from deniable.contract.guarantee import Guarantee
from deniable.core.chart import check_ending, stacked
from deniable.core.frequency import FrequencyEstimate
from deniable.core.saved import estimate_from_json
from deniable.core.supports import Supports
from deniable.core.table import Table
from deniable.errors import MergeError, ParameterError
from deniable.testing import ReplaySource
from tests.estimates import of_scores, of_supports, with_law

SPEC = dn.GRR(domain_size=3, epsilon=1.0)
P, Q = np.array(0.75), np.array(0.25)
FIRST = of_supports(SPEC, ["a", "b", "c"], 8000, np.array([3000, 2500, 4000]), P, Q)  # counts 2000, 1000, 4000
SECOND = of_supports(SPEC, ["a", "b", "c"], 6000, np.array([3300, 2900, 1600]), P, Q)  # counts 3600, 2800, 200


def frequency_variance(frequency, n):
    """Of (I / n - q) / (p - q), people being drawn at random."""
    return stats.binom.var(n, 0.25 + frequency / 2) / n**2 / 0.25


def test_a_change_is_the_second_less_the_first():
    change = FIRST.compare(SECOND)
    assert change.difference.tolist() == pytest.approx([0.35, 2.8 / 6 - 0.125, 0.2 / 6 - 0.5])
    errors = [
        np.sqrt(frequency_variance(a, 8000) + frequency_variance(b, 6000))
        for a, b in zip([0.25, 0.125, 0.5], [0.6, 2.8 / 6, 0.2 / 6], strict=True)
    ]
    assert change.stderr.tolist() == pytest.approx(errors)
    for simultaneous, z in ((False, stats.norm.isf(0.02)), (True, stats.norm.isf(0.02 / 3))):
        low, high = change.interval(0.96, simultaneous=simultaneous)
        assert (high - change.difference).tolist() == pytest.approx([z * error for error in errors])
        assert (change.difference - low).tolist() == pytest.approx([z * error for error in errors])
    rows = change.rows()
    assert rows["before"].tolist() == pytest.approx([0.25, 0.125, 0.5])
    assert rows["low"].tolist() == change.interval(0.95, simultaneous=True)[0].tolist()
    assert repr(change).startswith("Comparison of 8,000 with 6,000 reports")


def test_no_change_is_tested_with_the_variance_that_no_change_implies():
    close = with_law(SECOND, supports=np.array([2310, 1900, 2950]))
    change, pooled = FIRST.compare(close), (FIRST.counts + close.counts) / 14_000
    spread = [np.sqrt(frequency_variance(f, 8000) + frequency_variance(f, 6000)) for f in pooled]
    expected = 2 * stats.norm.sf(np.abs(close.counts / 6000 - FIRST.counts / 8000) / spread)
    assert change.p_values.tolist() == pytest.approx(expected.tolist())
    assert np.all(expected > 1e-4)
    first, second, third = np.sort(expected)
    assert np.sort(change.adjusted).tolist() == pytest.approx(
        [3 * first, max(3 * first, 2 * second), min(1.0, max(3 * first, 2 * second, third))]
    )
    assert change.changed(float(change.adjusted[0])) == [
        value for value, p in zip("abc", change.adjusted, strict=True) if p <= change.adjusted[0]
    ]
    assert change.order().tolist() == np.argsort(expected).tolist()


def test_what_rose_and_what_fell_comes_with_the_clearest_first():
    change = FIRST.compare(SECOND)
    clearest = [change.values[i] for i in np.argsort(change.p_values, kind="stable")]
    assert change.risen() == [value for value in clearest if value != "c"]
    assert change.fallen() == ["c"]
    assert sorted(change.risen() + change.fallen()) == sorted(change.changed())
    assert SECOND.compare(FIRST).risen() == ["c"]
    assert FIRST.compare(FIRST).risen() == FIRST.compare(FIRST).fallen() == []
    with pytest.raises(ParameterError, match="alpha"):
        change.risen(5)


def test_who_answers_for_both_sides_pays_for_both():
    paid = [replace(each, guarantee=Guarantee(epsilon=epsilon)) for each, epsilon in ((FIRST, 1.0), (SECOND, 0.5))]
    assert paid[0].compare(paid[1]).cost == 1.5
    assert paid[0].compare(replace(SECOND, guarantee=None)).cost is None


def test_a_change_of_times_is_a_distance_also_by_itself_and_read_back():
    morning, noon = (moments(hour).only("mean") for hour in (3, 12))
    change = morning.compare(noon)
    for found in (change, estimate_from_json(change.to_json())):
        assert abs(found.only("mean").value - timedelta(hours=9)) < timedelta(minutes=30)
        assert found.only("mean").interval() == change.interval()


def moments(hour):
    spec = Hybrid(low=datetime(2024, 1, 1), high=datetime(2024, 1, 2), epsilon=8.0)
    reports = spec.privatize([datetime(2024, 1, 1, hour)] * 4000, source=ReplaySource.from_key(str(hour)))
    return spec.estimate(spec.tally(reports))


def test_counts_are_not_compared_with_changes():
    with pytest.raises(MergeError, match="quantity: got 'change'; allowed: count"):
        FIRST.only("a").compare(FIRST.compare(SECOND).only("a"))


def test_holms_p_values_never_fall_and_end_at_one():
    class Known(Supports):
        def exact_test(self, other):
            return np.array([0.4, 0.01, 0.011])

    laws = [Known(40, np.array([10, 12, 18]), P, Q) for _ in range(2)]
    few = [FrequencyEstimate.of(SPEC, ["a", "b", "c"], law, family_size=5) for law in laws]
    assert few[0].compare(few[1]).adjusted.tolist() == pytest.approx([1.0, 0.05, 0.05])  # 5 x 0.01; 4 x 0.011 is less; 3 x 0.4 is above 1
    assert few[0].compare(few[1]).changed(0.05) == ["b", "c"]


def test_collisions_are_tested_by_bernsteins_inequality():
    """What one collision changes a frequency by adds up over the two sides: 40 / 8000 + 30 / 6000."""
    first, second = with_law(FIRST, jump=40.0), with_law(SECOND, jump=30.0, supports=np.array([2500, 1900, 2700]))
    change, pooled = first.compare(second), (first.counts + second.counts) / 14_000
    variance = np.array([frequency_variance(f, 8000) + frequency_variance(f, 6000) for f in pooled])
    x = np.abs(change.difference)
    assert change.p_values.tolist() == pytest.approx(np.minimum(1, 2 * np.exp(-(x**2) / (2 * (variance + 0.01 * x / 3)))).tolist())
    assert np.sum(change.p_values < 0.1) == 2
    low, high = change.interval(0.96)
    for reach in (high - change.difference, change.difference - low):
        assert 2 * np.exp(-(reach**2) / (2 * (change.stderr**2 + 0.01 * reach / 3))) == pytest.approx(0.04)


def test_changes_of_few_lie_within_the_limits_of_both_sides():
    first, second = with_law(FIRST, n=80, supports=np.array([30, 25, 40])), with_law(SECOND, n=60, supports=np.array([33, 29, 16]))
    low, high = first.compare(second).interval(0.96)
    (a, b), (c, d) = (side.interval(0.98, population=True) for side in (first, second))
    assert (low.tolist(), high.tolist()) == (pytest.approx((c / 60 - b / 80).tolist()), pytest.approx((d / 60 - a / 80).tolist()))
    mixed = FIRST.compare(second)  # one side with few is enough
    assert mixed.p_values.tolist() == FIRST.law.exact_test(second.law).tolist()
    nobody = with_law(SECOND, n=0, supports=np.zeros(3, dtype=int))
    for change in (FIRST.compare(nobody), nobody.compare(FIRST)):
        assert change.p_values.tolist() == [1, 1, 1]
        assert [limit.tolist() for limit in change.interval()] == [[-1] * 3, [1] * 3]
    one = with_law(SECOND, n=1, supports=np.array([1, 0, 0]))
    assert FIRST.compare(one).p_values.tolist() == FIRST.law.exact_test(one.law).tolist() != [1, 1, 1]
    assert FIRST.compare(one).interval(0.96)[0].tolist() != [-1, -1, -1]
    with pytest.raises(MergeError, match="same values"):
        FIRST.compare(SECOND.select([0, 1]))
    with pytest.raises(ParameterError, match="same kind, frequency"):
        FIRST.compare(FIRST.counts)


def test_just_enough_noise_on_both_sides_is_plenty():
    def scores(variance):
        return of_scores(SPEC, ["a"], 1000, np.array([0.0]), np.array([variance]), slope=0.0, reach=1.0, worst=1.0)

    assert scores(1000.0).law.enough == 1000
    assert scores(1000.0).compare(scores(1000.0)).interval(0.96)[1][0] == pytest.approx(stats.norm.isf(0.02) * np.sqrt(2000) / 1000)
    few = scores(1000.0).compare(
        with_law(scores(999.0), sums=np.array([250.0]))
    )  # no exact test of sums: p is where the interval ends at 0
    assert few.interval(1 - 0.999 * few.p_values[0])[0] <= 0 < few.interval(1 - 1.001 * few.p_values[0])[0]


def test_top_and_errors_of_an_estimate():
    assert FIRST.stderr.tolist() == pytest.approx([np.sqrt(8000 * 3 / 16) / 0.5] * 3)  # p (1 - p) = q (1 - q) here
    assert FIRST.frequency_stderr.tolist() == pytest.approx([np.sqrt(1500) * 2 / 8000] * 3)
    assert with_law(FIRST, n=0, supports=np.zeros(3)).frequency_stderr.tolist() == [0, 0, 0]
    one = with_law(FIRST, n=1, supports=np.array([1, 0, 0]))
    assert (one.frequencies.tolist(), one.frequency_stderr.tolist()) == (one.counts.tolist(), one.stderr.tolist())
    rare = of_supports(SPEC, ["a"], 100, np.array([5]), np.array(0.5), np.array(0.1))  # fewer than nobody: the error of nobody
    assert rare.stderr.tolist() == pytest.approx([np.sqrt(9) / 0.4])
    assert [limit.tolist() for limit in rare.interval(simultaneous=True)] == [limit.tolist() for limit in rare.interval()]
    assert ("together" in FIRST.top(1).headline(), "together" in FIRST.headline()) == (True, False)
    assert {name: list(column) for name, column in FIRST.rows().items()} == {
        "value": ["a", "b", "c"], "count": [2000, 1000, 4000], "stderr": list(FIRST.stderr), "low": list(FIRST.interval(0.95)[0]),
        "high": list(FIRST.interval(0.95)[1]), "frequency": [0.25, 0.125, 0.5],
    }  # fmt: skip
    assert [list(FIRST.top(k).values) for k in (1, 2, 9)] == [["c"], ["c", "a"], ["c", "a", "b"]]
    assert (len(FIRST.top().values), FIRST.epsilon, FIRST.order().tolist()) == (3, 1.0, [2, 0, 1])
    assert FIRST.interval(0.95)[0].tolist() == FIRST.interval()[0].tolist()
    assert FIRST.bound()[0].tolist() == FIRST.bound(0.95, "bernstein")[0].tolist()
    for wrong in (0, -1, True, 1.5):
        with pytest.raises(ParameterError, match="k"):
            FIRST.top(wrong)
    for nobody in (with_law(FIRST, n=0).interval(), with_law(FIRST, n=0).bound()):
        assert [limit.tolist() for limit in nobody] == [[0] * 3, [0] * 3]


# --- views ---


@dataclass(eq=False, repr=False)
class Shown(Table):
    values: list[Any]

    def rows(self):
        return {"value": list(self.values), "x": np.arange(float(len(self.values)))}

    def headline(self):
        return "head"

    def order(self):
        return np.arange(len(self.values))[::-1]


def test_tables_show_ten_rows_in_their_order_and_say_how_many_are_left():
    assert repr(Shown(["long name", "b"])) == "head\nvalue      x\nb          1\nlong name  0"
    assert [len(repr(Shown(list(range(size)))).splitlines()) for size in (9, 10, 11, 1500)] == [11, 12, 13, 13]
    assert repr(Shown(list(range(1500)))).splitlines()[-1] == "... and 1,490 more"
    html = Shown(["<a>", "b"])._repr_html_()
    assert html.index("<td style='text-align:left'>b</td><td style='text-align:right'>1</td>") < html.index("&lt;a&gt;")
    assert "<p>... and 1 more</p>" in Shown(list(range(11)))._repr_html_()


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (999.4, "999"),
        (1000.0, "1,000"),
        (-1234.6, "-1,235"),
        (1e15, "1e+15"),
        (9e14, "900,000,000,000,000"),
        (0.012345, "0.0123"),
    ],
)
def test_numbers_in_tables_are_short(number, text):
    @dataclass(eq=False, repr=False)
    class One(Shown):
        def rows(self):
            return {"value": ["a\nb"], "x": np.array([number])}

    assert repr(One([1])).splitlines()[2].split() == [r"'a\nb'", text]


def test_integers_of_64_bits_keep_their_type():
    kinds = {(0, 2**63 - 1): "int64", (0, 2**63): "uint64", (-1, 2**63 - 1): "int64", (-1, 2**63): "decimal128(20, 0)", (-5, 5): "int64"}
    assert {values: str(Shown(list(values)).to_arrow()["value"].type) for values in kinds} == kinds
    assert Shown([]).to_arrow().num_rows == 0


def records(chart):
    return chart.to_dict()["data"]["values"]


def test_charts_hold_what_was_estimated():
    low, high = FIRST.interval(0.95)
    expected = [
        {"value": v, "count": c, "low": pytest.approx(a), "high": pytest.approx(b)}
        for v, c, a, b in zip("abc", FIRST.counts, low, high, strict=True)
    ]
    assert records(FIRST.chart()) == [expected[2], expected[0], expected[1]]  # the largest first
    picked = FIRST.chart(2)
    assert records(picked)[0]["low"] == pytest.approx(FIRST.interval(0.95, simultaneous=True)[0][2])  # picked: all together
    assert "hold together" in picked.to_dict()["title"]["subtitle"][-1]
    known = FIRST.chart(truth=[5, 6, 7])
    assert [(each["value"], each["truth"]) for each in records(known)] == [("c", 7.0), ("a", 5.0), ("b", 6.0)]
    assert [layer["mark"]["type"] for layer in known.to_dict()["layer"]] == ["bar", "rule", "tick"]
    titles = {bool(t): FIRST.chart(truth=t, title="mine").to_dict()["title"] for t in (None, [5, 6, 7])}
    assert (titles[False]["text"], titles[False]["subtitle"]) == ("mine", ["bars: estimate, lines: 95 % interval"])
    assert titles[True]["subtitle"][-1].endswith("orange: truth")
    assert FIRST.chart().to_dict()["title"]["text"] == FIRST.headline()
    change = FIRST.compare(SECOND)
    low, high = change.interval(0.95, simultaneous=True)
    assert records(change.chart(1)) == [
        {"value": "c", "change": pytest.approx(change.difference[2]), "low": pytest.approx(low[2]), "high": pytest.approx(high[2])}
    ]
    one = change.chart()
    assert one.to_dict()["title"]["subtitle"] == ["points: estimate, lines: 95 % intervals that hold together"]
    assert stacked([one]) is one
    assert len(stacked([one, one]).altair.to_dict()["vconcat"]) == 2


def test_charts_are_saved_under_names_in_capitals_too(tmp_path):
    FIRST.chart().save(tmp_path / "CHART.SVG")
    assert (tmp_path / "CHART.SVG").read_text().startswith("<svg")
    assert check_ending("a.Html") is None
    with pytest.raises(ParameterError, match="ends in"):
        check_ending("svg.txt")
