"""Encoders in bulk: for every kind of column what the scalar encoder gives, value by value and from the same words; and what is refused."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

import deniable as dn
from deniable.contract.cells import Cell
from deniable.contract.clusters import ClusterSide, Magnitude
from deniable.contract.encoder import Prefix
from deniable.contract.features import HALF, Features
from deniable.contract.fragment import Fragment
from deniable.contract.gradient import Gradient, sigmoid
from deniable.contract.lines import Interval, Parity
from deniable.contract.segments import Segments
from deniable.contract.sets import HeldCount, Overflow, PadAndSample, SetCode
from deniable.contract.subsets import Subsets
from deniable.contract.tracks import DrawnMove, FirstVisit, LastVisit, MoveCount, Track
from deniable.core.cells import KeyedTable
from deniable.core.features import FeatureTable, nearest, sigmoids, table_of
from deniable.core.sets import ItemSets, codes_of
from deniable.core.values import keys_of
from deniable.errors import DomainError
from deniable.testing import ReplaySource

BYTE, WIDE, WORDS = dn.Integers(0, 255), dn.Integers(-5, 2**64 - 6), dn.Text(12)
NUMBERS = [0, 1, 0x7B, 0x74, 0x75, 254, 255]
LONG = [-5, 0, 7, 2**63 - 5, 2**63 + 12345, 2**64 - 6]
TEXTS = ["tea", "", "to", "tea", "日本", "twelve bytes", "té"]
LINES = {
    "prefix": (Prefix(BYTE, 3), NUMBERS),
    "prefix among candidates": (Prefix(BYTE, 4, (3, 7, 9)), NUMBERS),
    "prefix of a word": (Prefix(WORDS, 8, (0x61, 0x74)), TEXTS),
    "prefix of 64 bits": (Prefix(WORDS, 64), TEXTS),
    "prefix of 65 bits": (Prefix(WORDS, 65), TEXTS),
    "prefix of 72 bits among candidates": (Prefix(WORDS, 72, (1, 0x746561FFFFFFFFFFFF)), TEXTS),
    "prefix of a long integer": (Prefix(WIDE, 64), LONG),
    "segments": (Segments(BYTE, ((0, 2), (5, 3))), NUMBERS),
    "segments among candidates": (Segments(BYTE, ((6, 2), (0, 2)), (1, 13, 15)), NUMBERS),
    "segments of words": (Segments(WORDS, ((8, 8), (0, 16))), TEXTS),
    "one segment of a whole word": (Segments(WIDE, ((0, 64),)), LONG),
    "two segments of a whole word": (Segments(WIDE, ((32, 32), (0, 32))), LONG),
    "fragment": (Fragment(BYTE, 2, 3), NUMBERS),
    "fragment with a hash": (Fragment(BYTE, 4, 4, hash_bits=8, salt=5, function=2), NUMBERS),
    "fragment of half a word": (Fragment(dn.Integers(0, 2**32 - 1), 4, 4, hash_bits=8, salt=5), [0, 1, 2**32 - 1, 0xCAFE_F00D]),
    "fragment of a long integer": (Fragment(WIDE, 3, 33, hash_bits=31), LONG),
    "fragment of words": (Fragment(WORDS, 8, 16, hash_bits=5), TEXTS),
    "interval": (Interval(dn.Integers(1, 12), (0, 3, 9)), [1, 3, 4, 9, 10, 12]),
    "parity": (Parity(BYTE, 0b1011_0110), NUMBERS),
}


@pytest.mark.parametrize("name", LINES)
def test_values_are_encoded_as_one_by_one(name):
    encoder, values = LINES[name]
    found = encoder.encode_many(values, None)
    assert list(found) == [encoder.encode(value, None) for value in values]
    assert isinstance(found, np.ndarray) == isinstance(encoder.encode(values[0], None), int)  # only what no word holds is a list of bytes
    assert len(encoder.encode_many([], None)) == 0
    with pytest.raises(DomainError):
        encoder.encode_many([*values, None], None)


# --- records ---

PLACES = (("place", dn.Categories("bar", "inn", "spa")), ("stars", dn.Integers(1, 4)), ("room", dn.IndexRange(5)))
STAYS = {"place": ["inn", "bar", "spa", "spa"], "stars": [4, 1, 3, 4], "room": [0, 4, 1, 4], "guest": list("abcd")}
RANGES = Features.of({"age": (0, 120), "height": dn.Numbers(50, 250, clip=True)})
BODY = {"age": [0, 29.9, 30, 60, 61, 120, 97], "height": [50, 150, 260, 149.9, 10, 172.4, 151], "ill": list("nynyynn")}
ILL = dn.Categories("n", "y")


def rows(table):
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


@pytest.mark.parametrize("masks", [None, (1, 3, 4), (3, 1, 7)])
def test_cells_of_a_table_are_those_of_its_rows(masks):
    encoder = Cell(PLACES, masks)
    expected = [encoder.encode(row, None) for row in rows(STAYS)]
    keyed = KeyedTable(STAYS, dict(PLACES))
    for table in (STAYS, pa.table(STAYS), keyed):
        assert encoder.column(table).tolist() == expected
    assert (list(keyed), len(keyed), keyed["stars"].tolist()) == (["place", "stars", "room"], 3, [3, 0, 2, 3])
    assert KeyedTable.column("stars", STAYS) == [4, 1, 3, 4]
    with pytest.raises(DomainError, match="keys of another domain"):  # 3 stars have the key 2, which is another number of stars
        Cell((("stars", dn.Integers(0, 9)),)).column(keyed)


def test_a_table_with_bad_rows_or_columns_is_refused():
    for wrong, word in (
        ({**STAYS, "stars": [4, 1, 3]}, "one length"),
        ({**STAYS, "stars": [4, 1, 3, 5]}, r"column 'stars', values\[3\]"),
        ({"place": ["inn"], "room": [1]}, "stars"),
    ):
        with pytest.raises(DomainError, match=word):
            KeyedTable(wrong, dict(PLACES))
    for wrong, word in (({**BODY, "age": [1]}, "one length"), ({**BODY, "age": [0, 1, 2, 3, 4, 121, 5]}, r"column 'age', values\[5\]")):
        with pytest.raises(DomainError, match=word):
            FeatureTable(wrong, RANGES)
    with pytest.raises(DomainError, match="a FeatureTable of"):
        FeatureTable(FeatureTable(BODY, RANGES), RANGES)


@pytest.mark.parametrize("weights", [(0, 0, 0), (300, -700, 1 << 20), (-5000, 900, 3)])
@pytest.mark.parametrize("coordinate", [0, 1, 2])
@pytest.mark.parametrize("clip", [0, 2])
def test_gradients_of_a_table_are_those_of_its_rows(weights, coordinate, clip):
    encoder = Gradient(RANGES, "ill", ILL, weights=weights, coordinate=coordinate, clip=clip)
    expected = [encoder.encode(row, None) for row in rows(BODY)]
    column = encoder.column(BODY)
    assert len(column) == 7
    assert np.asarray(column).tolist() == expected
    assert column[np.array([5, 1])].tolist() == [expected[5], expected[1]]


def test_sigmoids_are_those_of_single_margins():
    around = [0, 1, 5, (1 << 17) - 1, 1 << 17, 77 << 15, 159 << 17, (160 << 17) - 1, 160 << 17, 161 << 17, 1 << 40]
    margins = [sign * margin for margin in around for sign in (1, -1)]
    assert sigmoids(np.array(margins)).tolist() == [sigmoid(margin) for margin in margins]


@pytest.mark.parametrize("clip", [0, 1, 8])
@pytest.mark.parametrize("coordinate", [0, 1])
def test_sides_and_magnitudes_of_a_table_are_those_of_its_rows(clip, coordinate):
    centers = ((-1024, 0), (1024, 0), (0, 2000), (1024, 0))
    encoder, size = ClusterSide(RANGES, centers, coordinate, clip), Magnitude(RANGES)
    column = encoder.column(BODY)
    assert len(column) == 7
    assert np.asarray(column).tolist() == [encoder.place(RANGES.point(row)) for row in rows(BODY)]
    one, many = ReplaySource.from_key("sides"), ReplaySource.from_key("sides")
    for _ in range(20):
        assert encoder.encode_many(np.asarray(column), many).tolist() == [encoder.encode(row, one) for row in rows(BODY)]
    assert one.consumed == many.consumed
    assert size.column(BODY).tolist() == [size.encode(row, None) for row in rows(BODY)]
    assert size.column({"age": [60, 0, 90], "height": [150, 150, 150]}).tolist() == [8, 0, 1]  # just within half of the range


def test_a_table_of_features_is_read_once():
    table = FeatureTable(BODY, RANGES, "ill", ILL)
    assert table.points.tolist() == [RANGES.point(row) for row in rows(BODY)]
    assert (list(table), len(table), table["ill"].tolist()) == (["age", "height", "ill"], 3, [0, 1, 0, 1, 1, 0, 0])
    assert table.margins((5, -3, 2)).tolist() == [5 * HALF - 3 * age + 2 * height for age, height in table.points.astype(int).tolist()]
    assert table_of(table, RANGES) is table_of(table, RANGES, "ill", ILL) is table
    plain = FeatureTable(BODY, RANGES)
    assert table_of(plain, RANGES) is plain
    for other in ((RANGES, "ill", dn.Categories("y", "n")), (Features.of({"age": (0, 120)}), None, None)):
        with pytest.raises(DomainError):
            table_of(table, *other)
    done = []
    for key in ("a", "a", "b", "a"):
        assert table.once(key, lambda key=key: done.append(key) or np.array([len(done)])).size == 1
    assert done == ["a", "b", "a"]
    assert nearest(np.array([[0, 0], [3, 4], [-1, 0]]), ((1, 0), (3, 3), (-1, 0))).tolist() == [0, 1, 2]
    assert nearest(np.array([[1, 0], [2, 0]]), ((2, 0), (1, 0))).tolist() == [1, 0]


# --- tracks ---

CITY = Track(6, outside=True)


@pytest.mark.parametrize("encoder", [FirstVisit(CITY), LastVisit(CITY), MoveCount(CITY, 2), DrawnMove(CITY, columns=3, reach=1)], ids=repr)
def test_tracks_are_encoded_as_one_by_one(encoder):
    tracks = [[0, 1, 4], [], [0], [5, 0], [2, 3, 3, 6, 0], [6, 1], [4]]
    one, many = ReplaySource.from_key("tracks"), ReplaySource.from_key("tracks")
    for _ in range(20):
        assert encoder.encode_many(tracks, many).tolist() == [encoder.encode(track, one) for track in tracks]
    assert one.consumed == many.consumed


# --- sets ---

ITEMS = Subsets(dn.IndexRange(6))
HELD = [[5, 0, 2], [], [3], [0, 1, 2, 3, 4, 5], [4, 1], [0], [1, 5]]
ASKED = ((0,), (0, 2), (1, 4, 5), (3,), (4,), (5,))


@pytest.mark.parametrize("length", [1, 2, 7])
@pytest.mark.parametrize("asked", [None, ASKED, ((2,),)])
def test_sets_are_encoded_as_one_by_one(length, asked):
    encoders = [PadAndSample(ITEMS, length, asked), *([] if asked is None else [Overflow(ITEMS, length, asked), HeldCount(ITEMS, asked)])]
    for encoder in (*encoders, SetCode(ITEMS)):
        one, many = ReplaySource.from_key("sets"), ReplaySource.from_key("sets")
        for _ in range(10):
            assert encoder.encode_many(HELD, many).tolist() == [encoder.encode(held, one) for held in HELD]
        assert one.consumed == many.consumed


def test_a_column_of_sets_answers_for_its_rows():
    column = ItemSets.of(ITEMS, HELD)
    assert column.sizes.tolist() == [3, 0, 1, 6, 2, 1, 2]
    assert column.counts.tolist() == [3, 3, 2, 2, 2, 3]
    assert column.supports(ASKED).tolist() == [3, 2, 1, 2, 2, 3]
    assert [column[part].items.tolist() for part in (slice(1, 3), [4, 0], slice(None, None, 2))] == [
        [3],
        [1, 4, 0, 2, 5],
        [0, 2, 5, 3, 1, 4, 1, 5],
    ]
    assert [len(column[part]) for part in (slice(1, 3), [4, 0], [])] == [2, 2, 0]
    assert codes_of(ITEMS, HELD).to_pylist() == [ITEMS.code(held) for held in HELD]
    assert keys_of(ITEMS, [*HELD, [3]]).tolist() == [ITEMS.key(held) for held in [*HELD, [3]]]
    assert keys_of(ITEMS, []).tolist() == []
    offsets, held = column.held(ASKED)
    assert [held[a:b].tolist() for a, b in pairwise(offsets)] == [[0, 1, 5], [], [3], [0, 1, 2, 3, 4, 5], [4], [0], [5]]
    assert [part.tolist() for part in column.held(None)] == [[0, 3, 3, 4, 10, 12, 13, 15], [0, 2, 5, 3, 0, 1, 2, 3, 4, 5, 1, 4, 0, 1, 5]]
    matrix = np.array([[key in row for key in range(6)] for row in HELD])
    zeros = sparse.csr_array(np.ones((7, 6), dtype=int))
    zeros.data = matrix.astype(int).ravel()  # every zero written out
    for wrapped in (matrix, sparse.csc_array(matrix), zeros, pa.array(HELD), pa.chunked_array([HELD[:2], HELD[2:]]), column):
        again = ItemSets.of(ITEMS, wrapped)
        assert (again.offsets.tolist(), again.items.tolist()) == (column.offsets.tolist(), column.items.tolist())


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ([[0], [1], [5, 2, 5]], r"values\[2\].*5 twice"),
        ([[0], [1, "x"]], r"values\[1\]: got 'x'"),
        ([[0], [], [1, 6]], r"values\[2\]: got 6"),
        ([[0], None], r"values\[1\].*in a list"),
        (7, "int"),
        ("05", "str"),
        (pa.array([[0], None]), r"values\[1\]: got None.*empty list"),
        (pa.array([0]), "a column of int64"),
        (np.zeros((2, 5), dtype=int), "6 columns"),
        (np.array([[0, 0, 1, 0, 0, 0], [1, 1, 0, 3, 0, 0]]), r"values\[1\]: got 3"),
        (ItemSets.of(Subsets(dn.IndexRange(7)), [[6]]), "integers from 0 to 6"),
    ],
    ids=range(11),
)
def test_what_is_no_set_is_refused_by_its_row(wrong, word):
    with pytest.raises(DomainError, match=word):
        ItemSets.of(ITEMS, wrong)
