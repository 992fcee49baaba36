"""The estimate as an analyst meets it."""

from __future__ import annotations

import numpy as np
import pytest

import deniable as dn
from deniable.core.reports import Reports
from deniable.core.tally import Tally
from deniable.errors import MergeError, ParameterError
from deniable.testing import ReplaySource
from tests.estimates import of_supports

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


def test_bounds_are_wider_than_intervals():
    estimate = estimate_of()
    width = lambda limits: float((limits[1] - limits[0])[0])  # noqa: E731  # a name for three uses below
    usual = width(estimate.interval(0.95))
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


def test_simultaneous_means_all_values_also_after_looking_for_the_top():
    """The largest of many estimates was chosen by its noise too: its interval still pays for all of them."""
    estimate = estimate_of()
    assert estimate.top(1).bound(simultaneous=True)[0][0] == estimate.bound(simultaneous=True)[0][0]
    assert "for all 4 values together" in repr(estimate.top(1))
    other = estimate_of(key="other")
    alone, whole = estimate.top(1).compare(other.select([0])), estimate.compare(other)
    assert alone.adjusted[0] == pytest.approx(min(4 * whole.p_values[0], 1.0))


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
        assert spec.tally(reports).counters.tolist() == spec.tally(reports, candidates=list(range(5000))).counters.tolist()


def test_text_is_counted_by_its_words():
    spec = dn.OLH(domain=dn.Text(16), epsilon=3.0)
    estimate = estimate_of(spec, ["tea"] * 3000 + ["日本"] * 1000, "words", ["日本", "tea", "mate"])
    assert np.all(np.abs(estimate.counts - [1000, 3000, 0]) < 5 * estimate.stderr)


def test_repr_and_notebook_view_show_the_largest_first_and_say_how_many_are_hidden():
    spec = dn.OUE(domain_size=30, epsilon=1.0)
    text = repr(estimate_of(spec, np.repeat(np.arange(30), 100), "many"))
    assert text.splitlines()[0] == "3,000 reports, OUE, epsilon = 1; low and high: 95 %, noise only"
    assert text.splitlines()[-1] == "... and 20 more"
    assert len(text.splitlines()) == 13
    html = estimate_of(dn.GRR(domain=dn.Categories("<b>", "ok"), epsilon=1.0), ["<b>"] * 50, "html")._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html.split("<table>")[1]
    assert html.count("<tr>") == 3


def test_charts_are_saved_offline(tmp_path):
    chart = estimate_of().chart(truth=[5000, 3000, 2000, 0])
    for ending in ("svg", "html", "json", "png"):
        chart.save(tmp_path / f"chart.{ending}")
    svg = (tmp_path / "chart.svg").read_text()
    assert svg.startswith("<svg")
    assert all(label in svg for label in COLORS.labels)
    html = (tmp_path / "chart.html").read_text()
    assert "<script src=" not in html  # self-contained: nothing is fetched when it is opened
    assert estimate_of().chart()._repr_svg_().startswith("<svg")
    with pytest.raises(ParameterError, match=r"\.svg, \.png, \.html, \.json"):
        chart.save(tmp_path / "chart.bmp")


def test_charts_show_what_no_picture_can_hold_in_another_way(tmp_path):
    """A search may find any text, control characters included: SVG has no place for them, and drawing them would end the process."""
    spec = dn.GRR(domain=dn.Categories("tea", "a\x07b", "a\nb"), epsilon=1.0)
    chart = estimate_of(spec, ["tea"] * 20).chart()
    assert [*chart.altair.to_dict()["layer"][0]["encoding"]["y"]["sort"]] == ["tea", "'a\\x07b'", "'a\\nb'"]
    chart.save(tmp_path / "chart.svg")
    assert r"a\x07b" in (tmp_path / "chart.svg").read_text()


def test_a_change_is_found_and_no_change_is_not():
    before, same = estimate_of(key="monday"), estimate_of(key="tuesday")
    after = estimate_of(crowd=["red"] * 3500 + ["green"] * 4500 + ["blue"] * 2000, key="wednesday")
    assert before.compare(same).changed(0.05) == []
    change = before.compare(after)
    assert change.changed(0.05) == ["red", "green"]
    low, high = change.interval(0.99)
    assert low[0] < -0.15 < high[0]
    assert np.all(change.adjusted >= change.p_values)
    assert "hold for all values together" in repr(change)
    assert change.to_arrow().column_names[:4] == ["value", "before", "after", "change"]
    assert "<svg" in change.chart()._repr_svg_()


def test_comparing_crowds_of_different_sizes_uses_frequencies():
    small = estimate_of(crowd=CROWD[::10], key="small")
    change = estimate_of().compare(small)
    assert change.changed(0.05) == []
    assert change.stderr[0] > small.frequency_stderr[0]
    assert change.interval(0.95, simultaneous=True)[1][0] > change.interval(0.95)[1][0]


