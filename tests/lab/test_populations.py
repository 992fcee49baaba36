"""Populations: exact laws, drawn crowds tested at alpha = 1e-6 on fixed streams with a twin that must be rejected."""

from __future__ import annotations

import sys
from fractions import Fraction
from math import comb, exp, factorial

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy import stats

import deniable as dn
from deniable.errors import DomainError, MissingExtra, ParameterError
from deniable.lab.populations import (
    POPULATIONS,
    FileColumn,
    Geometric,
    Mixture,
    Multinomial,
    Poisson,
    RoundedNormal,
    Typical,
    Uniform,
    Words,
    Zipf,
)
from deniable.testing import ReplaySource

ALPHA = 1e-6
PEOPLE = 100_000
ALL = [
    Poisson(5),
    Poisson(100.5),
    Uniform(0, 14),
    Uniform(-50, 50),
    Multinomial([1, 2, 3, 0, 4]),
    Multinomial((0.5, 0.3, 0.2), labels=["tea", "coffee", "water"]),
    Zipf(1.1, 100),
    Zipf(2, 5000),
    Geometric(0.3),
    RoundedNormal(-3.25, 2.5),
    Mixture((Poisson(3), Uniform(10, 20), Geometric(0.5)), weights=(2, 1, 1)),
    Mixture((Multinomial((1, 1), ("a", "b")), Multinomial((1, 3), ("b", "c"))), weights=(0.25, 0.75)),
    Words(count=2000),
]


def positions(population, values):
    """Where each person's value is in the population's table."""
    if population.labeled:
        index = {label: i for i, label in enumerate(population.values)}
        assert isinstance(values, pa.DictionaryArray)
        return np.array([index[label] for label in values.dictionary.to_pylist()])[values.indices.to_numpy()]
    assert np.array_equal(population.values[np.searchsorted(population.values, values)], values)
    return np.searchsorted(population.values, values)


def chi_square(population, drawn):
    """The p-value of a crowd; values expected less than 20 times are taken together."""
    expected = PEOPLE * population.probabilities
    seen = np.bincount(drawn, minlength=expected.size)
    many = expected >= 20
    rest = [] if many.all() else [expected[~many].sum()]
    if rest and rest[0] < 20:  # so rare together that they are held against the law only if they are common
        assert seen[~many].sum() < 200
        rest = []
    observed = [*seen[many], *([seen[~many].sum()] if rest else [])]
    wanted = np.array([*expected[many], *rest])
    return stats.chisquare(observed, wanted * (sum(observed) / wanted.sum())).pvalue


@pytest.mark.parametrize("population", ALL, ids=lambda population: population.describe())
def test_crowds_follow_the_law(population):
    drawn = positions(population, population.draw(PEOPLE, ReplaySource.from_key(f"crowd/{population.describe()}")))
    assert chi_square(population, drawn) > ALPHA
    twin = drawn.copy()
    twin[::20] = np.argmax(population.probabilities)  # twin: every twentieth person is given the most likely value
    assert chi_square(population, twin) < ALPHA


@pytest.mark.parametrize("population", [p for p in ALL if not isinstance(p, Uniform)], ids=lambda population: population.describe())
def test_a_person_takes_one_word_and_the_same_as_pick(population):
    possible, thresholds = population._thresholds
    source, again = ReplaySource.from_key("one"), ReplaySource.from_key("one")
    drawn = positions(population, population.draw(500, source))
    assert source.consumed == 500
    assert drawn.tolist() == [possible[again.pick(thresholds.tolist())] for _ in range(500)]


def test_crowds_without_a_source_are_fresh():
    assert not np.array_equal(Uniform(0, 2**40).draw(100), Uniform(0, 2**40).draw(100))
    assert Zipf(1.1, 9).draw(200_000).max() == 8  # several chunks


def test_probabilities_are_exact():
    assert Poisson(5).probabilities[:20] == pytest.approx([exp(-5) * 5**v / factorial(v) for v in range(20)], rel=1e-13)
    assert Geometric(0.25).probabilities[:9] == pytest.approx([0.75**v * 0.25 for v in range(9)], rel=1e-13)
    harmonic = sum(Fraction(1, k) for k in range(1, 51))
    assert Zipf(1, 50).probabilities == pytest.approx([float(Fraction(1, k) / harmonic) for k in range(1, 51)], rel=1e-13)
    normal = RoundedNormal(0, 1)
    assert dict(zip(normal.values.tolist(), normal.probabilities, strict=True))[9] == pytest.approx(9.479534822203e-18, rel=1e-9)
    assert normal.probabilities == pytest.approx(normal.probabilities[::-1], rel=1e-12)
    assert Poisson(2).probabilities.sum() == pytest.approx(1, abs=1e-15)
    binomial = Multinomial([comb(10, k) for k in range(11)])
    assert binomial.probabilities[5] == 252 / 1024


def test_what_is_impossible_is_never_drawn():
    for population in (Multinomial([1.0, 0.0]), Multinomial([0, 1, 0])):
        highest = ReplaySource([2**64 - 1, 0])
        assert population.draw(2, highest).tolist() == [int(np.argmax(population.probabilities))] * 2


@pytest.mark.parametrize("population", ALL, ids=lambda population: population.describe())
def test_counts_add_up_to_everyone(population):
    for n in (1, 7, 1000):
        counts = population.counts(n)
        assert counts.sum() == n
        assert np.abs(counts - n * population.probabilities).max() < 1
        assert np.bincount(positions(population, Typical(population).draw(n)), minlength=counts.size).tolist() == counts.tolist()


