"""Matrix factorization in rounds: each person reports once, privately, how one number of one item should move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any, ClassVar

import numpy as np

from deniable.client.mean import MeanSpec
from deniable.client.rr import RR
from deniable.contract.arguments import typed
from deniable.contract.features import check_clip, check_integers
from deniable.contract.gradient import LARGEST_GRADIENT
from deniable.contract.guarantee import Guarantee
from deniable.contract.numbers import Numbers
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Protocol, State
from deniable.contract.question import Question, Round
from deniable.contract.ratings import LARGEST_ITEM, MOST_RANK, ONE, HeldRating, Rated, RatingGradient
from deniable.contract.record import STATE
from deniable.contract.work import Work, heaviest, together
from deniable.core.ratings import ratings_of
from deniable.errors import ParameterError
from deniable.local.mean_choice import mean_oracle
from deniable.tasks.checks import check_whole
from deniable.tasks.feasible import check_feasible
from deniable.tasks.gradients import spread_of
from deniable.tasks.recommend.factorization import RAREST, RIDGE, STEP, first_items
from deniable.tasks.recommend.recommender import Recommender

MOST_NUMBERS = 512
"""Of a model: a round has a question about each, which devices fetch together."""
Model = tuple[tuple[int, ...], ...]


@typed
@dataclass(frozen=True, kw_only=True)
class RatingState(State):
    """The items as far as they are fitted."""

    stage: int = 0
    """The number of finished rounds."""
    model: Model = ()
    """For each item how good it is, and its factors, in small steps."""
    popularity: tuple[float, ...] = ()
    """The share of people who rated each item, as far as it is known."""
    noise: tuple[tuple[float, ...], ...] = ()
    """The variance of each number of the model so far."""
    asked: int = 0
    """The number of reports so far."""


@typed
@dataclass(frozen=True, kw_only=True)
class SampledFactorization(Protocol):
    """Fit the same model as ``MatrixFactorization``, with reports about one number of one item each, so that rounds can ask for them.

    People are split at random over ``rounds`` + 1 groups, and in each over the items. The first group says whether it rated its item, by
    randomized response. Each further person gets the model as it is, works out their own kindness and taste, and sends how one number
    of one item should move (``RatingGradient``), by a mechanism for numbers. The collector adds the mean to the number, divided by the
    share of people who rated the item.

    Guarantee: epsilon-local for any two sets of ratings of a person: which items were rated is protected like the ratings. Everybody
    reports once, with the whole epsilon, and the law is exact.

    Estimator: ``Recommender.prediction_stderr`` adds up the noise of all rounds, to first order, without what few rounds leave unlearned,
    and what gradients beyond 2^-``clip`` lose.

    Cost: one report, 1 to 16 bits; devices need the standard library alone, and keep nothing between rounds. The noise of an item's number
    is about 2^(1 - clip) s sqrt((rounds + 1) items (rank + 1) / n) over its share, with the mechanism's variance s^2 for the range
    -1 .. 1: a few items, and very many people.

    >>> fit = SampledFactorization(items=3, low=1, high=5, epsilon=4.0, rounds=2)
    >>> [(question.name, str(question.share)) for question in fit.open().questions]
    [('item 0', '1/9'), ('item 1', '1/9'), ('item 2', '1/9')]

    References: Shin, Kim, Shin, Xiao 2018; Koren, Bell, Volinsky 2009.
    """

    items: int
    low: float
    """The lowest possible rating."""
    high: float
    epsilon: float
    rank: int = 1
    rounds: int = 10
    clip: int = 1
    """A gradient beyond 2^-clip counts as that."""
    people: int = 100_000
    state: RatingState = field(default=RatingState(), repr=False, metadata=STATE)

    derived: ClassVar[tuple[str, ...]] = ("domain",)
    """The domain of what a device holds: the device checks there whether everyone can answer."""
    result: ClassVar[str] = "recommender"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        for name in ("low", "high"):
            object.__setattr__(self, name, float(getattr(self, name)))
        limits = (("items", 2, MOST_NUMBERS), ("rank", 0, MOST_RANK), ("rounds", 1, 1000), ("people", 1, 10**15))
        for name, least, most in limits:
            check_whole(name, getattr(self, name), least, most, fix="leave out the parameter, or ask about fewer items")
        if self.numbers > MOST_NUMBERS:
            allowed = f"items x (rank + 1) of at most {MOST_NUMBERS}"
            raise ParameterError("items", self.items, allowed=allowed, fix="ask about fewer items, such as the most popular ones")
        check_clip(self.clip)
        self.domain  # noqa: B018  # refuses an invalid scale
        if self.state == RatingState():
            model = tuple(map(tuple, np.rint(first_items(self.items, self.rank) * ONE).astype(int).tolist()))
            nothing = ((0.0,) * (self.rank + 1),) * self.items
            object.__setattr__(self, "state", RatingState(model=model, popularity=(RAREST,) * self.items, noise=nothing))
        self._check_state()
        check_feasible(self, "items", fix="ask about fewer items")

    def _check_state(self) -> None:
        state = self.state
        check_whole("stage", state.stage, 0, self.rounds, fix="leave out the state")
        check_whole("asked", state.asked, 0, 10**15, fix="leave out the state")
        if not len(state.model) == len(state.popularity) == len(state.noise) == self.items:
            raise ParameterError("model", len(state.model), allowed=f"a row for each of {self.items} items", fix="leave out the state")
        for row, noise in zip(state.model, state.noise, strict=True):
            check_integers("model", row, self.rank + 1, LARGEST_ITEM)
            if len(noise) != self.rank + 1 or not all(variance >= 0 for variance in noise):  # it may be infinite
                raise ParameterError("noise", noise, allowed=f"{self.rank + 1} numbers from 0 on", fix="leave out the state")
        if not all(RAREST <= share < inf for share in state.popularity):
            raise ParameterError("popularity", state.popularity, allowed=f"numbers from {RAREST} on", fix="leave out the state")

    @property
    def numbers(self) -> int:
        """The numbers of the model."""
        return self.items * (self.rank + 1)

    @property
    def domain(self) -> Rated:
        """What people hold: a mapping of items to ratings."""
        return Rated(self.items, Numbers(self.low, self.high, steps=2 * ONE))

    # --- asking ---

    @cached_property
    def spec(self) -> MeanSpec:
        """The mechanism of every question about a number of the model."""
        limit = LARGEST_GRADIENT >> self.clip
        each = max(1, self.people // ((self.rounds + 1) * self.numbers))
        return mean_oracle(domain=Numbers(-limit, limit), epsilon=self.epsilon, n=each).spec

    @property
    def scale(self) -> int:
        return (self.rounds + 1) * self.numbers

    def work(self) -> Work:
        return heaviest([super().work(), together([self.spec.finishing(0)] * self.numbers)])

    @cached_property
    def _round(self) -> Round:
        domain = self.domain
        if self.state.stage == 0:
            share, coin = Fraction(1, (self.rounds + 1) * self.items), RR(epsilon=self.epsilon)
            held = (HeldRating(domain, item) for item in range(self.items))
            return Round(tuple(Question(name=f"item {each.item}", spec=coin, encoder=each, share=share) for each in held))
        share = Fraction(1, self.scale)
        places = ((item, coordinate) for item in range(self.items) for coordinate in range(self.rank + 1))
        asked = (RatingGradient(domain, item, self.state.model, coordinate, self.clip) for item, coordinate in places)
        questions = (Question(name=f"item {e.item}, number {e.coordinate}", spec=self.spec, encoder=e, share=share) for e in asked)
        return Round(tuple(questions), Fraction(self.state.stage, self.rounds + 1))

    def open(self) -> Round:
        return self._round

    def read(self, values: Any) -> Any:
        """Return everyone's ratings, from ``Ratings``, from a list of what each person holds, or from a column of maps."""
        return ratings_of(self.domain, values)

    def close(self, tallies: Mapping[str, Any]) -> SampledFactorization | Recommender:
        self._round.check_tallies(tallies)
        found = [question.spec.estimate(tallies[question.name]) for question in self._round.questions]
        asked = self.state.asked + sum(each.n for each in found)
        if self.state.stage == 0:
            shares = [float(each.counts[1]) / max(each.n, 1) for each in found]
            return self.learned(stage=1, popularity=tuple(max(share, RAREST) for share in shares), asked=asked)
        shape, pace = (self.items, self.rank + 1), (STEP / np.array(self.state.popularity))[:, None]
        moved = np.array([mean.law.center / LARGEST_GRADIENT if mean.n else 0.0 for mean in found]).reshape(shape)
        spread = np.array([spread_of(mean, self.spec) for mean in found]).reshape(shape) / LARGEST_GRADIENT**2
        model = np.clip(np.rint(np.array(self.state.model) + pace * moved * ONE), -LARGEST_ITEM, LARGEST_ITEM).astype(int)
        noise = np.array(self.state.noise) + pace**2 * spread
        if self.state.stage < self.rounds:
            rows = tuple(map(tuple, model.tolist())), tuple(map(tuple, noise.tolist()))
            return self.learned(stage=self.state.stage + 1, model=rows[0], noise=rows[1], asked=asked)
        return Recommender.of(model / ONE, noise, ridge=RIDGE, n=asked, guarantee=self.guarantee)

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            epsilon=self.epsilon,
            unit="one report for the whole fit, about one number of one item in one round",
            neighbors="any two sets of ratings of one person, the empty one too",
            exposed="that the person took part, in which round, and about which item",
        )
