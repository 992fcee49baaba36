"""Conditional shares: some columns' values among the people with each value of another column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from deniable.core.estimate import Estimate
from deniable.core.interval import Limits
from deniable.core.law import Law
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.marginals.visible import adding, visible

if TYPE_CHECKING:
    from deniable.tasks.marginals.estimate import MarginalEstimate


@dataclass(frozen=True, eq=False, kw_only=True)
class Conditional(Law):
    """Shares with normal errors, by the delta method, and their whole covariance.

    Where next to nobody can be seen a share is not a number, and its limits are the least and the most that it can be.
    """

    n: int
    shares: Array
    covariance: Array
    """Of the shares, among the people who reported."""
    drawn: Array
    """The same if the people are a sample."""
    least: Array
    most: Array

    @property
    def point(self) -> Array:
        return self.shares

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return np.asarray(np.maximum(np.diag(self.drawn if population else self.covariance), 0.0))

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        reach, unknown = scipy.stats.norm.isf(alpha / 2) * np.sqrt(self.variance(self.shares, population=population)), np.isnan(self.shares)
        return np.where(unknown, self.least, self.shares - reach), np.where(unknown, self.most, self.shares + reach)

    def select(self, positions: Array) -> Conditional:
        both = np.ix_(positions, positions)
        lists = {name: getattr(self, name)[positions] for name in ("shares", "least", "most")}
        return replace(self, covariance=self.covariance[both], drawn=self.drawn[both], **lists)

    def linear(self, weights: Array) -> Conditional:
        """Return the law of linear combinations, one for each row of weights; unknown where an unknown share has any weight."""
        unknown = (weights != 0) @ np.isnan(self.shares)
        shares, *both = (np.where(np.isnan(each), 0.0, each) for each in (self.shares, self.covariance, self.drawn))
        covariance, drawn = (np.where(unknown[:, None] | unknown, nan, weights @ each @ weights.T) for each in both)
        less, more = np.minimum(weights, 0.0), np.maximum(weights, 0.0)
        return Conditional(
            n=self.n,
            shares=np.where(unknown, nan, weights @ shares),
            covariance=covariance,
            drawn=drawn,
            least=more @ self.least + less @ self.most,
            most=more @ self.most + less @ self.least,
        )


def conditional(estimate: MarginalEstimate, column: str) -> Estimate:
    """Return the shares of the other columns' values among the people with each value of one column, the first of its ``axes``."""
    if column not in estimate.columns or len(estimate.columns) < 2:
        allowed = f"one of {list(estimate.columns)}, next to another"
        raise ParameterError("column", column, allowed=allowed, fix="name a column of this marginal")
    axis, cells = estimate.columns.index(column), estimate.every_cell
    shares, seen = visible(estimate, axis)
    sums = adding(estimate.shape, axis)
    place = sums.argmax(axis=0)
    known, whole = seen[place], np.where(seen, shares, 1.0)[place]
    parts = estimate.frequencies / whole
    slopes = (np.eye(parts.size) - parts[:, None] * (sums.T @ sums)) / whole[:, None]
    parts[~known] = nan
    order = np.argsort(place, kind="stable")

    def carried(covariance: Array) -> Array:
        """The covariance of the shares, from that of the cells, as far as they are known."""
        found = np.full_like(covariance, nan)
        if known.any():
            found[np.ix_(known, known)] = (slopes @ covariance @ slopes.T)[np.ix_(known, known)]
        return found[np.ix_(order, order)]

    def first(names: tuple[Any, ...]) -> tuple[Any, ...]:
        """A tuple with the entry of the column before all others."""
        return (names[axis], *names[:axis], *names[axis + 1 :])

    return Estimate(
        values=[first(estimate.values[i]) for i in order],
        law=Conditional(
            n=estimate.n,
            shares=parts[order],
            covariance=carried(cells.covariance),
            drawn=carried(cells.drawn),
            least=np.zeros(parts.size),
            most=np.ones(parts.size),
        ),
        about=f"shares among the people with each {column}: {estimate.n:,} people in all",
        guarantee=estimate.guarantee,
        axes=first(estimate.axes),
        quantity="share",
        kind="conditional",
        covers=estimate.covers,
        figure={"mark": "bars", "group": column},
    )
