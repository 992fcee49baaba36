"""The rules of every ledger: what one more answer costs, in exact numbers, and whether a device may give it."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isfinite
from typing import NamedTuple

from deniable.contract.task import Task
from deniable.errors import BudgetExceeded, ParameterError


class Account(NamedTuple):
    """What a ledger holds about a task before an expense."""

    consented: bool
    latest: int | None
    """The last period that was answered."""
    in_period: int
    in_task: int
    spent: Fraction
    """All epsilons so far, over all tasks."""


def allow(task: Task, period: int, epsilon: float, account: Account, lifetime: Fraction, *, paid: bool = False) -> Fraction:
    """Return the exact cost of one more answer; BudgetExceeded if a rule forbids it.

    An answer drawn from a memoized one that was ``paid`` for costs nothing more. All other rules still apply.
    """
    if not account.consented:
        raise no_consent(task.name)
    if not isfinite(epsilon) or not 0 < exact(epsilon) <= exact(task.epsilon if isfinite(task.epsilon) else 0):
        allowed = f"a finite epsilon, at most the task's {task.epsilon!r}"
        raise BudgetExceeded("epsilon", epsilon, allowed=allowed, fix="no ledger pays for this; nothing was sent")
    if account.latest is not None and period < account.latest:
        allowed = f"period {account.latest}, which was answered already, or a later one"
        raise BudgetExceeded("period", period, allowed=allowed, fix="set the device's clock right; nothing was sent")
    if account.in_period >= task.answers_per_period:
        allowed = f"{task.answers_per_period} in each period of {task.name!r}"
        raise BudgetExceeded("answers", account.in_period + 1, allowed=allowed, fix="wait for the next period; flush() resends what waits")
    if account.in_task >= task.answers:
        raise BudgetExceeded(
            "answers", account.in_task + 1, allowed=f"{task.answers} to {task.name!r}, ever", fix="stop asking this person"
        )
    cost = Fraction(0) if paid else exact(epsilon)
    if account.spent + cost > lifetime:
        received, allowed = decimal(account.spent + cost), f"{decimal(lifetime)} over a lifetime, all tasks together"
        raise BudgetExceeded("epsilon", received, allowed=allowed, fix="this device has told enough; it may still take part for less")
    return cost


def no_consent(task: str) -> BudgetExceeded:
    """Return the error for a task that the person did not agree to."""
    return BudgetExceeded(
        "consent", f"none for {task!r}", allowed="a task that the person agreed to", fix="ask, then call ledger.consent()"
    )


@lru_cache(maxsize=256, typed=True)  # typed: the float 0.1 equals a fraction that is not a tenth
def exact(epsilon: float | str | Fraction) -> Fraction:
    """Return the number that an epsilon was written as: 0.1 is a tenth.

    >>> exact(0.1) + exact(0.2) == exact(0.3)
    True
    """
    try:
        return epsilon if isinstance(epsilon, Fraction) else Fraction(str(epsilon))
    except ValueError:
        raise ParameterError("epsilon", epsilon, allowed="a finite decimal number", fix="write it as in 1.0") from None


def decimal(number: Fraction) -> str:
    """Return a sum of epsilons as people write it; short sums of decimals are shown exactly."""
    return f"{float(number):.12g}"


def read_id(task: bytes | str) -> bytes:
    """Return a task's id from its 32 bytes or their 64 hexadecimal digits."""
    try:
        data = bytes.fromhex(task) if isinstance(task, str) else task
    except ValueError:
        data = b""
    if not isinstance(data, bytes) or len(data) != 32:
        raise ParameterError("task", task, allowed="32 bytes, or 64 hexadecimal digits", fix="pass the id that the collector published")
    return data
