"""Conditions of a session: decided row by row, and refused where a value, or another row, could decide more."""

from __future__ import annotations

import operator
from datetime import UTC, date, datetime, time, timedelta
from functools import reduce
from itertools import product

import polars as pl
import pytest

from deniable.central.condition import read_where
from deniable.central.kinds import extremes
from deniable.errors import ParameterError, ProtocolError
from tests.central.sessions import PEOPLE, opened

age, name = pl.col("age"), pl.col("name")
GOOD = [
    (None, "11111"),
    ({"smokes": True}, "10010"),
    ({"smokes": True, "age": 34}, "10000"),
    ({"name": ["Ann", "Cleo", "Eve"]}, "10100"),
    ({"age": range(29, 52)}, "11100"),
    (age > 40, "01001"),
    (~(age > 40), "10100"),
    (age.is_null(), "00010"),
    ((age > 40) | name.str.starts_with("C"), "01101"),
    (age.is_between(34, 51) & (name != "Ben"), "10000"),
    (name.is_in(["Ben"]) ^ pl.col("smokes"), "11010"),
    (pl.col("weight") > age, "11101"),
    (name.str.ends_with("n") & name.is_not_null(), "11010"),
]


@pytest.mark.parametrize(("where", "expected"), GOOD, ids=lambda value: str(value)[:40])
def test_conditions_match_row_by_row(where, expected):
    """And so a row that comes or goes changes nothing for the others: each row alone matches as it does among all."""
    known = read_where(where, PEOPLE.clear())
    assert "".join(str(int(bit)) for bit in known.matches(PEOPLE)) == expected
    assert "".join(str(int(known.matches(PEOPLE[i])[0])) for i in range(5)) == expected
    assert known.matches(PEOPLE.clear()).size == 0


BAD = {
    "a mean of others": age > age.mean(),
    "a rank": age.rank() > 2,
    "a shift": age.shift(1) == 34,
    "a window": (age == 34).over("smokes"),
    "a running sum": age.cum_sum() > 10,
    "who is unique": age.is_unique(),
    "the number of rows": pl.len() > 4,
    "another column's values": name.is_in(pl.col("name").implode()),
    "a cast that can fail": name.cast(pl.Int64) == 1,
    "a division": 1 / age > 2,
    "a sum": age + 1 > 2,
    "a python function": age.map_batches(lambda column: column == 34, return_dtype=pl.Boolean),
    "a series, by position": age == pl.lit(pl.Series([1, 2, 3, 4, 5])),
    "a regular expression": name.str.contains("(A|B)nn"),
    "several columns": pl.col("age", "weight") > 3,
    "all columns": pl.all() == 1,
    "when and then": pl.when(age > 3).then(True).otherwise(False),
    "a list column": pl.col("tags") == pl.col("tags"),
    "no column": pl.lit(True),
    "no condition": age,
    "a type that does not fit": name > 3,
    "an unknown column": pl.col("wage") == 1,
    "an unknown key": {"wage": 1},
    "nothing": {},
    "null": {"age": None},
    "an empty list": {"age": []},
    "a text for a number": {"age": "34"},
    "sql": "age > 40",
    "a boolean for a number": {"age": True},
    "numbers of two types": {"age": [34, 2.5]},
    "a number for a boolean": pl.col("smokes") > 1,
    "an integer that no column holds": age == 2**70,
    "bits of numbers": (age & age) == 1,
    "what cannot be told apart in writing": pl.col("weight") > float("inf"),
    "null as a constant": age == pl.lit(None),
    "half a character": {"name": "\ud800"},
    "a deep nest": reduce(lambda nest, _: ~nest, range(3000), age > 3),
}


@pytest.mark.parametrize("what", BAD)
def test_conditions_that_look_around_or_can_fail_are_refused_unpaid(what):
    session = opened()
    with pytest.raises(ParameterError, match="where"):
        session.count(where=BAD[what], epsilon=0.1)
    assert not session.book.requests()


# --- no value makes a condition fail ---

