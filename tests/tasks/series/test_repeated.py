"""The same people, period after period: a crowd is many diaries, and statements about several periods cover what they claim."""

from __future__ import annotations

import json

import numpy as np
import pytest

from deniable.client import GRR, LOLOHA, RAPPOR, DBitFlipPM, LongitudinalGRR, LongitudinalUnary
from deniable.client.diary import history
from deniable.contract.domain import Text
from deniable.core.reports import Reports
from deniable.core.saved import estimate_from_json
from deniable.errors import DomainError, ParameterError
from deniable.local.longitudinal.crowd import Crowd
from deniable.local.longitudinal.memoized import instantaneous_answers, permanent_answers
from deniable.tasks.series import repeated
from deniable.testing import ReplaySource

SIGMAS = 4.892  # two-sided alpha = 1e-6
SPECS = [
    LongitudinalGRR(domain_size=5, epsilon=2.0),
    LongitudinalUnary(domain_size=70, epsilon=2.0),
    LongitudinalUnary(domain_size=5, epsilon=2.0, optimized=3, first_epsilon=0.5),
    LOLOHA(domain_size=5, epsilon=2.0),
    LOLOHA(domain=Text(8), epsilon=2.0),
    DBitFlipPM(domain_size=5, epsilon=2.0, bits=1),
    DBitFlipPM(domain_size=90, epsilon=2.0, bits=66, first_epsilon=1.5),
    RAPPOR(domain_size=5, epsilon=2.0, bits=70, cohorts=4),
    RAPPOR.from_probabilities(f="1/2", p="1/2", q="3/4", domain_size=5, bits=3, hashes=2, cohorts=2),
]


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_a_crowd_of_one_is_a_device_with_its_diary(spec):
    """Word for word: the same reports from the same stream, values that come back included."""
    values = [0, 0, 1, 0, 4, 1, 4, 0] if spec.domain.listed else ["a", "a", "b", "a", "", "b", "", "a"]
    scalar, bulk = ReplaySource.from_key("one"), ReplaySource.from_key("one")
    expected = [spec.encode(report) for report in history(spec, values, scalar)]
    crowd = Crowd(spec, source=bulk)
    assert [crowd.report([value]).rows().tobytes() for value in values] == expected
    assert bulk.consumed == scalar.consumed


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_many_devices_keep_their_own_answers(spec):
    """With a device's values coming back in turn, nothing is drawn in the second turn, and personal parts never change."""
    turns = [[(device + turn) % 3 for device in range(200)] for turn in range(3)]
    values = turns if spec.domain.listed else [["abc"[value] for value in turn] for turn in turns]
    crowd = Crowd(spec, source=ReplaySource.from_key("many"))
    first = [crowd.report(turn) for turn in values]
    kept = crowd.permanent_answers
    again = [crowd.report(turn) for turn in values]
    assert crowd.permanent_answers == kept == crowd.answers_of.sum()
    assert crowd.answers_of.max() <= min(3, spec.classes)
    for column in spec.personal_layout:
        for batch in [*first, *again]:
            assert np.array_equal(batch.columns[column.name], first[0].columns[column.name])
    with pytest.raises(DomainError, match="200 devices"):
        crowd.report(values[0][:-1])


def test_what_is_kept_travels_like_reports():
    spec = SPECS[0]
    kept = permanent_answers(spec, [0, 1, 2] * 100, source=ReplaySource.from_key("kept"))
    stored = Reports.from_bytes(kept.to_bytes())
    one, other = (instantaneous_answers(spec, batch, source=ReplaySource.from_key("again")) for batch in (kept, stored))
    assert one == other != kept


PERIODS, GROUPS = 4, 500


