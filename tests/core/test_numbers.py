"""Numbers in a range: what is allowed, how it is rounded, and that columns of any kind are read as single values are."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.client.mean import MeanSpec
from deniable.contract.domain import Domain
from deniable.contract.numbers import Numbers, round_at_random
from deniable.core.number_column import NumberColumn, nearest_points, number_column
from deniable.core.values import keys_of
from deniable.errors import DomainError, ParameterError, WireError
from deniable.testing import ReplaySource, law_of

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
YEAR = Numbers(NEW_YEAR, NEW_YEAR + timedelta(days=365))
WALL = Numbers(datetime(2026, 1, 1), datetime(2026, 1, 2), steps=24)
finite = st.one_of(st.integers(-(2**70), 2**70), st.floats(-1e150, 1e150), st.fractions(max_denominator=10**6))


@given(low=finite, high=finite, steps=st.integers(1, 2**16), clip=st.booleans())
def test_a_range_survives_json(low, high, steps, clip):
    if Fraction(high) - Fraction(low) < Fraction(1, 2**500):
        with pytest.raises(ParameterError):
            Numbers(low, high, steps, clip)
        return
    domain = Numbers(low, high, steps, clip)
    again = Domain.from_json(json.loads(json.dumps(domain.to_json())))
    assert again == domain
    assert hash(again) == hash(domain)
    assert (again.key(low), again.key(high), again.size) == (0, steps, steps + 1)


@given(low=finite, width=st.floats(1e-150, 1e150), share=st.fractions(0, 1), steps=st.integers(1, 2**16))
def test_rounding_is_exactly_unbiased(low, width, share, steps):
    """For any range and any value in it: the two neighbors, and the value as their mean, in fractions."""
    domain = Numbers(low, Fraction(low) + Fraction(width), steps)
    value = domain.start + domain.width * share
    place = domain.position(value)
    assert place == share * steps
    law = law_of(lambda source: domain.draw(value, source))
    assert sum(point * weight for point, weight in law.items()) == place
    assert set(law) <= {int(place), int(place) + 1}


@pytest.mark.parametrize("value", [0.1, 0.3, 1e-300, 5e-324, 1 - 2**-53, np.float32(0.1), Decimal("0.1"), Fraction(1, 3)])
def test_a_float_is_the_number_that_it_stores(value):
    exact = Fraction(*value.as_integer_ratio()) if not isinstance(value, np.float32) else Fraction(float(value))
    assert Numbers(0, 1, steps=1000).position(value) == 1000 * exact


def test_the_draw_follows_the_words_digit_by_digit():
    third = Fraction(1, 3)
    digits = 2**64 // 3
    cases = {(digits - 1,): 1, (digits + 1,): 0, (digits, digits, 0): 1, (digits, digits, 2**64 - 1): 0}
    for words, expected in cases.items():
        source = ReplaySource(words)
        assert round_at_random(third, source) == expected
        assert source.consumed == len(words)


def test_usual_grids():
    assert Numbers(0, 120).steps == 32_760  # whole years are grid points
    assert Numbers(-5, 5).steps == 32_760
    assert Numbers(0, 10**6).steps == Numbers(0.0, 1.5).steps == YEAR.steps == 32_768
    assert dn.DiscreteLaplace(low=0, high=1, epsilon=2.0).steps == 256


def test_points_in_time():
    summer = timezone(timedelta(hours=2))
    assert Numbers(datetime(2026, 1, 1, 2, tzinfo=summer), YEAR.high) == YEAR  # the same moment
    assert YEAR.position(NEW_YEAR + timedelta(days=73)) == Fraction(YEAR.steps, 5)
    assert WALL.value(12) == datetime(2026, 1, 1, 12)
    for domain, wrong in ((YEAR, datetime(2026, 2, 1)), (WALL, NEW_YEAR), (WALL, 1.5), (Numbers(0, 2e9), NEW_YEAR)):
        with pytest.raises(DomainError):
            domain.position(wrong)
    with pytest.raises(ParameterError, match="time zone"):
        Numbers(NEW_YEAR, datetime(2027, 1, 1))


@pytest.mark.parametrize(
    "changes",
    [
        {"low": 0}, {"low": "0.0"}, {"low": "2/4"}, {"low": "+0"}, {"low": " 0"}, {"low": "0e0"}, {"low": "1/0"}, {"low": "nan"},
        {"low": "3"}, {"steps": 0}, {"steps": 65_537}, {"steps": "7"}, {"steps": True}, {"clip": False}, {"clip": 1},
        {"low": "2026-01-01T00:00:00"}, {"low": "2026-01-01T00:00:00Z", "high": "2026-01-02T00:00:00+00:00"}, {"unit": "m"},
        {"low": "1" * 2000}, {"high": "1e999999999"}, {"low": "0001-01-01T00:00:00+05:00"},
    ],
)  # fmt: skip
def test_other_spellings_of_a_range_are_refused(changes):
    with pytest.raises((WireError, ParameterError)):
        Domain.from_json({"kind": "numbers", "low": "0", "high": "2", "steps": 7, **changes})


# --- columns ---

SPEC = dn.Piecewise(low=-3, high=Fraction(29, 7), steps=997, epsilon=1.0)
HOURS = dn.OneBitMean(domain=Numbers(datetime(2026, 1, 1), datetime(2026, 12, 31, 23)), epsilon=1.0)
DRAW = np.random.default_rng(3)
FLOATS = DRAW.uniform(-3, 29 / 7 - 1e-9, 5000)
MOMENTS = np.datetime64("2026-01-01", "us") + DRAW.integers(0, 31_000_000, 3000) * np.timedelta64(1_000_003, "us")
COLUMNS = {
    "doubles": (SPEC, FLOATS, FLOATS.tolist()),
    "strided doubles of another byte order": (SPEC, FLOATS.astype(">f8")[::2], FLOATS[::2].tolist()),
    "singles": (SPEC, FLOATS.astype("f4"), [float(x) for x in FLOATS.astype("f4")]),
    "integers": (SPEC, np.arange(-3, 5).repeat(400), np.arange(-3, 5).repeat(400).tolist()),
    "small integers": (SPEC, np.arange(0, 5, dtype="u1").repeat(400), np.arange(0, 5).repeat(400).tolist()),
    "a list": (SPEC, FLOATS.tolist(), FLOATS.tolist()),
    "a mixed list": (SPEC, [1, 2.5, Decimal("0.1"), Fraction(1, 3), np.float32(0.7), np.int8(-3)] * 200, None),
    "polars": (SPEC, pl.Series(FLOATS), FLOATS.tolist()),
    "arrow": (SPEC, pa.array(FLOATS), FLOATS.tolist()),
    "arrow in chunks": (SPEC, pa.chunked_array([FLOATS[:10], FLOATS[10:]]), FLOATS.tolist()),
    "moments": (HOURS, MOMENTS, MOMENTS.tolist()),
    "moments in milliseconds": (HOURS, MOMENTS.astype("M8[ms]"), MOMENTS.astype("M8[ms]").tolist()),
    "moments in nanoseconds": (HOURS, MOMENTS.astype("M8[ns]"), MOMENTS.tolist()),
    "days": (HOURS, MOMENTS.astype("M8[D]"), [datetime(d.year, d.month, d.day) for d in MOMENTS.astype("M8[D]").tolist()]),
    "datetimes": (HOURS, MOMENTS.tolist(), MOMENTS.tolist()),
    "polars moments": (HOURS, pl.Series(MOMENTS), MOMENTS.tolist()),
    "truths": (dn.Duchi(low=0, high=1, epsilon=1.0), np.array([True, False] * 300), [True, False] * 300),
    "clipped": (dn.Duchi(low=0, high=1, clip=True, epsilon=1.0), FLOATS * 1e300, (FLOATS * 1e300).tolist()),
    "huge integers": (dn.Duchi(low=2**62, high=2**62 + 5, steps=5, epsilon=1.0), 2**62 + np.arange(6).repeat(50), None),
    "doubles without room for a grid": (dn.Duchi(low=1e16, high=1e16 + 64, epsilon=1.0), 1e16 + 2.0 * np.arange(33), None),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("doubt", [None, 0.3], ids=["", "in doubt"])
def test_columns_are_read_as_single_values_are(name, doubt, monkeypatch):
    """The same words make the same reports; also where doubles leave many in doubt, whom the scalar code then serves."""
    spec, column, singles = COLUMNS[name]
    if doubt:
        slack = NumberColumn.slack.fget
        monkeypatch.setattr(NumberColumn, "slack", property(lambda self: max(doubt, slack(self))))
    singles = (column if isinstance(column, list) else column.tolist()) if singles is None else singles
    source, bulk = ReplaySource.from_key("columns"), ReplaySource.from_key("columns")
    one_by_one = b"".join(spec.encode(spec.randomize(value, source)) for value in singles)
    assert spec.privatize(column, source=bulk).rows().tobytes() == one_by_one
    assert bulk.consumed == source.consumed
    keys = [spec.domain.key(value) for value in singles]
    assert keys_of(spec.domain, column).tolist() == nearest_points(spec.domain, column).tolist() == keys


def test_doubts_are_rare():
    column = number_column(Numbers(0, 1), FLOATS[(FLOATS > 0) & (FLOATS < 1)])
    assert 0 < column.slack < 1e-9
    exact = [column.domain.position(value) for value in column.nearly.tolist()]
    error = max(abs(Fraction((x - column.start) * column.scale) - place) for x, place in zip(column.nearly.tolist(), exact, strict=True))
    assert error < column.slack / 2


class OffByAHair(dn.Piecewise):
    """A twin whose grid is a hair finer: the comparison above must see it."""

    def position(self, value):
        return super().position(value) * Fraction(10**6, 10**6 + 1)


def test_the_comparison_sees_a_hair():
    spec, twin = (kind(low=-3, high=5, epsilon=1.0) for kind in (dn.Piecewise, OffByAHair))
    source = ReplaySource.from_key("columns")
    one_by_one = b"".join(twin.encode(twin.randomize(value, source)) for value in FLOATS.tolist() * 20)
    assert spec.privatize(np.tile(FLOATS, 20), source=ReplaySource.from_key("columns")).rows().tobytes() != one_by_one


BAD = {
    "nan": (SPEC, [0.0, float("nan")], 1),
    "nan in an array": (SPEC, np.array([0.0, 1.0, np.nan]), 2),
    "infinite": (SPEC, np.array([np.inf, 0.0]), 0),
    "infinite where clipped": (dn.Duchi(low=0, high=1, clip=True, epsilon=1.0), np.array([0.0, -np.inf]), 1),
    "above": (SPEC, np.array([0.0, 29 / 7 + 1e-9]), 1),
    "just above": (SPEC, np.array([0.0, np.nextafter(29 / 7, 9)]), 1),
    "below": (SPEC, np.array([0, -4]), 1),
    "text": (SPEC, [0.5, "0.5"], 1),
    "none": (SPEC, [0.5, None], 1),
    "boolean": (SPEC, [0.5, True], 1),
    "booleans": (SPEC, np.array([True]), 0),
    "null in polars": (SPEC, pl.Series([0.5, None]), 1),
    "list": (SPEC, [0.5, [1]], 1),
    "complex": (SPEC, np.array([1j]), 0),
    "moment among numbers": (SPEC, np.array(["2026-01-01"], dtype="M8[s]"), 0),
    "number among moments": (HOURS, [datetime(2026, 1, 1), 5], 1),
    "not a time": (HOURS, np.array(["2026-01-01", "NaT"], dtype="M8[s]"), 1),
    "too late": (HOURS, np.array(["2027-01-01"], dtype="M8[s]"), 0),
    "a decimal of a billion digits": (SPEC, [Decimal("1e-999999999")], 0),
    "between two signs": (dn.SignRR(epsilon=1.0), [-1, 1, 0.5], 2),
    "masked": (SPEC, np.ma.array([0.0, 1.0], mask=[False, True]), 1),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_values_are_named_and_nothing_is_drawn(name):
    spec, column, position = BAD[name]
    source = ReplaySource([])
    with pytest.raises(DomainError, match=rf"values\[{position}\]"):
        spec.privatize(column, source=source)
    if isinstance(column, list):
        with pytest.raises(DomainError):
            spec.randomize(column[position], source)


def test_what_is_no_column_is_refused():
    for wrong in ("abc", 5.0, np.zeros((2, 2))):
        with pytest.raises(DomainError):
            SPEC.privatize(wrong)
    assert len(SPEC.privatize([])) == 0
    assert issubclass(dn.Duchi, MeanSpec)


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        (dn.SignRR(low=0, high=2, clip=True, epsilon=1.0), [-5, 0, 2, 7.5, 2]),
        (dn.OneBitMeanPM(low=0, high=10, clip=True, epsilon=1.0), [-5, 0, 3, 10, 10.5, 99]),
        (dn.OneBitMeanPM.with_gamma("1/5", low=-4, high=8, steps=3, clip=True, epsilon=1.0), [-5, -4, -1, 0, 3, 4, 7, 8, 9]),
        (dn.OneBitMeanPM.with_gamma("1/4", low=0, high=10, epsilon=2.0), [0, 3, 10]),
        (dn.OneBitMeanPM(low=0, high=2**53, steps=2**16, epsilon=1.0), [0, 1, 2**52 - 1, 2**52, 2**53 - 1, 2**53]),
    ],
    ids=repr,
)
def test_ends_and_counters_are_the_same_one_by_one_and_in_bulk(spec, values):
    """Clipped, at the ends of cells, and over many blocks; as integers and as doubles."""
    values = values * (70_000 // len(values))
    source = ReplaySource.from_key("ends")
    one_by_one = b"".join(spec.encode(spec.randomize(value, source)) for value in values)
    kinds = [float] + ([np.int64] if all(isinstance(value, int) for value in values) else [])
    for kind in kinds:
        bulk = ReplaySource.from_key("ends")
        assert spec.privatize(np.array(values, dtype=kind), source=bulk).rows().tobytes() == one_by_one
        assert bulk.consumed == source.consumed


@pytest.mark.parametrize("spec", [dn.SignRR(low=0, high=2, epsilon=1.0), dn.OneBitMeanPM(low=0, high=2, epsilon=1.0)], ids=repr)
def test_what_only_doubles_take_for_an_end_is_refused_wherever_it_stands(spec):
    nearly = 2 - Fraction(1, 10**30)
    with pytest.raises(DomainError):
        spec.randomize(nearly)
    with pytest.raises(DomainError, match=r"values\[1\]"):
        spec.privatize([Fraction(2), nearly, Fraction(0)])