WHOLE = (pl.Int8, pl.Int64, pl.UInt8, pl.UInt64)
TIMES = [kind for unit in ("ms", "us", "ns") for kind in (pl.Datetime(unit), pl.Duration(unit), pl.Datetime(unit, "UTC"))]
KINDS = [*WHOLE, pl.Int128, pl.Float32, pl.Float64, pl.Boolean, pl.String, pl.Date, pl.Time, *TIMES]
SCHEMA = pl.Schema({str(i): kind for i, kind in enumerate(KINDS)})
ENDS = pl.concat(
    [
        extremes(SCHEMA),
        *(pl.DataFrame([pl.Series(name, [i], dtype=pl.Int64).cast(kind, strict=False) for name, kind in SCHEMA.items()]) for i in (0, 1)),
    ]
).with_columns(pl.Series("8", ["", "1", "99999999999999999999", None, "2020-01-01"]))
COMPARE = [operator.eq, operator.ne, operator.lt, operator.ge, operator.and_, operator.or_, operator.xor]
NUMBERS, TEXT = [0, -1, 2**64 - 1, 2**80, 1.5, True], ["x", "2020-01-01"]
CONSTANTS = [*NUMBERS, *TEXT, date(9999, 1, 1), datetime(1, 1, 1), datetime(2020, 1, 1, tzinfo=UTC), timedelta(days=10**8), time(1)]


def conditions():
    for one, other in product(map(pl.col, SCHEMA), repeat=2):
        yield from (compare(one, other) for compare in COMPARE)
        yield one.is_between(other, one)
        yield one.str.starts_with(other)
    for name, constant in product(SCHEMA, CONSTANTS):
        column = pl.col(name)
        yield from (compare(column, pl.lit(constant)) for compare in COMPARE)
        yield column.is_in([constant, constant])
        yield column.is_between(constant, constant)
        yield {name: constant}
        yield {name: [constant, constant]}


def test_no_condition_that_is_accepted_fails_on_any_value():
    """All pairs of types, with each other and with constants: what is accepted without a row decides also on extreme ones."""
    accepted, bare = 0, 0
    for condition in conditions():
        try:
            known = read_where(condition, ENDS.clear())
        except ParameterError:
            continue
        known.matches(ENDS)
        accepted += 1
        bare += not isinstance(condition, dict)
    assert accepted > 400
    assert bare > 300


LEAKS = {
    "a text with a duration": (pl.col("name") == pl.col("stay"), timedelta(3)),
    "a text with a duration, in between": (pl.col("name").is_between(pl.col("stay"), pl.col("stay")), timedelta(3)),
    "a number with a date": (pl.col("visits").is_between(date(2020, 1, 1), date(2020, 1, 1)), None),
}


@pytest.mark.parametrize("what", LEAKS)
def test_neighbors_are_not_told_apart_by_an_error(what):
    """Each of these was decided for the one table, and failed for the other."""
    condition, stay = LEAKS[what]
    for people in (100, 101):
        last = [(2**63, stay)] if people == 101 else []
        rows = [("p", visits, days) for visits, days in [(1, None)] * 100 + last]
        table = pl.DataFrame(rows, schema={"name": pl.String, "visits": pl.UInt64, "stay": pl.Duration("us")}, orient="row")
        session = opened(table)
        with pytest.raises(ParameterError, match="numbers with numbers"):
            session.count(where=condition, epsilon=1e-8)
        assert not session.book.requests()


def test_a_constant_of_the_columns_own_type_is_compared():
    noon = datetime(2020, 1, 1, 12)
    for unit in ("ms", "us", "ns"):
        table = pl.DataFrame({"seen": pl.Series([noon, noon + timedelta(1), None], dtype=pl.Datetime(unit))})
        for where in ({"seen": noon}, {"seen": [noon, noon]}, pl.col("seen") == pl.lit(noon, dtype=pl.Datetime(unit))):
            assert read_where(where, table.clear()).matches(table).tolist() == [True, False, False]
    finer = pl.DataFrame({"seen": pl.Series([noon], dtype=pl.Datetime("ms"))})
    for bad in ({"seen": noon + timedelta(microseconds=1)}, {"seen": noon.replace(tzinfo=UTC)}, {"seen": noon.date()}):
        with pytest.raises(ParameterError, match="where"):
            read_where(bad, finer.clear())


def test_a_failure_on_the_rows_tells_nothing_about_them():
    """No condition that is allowed can fail; if one did, by a fault of a library, its message would stay here."""
    broken = read_where({"age": 34}, PEOPLE.clear())
    with pytest.raises(ProtocolError) as caught:
        broken.matches(PEOPLE.rename({"age": "years"}))
    assert caught.value.__context__ is None
    assert "Ann" not in str(caught.value)
    assert "years" not in str(caught.value)