@pytest.mark.parametrize(
    ("spec", "small", "large"),
    [
        (dn.OUE(domain_size=100, epsilon=4.0), 100, 10_000),
        (dn.GRR(domain_size=100, epsilon=4.0), 300, 3000),
        (dn.GRR(domain_size=2, epsilon=3.0), 20, 1000),
        (dn.OUE(domain_size=20, epsilon=1.0), 2000, 20_000),
        (dn.OLH(domain_size=20, epsilon=1.0), 1000, 1000),
        (dn.HadamardResponse(domain_size=20, epsilon=6.0), 300, 3000),
        (dn.SHE(domain_size=20, epsilon=3.0), 50, 500),
        (dn.DBitFlip(domain_size=20, epsilon=4.0), 300, 1000),
        (dn.BloomRR(domain_size=20, epsilon=4.0), 1000, 1000),
    ],
    ids=repr,
)
def test_comparison_keeps_its_false_alarm_rate(spec, small, large):
    """Two crowds of one population, 60 pairs, level 0.1 for all values together: 19 alarms or more have probability below 1e-6."""
    held = np.minimum(np.arange(spec.domain_size) ** 2, spec.domain_size - 1)  # skewed, and the rare values are rare

    def crowds(size, key):
        values = held[np.array(ReplaySource.from_key(key).words(60 * size), dtype=np.uint64) % np.uint64(spec.domain_size)]
        rows = spec.privatize(values.astype(np.int64), source=ReplaySource.from_key(f"{key} noise")).rows()
        batches = (Reports.from_rows(spec, rows[i * size : (i + 1) * size].tobytes()) for i in range(60))
        return [spec.estimate(spec.tally(batch)) for batch in batches]

    pairs = zip(crowds(small, "small"), crowds(large, "large"), strict=True)
    assert sum(bool(a.compare(b).changed(0.1)) for a, b in pairs) < 19


def test_too_few_reports_change_nothing():
    empty = SPEC.estimate(SPEC.tally(SPEC.privatize([])))
    ten = estimate_of(crowd=["red"] * 10, key="ten")
    for few in (empty, ten):
        for change in (few.compare(estimate_of()), estimate_of().compare(few)):
            assert change.changed(0.05) == []
            low, high = change.interval(0.95)
            assert np.all(low <= high)
    other = dn.GRR(domain=COLORS, epsilon=2.0)
    assert ten.compare(estimate_of(other)).changed(0.05) == []  # two laws and few reports


def test_a_rare_change_is_found_exactly():
    """GRR with 100 values: too few chance supports for the normal test, but 300 of 1000 people moving is no chance."""
    spec = dn.GRR(domain_size=100, epsilon=5.0)
    before, after = (estimate_of(spec, np.array([0] * 700 + [1] * a + [2] * b), key) for a, b, key in ((300, 0, "x"), (0, 300, "y")))
    assert before.compare(after).changed(0.001) == [1, 2]
    low, high = before.compare(after).interval(0.99)
    assert low[2] < 0.3 < high[2]


def test_a_constructed_estimate_needs_no_reports():
    estimate = of_supports(SPEC, ["a"], 1000, np.array([400]), np.array(0.5), np.array(0.3))
    assert estimate.counts.tolist() == pytest.approx([500])


def test_a_change_from_nobody_to_everybody_is_seen_where_blocks_are_shared():
    """The pooled frequency says more people hold the value than the first crowd's block has seen: no variance is negative."""
    spec = dn.HadamardResponse(domain_size=128, epsilon=5.0)
    before, after = (estimate_of(spec, np.full(n, value), key) for n, value, key in ((250_000, 1, "one"), (750_000, 5, "five")))
    change = before.compare(after)
    assert np.all(np.isfinite(change.p_values))
    assert change.changed(0.001) == [1, 5]


def test_collisions_are_no_change():
    """A sketch of 8 functions: values that nobody holds collide with what changed, and are not named, nor kept by base-cut."""
    people = {key: np.repeat([a, 2], [60_000, 40_000]) for key, a in (("first", 0), ("second", 1))}
    for salt in range(4):
        spec = dn.CMS(domain_size=1000, epsilon=4.0, hashes=64, width=256, salt=salt)
        first, second = (estimate_of(spec, values, key) for key, values in people.items())
        change = first.compare(second)
        assert change.changed(0.05) == [0, 1]
        low, high = change.interval(0.95, simultaneous=True)
        truth = np.zeros(1000)
        truth[:2] = -0.6, 0.6
        assert np.all((low <= truth) & (truth <= high))
        assert not np.any(first.postprocess("base-cut").counts[3:])


def test_a_sketch_is_not_compared_exactly_with_what_has_no_collisions():
    plain, sketch = dn.OLH(domain_size=20, epsilon=4.0, hash_range=256), dn.FLH(domain_size=20, epsilon=4.0, hash_range=256, hashes=1)
    few = [estimate_of(spec, np.zeros(300, dtype=int), "few") for spec in (plain, sketch)]
    assert few[0].compare(few[1]).p_values.tolist() == [1.0] * 20
    assert few[1].compare(few[0]).p_values.tolist() == [1.0] * 20


def test_a_tally_whose_counters_cannot_be_true_is_refused():
    options = {"domain_size": 3, "epsilon": 1.0}
    for spec in (dn.GRR(**options), dn.FLH(**options, hashes=2), dn.HadamardResponse(**options)):
        counters = np.full(spec.tally(spec.privatize([0, 1])).counters.size, 2)
        with pytest.raises(MergeError, match="counters"):
            spec.estimate(dn.Tally(spec, 2, counters))
