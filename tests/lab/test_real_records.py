"""Flowers and prose in the lab: real rows, the truth that they have, and baselines where they must be."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from deniable.errors import MissingExtra, ParameterError
from deniable.lab import flowers, prose
from deniable.lab.flowers import Clustered, Irises
from deniable.lab.populations import Zipf
from deniable.lab.prose import OTHER, Prose
from deniable.lab.texts import NextWordPrediction
from deniable.tasks.text import Bigrams, Texts
from deniable.testing import ReplaySource


def error(way, n=2000, epsilon=8.0, population=None):
    population, method = population or Irises(features=2), Clustered(way, way)
    people = population.draw(n, ReplaySource.from_key("crowd"))
    outcome = method.run(method.setup(population, epsilon, n), people, ReplaySource.from_key(way))
    return float(np.sqrt(np.mean((outcome.counts - outcome.truth) ** 2)))


def test_three_centers_are_better_than_one_and_privacy_costs_something():
    plain, private, noisy, one = (error(way) for way in ("not private", "private", "noisy records", "one center"))
    assert plain < private < one
    assert plain < noisy < one
    assert plain == pytest.approx(0.135, abs=0.005)
    held, ranges = Irises().rows(np.arange(150)), Irises().ranges
    assert all(ranges[name][0] <= column.min() and column.max() <= ranges[name][1] for name, column in held.items())


def test_prose_has_the_table_that_its_pieces_have():
    """Whoever has several listed pairs has one vote; the word that stands for all others is never listed."""
    people = Prose(words=12, length=5)
    texts = Texts([*people.values, OTHER], people.pieces.ravel(), np.arange(len(people.pieces) + 1) * 5)
    drawn = Bigrams(vocabulary=people.values, epsilon=20.0, people=len(texts), oracle="GRR").run(
        texts, source=ReplaySource.from_key("prose")
    )
    low, high = map(drawn.square, drawn.interval(1 - 1e-6, simultaneous=True))
    assert np.all((low <= people.chain) & (people.chain <= high))  # hardly any noise: what is left is the draw of one pair each
    assert people.chain.sum(axis=1) == pytest.approx(np.ones(12))
    assert people.chain[people.values.index("of"), people.values.index("the")] > 0.5
    assert people.usual.sum() == pytest.approx(1.0)
    crowd = people.draw(300, ReplaySource.from_key("draw"))
    pieces = {tuple(piece) for piece in people.pieces.tolist()}
    assert {tuple(row) for row in crowd.codes.reshape(-1, 5).tolist()} <= pieces
    method = NextWordPrediction("not private", "not private")
    outcome = method.run(method.setup(people, 1.0, 300), texts, ReplaySource.from_key("plain"))
    assert outcome.counts == pytest.approx(outcome.truth, abs=1e-6)


def test_what_is_no_crowd_is_refused(monkeypatch):
    for bad in (lambda: Irises(features=0), lambda: Irises(features=5), lambda: Prose(words=0), lambda: Prose(length=1)):
        with pytest.raises(ParameterError):
            bad()
    with pytest.raises(ParameterError, match="way"):
        Clustered("magic", "magic")
    with pytest.raises(ParameterError, match="population"):
        Clustered("private", "private").setup(Zipf(1.1, 4), 1.0, 10)
    flowers._flowers.cache_clear()
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(MissingExtra, match="lab"):
        Irises().draw(1)
    prose._pages.cache_clear()
    monkeypatch.setitem(sys.modules, "sklearn.datasets.descr", None)
    with pytest.raises(MissingExtra, match="lab"):
        prose._pages()
