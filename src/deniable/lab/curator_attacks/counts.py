"""The questions of an attacker, how many rows match, and three curators who answer in different ways."""

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
    """Return a curator who answers exactly from a ``table``.

    >>> exact_counts(pl.DataFrame({"smokes": [True, False, True]}))({"smokes": True})
    2
    """
    return lambda where: int(read_where(where, table).matches(table).sum())


def rounded_counts(table: pl.DataFrame, base: int = 3) -> Ask:
    """Return a curator of a ``table`` who rounds counts to multiples of a ``base``, as statistical offices do: noisy, but not private."""
    ask = exact_counts(table)
    return lambda where: base * round(ask(where) / base)


def session_counts(session: Session, epsilon: float) -> Ask:
    """Return a curator with a privacy budget (a ``session``), which each count spends a part of."""
    return lambda where: session.count(where=where, epsilon=epsilon).value


@typed
def most_correct(epsilon: float) -> float:
    """Return how often a guess of a bit is right at most, if both values are equally likely and answers are epsilon-DP under "replace".

    With p and q the probabilities of what was answered for either value, the better guess is right with max(p, q) / (p + q), and neither
    is more than e^epsilon times the other: e^epsilon / (1 + e^epsilon). No computing power and no other knowledge of other people helps.

    >>> round(most_correct(1.0), 3), most_correct(0.0)
    (0.731, 0.5)
    """
    return 1 / (1 + exp(-epsilon))
