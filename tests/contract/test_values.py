"""Values of the contract as their users meet them: columns in tables, records, sets, laws, assigned seeds."""

from __future__ import annotations

from array import array
from fractions import Fraction

import pytest

import deniable as dn
from deniable.contract.assigned import Assigned, assigned_seed, has_assigned_seed
from deniable.contract.cells import Cell
from deniable.contract.clusters import ClusterSide
from deniable.contract.domain import Bytes, Categories, IndexRange, Integers, Text
from deniable.contract.encoder import Attribute, Identity
from deniable.contract.envelope import Envelope
from deniable.contract.features import Features
from deniable.contract.gradient import Gradient
from deniable.contract.hashing import HashFamily
from deniable.contract.law import OutputLaw
from deniable.contract.records import Record
from deniable.contract.subsets import Subsets
from deniable.errors import DomainError, ParameterError
from deniable.testing import ReplaySource


class Table:
    """As Arrow's tables, or as those of Polars and pandas."""

    def __init__(self, names: str, columns: dict[str, list[str]]) -> None:
        self._columns = columns
        setattr(self, names, list(columns))

    def __getitem__(self, name: str) -> list[str]:
        return self._columns[name]


@pytest.mark.parametrize("table", [Table("columns", {"drink": ["tea"]}), Table("column_names", {"drink": ["tea"]}), {"drink": ["tea"]}])
def test_a_column_is_found_in_every_kind_of_table(table):
    assert Attribute("drink").column(table) == ["tea"]
    with pytest.raises(DomainError, match="'drink'"):
        Attribute("age").column(table)


@pytest.mark.parametrize("value", ["drink", ["drink"], 5, None])
def test_what_has_no_columns_is_no_record(value):
    with pytest.raises(DomainError, match=type(value).__name__):
        Attribute("drink").column(value)


def test_an_encoder_that_draws_nothing_samples_nothing():
    assert (Identity().sampling, Attribute("a").sampling) == (1, 1)


def test_laws_are_values():
    coin = OutputLaw({0: Fraction(1, 4), 1: Fraction(3, 4), 2: Fraction(0)})
    same, other = OutputLaw({1: Fraction(3, 4), 0: Fraction(1, 4)}), OutputLaw({0: Fraction(3, 4), 1: Fraction(1, 4)})
    assert (coin == same, coin == other, coin == {0: Fraction(1, 4)}) == (True, False, False)
    assert len({coin, same, other}) == 2
    assert repr(coin) == "OutputLaw({0: Fraction(1, 4), 1: Fraction(3, 4)})"
    assert coin.ratio(OutputLaw({0: Fraction(1)})) is None
    eighth, ninth = (OutputLaw(dict.fromkeys(range(count), Fraction(1, count))) for count in (8, 9))
    assert (repr(eighth).count("Fraction"), repr(ninth).count("Fraction"), repr(ninth)[-15:]) == (8, 4, "... 9 reports})")


def test_records_and_sets_say_what_they_are():
    record = Record((("drink", Categories("tea", "coffee", "water")), ("stars", Integers(1, 5)), ("country", "Norway")))
    assert record.size == 15
    assert record.to_json() == {
        "kind": "record",
        "columns": [
            {"name": "drink", "domain": {"kind": "categories", "labels": ["tea", "coffee", "water"]}},
            {"name": "stars", "domain": {"kind": "integers", "low": 1, "high": 5}},
            {"name": "country", "only": "Norway"},
        ],
    }
    assert Subsets(Categories("tea", "coffee", "water")).named((0, 2)) == ("tea", "water")


def test_what_columns_of_models_hold():
    age = Features.of({"age": (0, 120)})
    assert ClusterSide(age, centers=((0,), (9,), (99,)), coordinate=0, clip=2).domain.size == 3 * (2 * 512 + 1)
    classes = Categories("no", "yes")
    assert Gradient(age, "ill", classes, (0, 0), 0, clip=3).domain == Integers(-(2**23), 2**23)
    assert Cell((("a", classes),)).encode_many([1, 0], None) == [1, 0]


def test_a_seed_is_assigned_if_it_is_the_token_s():
    olh, token = dn.OLH(domain_size=4, epsilon=1.0), bytes(range(32)) * 9
    seed = assigned_seed(token, 2)
    sent = Envelope(bytes(32), 0, 0, 0, bytes(16), olh.encode((seed, 1)), token)
    assert has_assigned_seed(olh, sent)
    for other in ((seed[0], seed[1] ^ 1), (seed[0] ^ 1, seed[1])):
        assert not has_assigned_seed(olh, sent._replace(payload=olh.encode((other, 1))))
    assert has_assigned_seed(dn.GRR(domain_size=4, epsilon=1.0), sent._replace(payload=b"\1"))  # it has none


def test_a_buffer_is_filled_to_its_end():
    buffer = memoryview(array("Q", [0] * 3))
    assert Assigned((5, 6, 7), ReplaySource([])).fill(buffer) == 3
    assert list(buffer) == [5, 6, 7]


def test_sets_of_strings_are_counted():
    assert [Bytes(longest).size for longest in (1, 2)] == [1 + 256, 1 + 256 + 256**2]


@pytest.mark.parametrize(("key_bits", "shared", "words"), [(32, False, 2), (33, False, 3), (64, False, 3), (10, True, 3), (64, True, 3)])
def test_a_seed_has_a_third_word_for_long_keys_and_for_shared_functions(key_bits, shared, words):
    assert HashFamily(key_bits=key_bits, range=4, shared=shared).seed_words == words


def test_what_cannot_be_listed_is_no_column_of_a_cell():
    assert Text(4).key_bits == 64
    with pytest.raises(ParameterError, match=r"column 'word': got .*list the labels"):
        Cell((("smoker", IndexRange(2)), ("word", Text(4))))
