"""Columns of values as keys, points and numbers: for every kind of column what single values give, and the first bad one named."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import floor

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.core.number_column import NumberColumn, nearest_points, number_column
from deniable.core.stream import ArraySource
from deniable.core.values import distinct_strings, keys_of
from deniable.errors import DomainError

SHIFTED, SIGNED = dn.Integers(3, 9), dn.Integers(-100, 100)
WIDE, TOP = dn.Integers(-5, 2**63), dn.Integers(0, 2**64 - 1)
INTEGERS = {
    "indices": (dn.IndexRange(7), [0, 6, 3], "u1 i1 <i2 >i4 u8"),
    "from three on": (SHIFTED, [3, 9, 5], "u1 i1 <i2 >i4 u8"),
    "with a sign": (SIGNED, [-100, 100, 0], "i1 >i2 i8"),
    "more than a type holds": (dn.Integers(-1000, 1000), [0, 100, 7], "u1 i1"),
    "64 bits": (TOP, [0, 2**63 - 1, 12345], "i8 u8"),
    "truths": (dn.IndexRange(2), [True, False, True], "? u1"),
}


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_have_the_keys_of_single_values(name):
    domain, values, kinds = INTEGERS[name]
    expected = [domain.key(value) for value in values]
    columns = [values, tuple(values), pa.array(values), *(np.array(values, dtype=kind) for kind in kinds.split())]
    for column in columns:
        found = keys_of(domain, column)
        assert found.tolist() == expected
        assert found.dtype.kind in "iu"
        assert found.dtype.isnative
    assert keys_of(domain, []).tolist() == []
    assert keys_of(domain, []).dtype == np.uint64
    assert keys_of(domain, np.ma.array(values, mask=[False] * 3)).tolist() == expected


def test_lists_may_mix_what_no_array_type_holds():
    assert keys_of(WIDE, [-5, 2**63, 0]).tolist() == [0, 2**63 + 5, 5]
    assert keys_of(TOP, np.array([2**64 - 1, 0], dtype=np.uint64)).tolist() == [2**64 - 1, 0]
    assert keys_of(dn.IndexRange(2), [True, 0, 1]).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("domain", "column", "where"),
    [
        (SHIFTED, [3, 2, 1], r"values\[1\]"),
        (SHIFTED, np.array([3, 9, 10, 2], dtype="u1"), r"values\[2\]"),
        (SHIFTED, np.array([9, -1, 2], dtype="i1"), r"values\[1\]"),
        (SIGNED, np.array([0, 101], dtype="u1"), r"values\[1\]"),
        (SIGNED, np.array([0, 5, -101], dtype="i1"), r"values\[2\]"),
        (TOP, np.array([0, -1]), r"values\[1\]"),
        (dn.IndexRange(7), np.array([0, 7]), r"values\[1\]"),
        (dn.IndexRange(7), [0, True], r"values\[1\]"),
        (dn.Integers(0, 1), [0, True, 1], r"values\[1\]"),
        (dn.IndexRange(7), [0, 1.0], r"values\[1\]"),
        (dn.IndexRange(7), np.array([0.0, 1.0]), "dtype float64"),
        (dn.IndexRange(7), np.array([True]), "dtype bool"),
        (dn.IndexRange(7), np.zeros((2, 2), dtype=int), r"shape \(2, 2\)"),
        (dn.IndexRange(7), [[1], [2, 3]], r"values\[0\]"),
        (dn.IndexRange(7), np.ma.array([0, 1, 2], mask=[0, 0, 1]), r"values\[2\]"),
        (dn.IndexRange(7), {"a": 1}, "dict"),
        (dn.IndexRange(7), b"123", "bytes"),
        (dn.IndexRange(7), "123", "str"),
        (dn.Categories("a", "b"), ["a", "b", "c"], r"values\[2\]: got 'c'"),
        (dn.Categories("a", "b"), pa.array(["a", None]), r"values\[1\]"),
        (dn.Categories("a", "b"), ["a", 5], r"values\[1\]: got 5"),
        (dn.Categories("a", "b"), 5, r"values\[0\]"),
        (dn.Categories("a", "b"), np.array([["a"]]), r"shape \(1, 1\)"),
        (dn.Categories("a", "b"), pa.array([1, 2]), r"values\[0\]: got 1"),
        (dn.Text(3), ["abc", "abcd"], r"values\[1\]"),
        (dn.Text(3), pa.array(["abc", None]), r"values\[1\]"),
        (dn.Text(3), ["abc", b"a"], r"values\[1\]"),
        (dn.Bytes(3), [b"abc", "a"], r"values\[1\]"),
        (dn.Bytes(3), [b"abc", b"abcd"], r"values\[1\]"),
    ],
    ids=range(29),
)
def test_the_first_bad_value_is_named(domain, column, where):
    with pytest.raises(DomainError, match=where):
        keys_of(domain, column)


def test_strings_have_the_keys_of_single_values_in_any_wrapping():
    words, blobs = ["tea", "", "日本", "tea"], [b"tea", b"", b"\xff", b"tea"]
    for domain, values, kinds in (
        (dn.Text(8), words, (pa.large_string(), pa.string_view())),
        (dn.Bytes(8), blobs, (pa.large_binary(), pa.binary_view())),
    ):
        expected = [domain.key(value) for value in values]
        columns = [
            values,
            np.array(values, dtype=object),
            pa.array(values),
            pa.chunked_array([values[:1], values[1:]]),
            pa.array(values).dictionary_encode(),
        ]
        for column in (*columns, *(pa.array(values, kind) for kind in kinds)):
            assert keys_of(domain, column).tolist() == expected
        distinct, indices = distinct_strings(domain, values)
        assert (distinct, indices.tolist()) == (values[:3], [0, 1, 2, 0])
        assert keys_of(domain, []).tolist() == []
    assert keys_of(dn.Bytes(3), pa.array([b"abc", b"xyz"], pa.binary(3))).tolist() == [dn.Bytes(3).key(b"abc"), dn.Bytes(3).key(b"xyz")]
    labels = dn.Categories("red", "green")
    assert keys_of(labels, pa.array([], pa.null())).tolist() == []
    assert keys_of(labels, np.array(["green", "red"])).tolist() == [1, 0]


# --- numbers ---

GRID = dn.Numbers(-3, Fraction(29, 7), steps=10)
DAY = dn.Numbers(datetime(2026, 1, 1), datetime(2026, 1, 2), steps=24)
ZONED = dn.Numbers(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC), steps=24)


def nearest(domain, number):
    """The nearest point, the upper one of two, in fractions; what is out of range counts as the end."""
    place = (Fraction(number) - domain.start) * domain.steps / domain.width
    return floor(min(max(place, 0), domain.steps) + Fraction(1, 2))


@pytest.mark.parametrize(
    ("domain", "values"),
    [
        (dn.Numbers(0, 10, steps=10), [0, 0.5, 1.5, 2.5, 0.49999999999999994, 9.5, 10, 7.3]),
        (dn.Numbers(0, 1, steps=10), [i / 20 for i in range(21)]),
        (GRID, [-3, 4, Fraction(29, 7), Decimal("0.5"), np.float32(0.7)]),
        (dn.Numbers(0, 1, steps=10, clip=True), [-1e300, 0.05, 0.15, 2.0, 1e308]),
        (dn.Numbers(0, 1, steps=4, clip=True), [10**400, -(10**400), 1]),
        (dn.Numbers(2**62, 2**62 + 5, steps=5), [2**62 + i for i in range(6)]),
        (dn.Numbers(0, 1), [True, False]),
    ],
    ids=range(7),
)
def test_the_nearest_point_is_the_exact_one(domain, values):
    expected = [nearest(domain, value if not isinstance(value, np.float32) else float(value)) for value in values]
    assert nearest_points(domain, values).tolist() == keys_of(domain, values).tolist() == expected
    assert nearest_points(domain, values).dtype == np.uint64


def test_moments_are_counted_in_the_units_of_their_column():
    times = [datetime(2026, 1, 1, 1, 30), datetime(2026, 1, 1, 23, 59, 59), datetime(2026, 1, 2), datetime(2026, 1, 1)]
    for unit in ("s", "ms", "us", "ns", "m"):
        column = number_column(DAY, np.array(times, dtype=f"M8[{unit}]"))
        shown = [moment.replace(second=0) if unit == "m" else moment for moment in times]
        assert [column.exactly(i) for i in range(4)] == [DAY.number(moment) for moment in shown]
        assert column.nearly.tolist() == [float(DAY.number(moment)) for moment in shown]
    assert nearest_points(DAY, times).tolist() == [2, 24, 24, 0]
    instant = number_column(DAY, np.array(["2026-01-01T00:00:00.000000001"], dtype="M8[ns]"))
    assert instant.exactly(0) - DAY.start == Fraction(1, 10**9)
    for late, where in (
        (np.datetime64("2026-01-02T00:00:00.001", "ms"), 1),
        (np.datetime64("2025-12-31T23:59:59", "s"), 1),
        (np.datetime64("NaT"), 1),
    ):
        column = np.array([np.datetime64("2026-01-01", "ms"), late])
        with pytest.raises(DomainError, match=rf"values\[{where}\]"):
            number_column(DAY, column)
    clipping = dn.Numbers(DAY.low, DAY.high, steps=24, clip=True)
    assert nearest_points(clipping, np.array(["2025-01-01", "2027-01-01"], dtype="M8[s]")).tolist() == [0, 24]
    with pytest.raises(DomainError, match=r"values\[0\]"):
        number_column(clipping, np.array(["NaT"], dtype="M8[s]"))
    moment = datetime(2026, 1, 1, 5, tzinfo=UTC) + timedelta(minutes=20)
    assert nearest_points(ZONED, [moment]).tolist() == [5]


@pytest.mark.parametrize(
    ("values", "kind", "exact"),
    [
        (np.array([1, 2], dtype="u1"), "i", True),
        (np.array([1, 2], dtype="i8"), "i", True),
        (np.array([1, 2], dtype="u8"), "f", True),
        (np.array([0.5, 2]), "f", True),
        (np.array([2**53, 1]), "i", True),
        (np.array([2**53 + 1, 1]), "i", False),
        ([1, 2.5], "f", True),
        ([1, 2], "i", True),
        ([2**53 + 2, 2.5], "f", False),
        ([2**53, 0.5], "f", True),
        ([2**60 - 1, 1], "i", False),
        ([2.0**58, 0.5], "f", True),
        ([1, Fraction(1, 3)], "f", False),
        ([], "f", False),
    ],
    ids=range(14),
)
def test_what_kernels_get_and_whether_it_is_exact(values, kind, exact):
    column = number_column(dn.Numbers(0, 2**60), values)
    assert (column.given.dtype.kind, column.exact) == (kind, exact)
    assert [column.exactly(i) for i in range(len(values))] == [Fraction(value) for value in np.asarray(values, dtype=object).tolist()]
    assert column.nearly.tolist() == [float(value) for value in values]


def test_a_grid_says_where_a_double_lies_on_it():
    column = number_column(GRID, [0.5, 4.0])
    start, scale, steps, slack = column.grid()
    assert (start, scale, steps) == (-3.0, float(10 / Fraction(50, 7)), 10.0)
    assert slack == pytest.approx(float((Fraction(29, 7) / Fraction(50, 7) + 2) * 10 / 2**51), rel=1e-9, abs=0)
    assert number_column(dn.Numbers(-8, 2, steps=10), [0]).slack == pytest.approx((8 / 10 + 2) * 10 / 2**51, rel=1e-9, abs=0)
    assert [column.exact_place(i) for i in range(2)] == [Fraction(7, 2) * 7 / 5, 7 * Fraction(7, 5)]
    for truths in (np.array([True, False]), [True, False]):
        found = number_column(dn.Numbers(0, 1), truths)
        assert (found.exact, found.nearly.tolist()) == (True, [1.0, 0.0])
    empty = number_column(dn.SignRR(epsilon=1.0).domain, [])
    assert isinstance(empty, NumberColumn)
    assert empty.nearly.shape == (0,)


@pytest.mark.parametrize(
    ("domain", "column", "where"),
    [
        (GRID, np.array([0.0, 1.0, 29 / 7 + 1e-9, 99.0]), r"values\[2\]"),
        (GRID, np.array([0.0, np.nextafter(-3.0, -9)]), r"values\[1\]"),
        (GRID, np.array([4, 5, -4]), r"values\[1\]"),
        (GRID, np.array([4, 0, -4]), r"values\[2\]"),
        (dn.Numbers(0.1, 0.7, steps=5), np.array([0.1, 0.7, np.nextafter(0.7, 1)]), r"values\[2\]"),
        (dn.Numbers(Fraction(1, 10), Fraction(7, 10), steps=5), np.array([0.5, 0.1, 0.7, np.nextafter(0.1, 0)]), r"values\[3\]"),
        (dn.Numbers(Fraction(1, 3), Fraction(2, 3), steps=5), np.array([0.5, 1 / 3]), r"values\[1\]"),
        (GRID, np.array([0.0, np.nan]), r"values\[1\]"),
        (dn.Numbers(0, 1, clip=True), np.array([5.0, -np.inf]), r"values\[1\]"),
        (GRID, [0, True], r"values\[1\]"),
        (GRID, np.array([True]), r"values\[0\]"),
        (GRID, np.array([1.0, 2.0], dtype=np.longdouble), None),
        (GRID, np.zeros((1, 1)), r"shape \(1, 1\)"),
        (GRID, 5, "int"),
        (GRID, "12", "str"),
        (GRID, [0.5, [1]], r"values\[1\]"),
        (GRID, [10**400], r"values\[0\]"),
        (GRID, np.array([0.5, "x"], dtype=object), r"values\[1\]"),
        (DAY, [DAY.low, 5], r"values\[1\]"),
        (DAY, np.array([5]), r"values\[0\]"),
    ],
    ids=range(20),
)
def test_the_first_bad_number_is_named(domain, column, where):
    if where is None:
        assert nearest_points(domain, column).tolist() == [nearest(domain, float(value)) for value in column]
        return
    with pytest.raises(DomainError, match=where):
        number_column(domain, column)


def test_the_first_double_of_a_range_is_in_it():
    third = dn.Numbers(Fraction(1, 3), Fraction(2, 3), steps=3)  # 1/3 as a double is below 1/3, and 2/3 below 2/3
    assert nearest_points(third, np.array([np.nextafter(1 / 3, 1), 2 / 3])).tolist() == [0, 3]


def test_words_of_an_array_end():
    source = ArraySource(np.array([5, 2**64 - 1], dtype=np.uint64))
    assert (source.word(), source.word(), source.consumed) == (5, 2**64 - 1, 2)
    with pytest.raises(EOFError):
        source.word()
