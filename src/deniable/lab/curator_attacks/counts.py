"""What an attacker may ask: how many rows match. And three curators who answer, each in a way of their own."""

from __future__ import annotations

from collections.abc import Callable
from math import exp
from typing import Any

import polars as pl

from deniable.central.condition import read_where
from deniable.central.session import Session
from deniable.contract.arguments import typed

Ask = Callable[[Any], float]
"""From a condition, as a session takes it, to a number of rows."""


def exact_counts(table: pl.DataFrame) -> Ask:
    """A curator who tells the truth about a table.

    >>> exact_counts(pl.DataFrame({"smokes": [True, False, True]}))({"smokes": True})
    2
    """
    return lambda where: int(read_where(where, table).matches(table).sum())


def rounded_counts(table: pl.DataFrame, base: int = 3) -> Ask:
    """A curator who rounds counts of a table to the nearest multiple of a base, as statistical offices do: noisy, and not private."""
    ask = exact_counts(table)
    return lambda where: base * round(ask(where) / base)


def session_counts(session: Session, epsilon: float) -> Ask:
    """A curator with a budget, a ``session``, who is asked for counts at so much of it each."""
    return lambda where: session.count(where=where, epsilon=epsilon).value


@typed
def most_correct(epsilon: float) -> float:
    """How often any guess of a bit is right, at most, if both values were equally likely and the answers are epsilon-DP under "replace".

    With p and q the probabilities of what was answered for either value, the better guess is right with max(p, q) / (p + q), and neither
    is more than e^epsilon times the other: e^epsilon / (1 + e^epsilon). No computing power and no other knowledge of other people helps.

    >>> round(most_correct(1.0), 3), most_correct(0.0)
    (0.731, 0.5)
    """
    return 1 / (1 + exp(-epsilon))
