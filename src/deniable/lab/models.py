"""Models in the lab: a crowd of real records, and how often a fitted model predicts those that nobody was asked about.

The rows are those of the Wisconsin diagnostic study of breast tumors that scikit-learn ships: 569 records of 30 measurements, benign or
malignant. Every third row is kept for the test. **The crowd is drawn with replacement from the other 379**: a crowd of 100,000 knows no
more than these do, which is what the model that is not private shows. What grows with the crowd is only how well noise averages out. The
ranges of features are taken as known beforehand, from the 2nd to the 98th percentile of the 379; values beyond count as their ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from deniable.contract.domain import Categories
from deniable.contract.numbers import Numbers
from deniable.contract.source import Source
from deniable.core.features import FeatureTable
from deniable.errors import MissingExtra, ParameterError
from deniable.kernels.compiled import Array
from deniable.lab.outcome import Outcome
from deniable.lab.populations.base import Population, require
from deniable.lab.records import OneWay, RecordSetup, draw_rows
from deniable.tasks.learning import LogisticRegression, RotatingModels, WholeGradients

LABEL = "diagnosis"
CLASSES = Categories("malignant", "benign")
ROWS = (569, 30)
KNOWN = np.flatnonzero(np.arange(ROWS[0]) % 3)
"""The rows that crowds are drawn from; the others are for the test."""


@dataclass(frozen=True)
class Tumors(Population, named=False):
    """Records of breast tumors, with the first so many of 30 features.

    >>> from deniable.testing import ReplaySource
    >>> crowd = Tumors(features=2).draw(5, ReplaySource.from_key("docs"))
    >>> sorted(crowd), crowd["diagnosis"].tolist()
    (['diagnosis', 'mean radius', 'mean texture'], ['benign', 'benign', 'benign', 'malignant', 'benign'])
    """

    features: int = 30

    def __post_init__(self) -> None:
        good = type(self.features) is int and 1 <= self.features <= ROWS[1]
        require(good, "features", self.features, f"an integer from 1 to {ROWS[1]}", "try 10, the means of the measurements")

    def table(self) -> tuple[Any, Array]:
        return [CLASSES.value(0), CLASSES.value(1)], np.bincount(_rows()[1], minlength=2)

    def describe(self) -> str:
        return f"{self.features} features of tumors"

    def identity(self) -> str:
        _rows()  # the extra that is missing is named there
        return f"{self!r}, scikit-learn {version('scikit-learn')}"

    @property
    def ranges(self) -> dict[str, Numbers]:
        """The declared range of each feature."""
        numbers, _, names = _rows()
        ends = np.quantile(numbers[KNOWN, : self.features], (0.02, 0.98), axis=0)
        return {name: Numbers(float(low), float(high), clip=True) for name, low, high in zip(names, *ends, strict=False)}

    def rows(self, positions: Array) -> dict[str, Any]:
        """Some rows, as a table."""
        numbers, labels, names = _rows()
        told = np.array([CLASSES.value(0), CLASSES.value(1)])[labels[positions]]
        return {name: numbers[positions, j] for j, name in enumerate(names[: self.features])} | {LABEL: told}

    def draw(self, n: int, source: Source | None = None) -> dict[str, Any]:
        """The records of n people, with replacement, of rows that are not in the test."""
        return self.rows(KNOWN[draw_rows(n, KNOWN.size, source)])

    def hidden(self) -> dict[str, Any]:
        """The rows of the test: every third one."""
        return self.rows(np.arange(0, ROWS[0], 3))


@cache
def _rows() -> tuple[Array, Array, list[str]]:
    try:
        from sklearn.datasets import load_breast_cancer  # type: ignore[import-untyped]  # it has no types
    except ModuleNotFoundError as error:
        raise MissingExtra("Tumors", "lab", error.name) from error
    data = load_breast_cancer()
    if data.data.shape != ROWS:
        raise ParameterError("scikit-learn", data.data.shape, allowed=f"{ROWS} of breast_cancer", fix="install a supported version")
    return data.data, data.target, [str(name) for name in data.feature_names]


@dataclass(frozen=True)
class Fitted(OneWay):
    """One way to tell malignant from benign: its ``accuracy`` on records that nobody was asked about."""

    ways: ClassVar[tuple[str, ...]] = ("private", "whole", "rotating", "not private", "majority")
    crowd: ClassVar[type[Population]] = Tumors

    def run(self, setup: RecordSetup, values: Any, source: Source) -> Outcome:
        hidden = setup.population.hidden()
        return Outcome([], np.empty(0), rate=float(np.mean(self._said(setup, values, hidden, source) == hidden[LABEL])))

    def _said(self, setup: RecordSetup, values: Any, hidden: Any, source: Source) -> Any:
        if self.way == "majority":
            labels, counts = np.unique(values[LABEL], return_counts=True)
            return labels[np.argmax(counts)]
        options: dict[str, Any] = {"features": setup.population.ranges, "label": LABEL, "classes": CLASSES}
        if self.way == "not private":
            from sklearn.linear_model import LogisticRegression as Plain  # type: ignore[import-untyped]  # Tumors came from there

            private = LogisticRegression(epsilon=1.0, **options)  # only for what it reads: the same features, on the same grid
            known, asked = (FeatureTable(rows, private.features).points / 2048 for rows in (values, hidden))
            return Plain(max_iter=1000).fit(known, values[LABEL]).predict(asked)
        if self.way == "whole":
            return np.array(WholeGradients(epsilon=setup.epsilon, **options).run(values, source=source).predict(hidden))
        more: dict[str, Any] = {"epsilon": setup.epsilon, "people": setup.people}
        fit = RotatingModels(models=5, **options, **more) if self.way == "rotating" else LogisticRegression(**options, **more)
        return np.array(fit.run(values, source=source).predict(hidden))

    @property
    def gives(self) -> set[str]:
        return {"foretold"}
