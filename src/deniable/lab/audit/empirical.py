"""The empirical audit: a lower bound on epsilon from samples, with a stated confidence, for any mechanism.

Two inputs are randomized many times. On the first half of the reports the most telling event is chosen, on the second half it is
counted; by Clopper and Pearson its probability is at least L under one input and at most U under the other, so epsilon is at least
ln(L / U), except with the stated error probability. It can convict a mechanism; only the exact audit can acquit one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np

from deniable.client.exact import ExactSpec
from deniable.contract.arguments import typed
from deniable.contract.source import SYSTEM, Source
from deniable.core.interval import clopper_pearson
from deniable.errors import ParameterError
from deniable.tasks.checks import MOST_DRAWN, check_whole

CHUNK = 1 << 16


@dataclass(frozen=True)
class EmpiricalAudit:
    """The result of an empirical audit: with probability ``confidence``, the mechanism's epsilon is at least ``epsilon``."""

    epsilon: float
    claimed: float | None
    """The epsilon that the mechanism claims; None if it claims none."""
    confidence: float
    trials: int
    """The number of reports for each input."""
    event: Hashable
    """The event that is more frequent for one input than for the other."""

    @property
    def convicted(self) -> bool:
        """True if the claim is refuted."""
        return self.claimed is not None and self.epsilon > self.claimed


@typed
def epsilon_lower_bound(hits_first: int, hits_second: int, trials: int, confidence: float = 0.99) -> float:
    """Return a lower bound on epsilon, at this confidence, from how often an event happened in the trials of each input.

    ``hits_first`` counts it among the trials of the first input, ``hits_second`` among those of the second.

    >>> round(epsilon_lower_bound(731_059, 268_941, 1_000_000), 4)       # a correct coin of epsilon 1
    0.9942
    """
    if not 0 < confidence < 1 or not 0 <= hits_second <= trials or not 0 <= hits_first <= trials:
        received = (hits_first, hits_second, trials, confidence)
        raise ParameterError(
            "hits, trials, confidence", received, allowed="hits up to trials, confidence below 1", fix="try confidence=0.99"
        )
    alpha = 1 - confidence
    low, _ = clopper_pearson(np.array([hits_first]), trials, alpha)  # alpha / 2 on the side that is used
    _, high = clopper_pearson(np.array([hits_second]), trials, alpha)
    return max(0.0, log(low[0] / high[0])) if low[0] > 0 else 0.0


@typed
def empirical_audit(
    mechanism: ExactSpec | Callable[[Any, Source], Hashable],
    first: Any,
    second: Any,
    *,
    trials: int = 100_000,
    confidence: float = 0.99,
    source: Source | None = None,
) -> EmpiricalAudit:
    """Return a lower bound on epsilon between the inputs ``first`` and ``second``, from ``trials`` reports of each.

    It holds with probability ``confidence``.

    ``mechanism`` is a spec, judged by which of the two inputs a report supports, or any function of a value and a source, judged by
    its reports themselves (which should then be few).
    """
    check_whole("trials", trials, 100, MOST_DRAWN, fix="try 100_000, which takes seconds")
    half = trials // 2
    if isinstance(mechanism, ExactSpec):
        keys = mechanism.domain.key(first), mechanism.domain.key(second)
        claimed: float | None = mechanism.epsilon
        counts = [[_spec_events(mechanism, value, keys, half, source) for _ in range(2)] for value in (first, second)]
    else:
        claimed = None
        draw = source or SYSTEM
        counts = [[Counter(mechanism(value, draw) for _ in range(half)) for _ in range(2)] for value in (first, second)]
    (first_train, first_test), (second_train, second_test) = counts
    bounds = {}
    for event in first_train.keys() | second_train.keys():
        bounds[event, True] = epsilon_lower_bound(first_train[event], second_train[event], half, confidence)
        bounds[event, False] = epsilon_lower_bound(second_train[event], first_train[event], half, confidence)
    event, forward = max(bounds, key=lambda choice: bounds[choice])
    seen = (first_test[event], second_test[event]) if forward else (second_test[event], first_test[event])
    return EmpiricalAudit(epsilon_lower_bound(*seen, half, confidence), claimed, confidence, trials, event)


def _spec_events(spec: ExactSpec, value: Any, keys: tuple[int, int], trials: int, source: Source | None) -> Counter[Hashable]:
    """How often reports show what about the two inputs: for most mechanisms, that they support the first, the second, both or none."""
    events: Counter[Hashable] = Counter()
    for start in range(0, trials, CHUNK):
        reports = spec.privatize([value] * min(CHUNK, trials - start), source=source)
        rows, counts = np.unique(reports.rows(), axis=0, return_counts=True)  # equal reports are looked at once
        for row, count in zip(rows, counts, strict=True):
            report = spec.decode(row.tobytes())
            events[spec.event(report, keys)] += int(count)
    return events
