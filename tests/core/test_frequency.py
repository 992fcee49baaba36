"""The estimate as an analyst meets it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import deniable as dn
from deniable.core.chart import count_chart, save_chart
from deniable.core.frequency import FrequencyEstimate
from deniable.core.tally import Tally
from deniable.testing import ReplaySource

COLORS = dn.Categories("red", "green", "blue", "gray")
SPEC = dn.GRR(domain=COLORS, epsilon=1.0)
CROWD = ["red"] * 5000 + ["green"] * 3000 + ["blue"] * 2000


def estimate_of(spec=SPEC, crowd=CROWD, key="analyst", candidates=None):
    return spec.estimate(spec.tally(spec.privatize(crowd, source=ReplaySource.from_key(key)), candidates=candidates))


def test_counts_frequencies_and_errors_belong_together():
    estimate = estimate_of()
    assert estimate.n == 10_000
    assert list(estimate.values) == list(COLORS.labels)
    assert estimate.counts.sum() == pytest.approx(10_000)  # a GRR report supports one value
    assert np.allclose(estimate.frequencies * 10_000, estimate.counts)
    assert np.allclose(estimate.frequency_stderr * 10_000, estimate.stderr)
    empty = estimate.stderr[3] if estimate.counts[3] <= 0 else SPEC.variance(10_000, estimate.frequencies[3]) ** 0.5
    assert estimate.stderr[3] == pytest.approx(empty)
    assert abs(estimate.counts[0] - 5000) < 5 * estimate.stderr[0]


def test_unbiased_estimates_may_be_negative_and_their_intervals_too():
    spec = dn.OUE(domain_size=64, epsilon=0.2)
    estimate = estimate_of(spec, np.zeros(2000, dtype=int), "negative")
    low, high = estimate.interval()
    assert estimate.counts.min() < 0
    assert low.min() < 0 < high.max()
    assert np.all(low <= estimate.counts)
    assert np.all(estimate.counts <= high)


def test_intervals_widen_with_level_simultaneity_population_and_safety():
    estimate = estimate_of()
    width = lambda limits: float((limits[1] - limits[0])[0])  # noqa: E731
    narrow, usual = width(estimate.interval(0.8)), width(estimate.interval(0.95))
    assert narrow < usual < width(estimate.interval(0.95, simultaneous=True))
    assert usual < width(estimate.interval(0.95, population=True))
    assert usual < width(estimate.bound(0.95, "bernstein")) < width(estimate.bound(0.95, "hoeffding"))
    assert width(estimate.bound(0.95)) < width(estimate.bound(0.95, simultaneous=True))


def test_no_reports_no_claims():
    estimate = SPEC.estimate(SPEC.tally(SPEC.privatize([])))
    assert estimate.n == 0
    assert estimate.counts.tolist() == [0, 0, 0, 0]
    assert [limit.tolist() for limit in estimate.interval()] == [[0] * 4, [0] * 4]
    assert [limit.tolist() for limit in estimate.bound()] == [[0] * 4, [0] * 4]
    assert estimate.frequencies.tolist() == [0, 0, 0, 0]
    assert "0 reports" in repr(estimate)


def test_one_person_is_enough_to_run():
    assert estimate_of(crowd=["red"]).interval()[1].max() == 1


def test_top_and_select_keep_errors_with_their_values():
    estimate = estimate_of()
    top = estimate.top(2)
    assert list(top.values) == ["red", "green"]
    assert top.counts.tolist() == estimate.counts[:2].tolist()
    assert top.stderr.tolist() == estimate.stderr[:2].tolist()
    assert list(estimate.select([3, 0]).values) == ["gray", "red"]
    assert len(estimate.top(99).values) == 4


def test_simultaneous_means_all_values_also_after_looking_for_the_top():
    """The largest of many estimates was chosen by its noise too: its interval still pays for all of them."""
    estimate = estimate_of()
    for limits in (lambda e: e.interval(simultaneous=True), lambda e: e.bound(simultaneous=True)):
        assert limits(estimate.top(1))[0][0] == limits(estimate)[0][0]


def test_candidates_at_estimate_time_select_values():
    tally = SPEC.tally(SPEC.privatize(CROWD, source=ReplaySource.from_key("analyst")))
    assert SPEC.estimate(tally, candidates=["blue", "red"]).counts.tolist() == estimate_of().counts[[2, 0]].tolist()


def test_olh_counts_named_candidates_without_the_domain():
    """2^64 values; only three are asked about, and one of them is nobody's."""
    spec = dn.OLH(domain=dn.Integers(0, 2**64 - 1), epsilon=2.0)
    people = np.array([7] * 6000 + [2**64 - 1] * 4000, dtype=np.uint64)
    asked = [2**64 - 1, 7, 12345]
    estimate = estimate_of(spec, people, "wide", asked)
    assert list(estimate.values) == asked
    assert np.all(np.abs(estimate.counts - [4000, 6000, 0]) < 5 * estimate.stderr)
    again = Tally.from_bytes(spec.tally(spec.privatize(people, source=ReplaySource.from_key("wide")), candidates=asked).to_bytes())
    assert spec.estimate(again, candidates=asked).counts.tolist() == estimate.counts.tolist()


