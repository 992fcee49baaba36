"""Small tables for these tests, and what is true of them."""

from __future__ import annotations

import numpy as np

import deniable as dn
from deniable.tasks.marginals.columns import Columns
from deniable.tasks.marginals.components import positions
from deniable.tasks.marginals.designs import groups_of
from deniable.tasks.marginals.estimate import TableEstimate, TableShares
from deniable.tasks.marginals.groups import Moments, ViewShares
from deniable.tasks.marginals.protocol import Marginals

MIXED = {
    "place": ["bar", "inn", "spa"],
    "mood": ["good", "bad"],
    "stars": dn.Integers(1, 5),
    "age": dn.Numbers(0, 99, steps=3),
}
"""Labels, integers and numbers: 3, 2, 5 and 4 values."""
BITS = {name: ["no", "yes"] for name in "abcdefgh"}


def shares_of(columns, key):
    """Uneven shares for all cells of a table, always the same."""
    cells = Columns.of(columns).cells(columns)
    weights = np.sin(np.arange(cells) * 1.7 + len(key)) ** 2 + 0.05
    return weights / weights.sum()


def margin(columns, whole, names):
    """The true shares of some columns' cells."""
    asked = Columns.of(columns)
    return np.bincount(positions(tuple(asked.asked), names, asked.sizes), weights=whole, minlength=asked.cells(names))


def parity(columns, whole, names, masks):
    """The true shares of the two values of a parity."""
    asked = Columns.of(columns)
    ones = sum(
        np.bitwise_count(positions(tuple(asked.asked), (n,), asked.sizes) & m).astype(int) for n, m in zip(names, masks, strict=True)
    )
    return np.bincount(ones & 1, weights=whole, minlength=2)


def told(survey, columns, whole, people):
    """The estimate if every group's shares were exactly those of the whole table: what the estimator says on average."""
    groups = []
    for asked, question in zip(survey.asked, survey.open().questions, strict=True):
        true = margin(columns, whole, asked.columns) if asked.masks is None else parity(columns, whole, asked.columns, asked.masks)
        groups.append(ViewShares(asked.columns, asked.masks, Moments.of(question.spec), people // len(survey.asked), true))
    shares = TableShares(survey.columns, survey.wanted, survey.method, tuple(groups), survey.open().questions[0].spec)
    return TableEstimate.of(shares, "")


def rows_of(columns, whole, n):
    """N people whose shares are as near to these as whole people can be, as columns of values; shuffled by a fixed stride."""
    asked = Columns.of(columns)
    edges = np.round(np.cumsum(whole) * n).astype(int)
    cells = np.repeat(np.arange(whole.size), np.diff(edges, prepend=0))
    table = {}
    for name, domain in asked.asked.items():
        labels = [domain.value(key) for key in range(domain.size)]
        table[name] = [labels[i] for i in positions(tuple(asked.asked), (name,), asked.sizes)[cells]]
    return table


__all__ = ["BITS", "MIXED", "Marginals", "groups_of", "margin", "rows_of", "shares_of", "told"]