def test_domains_hold_every_value():
    assert Uniform(0, 14).domain == dn.IndexRange(15)
    assert Uniform(5, 14).domain == dn.Integers(5, 14)
    assert Uniform(0, 2**62).domain.size == 2**62 + 1
    assert Multinomial((1, 2), ("b", "a")).domain == dn.Categories("b", "a")
    for population in ALL:
        dn.OLH(domain=population.domain, epsilon=1.0).privatize(population.draw(50))


def test_wide_ranges_are_drawn_exactly():
    values = Uniform(-(2**62), 2**62 - 1).draw(1000, ReplaySource.from_key("wide"))
    assert values.min() < -(2**61)
    assert values.max() > 2**61
    with pytest.raises(ParameterError, match="high"):
        Uniform(0, 2**40).counts(10)


def test_columns_are_read_as_they_stand(tmp_path):
    table = pl.DataFrame({"city": ["Rome"] * 6 + ["Oslo"] * 3 + ["007"], "year": [2000 + i % 3 for i in range(10)]})
    table.write_csv(tmp_path / "people.csv")
    table.write_parquet(tmp_path / "people.parquet")
    for file in ("people.csv", "people.parquet"):
        cities = FileColumn(tmp_path / file, "city")
        assert (cities.values, cities.probabilities.tolist()) == (["007", "Oslo", "Rome"], [0.1, 0.3, 0.6])
        assert cities.describe() == f"column 'city' of {file}"
    assert FileColumn(tmp_path / "people.csv", "year").values == ["2000", "2001", "2002"]
    years = FileColumn(tmp_path / "people.csv", "year", integers=True)
    assert np.array_equal(years.values, FileColumn(str(tmp_path / "people.parquet"), "year").values)
    assert years.counts(10).tolist() == [4, 3, 3]
    before = cities.identity()
    table.head(9).write_parquet(tmp_path / "people.parquet")
    assert cities.identity() != before  # another file is another crowd


def test_missing_answers_are_named(tmp_path):
    (tmp_path / "holes.csv").write_text("x,y\na,1\n,2\nb,3\n")
    with pytest.raises(DomainError, match="row 2 of 3"):
        FileColumn(tmp_path / "holes.csv", "x").draw(1)
    assert FileColumn(tmp_path / "holes.csv", "x", drop_missing=True).values == ["a", "b"]


def test_words_name_the_extra_that_they_need(monkeypatch):
    monkeypatch.setitem(sys.modules, "wordfreq", None)
    for use in (lambda: Words(count=10).draw(1), Words(count=10).identity):
        with pytest.raises(MissingExtra, match=r'pip install "\.\[lab\]"'):
            use()


def test_every_population_is_known_by_name():
    assert {type(population).__name__ for population in ALL} | {"FileColumn", "Typical"} == set(POPULATIONS)


MISTAKES = {
    "mean": (lambda: Poisson(0), ["mean: got 0", "above 0"]),
    "mean too large": (lambda: Poisson(1e9).draw(1), ["mean", "16777216", "narrower"]),
    "mean of no kind": (lambda: Poisson("5"), ["mean", "'5'"]),
    "bounds": (lambda: Uniform(5, 5), ["low, high", "(5, 5)", "low < high"]),
    "exponent": (lambda: Zipf(-1, 10), ["exponent", "-1"]),
    "size": (lambda: Zipf(1.1, 1), ["size", "got 1", "from 2"]),
    "p": (lambda: Geometric(1), ["p: got 1", "between 0 and 1"]),
    "p too small": (lambda: Geometric(1e-9).draw(1), ["p: got 1e-09", "narrower"]),
    "sd": (lambda: RoundedNormal(0, 0), ["sd", "above 0"]),
    "weights negative": (lambda: Multinomial([1, -1]), ["weights", "from 0 on"]),
    "weights zero": (lambda: Multinomial([0, 0]), ["weights", "not all zero"]),
    "weights text": (lambda: Multinomial("12"), ["weights", "'12'"]),
    "labels too few": (lambda: Multinomial((1, 2, 3), ("a", "b")), ["labels", "3 labels"]),
    "labels twice": (lambda: Multinomial((1, 2), ("a", "a")), ["labels", "different"]),
    "parts": (lambda: Mixture((5,), (1,)), ["parts", "Mixture((Poisson(5)"]),
    "parts of two kinds": (lambda: Mixture((Poisson(5), Words()), (1, 1)).draw(1), ["parts", "do not mix"]),
    "weights of parts": (lambda: Mixture((Poisson(5),), (1, 2)), ["weights", "1 numbers"]),
    "typical of nothing": (lambda: Typical(5), ["of: got 5", "population"]),
    "nobody": (lambda: Poisson(5).draw(0), ["n: got 0", "from 1"]),
    "count": (lambda: Words(count=1), ["count", "from 2"]),
    "count too large": (lambda: Words(language="is", count=10**6).values, ["count", "at most"]),
    "language": (lambda: Words(language="xx").values, ["language", "'xx'", "'en'"]),
    "file of another kind": (lambda: FileColumn("people.txt", "x").values, ["path", ".csv or .parquet"]),
}


@pytest.mark.parametrize(("mistake", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_explained(mistake, words):
    with pytest.raises(ParameterError) as caught:
        mistake()
    assert all(word in str(caught.value) for word in words), caught.value


def test_a_column_that_is_not_there(tmp_path):
    (tmp_path / "people.csv").write_text("x,y\na,1\nb,oops\n")
    with pytest.raises(ParameterError, match=r"name: got 'z'; allowed: one of \['x', 'y'\]"):
        FileColumn(tmp_path / "people.csv", "z").draw(1)
    with pytest.raises(ParameterError, match="plain values"):
        FileColumn(tmp_path / "people.csv", "y", integers=True).draw(1)
    with pytest.raises(FileNotFoundError):
        FileColumn(tmp_path / "absent.csv", "y").draw(1)
