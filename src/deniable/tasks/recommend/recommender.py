"""A fitted model of the items, and what a device computes with it alone: its owner's factors, predictions and gradients."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Self

import numpy as np

from deniable.contract.guarantee import Guarantee
from deniable.core.estimate import Estimate
from deniable.core.law import Unknown
from deniable.core.ratings import Ratings
from deniable.errors import DomainError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.gradients import shortened

WHY = "stderr: noise of all rounds, without the bias of few rounds; no interval is known"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Recommender(Estimate):
    """A model of items: goodness from -1 to 1, and factors; a person's own part follows from their ratings and stays on the device.

    It has no intervals.
    """

    law: Unknown
    items: Array
    """For each item how good it is, and its factors; scaled."""
    noise: Array
    """The variance of each of them through the mechanism, added up over the rounds: what later rounds make of it is left out."""
    ridge: float
    """How much a person's own factors are drawn to 0."""
    quantity: str = "goodness"

    kind: str = "recommender"
    falling: bool = True

    @classmethod
    def of(cls, items: Array, noise: Array, *, ridge: float, n: int, guarantee: Guarantee | None) -> Self:
        """The model with these numbers for each item; ``guarantee`` is None if nothing was promised."""
        promise = "not private" if guarantee is None else f"epsilon = {guarantee.epsilon:.4g}"
        return cls(
            values=range(len(items)),
            law=Unknown(n, items[:, 0], WHY, np.sqrt(noise[:, 0])),
            about=f"{len(items):,} items, {items.shape[1] - 1} factors, from {n:,} people, {promise}",
            guarantee=guarantee,
            items=items,
            noise=noise,
            ridge=ridge,
        )

    def predict(self, ratings: Ratings) -> Array:
        """Return the predicted rating of each item by each person, on their scale."""
        scaled = predictions(self.items, self._own(ratings))
        return ratings.original(np.clip(scaled, -1.0, 1.0))

    def prediction_stderr(self, ratings: Ratings) -> Array:
        """Return the approximate standard error of each prediction from the mechanism's noise, with people's own part fixed."""
        own = self._own(ratings)
        squares = np.concatenate([np.ones((len(own), 1)), own[:, 1:] ** 2], axis=1)
        return np.asarray(np.sqrt(squares @ self.noise.T) * (ratings.high - ratings.low) / 2)

    def rmse(self, known: Ratings, hidden: Ratings) -> float:
        """Return the root mean square error of predictions from ``known`` ratings for ``hidden`` ones."""
        if len(known) != len(hidden) or known.number_of_items != hidden.number_of_items:
            raise DomainError("hidden", repr(hidden), allowed="the same people and items as known", fix="make known and hidden with split")
        if not hidden.items.size:
            raise DomainError("hidden", repr(hidden), allowed="one rating or more", fix="hide some ratings with split")
        errors = self.predict(known)[hidden.people, hidden.items] - hidden.original(hidden.values)
        return sqrt(float(np.mean(errors**2)))

    def recommend(self, ratings: Ratings, k: int = 10) -> Array:
        """Return the k unrated items with the largest predictions for each person, best first; -1 where there are no more."""
        check_whole("k", k, 1, len(self.items), fix="ask for fewer items")
        scores = self.predict(ratings)
        scores[ratings.people, ratings.items] = -np.inf
        best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return np.asarray(np.where(np.isfinite(np.take_along_axis(scores, best, axis=1)), best, -1))

    def _own(self, ratings: Ratings) -> Array:
        if ratings.number_of_items != len(self.items):
            raise DomainError("ratings", repr(ratings), allowed=f"ratings of {len(self.items)} items", fix="use the items of the model")
        return own_factors(self.items, *ratings.dense(slice(0, len(ratings))), self.ridge)


def own_factors(items: Array, rated: Array, values: Array, ridge: float) -> Array:
    """Each person's own part of the model: how kindly they rate, and their taste, by ridge regression on what they rated.

    ``items`` has a row for each item: how good it is, and its factors. A prediction is goodness + kindness + factors · taste. A person who
    rated nothing has zeros.

    >>> items = np.array([[0.5, 1.0], [0.0, -1.0]])
    >>> rated, values = np.array([[True, True], [False, False]]), np.array([[1.0, -0.5], [0.0, 0.0]])
    >>> own_factors(items, rated, values, ridge=0.0001)[1].tolist()
    [0.0, 0.0]
    >>> own_factors(items, rated, values, ridge=0.0001)[0].round(3).tolist()
    [0.0, 0.5]
    """
    known = np.concatenate([np.ones((len(items), 1)), items[:, 1:]], axis=1)
    width = known.shape[1]
    squares = (known[:, :, None] * known[:, None, :]).reshape(len(items), -1)
    left = (rated.astype(float) @ squares).reshape(-1, width, width) + ridge * np.eye(width)
    right = np.where(rated, values - items[:, 0], 0.0) @ known
    return np.asarray(np.linalg.solve(left, right[:, :, None])[:, :, 0])


def predictions(items: Array, own: Array) -> Array:
    """What each person would say of each item, scaled."""
    return np.asarray(own[:, :1] + items[:, 0] + own[:, 1:] @ items[:, 1:].T)


def item_gradients(items: Array, rated: Array, values: Array, ridge: float, radius: float) -> Array:
    """Where each person wants the items to be moved, flattened, and shortened to ``radius``: the error of each rating times (1, taste).

    >>> items = np.zeros((2, 2))
    >>> item_gradients(items, np.array([[True, False]]), np.array([[-0.5, 0.0]]), ridge=1.0, radius=1.0).tolist()
    [[-0.25, -0.0, 0.0, 0.0]]
    """
    own = own_factors(items, rated, values, ridge)
    errors = np.where(rated, values - predictions(items, own), 0.0)
    directions = np.concatenate([np.ones((len(own), 1)), own[:, 1:]], axis=1)
    return shortened((errors[:, :, None] * directions[:, None, :]).reshape(len(own), -1), radius)
