"""Matrix factorization with locally private gradients: people's own factors never leave their devices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import MemoryProtocol, Progress
from deniable.contract.source import SYSTEM, Source
from deniable.core.ratings import Ratings
from deniable.core.run import Steps
from deniable.core.stream import serve_everyone
from deniable.errors import DomainError, ParameterError, ProtocolError
from deniable.kernels.compiled import Array
from deniable.kernels.sampling import fill_below
from deniable.local.vector.priv_unit import PrivUnit
from deniable.tasks.checks import check_whole
from deniable.tasks.gradients import shortened
from deniable.tasks.recommend.recommender import Recommender, item_gradients

RIDGE = 0.3
"""How strongly people's own factors are drawn to zero; ratings lie between -1 and 1."""
STEP = 2.0
"""How far items move along the mean gradient of those who rated them."""
RAREST = 0.05
"""Items that fewer rated move no further than if so many had."""
LARGEST = 100.0
"""No number of a model is larger: ratings lie between -1 and 1."""
START = 0.3
"""The size of the factors before the first round: from zero they could not leave."""
LARGEST_MODEL = 1 << 14
_NUMBERS = 1 << 22
"""Numbers of a chunk of people: memory stays flat however many there are."""


@dataclass(frozen=True, eq=False)
class Model:
    """The public model between two rounds: the items, the popularity of each, and the noise so far."""

    stage: int
    items: Array
    popularity: Array
    noise: Array


