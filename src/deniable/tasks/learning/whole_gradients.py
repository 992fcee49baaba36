"""Logistic regression from whole gradients: each person sends the direction of their own loss once, as a noisy vector."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.domain import Domain
from deniable.contract.features import HALF, Features, check_integers
from deniable.contract.gradient import LARGEST_WEIGHT, ONE_PROBABILITY, ONE_WEIGHT
from deniable.contract.guarantee import Guarantee
from deniable.contract.protocol import MemoryProtocol, Progress
from deniable.contract.record import form_of, wire
from deniable.contract.source import SYSTEM, Source
from deniable.core.features import FeatureTable, sigmoids, table_of
from deniable.core.run import Steps
from deniable.core.stream import serve_everyone
from deniable.kernels.compiled import Array
from deniable.kernels.sampling import fill_below
from deniable.local.vector.priv_unit import PrivUnit
from deniable.tasks.checks import check_whole
from deniable.tasks.gradients import shortened
from deniable.tasks.learning.linear_model import LinearModel
from deniable.tasks.learning.logistic import settle

MOST_ROUNDS = 1000


@typed
@dataclass(frozen=True, kw_only=True)
class WholeGradients(MemoryProtocol):
    """Fit a logistic model like ``LogisticRegression``, with reports about all weights at once, by ``PrivUnit``.

    People are split at random over rounds only. Each person computes the gradient of their own loss at the public weights, shortens
    it to ``radius``, and sends it as noise that leans its way. The collector takes a step against the mean; steps shrink evenly.

    Guarantee: epsilon-local for any two records of one person, features and label together; everybody reports once, with the whole
    epsilon. It is ``PrivUnit``'s: proved for real numbers, and computed in **floating point**. It runs in memory; devices need Python with
    the analyst's packages. If you need an exact law, browsers or a collector's rounds, take ``LogisticRegression``.

    Estimator: the weights after the last round, with errors as there. What shortening does to gradients is not in them.

    Cost: 16 bits for each weight, once for each person. The noise of a mean gradient's coordinate is about radius / m x sqrt(rounds / n),
    with m = 0.397, 0.786, 1.516 for epsilon 1, 2, 4, whatever the number of features: it wins where epsilon is small or features are many.

    >>> fit = WholeGradients(features={"age": (0, 120), "dose": (0, 10)}, label="ill", epsilon=1.0)
    >>> fit.spec.dimension, fit.spec.report_bits, len(fit.answer((0, 0, 0), {"age": 60, "dose": 5, "ill": 1}))
    (3, 48, 3)

    References: Bhowmick, Duchi, Freudiger, Kapoor, Rogers 2018; Asi, Feldman, Talwar 2022.
    """

    needs: ClassVar[str] = "devices with the analyst's packages, since the noise is in floating point (for rounds use LogisticRegression)"
    result: ClassVar[str] = "model"

    features: Any = field(metadata=wire(form=form_of(Features)))
    label: str
    epsilon: float
    classes: Domain = None  # type: ignore[assignment]  # resolved below
    """The two classes of the label; 0 and 1 if left out."""
    rounds: int = 10
    step: float = 8.0
    radius: float = None  # type: ignore[assignment]  # resolved below
    """The length of the longest gradient; if left out, a half below epsilon 2, where noise is worse than shortening, else 1."""

    def __post_init__(self) -> None:
        settle(self)
        check_whole("rounds", self.rounds, 1, MOST_ROUNDS, fix="leave out rounds, or try 10")
        if self.radius is None:
            object.__setattr__(self, "radius", 0.5 if self.epsilon < 2 else 1.0)
        object.__setattr__(self, "radius", float(self.radius))
        self.spec  # noqa: B018  # refuses a radius that is none

    @cached_property
    def spec(self) -> PrivUnit:
        """The mechanism of every report."""
        return PrivUnit(dimension=len(self.features) + 1, radius=self.radius, epsilon=self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for a person over the whole fit."""
        return replace(
            self.spec.guarantee,
            unit="one report, about all weights in one round",
            neighbors="any two records of one person, features and label at once",
            exposed="that the person took part, and in which round",
        )

    def ticket(self, source: Source = SYSTEM) -> int:
        """Return the round of a person, drawn once on the person's own device."""
        return source.below(self.rounds)

    def answer(self, weights: tuple[int, ...], record: Any, source: Source = SYSTEM) -> Any:
        """Return one person's report on public weights, integers over 2^10, which are checked before the record is read."""
        check_integers("weights", weights, len(self.features) + 1, LARGEST_WEIGHT)
        table = self._table({name: [record[name]] for name in (*self.features.names, self.label)})
        return self.spec.randomize(self._gradients(table, weights)[0].tolist(), source)

    def run(self, values: Any, *, source: Source | None = None, progress: Progress | None = None) -> LinearModel:
        """Ask everyone in a table held in memory, from the first round to the model."""
        table, steps = self._table(values), Steps(self.rounds, progress)
        people = len(table.points)
        group = np.zeros(people, dtype=np.uint32)
        serve_everyone(people, lambda part, words: fill_below(np.uint64(self.rounds), group[part], words), source)
        weights, noise = np.zeros(self.spec.dimension), np.zeros(self.spec.dimension)
        for stage in range(self.rounds):
            pace = self.step * (self.rounds - stage) / self.rounds
            asked = self._gradients(table, tuple(weights.astype(int).tolist()))[group == stage]
            found = self.spec.estimate(self.spec.tally(self.spec.privatize(asked, source=source)))
            moved = found.point if found.n else 0.0  # nobody moves nothing, and knows nothing
            weights = np.clip(np.rint(weights - pace * moved * ONE_WEIGHT), -LARGEST_WEIGHT, LARGEST_WEIGHT)
            spread = np.maximum(*(found.law.variance(found.point, population=drawn) for drawn in (True, False)))
            noise = noise + pace**2 * (spread if found.n else np.inf)
            steps.next()
        return LinearModel.of(
            self.features,
            self.classes,
            weights=weights / ONE_WEIGHT,
            noise=noise,
            n=people,
            spec=self.spec,
            guarantee=self.guarantee,
        )

    def _table(self, values: Any) -> FeatureTable:
        return table_of(values, self.features, self.label, self.classes)

    def _gradients(self, table: FeatureTable, weights: tuple[int, ...]) -> Array:
        """Everybody's gradient at these weights, no longer than the radius."""
        errors = sigmoids(table.margins(weights)) / ONE_PROBABILITY - table[self.label]
        points = np.concatenate([np.ones((len(table.points), 1)), table.points / HALF], axis=1)
        return shortened(errors[:, None] * points, self.radius)
