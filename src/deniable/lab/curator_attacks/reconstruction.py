"""The reconstruction attack: many counts that are only a little wrong give the whole table away (Dinur, Nissim 2003).

Bits x that fit all answers within their error are found by a linear program: the least sum of errors over 0 <= x <= 1, rounded. If the
errors are well below the square root of the number of people, a few answers for each person leave hardly any other table. So noise that
does not grow with the number of answers protects nobody; a session's does, since each answer gets a part of the budget.
"""

from __future__ import annotations

import numpy as np
import scipy

from deniable.contract.arguments import typed
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError, ProtocolError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import MOST_DRAWN, check_whole


@typed
def draw_groups(groups: int, people: int, source: Source = SYSTEM) -> Array:
    """Return random groups of people, each person in each group with probability 1/2: one row of booleans per group."""
    check_whole("groups", groups, 0, MOST_DRAWN)
    check_whole("people", people, 0, MOST_DRAWN)
    return np.array([[source.below(2) == 1 for _ in range(people)] for _ in range(groups)])


@typed
def reconstruct(groups: Array, answers: Array) -> Array:
    """Return the rounded bits whose group counts come nearest to the answers, by the sum of absolute errors.

    >>> from deniable.testing import ReplaySource
    >>> bits = (np.arange(24) % 3 == 0).astype(int)
    >>> groups = draw_groups(96, 24, ReplaySource.from_key("groups"))
    >>> bool(np.array_equal(reconstruct(groups, 3 * np.round(groups @ bits / 3)), bits))
    True
    """
    if groups.ndim != 2 or groups.dtype.kind not in "biuf" or answers.shape != groups.shape[:1] or answers.dtype.kind not in "biuf":
        allowed = "a row for each question, a column for each person, and an answer to each question"
        raise ParameterError("groups, answers", (groups.shape, answers.shape), allowed=allowed, fix="draw the groups with draw_groups")
    asked, people = groups.shape
    cost = np.concatenate([np.zeros(people), np.ones(asked)])
    matrix, error = groups.astype(float), np.eye(asked)
    found = scipy.optimize.linprog(
        cost,
        A_ub=np.block([[matrix, -error], [-matrix, -error]]),
        b_ub=np.concatenate([answers, -np.asarray(answers)]),
        bounds=[(0, 1)] * people + [(0, None)] * asked,
        method="highs",
    )
    if not found.success:
        raise ProtocolError("answers", found.message, allowed="a linear program with a solution", fix="ask fewer questions")
    return np.asarray(found.x[:people] > 0.5)
