"""The outcome of one repetition of an experiment, next to the truth, and the metrics by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.lab import distances, metrics


@dataclass(frozen=True)
class Outcome:
    """The truth about a crowd, and what a mechanism estimated: counts of the same values, a list of the most frequent ones, or both.

    >>> outcome = Outcome(values=["tea", "coffee", "water"], truth=np.array([50, 30, 20]), counts=np.array([54.0, 25.0, 21.0]), k=2)
    >>> METRICS["mse"](outcome), outcome.most_frequent
    (14.0, ['tea', 'coffee'])
    """

    values: Sequence[Any]
    truth: Array
    counts: Array | None = None
    k: int | None = None
    found: Sequence[Any] | None = None
    predicted: Mapping[str, float] = field(default_factory=dict)
    """What theory expects of a measure, where it knows."""
    targets: Array | None = None
    """The positions of the values that false reports lift, if any."""
    people: int | None = None
    """How many people there are, where they do not hold one value each."""
    rate: float | None = None
    """How often an observer was right, where there is one; or a learner's regret; or how often a model predicts right."""

    @cached_property
    def most_frequent(self) -> list[Any]:
        """The true list: values that somebody holds, ties broken toward the smaller value."""
        held = [(value, count) for value, count in zip(self.values, self.truth.tolist(), strict=True) if count]
        return metrics.most_frequent([value for value, _ in held], [count for _, count in held], self.k or 1)

    @property
    def frequencies(self) -> tuple[Array, Array]:
        """Estimated and true frequencies."""
        people = self.truth.sum()
        return np.asarray(self.counts) / people, self.truth / people

    @property
    def hit_error(self) -> float:
        """The root mean squared error of the frequencies of what is rightly in the list; nan if nothing is."""
        hits = sorted(set(self.found or []) & set(self.most_frequent))
        places = [i for i, value in enumerate(self.values) if value in hits]
        error = (np.asarray(self.counts)[places] - self.truth[places]) / max(self.people or int(self.truth.sum()), 1)
        return float(np.sqrt((error**2).mean())) if hits else float("nan")

    @property
    def gain(self) -> float:
        """By how much the frequencies of the targets of false reports are too high, together."""
        estimated, true = self.frequencies
        return float((estimated - true)[self.targets].sum())


@dataclass(frozen=True)
class Metric:
    """A measure, and what it needs.

    That is ``counts``, a ``distribution`` (also of ``numbers``, where values have a distance), a ``list``, counts of its ``hits``, the
    ``targets`` of false reports, an observer's ``rate``, a learner's ``regret``, or what a model ``foretold``.
    """

    measure: Callable[[Outcome], float]
    needs: str
    logarithmic: bool = False
    """Whether a chart of it is read on a logarithmic scale."""

    def __call__(self, outcome: Outcome) -> float:
        return float(self.measure(outcome))


METRICS: dict[str, Metric] = {
    "mse": Metric(lambda outcome: distances.mse(outcome.counts, outcome.truth), "counts", logarithmic=True),
    "mae": Metric(lambda outcome: distances.mae(outcome.counts, outcome.truth), "counts", logarithmic=True),
    "rmse": Metric(lambda outcome: distances.mse(outcome.counts, outcome.truth) ** 0.5, "counts", logarithmic=True),
    "max_error": Metric(lambda outcome: distances.max_error(outcome.counts, outcome.truth), "counts", logarithmic=True),
    "relative_error": Metric(lambda outcome: distances.relative_error(outcome.counts, outcome.truth), "counts", logarithmic=True),
    "range_error": Metric(lambda outcome: distances.range_error(*outcome.frequencies), "counts", logarithmic=True),
    "tv": Metric(lambda outcome: distances.total_variation(*outcome.frequencies), "counts", logarithmic=True),
    "kl": Metric(lambda outcome: distances.kullback_leibler(*outcome.frequencies[::-1]), "distribution"),
    "js": Metric(lambda outcome: distances.jensen_shannon(*outcome.frequencies), "distribution"),
    "wasserstein": Metric(lambda outcome: distances.wasserstein(*outcome.frequencies, values=outcome.values), "numbers"),
    "precision": Metric(lambda outcome: metrics.precision(outcome.found or [], outcome.most_frequent), "list"),
    "recall": Metric(lambda outcome: metrics.recall(outcome.found or [], outcome.most_frequent), "list"),
    "f1": Metric(lambda outcome: metrics.f1(outcome.found or [], outcome.most_frequent), "list"),
    "ncr": Metric(lambda outcome: metrics.ncr(outcome.found or [], outcome.most_frequent), "list"),
    "ndcg": Metric(lambda outcome: metrics.ndcg(outcome.found or [], outcome.most_frequent), "list"),
    "hit_rmse": Metric(lambda outcome: outcome.hit_error, "hits", logarithmic=True),
    "gain": Metric(lambda outcome: outcome.gain, "targets", logarithmic=True),
    "observed": Metric(lambda outcome: float("nan") if outcome.rate is None else outcome.rate, "rate"),
    "regret": Metric(lambda outcome: float("nan") if outcome.rate is None else outcome.rate, "regret", logarithmic=True),
    "accuracy": Metric(lambda outcome: float("nan") if outcome.rate is None else outcome.rate, "foretold"),
}
"""Every measure by its name: errors in people (squared for ``mse``), distances of frequencies, scores of lists from 0 to 1, the gain of
false reports, how often an observer is right, a learner's regret per day, and how often a model is right."""


def known_metric(name: object) -> Metric:
    """The measure of a name.

    >>> known_metric("tv").needs
    'counts'
    """
    if not isinstance(name, str) or name not in METRICS:
        raise ParameterError("metrics", name, allowed=f"some of {list(METRICS)}", fix="check the spelling")
    return METRICS[name]


def distinct(values: Any) -> tuple[Sequence[Any], Array]:
    """The values of a crowd and how many people hold each, in ascending order.

    >>> distinct(np.array([7, 3, 7]))
    ([3, 7], array([1, 2]))
    """
    if isinstance(values, pa.Array | pa.ChunkedArray):
        counted = values.value_counts().to_pylist()
        pairs = sorted((entry["values"], entry["counts"]) for entry in counted)
        return [value for value, _ in pairs], np.array([count for _, count in pairs], dtype=np.int64)
    found, counts = np.unique(np.asarray(values), return_counts=True)
    return found.tolist(), counts
