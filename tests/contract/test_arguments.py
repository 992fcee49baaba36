"""What ``@typed`` lets through, type by type: what fits is passed on as it came, and what does not is refused by the parameter's name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest

from deniable.contract.arguments import fits, typed
from deniable.contract.domain import Categories, Domain, IndexRange
from deniable.errors import ParameterError

LARGEST = 2**1023 - 1
SIZE = IndexRange(3)
OBJECTS = np.array([1, "a"], dtype=object)
WHOLE = np.array([1, 2])

TYPES = {
    "int": (int, [0, -LARGEST, LARGEST, np.int64(3)], [True, 1.0, "1", None, -LARGEST - 1, LARGEST + 1]),
    "float": (float, [0, 1.5, float("nan"), Decimal("0.1"), Fraction(1, 3), np.float32(1), LARGEST], [True, "1", 1j, LARGEST + 1]),
    "fraction": (Fraction, [1, Fraction(1, 3)], [0.5, True, "1/3"]),
    "bool": (bool, [True], [1, None]),
    "text": (str, ["", "a" * 300], [b"a", 1]),
    "choice": (Literal["a", "b"], ["a", "b"], ["c", "", None, 1, ["a"]]),
    "one of two": (str | int | None, ["a", 1, None], [1.5, b"a", True]),
    "anything": (Any, [1, None, OBJECTS], []),
    "a domain": (Domain, [SIZE, Categories("a", "b")], [3, Domain, None]),
    "a class": (type[Domain], [IndexRange], [SIZE, int]),
    "a function": (Callable[[int], int], [len], []),
    "path": (str | os.PathLike[str], ["a" * 255, "/".join(["a" * 255] * 4)], ["a" * 256, "b/" + "a" * 256, 1, b"a"]),
    "numbers": (tuple[int, ...], [(), (1, 2), [1, 2]], [WHOLE, {1}, "12", (1, "a"), (LARGEST + 1, 1), (1, 2.5), 1, None]),
    "pair": (tuple[int, str], [(1, "a"), [1, "a"]], [(1,), (1, "a", "a"), ("a", 1), (), "ab"]),
    "words": (Sequence[str], [["ab"], ("a",), np.array(["a"]), pl.Series(["a"])], ["a", {"a"}, iter("a"), {"a": 1}, ["a", 1], WHOLE]),
    "a column": (
        Sequence[int],
        [[1], WHOLE, WHOLE[:0], OBJECTS[:1], range(3), pl.Series([1, 2])],
        [OBJECTS, WHOLE / 2, np.array(["a"]), WHOLE[:, None], np.array(1), pl.Series(["a"]), b"ab", {1}],
    ),
    "whatever can be listed": (Iterable[int], [{1}, iter([1]), [1], WHOLE], [1, "1", {1: 2}, ["a"], WHOLE / 2]),
    "whatever is in order": (Sequence[Any], [[1, "a"], OBJECTS, np.zeros((2, 2))], ["a", {1}, 1]),
    "names": (list[str], [["a"], []], ["a", [1], 1]),
    "mapping": (Mapping[str, int], [{}, {"a": 1}], [[], "a", [("a", 1)]]),
}


def taker(hint):
    def take(value, *more, **named):
        return value, more, named

    take.__annotations__ = dict.fromkeys(("value", "more", "named"), hint)
    return typed(take)


@pytest.mark.parametrize(("hint", "fitting", "wrong"), TYPES.values(), ids=TYPES)
def test_what_fits_is_passed_on_and_what_does_not_is_refused_by_name(hint, fitting, wrong):
    """Before and after a value of the same class was seen, by position and by name."""
    take = taker(hint)
    for value in [*fitting, *fitting]:
        assert fits(value, hint)
        assert take(value, value, other=value) == (value, (value,), {"other": value}) if np.ndim(value) == 0 else take(value)[0] is value
    for value in wrong:
        assert not fits(value, hint)
        for name, call in {
            "value": lambda value=value: take(value),
            "more": lambda value=value: take(*fitting[:1], value),
            "named": lambda value=value: take(*fitting[:1], other=value),
        }.items():
            with pytest.raises(ParameterError) as refused:
                call()
            assert refused.value.parameter == name


def test_a_default_passes_and_so_does_a_type_that_only_checkers_import():
    def make(count, other=3):
        return count, other

    make.__annotations__, make.__defaults__ = {"count": int, "other": "NotImported"}, (None, 3)

    assert typed(make)(None, [object]) == (None, [object])
    with pytest.raises(ParameterError, match="count: got 'a'; allowed: an integer"):
        typed(make)("a")


def test_what_is_looked_at_is_not_used_up():
    values = iter([1, 2])
    assert list(taker(Iterable[int])(values)[0]) == [1, 2]
