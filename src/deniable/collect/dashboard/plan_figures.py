"""The planner's figures: the errors of every mechanism, compared with a shuffler and with a trusted collector."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from math import inf, sqrt
from typing import Annotated, Any

from msgspec import Meta

from deniable.client.frequency import FrequencySpec
from deniable.collect.web.shapes import Strict
from deniable.contract.probability import LARGEST_EPSILON, SMALLEST_EPSILON
from deniable.local.oracle_choice import oracles_for, predicted_error
from deniable.shuffle.amplification import local_epsilon_for
from deniable.tasks.plan import Plan, plan

MOST_PEOPLE = 10**10
LARGEST_DOMAIN = 1 << 20
EPSILONS = tuple(0.1 * 10 ** (i / 6) for i in range(13))
"""The points of the chart's lines: from 0.1 to 10."""
KEPT = 256
DELTA = 1e-6
"""The delta of the promise with a shuffler, which is never pure."""
MOST_SHUFFLED = 10**7
"""What holds for this many people holds for more, and is quick to compute."""
_turn = threading.Lock()


class PlanQuery(Strict):
    """The settings of a plan: respondents, epsilon and number of values."""

    n: Annotated[int, Meta(ge=1, le=MOST_PEOPLE)] = 100_000
    epsilon: Annotated[float, Meta(ge=SMALLEST_EPSILON, le=LARGEST_EPSILON)] = 1.0
    domain_size: Annotated[int, Meta(ge=2, le=LARGEST_DOMAIN)] = 16


@dataclass(frozen=True)
class Planned:
    """A plan: mechanisms with their figures, the smallest error first, and the points of its chart."""

    rows: tuple[dict[str, Any], ...]
    left_out: tuple[str, ...]
    central: float
    shuffled: float
    local_epsilon: float
    """What each device may spend for the same promise of the whole batch, with an honest shuffler."""
    points: tuple[dict[str, Any], ...]

    @property
    def best(self) -> dict[str, Any]:
        """The mechanism with the smallest error."""
        return self.rows[0]


def plan_for(query: PlanQuery) -> Planned:
    """Return the figures for a query. One is computed at a time, and the latest are cached: this page is open to everyone."""
    with _turn:
        return _plan(query.n, query.epsilon, query.domain_size)


def central_error(n: int, epsilon: float) -> float:
    """Return the standard error of a share from a trusted collector that adds Laplace noise of scale 1 / epsilon to each count.

    >>> round(central_error(1000, 1.0), 6)
    0.001414
    """
    return sqrt(2) / epsilon / n


def shuffled_error(found: Plan, epsilon: float) -> tuple[float, float]:
    """Return the smallest standard error of a share with an honest shuffler, and the local epsilon that it allows.

    Epsilon is then that of the whole batch, with delta = 10^-6, by the clone bound, which holds for every mechanism.
    """
    local = _local_epsilon(min(found.n, MOST_SHUFFLED), epsilon)
    return min(_error(found, spec.mechanism, local) for spec in found.specs), local


@lru_cache(KEPT)
def _plan(n: int, epsilon: float, domain_size: int) -> Planned:
    found = plan(n=n, epsilon=epsilon, domain_size=domain_size)
    columns = found.rows()
    names = ("value", "frequency", "detectable", "bits", "liars")
    rows = tuple(dict(zip(names, cells, strict=True)) for cells in zip(*(columns[name] for name in names), strict=True))
    return Planned(rows, found.left_out, central_error(n, epsilon), *shuffled_error(found, epsilon), tuple(_points(found)))


@lru_cache(KEPT * len(EPSILONS))
def _local_epsilon(n: int, epsilon: float) -> float:
    return local_epsilon_for(epsilon=epsilon, n=n, delta=DELTA, largest=LARGEST_EPSILON)


@lru_cache(1 << 13)
def _oracle(mechanism: str, domain_size: int, epsilon: float) -> FrequencySpec | None:
    """Return a mechanism at a point of the chart, or None outside its range. The same for every number of people."""
    able, _ = oracles_for([mechanism], epsilon=epsilon, domain_size=domain_size)
    return able[0] if able else None


def _error(found: Plan, mechanism: str, epsilon: float) -> float:
    spec = _oracle(mechanism, found.specs[0].domain_size, epsilon)
    return predicted_error(spec, found.n) / found.n if spec else inf


def _points(found: Plan) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = []
    leading: set[str] = set()  # the best at some epsilon: with a shuffler, no other can be best
    for epsilon in EPSILONS:
        errors = {spec.mechanism: _error(found, spec.mechanism, epsilon) for spec in found.specs}
        leading.add(min(errors, key=errors.__getitem__))
        for name, error in errors.items():
            points.append(
                {"name": name, "kind": "best" if name == found.specs[0].mechanism else "other", "epsilon": epsilon, "error": error}
            )
    for epsilon in EPSILONS:
        shuffled = min(_error(found, name, _local_epsilon(min(found.n, MOST_SHUFFLED), epsilon)) for name in leading)
        points.append({"name": "shuffled", "kind": "shuffled", "epsilon": epsilon, "error": shuffled})
        points.append({"name": "central", "kind": "central", "epsilon": epsilon, "error": central_error(found.n, epsilon)})
    return [point for point in points if 0 < point["error"] < inf]
