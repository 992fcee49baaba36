"""Values that a histogram lists: each means rows of its own, in every type, so that one person is in one count at most."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from deniable.central.rows import counts, listed
from deniable.errors import ParameterError
from tests.central.sessions import opened

DAY = datetime(2020, 1, 1)
MICRO = timedelta(microseconds=1)
ZONES = [timezone(timedelta(minutes=i)) for i in range(1, 4)]


class Odd(str):
    """A text that equals itself alone."""

    __slots__ = ()

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)


DISTINCT = [
    (pl.Int8(), [-128, 0, 127]),
    (pl.UInt64(), [0, 2**63, 2**64 - 1]),
    (pl.Boolean(), [True, False]),
    (pl.String(), ["", "a", "A", "a "]),
    (pl.Binary(), [b"", b"a"]),
    (pl.Date(), [date(2020, 1, 1), date(2020, 1, 2)]),
    (pl.Time(), [time(1), time(1, microsecond=1)]),
    *((pl.Datetime(unit), [DAY, DAY + 1000 * MICRO]) for unit in ("ms", "us", "ns")),
    *((pl.Duration(unit), [0 * MICRO, 1000 * MICRO]) for unit in ("ms", "us", "ns")),
    (pl.Datetime("us", "UTC"), [DAY.replace(tzinfo=UTC), DAY.replace(tzinfo=ZONES[0])]),
    (pl.Decimal(10, 1), [Decimal("1.0"), Decimal("1.1"), Decimal(2)]),
    (pl.Enum(["a", "b"]), ["b", "a"]),
]


@pytest.mark.parametrize(("kind", "values"), DISTINCT, ids=lambda value: str(value)[:40])
def test_each_row_is_in_the_count_of_its_own_value_alone(kind, values):
    """Of a row, and of a list, in which each value is counted once."""
    table = pl.DataFrame({"x": pl.Series([*values, None], dtype=kind)})
    lists = pl.DataFrame({"x": pl.Series([[value, value] for value in values] + [[], None], dtype=pl.List(kind))})
    for held in (table, lists):
        wanted = listed(held.clear(), "x", values)
        alone = [counts(held, "x", np.arange(held.height) == i, wanted).tolist() for i in range(held.height)]
        assert alone == np.eye(held.height, len(values), dtype=int).tolist()


SAME = [
    (pl.Datetime("ms"), [DAY + i * MICRO for i in range(20)]),
    (pl.Datetime("ms"), [DAY + MICRO]),
    (pl.Datetime("us"), [DAY, DAY.replace(fold=1)]),
    (pl.Datetime("us"), [DAY.date()]),
    (pl.Datetime("us"), [DAY.replace(tzinfo=UTC)]),
    (pl.Datetime("us", "UTC"), [DAY.replace(tzinfo=UTC), DAY]),
    (pl.Datetime("us", "UTC"), [DAY.replace(tzinfo=UTC), DAY.replace(tzinfo=ZONES[0]) + timedelta(minutes=1)]),
    (pl.Datetime("ns"), pl.Series([0, 1]).cast(pl.Datetime("ns"))),
    (pl.Duration("ms"), [i * MICRO for i in range(20)]),
    (pl.Decimal(10, 1), [Decimal("1.00"), Decimal("1.01")]),
    (pl.Decimal(10, 1), [Decimal("1.0"), Decimal("1.00")]),
    (pl.Time(), [time(1), time(1, tzinfo=UTC)]),
    (pl.Time(), [time(1, tzinfo=zone) for zone in ZONES]),
    (pl.Date(), [DAY, DAY + timedelta(hours=1)]),
    (pl.Date(), [DAY.date(), DAY]),
    (pl.String(), [Odd("a"), Odd("a")]),
    (pl.String(), ["1", 1]),
    (pl.Int64(), [1, 1.0]),
    (pl.Int64(), [Decimal(1), Decimal("1.2")]),
    (pl.Int64(), pl.Series([1], dtype=pl.Int32)),
    (pl.Int64(), [1, None]),
]


@pytest.mark.parametrize(("kind", "values"), SAME, ids=lambda value: str(value)[:40])
def test_values_that_would_mean_the_same_rows_are_refused_unpaid(kind, values):
    session = opened(pl.DataFrame(schema={"x": kind, "lists": pl.List(kind)}))
    for ask in (lambda: session.histogram("x", values=values, epsilon=0.1), lambda: session.top("lists", 1, values=values, epsilon=0.1)):
        with pytest.raises(ParameterError, match="values"):
            ask()
    assert not session.book.requests()
