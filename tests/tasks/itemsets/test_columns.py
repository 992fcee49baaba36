"""Columns of sets: the same from lists, matrices and Arrow, and what is refused with which words."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import deniable as dn
from deniable.contract.domain import Domain
from deniable.contract.sets import HeldCount, SetCode
from deniable.contract.subsets import Subsets
from deniable.core.sets import ItemSets
from deniable.core.values import keys_of
from deniable.errors import DomainError, ParameterError
from deniable.tasks.itemsets import searches
from deniable.tasks.itemsets.searches import frequent_items, frequent_itemsets
from deniable.testing import ReplaySource

SHOP = Subsets(dn.Categories("tea", "milk", "bread", "jam"))
INDEX = Subsets(dn.IndexRange(4))
ROWS = [["jam", "tea"], [], ["bread"], ["milk", "tea", "jam", "bread"], []]
NUMBERS = [[SHOP.items.key(item) for item in row] for row in ROWS]
MATRIX = np.array([[key in row for key in range(4)] for row in NUMBERS])
LISTS = pa.array(ROWS, pa.list_(pa.string()))

COLUMNS = {
    "lists": (SHOP, ROWS),
    "sets and tuples": (SHOP, [frozenset(ROWS[0]), (), set(ROWS[2]), tuple(ROWS[3]), []]),
    "an Arrow column": (SHOP, LISTS),
    "a slice of one": (SHOP, pa.array([["jam"], *ROWS, ["tea"]])[1:-1]),
    "chunks of long offsets": (
        SHOP,
        pa.chunked_array([LISTS.cast(pa.large_list(pa.string())).slice(0, 2), LISTS.slice(2).cast(pa.large_list(pa.string()))]),
    ),
    "a dictionary column": (
        SHOP,
        pa.ListArray.from_arrays([0, 2, 2, 3, 7, 7], pa.array([x for row in ROWS for x in row]).dictionary_encode()),
    ),
    "Polars": (SHOP, pl.Series(ROWS)),
    "indices": (INDEX, NUMBERS),
    "Arrow indices": (INDEX, pa.array(NUMBERS, pa.list_(pa.uint8()))),
    "a sparse matrix": (INDEX, sparse.csr_matrix(MATRIX)),
    "a sparse array by columns": (INDEX, sparse.csc_array(MATRIX.astype(np.int8))),
    "zeros written out": (
        INDEX,
        sparse.csr_array((np.array([1, 0, 1, 1, 1, 1, 1, 1]), [0, 1, 3, 2, 1, 0, 3, 2], [0, 3, 3, 4, 8, 8]), shape=(5, 4)),
    ),
    "a table of yes and no": (INDEX, MATRIX),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_one_column_from_many_kinds(name):
    domain, values = COLUMNS[name]
    column = ItemSets.of(domain, values)
    assert (column.offsets.tolist(), column.items.tolist()) == ([0, 2, 2, 3, 7, 7], [0, 3, 2, 0, 1, 2, 3])
    assert column.counts.tolist() == MATRIX.sum(axis=0).tolist()
    again = column[np.array([3, 0, 1])]
    assert (again.offsets.tolist(), again.items.tolist()) == ([0, 4, 6, 6], [0, 1, 2, 3, 0, 3])
    assert column[1:4].items.tolist() == [2, 0, 1, 2, 3]


BAD = {
    "an unknown item": ([["tea"], ["beer"]], r"values\[1\]: got 'beer'"),
    "an item twice": ([[], ["tea"], ["jam", "tea", "jam"]], r"values\[2\]: got \"'jam' twice\""),
    "an item of another type": ([["tea"], ["tea", 7]], r"values\[1\]: got 7"),
    "a word": (["tea"], r"values\[0\]: got 'tea'.*put a single item in a list"),
    "nobody's answer": ([["tea"], None], r"values\[1\]: got None"),
    "no list of lists": (7, "values: got 'int'"),
    "one word for all": ("tea", "values: got 'str'"),
    "a missing list": (pa.array([["tea"], None]), r"values\[1\]: got None.*leave out"),
    "a missing item": (pa.array([["tea"], ["jam", None]]), r"values\[1\]: got None"),
    "a column of words": (pa.array(["tea"]), "a column of string"),
    "a narrow matrix": (sparse.csr_matrix(MATRIX[:, :3]), "4 columns"),
    "how many of each": (sparse.csr_matrix(MATRIX * 2), r"values\[0\]: got 2; allowed: 0 or 1"),
    "a matrix that says it twice": (sparse.csr_array((np.ones(2), [1, 1], [0, 0, 2]), shape=(2, 4)), r"values\[1\]: got \"'milk' twice\""),
    "a column of other items": (ItemSets.of(INDEX, NUMBERS), "integers from 0 to 3"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_column_of_sets_is_refused(name):
    values, message = BAD[name]
    with pytest.raises(DomainError, match=message):
        ItemSets.of(SHOP, values)


@pytest.mark.parametrize("row", [["beer"], ["tea", "tea"], "tea", None, 7, [["tea"]], {"tea": 1}], ids=str)
def test_a_device_refuses_the_same(row):
    with pytest.raises(DomainError, match="sets that name each item once"):
        SHOP.key(row)


def test_a_long_row_is_sorted_and_checked_too():
    row = list(range(99, -1, -1))
    column = ItemSets.of(Subsets(dn.IndexRange(100)), [row, [5], row[:40]])
    assert column.items.tolist() == [*range(100), 5, *range(60, 100)]
    with pytest.raises(DomainError, match="'60 twice'"):
        ItemSets.of(Subsets(dn.IndexRange(100)), [[*row[:40], 60]])


def test_keys_codes_and_counts_are_those_of_the_device():
    """Also through a mechanism on whole sets, whose keys are hashes."""
    assert keys_of(SHOP, LISTS).tolist() == [SHOP.key(row) for row in ROWS]
    assert len(set(keys_of(SHOP, ROWS[:4]).tolist())) == 4
    candidates = ((0,), (0, 3), (1, 2, 3), (2,))
    for encoder in (HeldCount(SHOP, candidates), SetCode(SHOP)):
        assert encoder.encode_many(LISTS, None).tolist() == [encoder.encode(row, None) for row in ROWS]
    assert ItemSets.of(SHOP, LISTS).supports(candidates).tolist() == [2, 2, 1, 2]
    oracle = dn.OLH(domain=SHOP, epsilon=6.0)
    found = oracle.estimate(
        oracle.tally(oracle.privatize(ROWS * 400, source=ReplaySource.from_key("whole")), candidates=[[], ["bread"], ["tea"]])
    )
    assert np.all(np.abs(found.counts - [800, 400, 0]) < 4.892 * np.sqrt(found.law.variance(np.array([800, 400, 0]))))


def test_the_domain_travels_and_holds_no_sets_of_sets():
    assert Domain.from_json(SHOP.to_json()) == SHOP
    for items in (SHOP, dn.Text(4), dn.IndexRange(1 << 27), 7):
        with pytest.raises(ParameterError, match="a listed domain"):
            Subsets(items)


@pytest.mark.parametrize("find", [frequent_items, frequent_itemsets])
def test_items_are_declared_and_never_read_off_what_people_hold(find):
    """Read off, the list itself would show the one person who holds insulin, at any epsilon: in 100 of 100 runs at 0.01."""
    rare = [["tea"], ["milk"], ["tea", "milk"], []] * 5 + [["insulin"]]
    arrow, numbers = pa.array(rare), [[0], [1], [0, 1], [999]]
    for sets in (
        rare,
        arrow,
        pa.chunked_array([arrow]),
        pl.Series(rare),
        numbers,
        pa.array(numbers),
        [[], []],
        7,
    ):
        with pytest.raises(ParameterError, match=r"^items: got None.*declared and not read off.*items=.*Text.*PEM"):
            find(sets, k=3, epsilon=0.01)
    with pytest.raises(DomainError, match="'insulin'"):
        find(rare, k=3, epsilon=0.01, items=dn.Categories("tea", "milk"))
    for sets, items in (
        (sparse.csr_array(MATRIX), dn.IndexRange(4)),  # its width is declared, whatever is held
        (sparse.csr_array((5, 7), dtype=bool), dn.IndexRange(7)),
        (MATRIX, dn.IndexRange(4)),
        (ItemSets.of(SHOP, ROWS), SHOP.items),
    ):
        assert searches._domain(sets, None).items == items
        assert find(sets, k=2, epsilon=1.0).screening.candidates > 0