def test_olh_on_the_whole_domain_equals_olh_on_all_candidates():
    for spec in (dn.OLH(domain_size=5000, epsilon=1.0), dn.OLH(domain_size=5000, epsilon=0.5, hash_range=3)):
        reports = spec.privatize(np.arange(5000), source=ReplaySource.from_key("all"))
        assert spec.tally(reports).supports.tolist() == spec.tally(reports, candidates=list(range(5000))).supports.tolist()


def test_text_is_counted_by_its_words():
    spec = dn.OLH(domain=dn.Text(16), epsilon=3.0)
    estimate = estimate_of(spec, ["tea"] * 3000 + ["日本"] * 1000, "words", ["日本", "tea", "mate"])
    assert np.all(np.abs(estimate.counts - [1000, 3000, 0]) < 5 * estimate.stderr)


def test_exports():
    estimate = estimate_of()
    table = estimate.to_arrow()
    assert isinstance(table, pa.Table)
    assert table.column_names == ["value", "count", "stderr", "low", "high", "frequency"]
    assert table["count"].to_pylist() == estimate.counts.tolist()
    frame = estimate.to_polars()
    assert isinstance(frame, pl.DataFrame)
    assert frame["value"].to_list() == list(COLORS.labels)
    assert frame["low"].to_list() == estimate.interval(0.95)[0].tolist()


def test_repr_and_notebook_view_show_the_largest_first_and_say_how_many_are_hidden():
    spec = dn.OUE(domain_size=30, epsilon=1.0)
    text = repr(estimate_of(spec, np.repeat(np.arange(30), 100), "many"))
    assert text.splitlines()[0] == "FrequencyEstimate from 3,000 reports, OUE, epsilon = 1"
    assert text.splitlines()[-1] == "... and 20 more"
    assert len(text.splitlines()) == 13
    html = estimate_of(dn.GRR(domain=dn.Categories("<b>", "ok"), epsilon=1.0), ["<b>"] * 50, "html")._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html.split("<table>")[1]
    assert html.count("<tr>") == 3


def test_charts_are_saved_offline(tmp_path):
    chart = count_chart(estimate_of(), truth=[5000, 3000, 2000, 0])
    for ending in ("svg", "html", "json", "png"):
        save_chart(chart, str(tmp_path / f"chart.{ending}"))
    svg = (tmp_path / "chart.svg").read_text()
    assert svg.startswith("<svg")
    assert all(label in svg for label in COLORS.labels)
    html = (tmp_path / "chart.html").read_text()
    assert "<script src=" not in html  # self-contained: nothing is fetched when it is opened
    assert '"mark"' in estimate_of().chart().to_json()


def test_a_change_is_found_and_no_change_is_not():
    before, same = estimate_of(key="monday"), estimate_of(key="tuesday")
    after = estimate_of(crowd=["red"] * 3500 + ["green"] * 4500 + ["blue"] * 2000, key="wednesday")
    assert before.compare(same).changed(0.05) == []
    change = before.compare(after)
    assert change.changed(0.05) == ["red", "green"]
    low, high = change.interval(0.99)
    assert low[0] < -0.15 < high[0]
    assert np.all(change.adjusted >= change.p_values)
    assert "change of each frequency" in repr(change)
    assert change.to_arrow().column_names[:4] == ["value", "before", "after", "change"]
    assert "rule" in change.chart().to_json()


def test_comparing_crowds_of_different_sizes_uses_frequencies():
    small = estimate_of(crowd=CROWD[::10], key="small")
    change = estimate_of().compare(small, population=False)
    assert np.allclose(change.stderr, np.hypot(estimate_of().frequency_stderr, small.frequency_stderr))
    assert change.n == (10_000, 1000)


def test_comparison_keeps_its_false_alarm_rate():
    """200 pairs of equal crowds at level 0.1, Holm over four values: more than 45 alarms has probability below 1e-6."""
    rows = SPEC.privatize(CROWD[::10] * 400, source=ReplaySource.from_key("alarms")).rows()
    estimates = [SPEC.estimate(SPEC.tally([int(row[0]) for row in rows[i * 1000 : (i + 1) * 1000]])) for i in range(400)]
    alarms = sum(bool(a.compare(b, population=False).changed(0.1)) for a, b in zip(estimates[::2], estimates[1::2], strict=True))
    assert 3 <= alarms <= 45


def test_a_constructed_estimate_needs_no_reports():
    estimate = FrequencyEstimate(SPEC, ["a"], 1000, np.array([400]), np.array(0.5), np.array(0.3))
    assert estimate.counts.tolist() == pytest.approx([500])
