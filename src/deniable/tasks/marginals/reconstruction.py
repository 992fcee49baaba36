"""Marginals that nobody was asked about, reconstructed from those that people were asked about: the most even table that fits.

``max-entropy`` is the table of the largest entropy with all known marginals of the columns (iterative proportional fitting), after these
were made possible: no share below zero, sums of one, and agreement wherever they share columns. ``least-squares`` is the table with the
smallest sum of squares, before anything is done about negative shares: components that nobody was asked about are zero.

Both are guesses. Where the columns have something in common that none of the known marginals shows, they are wrong by it, however many
people there are; the standard errors are those of noise alone, from tables drawn again from what the groups' reports imply.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import scipy

from deniable.contract.source import Source
from deniable.core.estimate import PeopleEstimate
from deniable.core.law import Unknown
from deniable.core.postprocess import norm_sub
from deniable.core.stream import serve_everyone
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.kernels.multinomial import fill_uniform
from deniable.tasks.checks import check_whole
from deniable.tasks.marginals.columns import MOST_CELLS, Columns, Names
from deniable.tasks.marginals.components import positions, shared_weights, spreading

if TYPE_CHECKING:
    from deniable.tasks.marginals.estimate import TableShares
    from deniable.tasks.marginals.groups import ViewShares

TABLES = ("max-entropy", "least-squares")
AGREEING, FITTING = 30, 200
CLOSE = 1e-9
WHY = "stderr: noise only, not what the known marginals leave open; no interval is known"


def reconstruct(table: TableShares, names: Sequence[str], *, method: str, replicates: int, source: Source | None) -> PeopleEstimate:
    """Return the shares of some columns' cells, estimated from all known marginals among them, with the error that noise causes."""
    asked = table.columns.check(names)
    if method not in TABLES:
        raise ParameterError("method", method, allowed=f"one of {TABLES}", fix="use max-entropy, which has no negative shares")
    check_whole("replicates", replicates, 2, fix="try 100, which gives the error to within a tenth")
    if not asked or not table.n or table.columns.cells(asked) > MOST_CELLS:
        shown = f"{table.n} people, {table.columns.cells(asked):,} cells"
        raise ParameterError(
            "columns",
            shown,
            allowed=f"at least one report, and 2 to {MOST_CELLS:,} cells",
            fix="collect reports, or reconstruct fewer columns",
        )
    largest = [some for size in range(len(asked), 0, -1) for some in combinations(asked, size) if table.known(some)]
    known = tuple(some for some in largest if not any(set(some) < set(other) for other in largest))
    forms = [table.forms(some) for some in known]
    groups = list(dict.fromkeys(group for _, some in forms for group, _ in some))

    def guess(shares: dict[ViewShares, Array]) -> Array:
        tables = [np.asarray(start + sum(rows @ shares[group] for group, rows in some)) for start, some in forms]
        if method == "least-squares":
            return _joined(table.columns, asked, known, tables)
        return fitted(table.columns, asked, known, agreeing(table.columns, known, tables))

    drawn = [guess(shares) for shares in _again(groups, replicates, source)]
    sources = ", ".join(" x ".join(some) for some in known)
    return PeopleEstimate(
        values=table.columns.labels(names),
        law=Unknown(table.n, guess({group: group.frequencies for group in groups}), WHY, np.std(drawn, axis=0, ddof=1)),
        about=f"{' x '.join(names)}: {table.n:,} people, {method} from {sources}",
        guarantee=table.guarantee,
        axes=tuple(names),
        quantity="share",
        kind="reconstruction",
        falling=True,
        in_shares=True,
    )


def agreeing(columns: Columns, views: Sequence[Names], tables: Sequence[Array]) -> list[Array]:
    """Tables without negative shares that add up to one and agree: both repairs in turn, until nothing changes."""
    weights, _ = shared_weights(views, [1 / columns.cells(view) for view in views])
    steps = {(a, b): spreading(a, columns.sizes, b, w) for a in views for b, w in zip(views, weights, strict=True) if set(a) & set(b)}
    now = list(tables)
    for _ in range(AGREEING):
        possible = [norm_sub(shares, 1.0) for shares in now]
        told = dict(zip(views, possible, strict=True))
        now = [1 / columns.cells(a) + sum((steps[a, b] @ told[b] for b in views if (a, b) in steps), np.zeros(told[a].size)) for a in views]
        if max(float(np.abs(x - y).max()) for x, y in zip(now, possible, strict=True)) < CLOSE:
            break
    return [norm_sub(shares, 1.0) for shares in now]


def fitted(columns: Columns, asked: Names, views: Sequence[Names], tables: Sequence[Array]) -> Array:
    """The table with the largest entropy among those with these marginals.

    >>> columns = Columns.of({name: ["yes", "no"] for name in "abc"})
    >>> pairs = [np.array([0.4, 0.1, 0.1, 0.4]), np.array([0.4, 0.1, 0.1, 0.4])]
    >>> fitted(columns, ("a", "b", "c"), [("a", "b"), ("b", "c")], pairs).round(3).tolist()
    [0.32, 0.08, 0.02, 0.08, 0.08, 0.02, 0.08, 0.32]
    """
    shares: Array = np.full(columns.cells(asked), 1 / columns.cells(asked))
    places = [positions(asked, view, columns.sizes) for view in views]
    for _ in range(FITTING):
        before = shares
        for place, wanted in zip(places, tables, strict=True):
            now = np.bincount(place, weights=shares, minlength=wanted.size)
            shares = shares * np.divide(wanted, now, out=np.zeros(wanted.size), where=now > 0)[place]
        if float(np.abs(shares - before).max()) < CLOSE:
            break
    return np.asarray(shares / shares.sum())


def _joined(columns: Columns, asked: Names, views: Sequence[Names], tables: Sequence[Array]) -> Array:
    """All components of the known marginals, and zero for the others."""
    weights, _ = shared_weights(views, [1 / columns.cells(view) for view in views])
    start: Array = np.full(columns.cells(asked), 1 / columns.cells(asked))
    parts = zip(views, weights, tables, strict=True)
    return np.asarray(start + sum(spreading(asked, columns.sizes, view, some) @ shares for view, some, shares in parts))


def _again(groups: Sequence[ViewShares], replicates: int, source: Source | None) -> list[dict[ViewShares, Array]]:
    """What the groups might have said as well: their shares, with normal errors of the covariance that these imply."""
    drawn: list[dict[ViewShares, Array]] = [{} for _ in range(replicates)]
    for group in groups:
        size = group.frequencies.size
        values, vectors = np.linalg.eigh(group.moments.covariance(np.eye(size), group.shares) / max(group.n, 1))
        normal = scipy.special.ndtri(_uniform(replicates * size, source)).reshape(replicates, size)
        noise = normal * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
        for shares, errors in zip(drawn, noise, strict=True):
            shares[group] = group.frequencies + errors
    return drawn


def _uniform(count: int, source: Source | None) -> Array:
    numbers = np.empty(count)
    serve_everyone(count, lambda part, words: fill_uniform(numbers[part], words), source)
    return numbers
