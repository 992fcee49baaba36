"""Logistic regression in rounds, for one model or several: each person reports once, privately, how one weight should move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from hashlib import sha256
from typing import Any, ClassVar

import numpy as np

from deniable.client.mean import MeanSpec
from deniable.contract.arguments import typed
from deniable.contract.domain import Domain, IndexRange
from deniable.contract.features import Features, check_clip, check_integers
from deniable.contract.gradient import LARGEST_GRADIENT, LARGEST_WEIGHT, ONE_WEIGHT, Gradient, check_label
from deniable.contract.guarantee import Guarantee
from deniable.contract.numbers import Numbers
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Protocol, State
from deniable.contract.question import Question, Round
from deniable.contract.record import STATE, form_of, wire
from deniable.core.features import table_of
from deniable.errors import ParameterError
from deniable.local.mean_choice import mean_oracle
from deniable.tasks.checks import check_whole
from deniable.tasks.feasible import check_feasible
from deniable.tasks.gradients import spread_of
from deniable.tasks.learning.linear_model import INTERCEPT, LinearModel

MOST_QUESTIONS = 2048
"""Of one round: devices fetch all of them."""
Weights = tuple[tuple[int, ...], ...]
Noise = tuple[tuple[float, ...], ...]


@typed
@dataclass(frozen=True, kw_only=True)
class RegressionState(State):
    """The models as far as they are fitted."""

    stage: int = 0
    """The number of finished rounds."""
    weights: Weights = ()
    """The weights of each model as they are now, in small steps; at first all 0."""
    noise: Noise = ()
    """The variance of each weight so far."""
    asked: int = 0
    """The number of reports so far."""


@typed
@dataclass(frozen=True, kw_only=True)
class LogisticRegression(Protocol):
    """Fit the chance of the second of two ``classes`` to ``features`` (a mapping of names to ranges) by gradient descent in rounds.

    People are split at random over rounds and, in each round, over the coordinates of the gradient. Each person computes that
    coordinate for their own record and the model as it is (``Gradient``), in exact integers, and sends it by a mechanism for numbers. The
    collector takes a step against the mean; steps shrink evenly from ``step`` toward 0.

    Guarantee: epsilon-local for any two records of one person, features and label together; everybody reports once, with the whole
    epsilon. What the model learns about the crowd, and so about people like someone, is what it is for, and is not hidden.

    Estimator: the weights after the last round. Their errors add up the noise and the sampling of all rounds, as if later rounds corrected
    nothing; what few rounds leave unlearned, and what gradients beyond 2^-``clip`` lose, is not in them.

    Cost: one report, 1 to 16 bits. The noise of a weight is about step x 2^-clip x rounds x s sqrt((features + 1) / (3 n)), where s^2 is
    the mechanism's variance for the range -1 .. 1, such as 4.3 at epsilon 1 and 0.16 at 4: declare few features, with narrow ranges.

    >>> fit = LogisticRegression(features={"age": (0, 120), "dose": (0, 10)}, label="ill", epsilon=2.0, rounds=4)
    >>> [question.name for question in fit.open().questions], str(fit.open().questions[0].share)
    (['intercept', 'age', 'dose'], '1/12')

    References: Duchi, Jordan, Wainwright 2018; Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu 2019 (sampled coordinates of gradients).
    """

    features: Any = field(metadata=wire(form=form_of(Features)))
    label: str
    epsilon: float
    classes: Domain = None  # type: ignore[assignment]  # resolved below
    rounds: int = 10
    step: float = 8.0
    clip: int = 1
    """A gradient beyond 2^-clip counts as that; none is in the first round, with clip = 1."""
    models: int = 1
    people: int = 100_000
    state: RegressionState = field(default=RegressionState(), repr=False, metadata=STATE)

    result: ClassVar[str] = "model"
    most_models: ClassVar[int] = 1

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        settle(self)
        check_clip(self.clip)
        for name, least, most in (("rounds", 1, 1000), ("models", 1, self.most_models), ("people", 1, 10**15)):
            check_whole(name, getattr(self, name), least, most, fix="leave out the parameter")
        if self.models * self.coordinates > MOST_QUESTIONS:
            allowed = f"at most {MOST_QUESTIONS} weights in all models"
            raise ParameterError("features", self.coordinates * self.models, allowed=allowed, fix="use fewer features, or fewer models")
        if self.state == RegressionState():
            zeros = (0,) * self.coordinates
            put("state", RegressionState(weights=(zeros,) * self.models, noise=(tuple(map(float, zeros)),) * self.models))
        self._check_state()
        check_feasible(self, "features", fix="use fewer features, or fewer models")

    def _check_state(self) -> None:
        state = self.state
        check_whole("stage", state.stage, 0, self.rounds - 1, fix="leave out the state")
        check_whole("asked", state.asked, 0, 10**15, fix="leave out the state")
        if len(state.weights) != self.models or [len(each) for each in state.noise] != [self.coordinates] * self.models:
            allowed = f"{self.coordinates} for each of {self.models} models"
            raise ParameterError("weights", len(state.weights), allowed=allowed, fix="leave out the state")
        for each in state.weights:
            check_integers("weights", each, self.coordinates, LARGEST_WEIGHT)
        if not all(type(variance) is float and variance >= 0 for each in state.noise for variance in each):  # it may be infinite
            raise ParameterError("noise", state.noise, allowed="numbers from 0 on", fix="leave out the state")

    @property
    def coordinates(self) -> int:
        """The weights of a model: the intercept, and one for each feature."""
        return len(self.features) + 1

    # --- asking ---

    @cached_property
    def spec(self) -> MeanSpec:
        """The mechanism of every question."""
        limit = LARGEST_GRADIENT >> self.clip
        each = max(1, self.people // (self.rounds * self.models * self.coordinates))
        return mean_oracle(domain=Numbers(-limit, limit), epsilon=self.epsilon, n=each).spec

    @cached_property
    def _round(self) -> Round:
        share = Fraction(1, self.rounds * self.models * self.coordinates)
        questions = []
        for model, weights in enumerate(self.state.weights):
            for coordinate, name in enumerate((INTERCEPT, *self.features.names)):
                encoder = Gradient(self.features, self.label, self.classes, weights, coordinate, self.clip)
                told = name if self.models == 1 else f"model {model + 1}, {name}"
                questions.append(Question(name=told, spec=self.spec, encoder=encoder, share=share))
        return Round(tuple(questions), Fraction(self.state.stage, self.rounds))

    def open(self) -> Round:
        return self._round

    def read(self, values: Any) -> Any:
        """Return a checked table, from a mapping of columns or from an Arrow, Polars or pandas table; only declared columns are read."""
        return table_of(values, self.features, self.label, self.classes)

    def close(self, tallies: Mapping[str, Any]) -> LogisticRegression | LinearModel:
        self._round.check_tallies(tallies)
        means = [self.spec.estimate(tallies[question.name]) for question in self._round.questions]
        pace = self.step * (self.rounds - self.state.stage) / self.rounds
        weights, noise = np.array(self.state.weights, dtype=float).ravel(), np.array(self.state.noise).ravel()
        moved = np.array([mean.law.center / LARGEST_GRADIENT if mean.n else 0.0 for mean in means])  # nobody moves nothing ...
        spread = np.array([spread_of(mean, self.spec) for mean in means]) / LARGEST_GRADIENT**2  # ... and knows nothing
        stepped = np.clip(np.rint(weights - pace * moved * ONE_WEIGHT), -LARGEST_WEIGHT, LARGEST_WEIGHT).astype(int)
        shape = (self.models, self.coordinates)
        found = self.replaced(
            tuple(map(tuple, stepped.reshape(shape).tolist())),
            tuple(map(tuple, (noise + pace**2 * spread).reshape(shape).tolist())),
            tallies,
        )
        asked = self.state.asked + sum(mean.n for mean in means)
        if self.state.stage + 1 < self.rounds:
            return self.learned(stage=self.state.stage + 1, weights=found[0], noise=found[1], asked=asked)
        return self.model(*found, asked)

    def replaced(self, weights: Weights, noise: Noise, tallies: Mapping[str, Any]) -> tuple[Weights, Noise]:
        """The models of the next round, given those that were updated and the ``tallies`` that they were updated by."""
        return weights, noise

    def model(self, weights: Weights, noise: Noise, asked: int) -> LinearModel:
        """What is published at the end: the mean of all models, with the error that it has at most. ``asked`` counts the people."""
        center = np.array(weights, dtype=float).mean(axis=0) / ONE_WEIGHT
        spread = np.sqrt(np.array(noise)).mean(axis=0) ** 2
        return LinearModel.of(self.features, self.classes, weights=center, noise=spread, n=asked, spec=self.spec, guarantee=self.guarantee)

    @property
    def guarantee(self) -> Guarantee:
        unit, exposed = "one report, about one weight in one round", "that the person took part, in which round, and about which weight"
        neighbors = "any two records of one person, features and label at once"
        return Guarantee(epsilon=self.epsilon, unit=unit, neighbors=neighbors, exposed=exposed)


def settle(fit: Any) -> None:
    """Check the settings of a logistic model, and put them in their final form: epsilon, features, label, classes and step."""
    put, step = partial(object.__setattr__, fit), fit.step
    put("epsilon", check_epsilon(fit.epsilon))
    put("features", Features.of(fit.features))
    put("classes", IndexRange(2) if fit.classes is None else fit.classes)
    check_label(fit.features, fit.label, fit.classes)
    if isinstance(step, bool) or not isinstance(step, int | float) or not 0 < step <= 1000:
        raise ParameterError("step", step, allowed="a number above 0, at most 1000", fix="leave out step, or try 8")
    put("step", float(step))


@typed
@dataclass(frozen=True, kw_only=True)
class RotatingModels(LogisticRegression):
    """Keep k logistic models; people get one of them at random, and each updated model replaces one of the k at random.

    In each round people are split over models and coordinates, so whose data moved which model is chance, drawn on their own devices. A
    model is moved by all who got it, not by one person: a single private answer is nearly all noise. Which model is replaced follows from
    the reports themselves, so that anyone who counts them again finds the same models.

    Guarantee: as ``LogisticRegression``, epsilon-local, everybody reports once. The slides give none ("epsilon = ???"): k models that take
    turns hide nothing by themselves, since the collector knows which it sent.

    Estimator: the mean of the models at the end. Models that were replaced took their people's answers with them: with k = 20 about a
    third of each round's answers is lost, and as many models stay as they were. The error of the mean is stated as if all models had the
    same noise, since some descend from one: it is never too small.

    >>> fit = RotatingModels(features={"age": (0, 120)}, label="ill", epsilon=2.0, models=3, rounds=4)
    >>> len(fit.open().questions), fit.open().questions[2].name, fit.guarantee.epsilon
    (6, 'model 2, intercept', 2.0)

    References: Pihur, Korolova, Liu, Sankuratripati, Yung, Huang, Zeng 2018 (draw and discard).
    """

    models: int = 20
    most_models: ClassVar[int] = 100

    def replaced(self, weights: Weights, noise: Noise, tallies: Mapping[str, Any]) -> tuple[Weights, Noise]:
        """Each updated model, one after the other, takes a random place, which the ``tallies`` decide.

        Who was there is gone, and where none comes the old one stays.
        """
        kept = list(zip(self.state.weights, self.state.noise, strict=True))
        state = sha256(b"".join(tallies[question.name].to_bytes() for question in self.open().questions)).digest()
        for model in range(self.models):
            word = int.from_bytes(sha256(state + model.to_bytes(4, "big")).digest(), "big")
            kept[word % self.models] = (weights[model], noise[model])  # 2^256 over 100: no place is favored by more than 2^-249
        return tuple(each for each, _ in kept), tuple(each for _, each in kept)
