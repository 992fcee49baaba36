"""What a shuffled batch is worth: its price by the number of reports in it, and whether that keeps what the task claims.

Counted are distinct reports without dummies, and of those the share that the task assumes to come from honest, distinct people. Where
crowds are thresholded, the noisy counts have their own price: it is added, and each of the two gets half of delta.
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
    """The promise to each person in a batch with so many reports; ParameterError if nobody honest is assumed to be in it."""
    return price_of(spec_of(task), mixing_of(task), reports)


@lru_cache(maxsize=1024)
def price_of(spec: Spec, mixing: Mixing, reports: int) -> Guarantee:
    """The same for a mechanism and a mixing that no task has yet."""
    return thresholds.price(spec, n=mixing.people(reports), delta=mixing.delta, threshold=mixing.threshold)


@lru_cache(maxsize=64)
def shares(mixing: Mixing) -> tuple[float, float]:
    """The delta that is left for the shuffling, and the epsilon that the threshold costs."""
    if mixing.threshold is None:
        return mixing.delta, 0.0
    return mixing.delta / 2, account(thresholds.threshold_event(mixing.threshold), delta=mixing.delta / 2).epsilon


def check_claim(task: Task) -> None:
    """ParameterError if the smallest batch that a task allows would not keep what it claims."""
    check_claim_of(spec_of(task), mixing_of(task))


def check_claim_of(spec: Spec, mixing: Mixing) -> None:
    """The same for a mechanism and a mixing that no task has yet."""
    people = mixing.people(mixing.minimum)
    if people < 1:
        raise ParameterError("honest", mixing.honest, allowed="one honest person or more in the smallest batch", fix="raise the minimum")
    found = price_of(spec, mixing, mixing.minimum).epsilon
    if found <= mixing.epsilon:
        return
    told = f"epsilon = {mixing.epsilon:g} for {people:,} honest people with a local epsilon of {spec.epsilon:g}"
    raise ParameterError("shuffle", told, allowed=f"a claim of {found:.4g} or more", fix=_fix(spec, mixing))


def spec_of(task: Task) -> Spec:
    """The mechanism of a task of shuffle trust, which asks everybody the same question."""
    (question,) = task.survey.questions
    return question.spec


def _fix(spec: Spec, mixing: Mixing) -> str:
    delta, extra = shares(mixing)
    if extra >= mixing.epsilon:
        return "the threshold alone costs more: give it a larger sigma"
    people = people_for(spec, epsilon=mixing.epsilon - extra, delta=delta)
    return f'{people:,} honest people would keep it: raise minimum, or leave it to epsilon = "auto"'
