"""Periods and people as analysts write them: what is meant, and what is told to whoever means something that is not there."""

from __future__ import annotations

import pytest

from deniable.collect.analysis.selection import ReportSelection, read_periods, read_strata
from deniable.errors import ParameterError
from tests.collect.crowd import HOUR, survey_task


@pytest.fixture
def daily():
    """Ten periods of a day from 2026-12-01 06:00 UTC on, the last one short."""
    return survey_task(bytes(32), start=1_796_104_800, end=1_796_104_800 + 10 * 86_400 - HOUR, period=86_400)


@pytest.mark.parametrize(
    ("text", "periods"),
    [
        ("3", (3,)),
        ("0-6", tuple(range(7))),
        ("4..5", (4, 5)),
        ("2026-12-03", (2,)),
        ("2026-12-03T05:59", (1,)),
        ("2026-12-03T06:00:00Z", (2,)),
        ("2026-12-03T06:30+01:00", (1,)),
        ("2026-12-01..2026-12-07", tuple(range(7))),
        ("2026-12-09..9", (8, 9)),
        ("2026-12-11", (9,)),  # nothing begins on it, and it lies in the last one
        ("all", None),
    ],
)
def test_periods_as_people_write_them(daily, text, periods):
    assert read_periods(daily, text) == periods


@pytest.mark.parametrize(
    "text", ["10", "0-10", "2026-11-30", "2026-12-01T05:59", "2026-12-11T05:00", "2026-12-12", "2026-11-30..2026-12-02"]
)
def test_periods_that_do_not_exist_are_told_which_do(daily, text):
    with pytest.raises(ParameterError, match="0 to 9, from 2026-12-01T06:00Z to 2026-12-11T05:00Z"):
        read_periods(daily, text)


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "1..2..3", "..", "-1", "٣", "2026-12-03T25:00", "0001-01-01T00:00+23:59"])
def test_what_is_no_period_is_told_how_to_write_one(daily, text):
    with pytest.raises(ParameterError, match="period"):
        read_periods(daily, text)


def test_a_date_means_all_periods_that_begin_on_it_and_a_range_has_a_direction():
    hourly = survey_task(bytes(32), start=1_796_104_800, end=1_796_104_800 + 48 * HOUR)
    assert read_periods(hourly, "2026-12-01") == tuple(range(18))
    assert read_periods(hourly, "2026-12-02") == tuple(range(18, 42))
    assert read_periods(hourly, "2026-12-03") == tuple(range(42, 48))
    weekly = survey_task(bytes(32), start=1_796_104_800, end=1_796_104_800 + 14 * 86_400, period=7 * 86_400)
    assert read_periods(weekly, "2026-12-05") == (0,)
    assert read_periods(weekly, "2026-12-08") == (1,)
    with pytest.raises(ParameterError, match="the first and the last"):
        read_periods(hourly, "5-4")
    endless = survey_task(bytes(32), end=1 << 40, period=1)
    with pytest.raises(ParameterError, match="at most 65536"):
        read_periods(endless, "0-99999999")  # no memory is spent on it


def test_strata_as_people_write_them():
    task = survey_task(bytes(32), strata=(("os:version", ("a", "b:c")), ("os", ("x", "version:a"))))
    assert read_strata(task, ["os:version:b:c"]) == {"os:version": "b:c"}
    assert read_strata(task, ["os:x", "os:version:a"]) == {"os": "x", "os:version": "a"}
    assert read_strata(task, []) == {}
    with pytest.raises(ParameterError, match="one label"):
        read_strata(task, ["os:x", "os:y"])
    for wrong in ("nothing", "tv:x", "os:tv"):
        with pytest.raises(ParameterError, match="one of"):
            ReportSelection(None, read_strata(task, [wrong])).check(task)
