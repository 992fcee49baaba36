"""Recommendations in the lab: a crowd that rates items, and how well a model predicts its hidden ratings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from deniable.contract.record import Document
from deniable.contract.source import Source
from deniable.core.stream import random_words
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.lab.methods import Method
from deniable.lab.outcome import Outcome
from deniable.lab.populations.base import Population, is_integer, require, require_one_of
from deniable.local.oracle_choice import check_people
from deniable.tasks.recommend import MatrixFactorization, Ratings, SampledFactorization

WAYS = ("private", "asked", "not private", "item means", "constant")


@dataclass(frozen=True)
class RatingCrowd(Population, named=False):
    """People with three tastes who rate about 20 items from 1 to 5, in half stars; the k-th item in proportion to 1 / sqrt(k).

    A rating is the item's goodness, the person's kindness and how their taste fits, plus a mood of a quarter of the scale's half. One
    rating in ten is hidden.

    >>> from deniable.testing import ReplaySource
    >>> known, hidden = RatingCrowd(items=20, rated=5).draw(1000, ReplaySource.from_key("docs"))
    >>> known, hidden
    (4,492 ratings from 1 to 5, of 20 items, by 1,000 people, 526 ratings from 1 to 5, of 20 items, by 1,000 people)
    """

    items: int = 100
    rated: int = 20

    def __post_init__(self) -> None:
        for name, least in (("items", 2), ("rated", 1)):
            good = is_integer(getattr(self, name)) and getattr(self, name) >= least
            require(good, name, getattr(self, name), f"an integer from {least} on", "try 100 items, 20 of them rated")

    def table(self) -> tuple[Any, Array]:
        return np.arange(self.items), np.ones(self.items)

    def identity(self) -> str:
        return f"Rated(items={self.items!r}, rated={self.rated!r})"  # a fixed word: replay keys follow from it

    def describe(self) -> str:
        return f"{self.items} items, {self.rated} rated"

    def draw(self, n: int, source: Source | None = None) -> tuple[Ratings, Ratings]:
        """Known and hidden ratings."""
        check_people(n)
        goodness, factors = 0.25 * self._normal((self.items,), source), 0.35 * self._normal((self.items, 3), source)
        kindness, taste = 0.15 * self._normal((n, 1), source), self._normal((n, 3), source)
        liking = goodness + kindness + taste @ factors.T + 0.25 * self._normal((n, self.items), source)
        stars = np.clip(np.rint(2 * (3 + 2 * liking)) / 2, 1, 5)
        popular = 1 / np.sqrt(np.arange(1, self.items + 1))
        chance = np.minimum(0.9, self.rated * popular / popular.sum())
        who, what = np.nonzero(self._uniform((n, self.items), source) < chance)
        ratings = Ratings.of(who, what, stars[who, what], shape=(n, self.items), low=1, high=5)
        return ratings.split(self._uniform((who.size,), source) < 0.1)

    def _uniform(self, shape: tuple[int, ...], source: Source | None) -> Array:
        words = random_words(int(np.prod(shape)), source)
        return ((words >> np.uint64(11)).astype(float) + 0.5).reshape(shape) * 2.0**-53

    def _normal(self, shape: tuple[int, ...], source: Source | None) -> Array:
        return np.asarray(scipy.special.ndtri(self._uniform(shape, source)))


@dataclass(frozen=True)
class RatingSetup(Document):
    """A fit of so many items with an epsilon."""

    noun = "setup"
    way: str
    items: int
    epsilon: float
    rounds: int


@dataclass(frozen=True)
class RatingPrediction(Method):
    """One way to predict hidden ratings: its ``rmse`` in stars. "asked" is what a collector's rounds find, with one small report each."""

    way: str
    label: str
    rounds: int = 10

    def __post_init__(self) -> None:
        require_one_of(WAYS, "way", self.way)

    def setup(self, population: Population, epsilon: float, n: int, repetition: int = 0) -> Any:
        if not isinstance(population, RatingCrowd):
            raise ParameterError("population", population, allowed="people who rate items", fix="use RatingCrowd")
        if self.way == "asked":
            return SampledFactorization(items=population.items, low=1, high=5, epsilon=epsilon, rounds=self.rounds, people=n)
        return RatingSetup(self.way, population.items, epsilon, self.rounds)

    def run(self, setup: RatingSetup | SampledFactorization, values: tuple[Ratings, Ratings], source: Source) -> Outcome:
        known, hidden = values
        truth = hidden.original(hidden.values)
        return Outcome(range(truth.size), truth, self._said(setup, known, source)[hidden.people, hidden.items])

    def _said(self, setup: RatingSetup | SampledFactorization, known: Ratings, source: Source) -> Array:
        shape = (len(known), known.number_of_items)
        if isinstance(setup, SampledFactorization):
            said: Array = setup.run(known, source=source).predict(known)
            return said
        if self.way == "constant":
            return np.broadcast_to(known.original(known.values.mean()), shape)
        if self.way == "item means":
            sums, counts = (np.bincount(known.items, weights, minlength=shape[1]) for weights in (known.values, None))
            return np.broadcast_to(known.original(sums / np.maximum(counts, 1)), shape)
        epsilon = setup.epsilon if self.way == "private" else None
        return MatrixFactorization(items=setup.items, epsilon=epsilon, rounds=setup.rounds).run(known, source=source).predict(known)

    @property
    def gives(self) -> set[str]:
        return {"counts"}

    def identity(self) -> str:
        return repr((self.way, self.rounds))
