"""A fitted linear model: weights with errors, and what it foretells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from deniable.contract.domain import Domain
from deniable.contract.features import HALF, Features
from deniable.contract.spec import Spec
from deniable.core.features import table_of
from deniable.core.interval import Limits, check_level
from deniable.core.table import Table
from deniable.core.values import keys_of
from deniable.errors import DomainError
from deniable.kernels.compiled import Array

if TYPE_CHECKING:
    from deniable.core.chart import Chart

INTERCEPT = "intercept"


@dataclass(frozen=True, eq=False, repr=False)
class LinearModel(Table):
    """The chance of the second class is 1 / (1 + e^-z), z the intercept and the weighted sum of features, each scaled to -1 .. 1."""

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
        """The standard error of each weight."""
        return np.sqrt(self.noise)

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for what the same rounds without noise would give, by the normal law."""
        check_level("level", level)
        reach = stats.norm.isf((1 - level) / 2 / (self.weights.size if simultaneous else 1)) * self.stderr
        return self.weights - reach, self.weights + reach

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
        low, high = self.interval(0.95)
        return {"value": [INTERCEPT, *self.features.names], "weight": self.weights, "stderr": self.stderr, "low": low, "high": high}

    def headline(self) -> str:
        told = f"{self.n:,} reports, {self.spec.mechanism}, epsilon = {self.spec.epsilon:.4g}"
        return f"{told}; weights of features from -1 to 1; low and high: 95 % each, noise and sampling"

    def order(self) -> Array:
        return np.argsort(-np.abs(self.weights), kind="stable")

    def chart(self, k: int = 20) -> Chart:
        """The k largest weights with 95 % intervals that hold for all together."""
        from deniable.core.number_chart import number_chart

        low, high = self.interval(0.95, simultaneous=True)
        first = self.order()[:k].tolist()
        names = [self.rows()["value"][i] for i in first]
        shown = [[float(column[i]) if np.isfinite(column[i]) else None for i in first] for column in (self.weights, low, high)]
        return number_chart(names, *shown, title=f"Weights from {self.n:,} reports, epsilon = {self.spec.epsilon:.4g}", level=0.95)
