"""A fitted linear model: weights, the noise in them, and predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from deniable.contract.domain import Domain
from deniable.contract.features import HALF, Features
from deniable.contract.guarantee import Guarantee
from deniable.contract.spec import Spec
from deniable.core.estimate import Estimate
from deniable.core.features import table_of
from deniable.core.law import Unknown
from deniable.core.values import keys_of
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array

INTERCEPT = "intercept"
WHY = "stderr: noise and sampling, without the bias of few rounds and clipping; no interval is known"


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class LinearModel(Estimate):
    """A logistic model: the second class has the chance 1 / (1 + e^-z), z the intercept plus weighted features, each scaled to -1 .. 1.

    It has no intervals. ``stderr`` is about noise and sampling over all rounds, as if no later round corrected any of it, and infinite
    where nobody was asked. A few steps of descent and the clipping of reports leave weights too near to zero, by more than that where many
    people report.
    """

    law: Unknown
    features: Features
    classes: Domain
    """The two classes; the model predicts the chance of the second."""
    spec: Spec
    """The mechanism of every report."""
    quantity: str = "weight"
    far_first: bool = True

    kind: str = "model"

    @classmethod
    def of(
        cls, features: Features, classes: Domain, *, weights: Array, noise: Array, n: int, spec: Spec, guarantee: Guarantee | None = None
    ) -> Self:
        """The model with these weights, the intercept first; ``noise`` is the variance of each."""
        return cls(
            values=[INTERCEPT, *features.names],
            law=Unknown(n, weights, WHY, np.sqrt(noise)),
            about=f"{n:,} reports, {spec.mechanism}, epsilon = {spec.epsilon:.4g}; weights of features from -1 to 1",
            guarantee=guarantee,
            features=features,
            classes=classes,
            spec=spec,
        )

    @property
    def weights(self) -> Array:
        """The intercept, then one weight for each feature, from the middle of its range to its end."""
        return self.point

    # --- predictions ---

    def margins(self, values: Any) -> Array:
        """Return the weighted sum z of each row of a table; above 0 the second class is likelier."""
        if self.picked:
            raise ParameterError("model", f"{len(self.values)} weights", allowed="all weights", fix="predict before top() or select()")
        points = table_of(values, self.features).points
        return np.asarray(points @ self.weights[1:] / HALF + self.weights[0])

    def probability(self, values: Any) -> Array:
        """Return the chance of the second class for each row."""
        return np.asarray(0.5 * (1 + np.tanh(self.margins(values) / 2)))

    def predict(self, values: Any) -> list[Any]:
        """Return the likelier class of each row; the first one in a tie."""
        labels = [self.classes.value(0), self.classes.value(1)]
        return [labels[second] for second in (self.margins(values) > 0).astype(int).tolist()]

    def accuracy(self, values: Any, labels: Any) -> float:
        """Return the share of rows whose class in ``labels`` is predicted correctly."""
        truth = keys_of(self.classes, labels)
        found = self.margins(values) > 0
        if truth.size != found.size or not truth.size:
            raise DomainError("labels", truth.size, allowed=f"{found.size}, one for each row, and at least one", fix="align the columns")
        return float(np.mean(found == (truth > 0)))
