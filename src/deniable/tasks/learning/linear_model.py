"""A fitted linear model: weights, the noise in them, and what it foretells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.contract.domain import Domain
from deniable.contract.features import HALF, Features
from deniable.contract.spec import Spec
from deniable.core.features import table_of
from deniable.core.table import Table
from deniable.core.values import keys_of
from deniable.errors import DomainError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.chart import Chart

INTERCEPT = "intercept"


@dataclass(frozen=True, eq=False, repr=False)
class LinearModel(Table):
    """The chance of the second class is 1 / (1 + e^-z), z the intercept and the weighted sum of features, each scaled to -1 .. 1.

    It has no intervals. ``stderr`` is about the noise alone: a few steps of descent and the clipping of reports leave weights too near to
    zero, by more than the noise where many people report.
    """

    features: Features
    classes: Domain
    """The two classes; the model tells the chance of the second."""
    weights: Array
    """The intercept, then one for each feature, from the middle of its range to its end."""
    noise: Array
    """The variance of each weight through noise and sampling, over all rounds; infinite where nobody was asked."""
    n: int
    spec: Spec
    """The mechanism of every report."""

    @property
    def stderr(self) -> Array:
        """The standard error of each weight through noise and sampling, as if no later round corrected any of it; no bias is in it."""
        return np.sqrt(self.noise)

    # --- foretelling ---

    def margins(self, values: Any) -> Array:
        """The weighted sum z of each row of a table; above 0 the second class is the likelier one."""
        points = table_of(values, self.features).points
        return np.asarray(points @ self.weights[1:] / HALF + self.weights[0])

    def probability(self, values: Any) -> Array:
        """The chance of the second class, for each row."""
        return np.asarray(0.5 * (1 + np.tanh(self.margins(values) / 2)))

    def predict(self, values: Any) -> list[Any]:
        """The likelier class of each row; the first one where both are."""
        labels = [self.classes.value(0), self.classes.value(1)]
        return [labels[second] for second in (self.margins(values) > 0).astype(int).tolist()]

    def accuracy(self, values: Any, labels: Any) -> float:
        """The share of rows whose class, in ``labels``, is foretold."""
        truth = keys_of(self.classes, labels)
        found = self.margins(values) > 0
        if truth.size != found.size or not truth.size:
            raise DomainError("labels", truth.size, allowed=f"{found.size}, one for each row, and at least one", fix="align the columns")
        return float(np.mean(found == (truth > 0)))

    # --- what people see ---

    def rows(self) -> dict[str, Any]:
        return {"value": [INTERCEPT, *self.features.names], "weight": self.weights, "stderr": self.stderr}

    def headline(self) -> str:
        told = f"{self.n:,} reports, {self.spec.mechanism}, epsilon = {self.spec.epsilon:.4g}"
        errors = "stderr: noise and sampling, without the bias of few rounds and of clipping: no interval"
        return f"{told}; weights of features from -1 to 1; {errors}"

    def order(self) -> Array:
        return np.argsort(-np.abs(self.weights), kind="stable")

    def chart(self, k: int = 20) -> Chart:
        """The k largest weights."""
        from deniable.core.number_chart import dot_chart

        first = self.order()[:k].tolist()
        names = [self.rows()["value"][i] for i in first]
        return dot_chart(names, self.weights[first].tolist(), title=f"Weights from {self.n:,} reports, epsilon = {self.spec.epsilon:.4g}")