@typed
@dataclass(frozen=True, kw_only=True)
class MatrixFactorization(MemoryProtocol):
    """Fit goodness + kindness + factors · taste to ratings, the items by everybody, kindness and taste by each person alone.

    People are split at random into ``rounds`` + 1 groups. The first says which items it rated. Each further group gets the items as they
    are, works out its own kindness and taste by ridge regression, and says how the items should move: the error of each rating times
    (1, taste), shortened to length ``radius``. The collector adds the mean to each item, divided by the share of people who rated it.

    Guarantee: epsilon-local for any two sets of ratings of a person: which items were rated is protected like the ratings. Everybody
    reports once, by ``PrivUnit`` with the whole epsilon, in floating point like that. Without ``epsilon`` nothing is promised, and the
    mean is exact: the fit to compare with.

    Estimator: ``Recommender.prediction_stderr`` adds up the noise of all rounds, to first order, without what few rounds leave unlearned.

    Cost: 16 bits for each of items (rank + 1) numbers, once for each person. The noise of an item's number is about radius
    sqrt(rounds + 1) / (m sqrt(n)) over its share, with ``PrivUnit``'s m: small catalogs, or very many people.

    >>> fit = MatrixFactorization(items=100, epsilon=4.0)
    >>> fit.gradient.dimension, fit.gradient.report_bits, fit.guarantee.epsilon
    (400, 6400, 4.0)

    References: Koren, Bell, Volinsky 2009; Shin, Kim, Shin, Xiao 2018 (one sampled entry of the gradient instead of all of it).
    """

    needs: ClassVar[str] = "devices with the analyst's packages, since the noise is in floating point (for rounds use SampledFactorization)"
    result: ClassVar[str] = "recommender"

    items: int
    epsilon: float | None = None
    rank: int = 3
    rounds: int = 10
    radius: float = 1.0
    rated: int = 30
    """How many items people usually rate at most: who rated more says a little less about each."""

    def __post_init__(self) -> None:
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        for name, least, most in (("items", 2, LARGEST_MODEL), ("rank", 0, 64), ("rounds", 1, 1000), ("rated", 1, LARGEST_MODEL)):
            check_whole(name, getattr(self, name), least, most, fix="leave out the parameter, or ask about fewer items")
        if self.items * (self.rank + 1) > LARGEST_MODEL:
            allowed = f"items x (rank + 1) of at most {LARGEST_MODEL}"
            raise ParameterError("items", self.items, allowed=allowed, fix="ask about fewer items, such as the most popular ones")
        if isinstance(self.radius, bool) or not isinstance(self.radius, int | float) or not 0 < self.radius <= 1e6:
            raise ParameterError("radius", self.radius, allowed="a number above 0", fix="try 1 for ratings between -1 and 1")
        object.__setattr__(self, "radius", float(self.radius))

    # --- what is promised, and what is sent ---

    @cached_property
    def popularity(self) -> PrivUnit:
        """The mechanism of the first group's reports."""
        return PrivUnit(dimension=self.items, epsilon=self._epsilon)

    @cached_property
    def gradient(self) -> PrivUnit:
        """The mechanism of all other groups' reports."""
        return PrivUnit(dimension=self.items * (self.rank + 1), radius=self.radius, epsilon=self._epsilon)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for a person over the whole fit."""
        told = "one report for the whole fit, about all ratings together, computed in floating point"
        return replace(self.gradient.guarantee, unit=told, neighbors="any two sets of ratings of one person, the empty one too")

    def ticket(self, source: Source = SYSTEM) -> int:
        """Return the group of a person, drawn once on the person's own device."""
        return source.below(self.rounds + 1)

    def answer(self, model: Model, ratings: Ratings, source: Source = SYSTEM) -> Any:
        """Return one person's report on the current model, for the round of the person's group."""
        if len(ratings) != 1:
            raise DomainError("ratings", repr(ratings), allowed="ratings of one person", fix="pass the ratings of one person")
        self._check(model)
        (row,) = self._rows(model, self._known(ratings), slice(0, 1))
        return self._spec(model).randomize(row.tolist(), source)

    # --- what the collector does ---

    def first_model(self) -> Model:
        """Return the model before the first round."""
        items = first_items(self.items, self.rank)
        return Model(0, items, np.full(self.items, RAREST), np.zeros(items.shape))

    def next_model(self, model: Model, mean: Array, noise: Array) -> Model:
        """The model after a round whose answers have this mean, each number with this variance."""
        if model.stage == 0:
            return Model(1, model.items, np.maximum(mean * sqrt(self.rated), RAREST), model.noise)
        pace = (STEP / model.popularity)[:, None]
        items = np.clip(model.items + pace * mean.reshape(model.items.shape), -LARGEST, LARGEST)
        return Model(model.stage + 1, items, model.popularity, model.noise + pace**2 * noise.reshape(model.items.shape))

    def run(self, values: Any, *, source: Source | None = None, progress: Progress | None = None) -> Recommender:
        """Ask a crowd held in memory, given as ``Ratings``, from the first round to the fitted items."""
        ratings, steps = self._known(values), Steps(self.rounds + 1, progress)
        group = np.zeros(len(ratings), dtype=np.uint32)
        serve_everyone(len(ratings), lambda part, words: fill_below(np.uint64(self.rounds + 1), group[part], words), source)
        model = self.first_model()
        for stage in range(self.rounds + 1):
            model = self.next_model(model, *self._asked(model, ratings.take(np.flatnonzero(group == stage)), source))
            steps.next()
        promise = None if self.epsilon is None else self.guarantee
        return Recommender.of(model.items, model.noise, ridge=RIDGE, n=len(ratings), guarantee=promise)

    def _asked(self, model: Model, ratings: Ratings, source: Source | None) -> tuple[Array, Array]:
        """The mean of a group's answers, and the variance of each number; zeros where nobody is in the group."""
        size = self.items if model.stage == 0 else model.items.size
        if not len(ratings):
            return np.zeros(size), np.full(size, np.inf if self.epsilon is not None else 0.0)
        chunk = max(1, _NUMBERS // size)
        parts = (slice(start, min(start + chunk, len(ratings))) for start in range(0, len(ratings), chunk))
        rows = (self._rows(model, ratings, part) for part in parts)
        if self.epsilon is None:
            return sum(part.sum(axis=0) for part in rows) / len(ratings), np.zeros(size)
        spec, tally = self._spec(model), None
        for part in rows:
            counted = spec.tally(spec.privatize(part, source=source))
            tally = counted if tally is None else tally + counted
        estimate = spec.estimate(tally)  # type: ignore[arg-type]  # there is someone in the group
        return estimate.point, estimate.law.variance(estimate.point)

    # --- inside ---

    @property
    def _epsilon(self) -> float:
        if self.epsilon is None:
            raise ParameterError("epsilon", None, allowed="a number", fix="set epsilon: without it nothing is randomized")
        return self.epsilon

    def _spec(self, model: Model) -> PrivUnit:
        return self.gradient if model.stage else self.popularity

    def _check(self, model: Model) -> None:
        """Raise unless a collector can have fitted this model; checked before the ratings are read, so that a refusal reveals nothing."""
        shape = (self.items, self.rank + 1)
        items = np.asarray(model.items)
        good = items.dtype == np.float64 and items.shape == shape and bool(np.all(np.abs(items) <= LARGEST))
        if not good or type(model.stage) is not int or not 0 <= model.stage <= self.rounds:
            allowed = f"a stage, and {shape[0]} x {shape[1]} numbers from {-LARGEST:g} to {LARGEST:g}"
            raise ProtocolError("model", f"stage {model.stage}, shape {items.shape}", allowed=allowed, fix="do not answer this collector")

    def _rows(self, model: Model, ratings: Ratings, part: slice) -> Array:
        """What people would say without noise: a vector each."""
        rated, values = ratings.dense(part)
        if model.stage == 0:
            return shortened(rated / sqrt(self.rated), 1.0)
        return item_gradients(model.items, rated, values, RIDGE, self.radius)

    def _known(self, ratings: Any) -> Ratings:
        if not isinstance(ratings, Ratings) or ratings.number_of_items != self.items:
            raise DomainError(
                "ratings", type(ratings).__name__, allowed=f"Ratings of {self.items} items", fix="make the ratings with Ratings.of"
            )
        return ratings


def first_items(items: int, rank: int) -> Array:
    """Items before anyone was asked: all are middling, with factors that only differ."""
    places = np.outer(np.arange(1, items + 1), np.sqrt(np.arange(2, rank + 2) + 0.5))
    return np.concatenate([np.zeros((items, 1)), START * sqrt(2) * np.cos(2 * np.pi * places)], axis=1)
