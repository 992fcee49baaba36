"""The epsilon of a shuffled batch by its number of reports, and whether it keeps the task's claim.

Only distinct reports count, without dummies, and of those the share that the task assumes to come from honest, distinct people. With a
threshold, the noisy counts cost epsilon as well: the two costs are added, with half of delta each.
"""

from __future__ import annotations

from functools import lru_cache

from deniable.accounting import account
from deniable.contract.guarantee import Guarantee
from deniable.contract.mixing import Mixing
from deniable.contract.sealed import mixing_of
from deniable.contract.spec import Spec
from deniable.contract.task import Task
from deniable.errors import ParameterError
from deniable.shuffle import people_for
from deniable.shuffle import threshold as thresholds


def price(task: Task, reports: int) -> Guarantee:
    """Return the guarantee for each person in a batch of this many reports; raise ParameterError if none is assumed honest."""
    return price_of(spec_of(task), mixing_of(task), reports)


@lru_cache(maxsize=1024)
def price_of(spec: Spec, mixing: Mixing, reports: int) -> Guarantee:
    """Return the same for a mechanism and a mixing without a task."""
    return thresholds.price(spec, n=mixing.people(reports), delta=mixing.delta, threshold=mixing.threshold)


@lru_cache(maxsize=64)
def shares(mixing: Mixing) -> tuple[float, float]:
    """Return the delta left for shuffling, and the epsilon that the threshold costs."""
    if mixing.threshold is None:
        return mixing.delta, 0.0
    return mixing.delta / 2, account(thresholds.threshold_event(mixing.threshold), delta=mixing.delta / 2).epsilon


def check_claim(task: Task) -> None:
    """Raise unless the smallest batch that a task allows keeps its claim."""
    check_claim_of(spec_of(task), mixing_of(task))


def check_claim_of(spec: Spec, mixing: Mixing) -> None:
    """Raise in the same way for a mechanism and a mixing without a task."""
    people = mixing.people(mixing.minimum)
    if people < 1:
        raise ParameterError(
            "honest", mixing.honest, allowed="one honest person or more in the smallest batch", fix="raise minimum in [shuffle]"
        )
    found = price_of(spec, mixing, mixing.minimum).epsilon
    if found <= mixing.epsilon:
        return
    told = f"epsilon = {mixing.epsilon:g} for {people:,} honest people with a local epsilon of {spec.epsilon:g}"
    raise ParameterError("shuffle", told, allowed=f"a claim of {found:.4g} or more", fix=_fix(spec, mixing))


def spec_of(task: Task) -> Spec:
    """Return the mechanism of a shuffled task, which asks everyone the same question."""
    (question,) = task.survey.questions
    return question.spec


def _fix(spec: Spec, mixing: Mixing) -> str:
    delta, extra = shares(mixing)
    if extra >= mixing.epsilon:
        return "raise sigma in threshold: the threshold alone costs more"
    people = people_for(spec, epsilon=mixing.epsilon - extra, delta=delta)
    return f'raise minimum ({people:,} honest people would be enough), or write epsilon = "auto"'