def rounds(spec, people, values_of):
    """The estimates of many independent crowds of ``people``, period by period; ``values_of(period)`` are one crowd's values."""
    crowd = Crowd(spec, source=ReplaySource.from_key("coverage"))
    batches = []
    for period in range(PERIODS):
        rows = crowd.report(np.tile(values_of(period), GROUPS)).rows()
        batches.append([Reports.from_rows(spec, rows[i * people : (i + 1) * people].tobytes()) for i in range(GROUPS)])
    return [[spec.tally(batches[period][group]) for period in range(PERIODS)] for group in range(GROUPS)]


def series_of(tallies, spec, *stays):
    """The estimates of all crowds, for each share of people who are believed to stay."""
    return [[repeated(spec, group, stay=stay) for group in tallies] for stay in stays]


def coverage(crowds, truth, what):
    """How often the limits of ``what`` is asked of each crowd's series hold the truth."""
    limits = [what(series) for series in crowds]
    return np.mean([(low <= truth) & (truth <= high) for low, high in limits])


def tolerance(cells):
    return SIGMAS * (0.05 * 0.95 / (GROUPS * cells)) ** 0.5


@pytest.mark.parametrize(
    ("spec", "people"),
    [
        (LongitudinalGRR(domain_size=4, epsilon=2.0, first_epsilon=1.2), 1600),
        (LongitudinalUnary(domain_size=4, epsilon=2.0, first_epsilon=1.2), 1600),
        (DBitFlipPM(domain_size=4, epsilon=2.0, bits=3), 3200),
    ],
    ids=repr,
)
def test_people_who_keep_their_values(spec, people):
    """An average over periods is hardly better than one period, and a change is known better; the twins forget that."""
    values = np.repeat([0, 1, 2], [people // 2, people // 4, people // 4])
    truth = np.bincount(values, minlength=4)
    tallies = rounds(spec, people, lambda _: values)

    def average(series):
        return series.average().interval()

    def change(series):
        return series.change(0, PERIODS - 1).interval()

    unknown, stay, move = series_of(tallies, spec, None, 1.0, 0.0)
    for crowds in (unknown, stay):
        assert abs(coverage(crowds, truth, average) - 0.95) < 0.01 + tolerance(4)
    assert coverage(move, truth, average) < 0.95 - 0.01 - tolerance(4)
    if spec.first_epsilon < spec.epsilon:  # without instantaneous noise nothing changes at all, and every interval covers
        assert abs(coverage(stay, 0, change) - 0.95) < 0.01 + tolerance(4)
    assert coverage(unknown, 0, change) > 0.95 + tolerance(4)  # wider than needed


def test_people_who_all_change():
    """From value to value, nobody stays: periods are independent, and the twin that believes they stay is too sure of a change."""
    spec, people = LongitudinalGRR(domain_size=4, epsilon=2.0, first_epsilon=1.2), 1600
    values = np.repeat([0, 1, 2], [800, 400, 400])
    tallies = rounds(spec, people, lambda period: (values + period) % 4)
    truth = np.bincount((values + 1) % 4, minlength=4) - np.bincount(values, minlength=4)

    def change(series):
        return series.change(0, 1).interval()

    unknown, stay = series_of(tallies, spec, None, 1.0)
    assert abs(coverage(unknown, truth, change) - 0.95) < 0.01 + tolerance(4)
    assert coverage(stay, truth, change) < 0.95 - 0.01 - tolerance(4)


@pytest.mark.parametrize(
    ("spec", "people"),
    [(DBitFlipPM(domain_size=5, epsilon=1.0, bits=1), 6000), (DBitFlipPM(domain_size=5, epsilon=2.0, bits=2, first_epsilon=1.9), 3200)],
    ids=repr,
)
def test_people_who_all_change_to_values_that_share_their_answers(spec, people):
    """Nobody keeps a value, and errors repeat all the same. The twin that takes the periods for independent is too sure."""
    values = np.repeat([0, 1], [people // 2, people // 2])
    tallies = rounds(spec, people, lambda period: values + period)
    truth = np.mean([np.bincount(values + period, minlength=5) for period in range(PERIODS)], axis=0)

    def average(series):
        return series.average().interval()

    def independent(series):
        reach = 1.96 * np.sqrt((series.stderr.reshape(PERIODS, -1) ** 2).sum(axis=0)) / PERIODS
        return series.average().point - reach, series.average().point + reach

    def change(series):
        return series.change(0, PERIODS - 1).interval()

    assert not spec.distinct
    unknown, move = series_of(tallies, spec, None, 0.0)
    for crowds in (unknown, move):
        assert coverage(crowds, truth, average) > 0.95 - 0.01 - tolerance(5)
    assert coverage(move, truth, independent) < 0.95 - 0.01 - tolerance(5)
    moved = np.bincount(values + PERIODS - 1, minlength=5) - np.bincount(values, minlength=5)
    assert coverage(move, moved, change) > 0.95 - 0.01 - tolerance(5)


def test_few_people_get_bounds_instead_of_normal_intervals():
    spec = LongitudinalGRR(domain_size=4, epsilon=2.0)
    crowd = Crowd(spec, source=ReplaySource.from_key("few"))
    tallies = [spec.tally(crowd.report([0] * 20 + [1] * 20)) for _ in range(3)]
    series = repeated(spec, tallies)
    for low, high in (series.change(0, 2).interval(), series.average().interval(), series.interval(simultaneous=True)):
        assert np.all(low <= high)
    wide, narrow = series.interval(simultaneous=True), series.interval()
    assert np.all(wide[0] <= narrow[0])
    assert np.all(wide[1] >= narrow[1])


def test_a_series_reads_like_any_estimate():
    spec = RAPPOR(domain_size=5, epsilon=4.0, bits=32, cohorts=4)
    crowd = Crowd(spec, source=ReplaySource.from_key("reads"))
    series = repeated(spec, [spec.tally(crowd.report([0, 1, 2, 3, 4] * 400)) for _ in range(3)], stay=1.0)
    assert (series.table.shape, series.stderr.shape) == ((3, 5), (15,))
    assert np.array_equal(series.table.ravel(), series.point)
    assert series.to_polars().columns == ["value", "period", "count", "stderr", "low", "high"]
    assert "3 periods, RAPPOR" in repr(series)
    assert np.all(series.average().stderr <= series.stderr.reshape(3, 5).max(axis=0) * 1.001)
    assert np.all(series.change(0, 2).stderr > 0)
    assert "svg" in series.chart()._repr_svg_()


def test_other_mechanisms_and_odd_shares_are_refused():
    spec = LongitudinalGRR(domain_size=4, epsilon=2.0)
    tally = spec.tally(Crowd(spec).report([0, 1]))
    plain = GRR(domain_size=4, epsilon=1.0)
    for bad in ((plain, [plain.tally(plain.privatize([0]))], None), (spec, [], None), (spec, [tally], 1.5), (spec, [tally], True)):
        with pytest.raises(ParameterError):
            repeated(bad[0], bad[1], stay=bad[2])


def test_a_series_is_saved_and_read_back():
    spec = RAPPOR(domain_size=5, epsilon=4.0, bits=32, cohorts=4)
    crowd = Crowd(spec, source=ReplaySource.from_key("saved"))
    series = repeated(spec, [spec.tally(crowd.report([0, 1, 2, 3, 4] * 400)) for _ in range(3)], stay=0.9)
    for each in (series, series.top(3), series.change(0, 2), series.average()):
        again = estimate_from_json(json.dumps(each.to_json()))
        assert repr(again) == repr(each)
        for together in (False, True):
            assert np.allclose(again.interval(0.8, simultaneous=together), each.interval(0.8, simultaneous=together), rtol=1e-12)
    assert series.select([-1, 0]).point.tolist() == series.point[[-1, 0]].tolist()
    drawn = series.chart(2).altair.to_dict()
    [records] = drawn["datasets"].values()
    assert len({record["value"] for record in records}) == 2
