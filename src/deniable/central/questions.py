"""The questions of a session: what each computes, how far one person can move it, and which noise it gets.

One row more or less ("add-remove") moves a count by 1, a sum by max(|low|, |high|), a histogram by 1 in all. One row replaced moves a count
by 1, a histogram by 2 (one value loses a person, another gains one), a sum by high - low if every row has a value; where rows may not
match, or lack a value, they add 0, and the sum moves by the distance between the ends of the range *with 0 in it*.

``mean`` takes the sum of distances to the middle of the range, which one person moves least, and a count. One row more or less moves both:
each gets half of epsilon. One row replaced by another that matches moves the sum from end to end and not the count; one replaced by one
that does not match moves the sum by half the range, and the count: so the sum gets all of epsilon, the count half of it, and both together
keep the promise. Among all rows of a complete column n is public, and there is no count.

``top`` takes the largest of a noisy histogram where each row holds one value: nothing is better, since one person moves only one count (or
two). Where rows hold lists, one person moves many counts, and noise for all of them would be too much: then k values are *peeled*, chosen
one after the other among those left, for half of epsilon, and counted for the other half, with the rows themselves: sensitivity k + 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import nextafter
from typing import Any

import numpy as np
import polars as pl

from deniable.accounting.combinations import Sequential
from deniable.accounting.event import REPLACE, Event
from deniable.accounting.leaves import Pure
from deniable.central import rows
from deniable.central.condition import read_where
from deniable.central.curator import Curator
from deniable.central.histogram import released_counts
from deniable.central.laplace import Laplace
from deniable.central.number import LaplaceNumber, LaplaceRatio, released_number
from deniable.central.quantiles import CHOICES, ChosenQuantiles, Ranking, quantile_estimate, read_quantiles
from deniable.central.release import Release, TableQuestion
from deniable.central.rows import Clip
from deniable.central.selection import ExponentialMechanism, PermuteAndFlip
from deniable.contract.arguments import typed
from deniable.contract.probability import check_epsilon
from deniable.contract.source import Source
from deniable.core.estimate import Estimate, NumberEstimate
from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import check_level
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

Draw = Callable[[pl.DataFrame, Array, Source | None], Sequence[int]]
"""From the table, which rows match, and a source, to what is released: noise included."""
LACKING = "rows without a value do not count"
MOST_STEPS = 10_000


class PendingQuestion:
    """A question on its way: checked against the columns, not yet paid for."""

    def __init__(self, curator: Curator, where: Any, epsilon: float, request: str | None) -> None:
        self.curator, self.epsilon, self.request = curator, check_epsilon(epsilon), request
        self.where = read_where(where, curator.empty)
        self.replaced = curator.neighbors == REPLACE

    def everyone(self, column: str | None = None) -> bool:
        """Whether each row matches and has a value, for certain: then their number is public if rows are replaced."""
        return self.replaced and self.where.expression is None and (column is None or column in self.curator.complete)

    def noise(self, sensitivity: int, shares: int = 1) -> Laplace:
        """Laplace noise for a share of epsilon."""
        return Laplace(epsilon=share_of(self.epsilon, shares), sensitivity=sensitivity, neighbors=self.curator.neighbors)

    def pure(self, times: int = 1) -> list[Event]:
        """So many releases that share epsilon."""
        return [Pure(epsilon=share_of(self.epsilon, times), neighbors=self.curator.neighbors)] * times

    def answer(self, ask: str, parts: tuple[Any, ...], mechanism: str, events: list[Event], draw: Draw) -> tuple[Release, tuple[int, ...]]:
        """The event of all releases. Sums of epsilons charge what was asked for; under zCDP the parts cost less than their sum."""
        curator, question = (
            self.curator,
            TableQuestion(ask, (*parts, self.where.identity, self.epsilon, self.curator.version, self.curator.n)),
        )
        whole = Pure(epsilon=self.epsilon, neighbors=curator.neighbors)
        event = Sequential(events=tuple(events)) if curator.book.rule == "zCDP" else whole
        request, found = curator.answer(question, event, self.request, lambda table, source: draw(table, self.where.matches(table), source))
        return Release(request, ask, mechanism, self.epsilon, curator.neighbors), found


def ask_count(pending: PendingQuestion) -> NumberEstimate:
    """How many rows match."""
    noise = pending.noise(1)
    release, (found,) = pending.answer(
        "count", (), "Laplace", pending.pure(), lambda _, matching, source: [noise.release(int(matching.sum()), source=source)]
    )
    return released_number(release, "count", LaplaceNumber(pending.curator.n, found, noise.scale))


def ask_sum(pending: PendingQuestion, column: str, low: float, high: float, grid: float | None) -> NumberEstimate:
    """The sum of a column, on a grid."""
    clip = Clip.of(rows.numeric(pending.curator.empty, column), low, high, grid)
    if pending.everyone(column):
        moved = clip.width
    elif pending.replaced:
        moved = max(clip.last, 0) - min(clip.first, 0)
    else:
        moved = max(abs(clip.first), abs(clip.last))
    noise = pending.noise(moved)

    def draw(table: pl.DataFrame, matching: Array, source: Source | None) -> list[int]:
        return [noise.release(int(clip.keys(rows.numbers(table, column, matching)).sum()), source=source)]

    release, (found,) = pending.answer(f"sum of {column}", (*clip.identity, pending.everyone(column)), "Laplace", pending.pure(), draw)
    law = LaplaceNumber(pending.curator.n, found, noise.scale, float(clip.step))
    return released_number(release, "sum", law, _told(pending, column, clip))


def ask_mean(pending: PendingQuestion, column: str, low: float, high: float, grid: float | None) -> NumberEstimate:
    """The mean of a column: distances to the middle, in half steps of the grid, and how many."""
    clip = Clip.of(rows.numeric(pending.curator.empty, column), low, high, grid)
    public = pending.everyone(column)
    noise = pending.noise(clip.width * (2 if pending.replaced else 1), 1 if pending.replaced else 2)
    count = pending.noise(1, 2)

    def draw(table: pl.DataFrame, matching: Array, source: Source | None) -> list[int]:
        found = rows.numbers(table, column, matching)
        distances = 2 * int(clip.keys(found).sum()) - found.size * (clip.first + clip.last)
        return [noise.release(distances, source=source), *([] if public else [count.release(found.size, source=source)])]

    release, found = pending.answer(
        f"mean of {column}", (*clip.identity, public), "Laplace", pending.pure(1 if pending.replaced else 2), draw
    )
    law = LaplaceRatio(
        n=pending.curator.n,
        ends=(float(clip.first * clip.step), float(clip.last * clip.step)),
        steps=found[0],
        scale=noise.scale,
        step=float(clip.step / 2),
        count=(pending.curator.n or 0) if public else found[1],
        count_scale=None if public else count.scale,
    )
    return released_number(release, "mean", law, _told(pending, column, clip))


def ask_histogram(pending: PendingQuestion, column: str, values: Sequence[Any]) -> FrequencyEstimate:
    """Counts of values, each row in one of them at most."""
    wanted = rows.listed(pending.curator.empty, column, values)
    names = tuple(wanted.to_list())
    if isinstance(pending.curator.schema[column], pl.List):
        fix = "ask for top(): one row of a list changes many counts"
        raise ParameterError("column", f"{column!r}, a column of lists", allowed="a column with one value in each row", fix=fix)
    noise = pending.noise(2 if pending.replaced else 1)

    def draw(table: pl.DataFrame, matching: Array, source: Source | None) -> Sequence[int]:
        return [int(count) for count in noise.release(rows.counts(table, column, matching, wanted), source=source)]

    # Under zCDP: a replaced row moves two counts by one each, and each of the two is half of epsilon.
    release, found = pending.answer(f"histogram of {column}", names, "Laplace", pending.pure(2 if pending.replaced else 1), draw)
    return released_counts(release, names, found, noise.scale, rows=pending.curator.n if pending.everyone() else None)


def ask_top(pending: PendingQuestion, column: str, k: int, values: Sequence[Any]) -> FrequencyEstimate:
    """The k most frequent values: of a histogram, or peeled."""
    wanted = rows.listed(pending.curator.empty, column, values)
    names = tuple(wanted.to_list())
    if type(k) is not int or not 1 <= k <= len(names):
        raise ParameterError(
            "k", k, allowed=f"an integer from 1 to {len(names)}, the listed values", fix="list more values, or ask for less"
        )
    if not isinstance(pending.curator.schema[column], pl.List):
        return ask_histogram(pending, column, values).top(k)
    kind = ExponentialMechanism if pending.curator.book.rule == "zCDP" else PermuteAndFlip
    choice = kind(
        epsilon=share_of(pending.epsilon, 2 * k), sensitivity=1, neighbors=pending.curator.neighbors, monotone=not pending.replaced
    )
    numbers = k if pending.everyone() else k + 1
    noise = pending.noise(numbers, 2)

    def draw(table: pl.DataFrame, matching: Array, source: Source | None) -> list[int]:
        counts = rows.counts(table, column, matching, wanted)
        chosen = choice.top(counts.tolist(), k, source)
        exact = np.append(counts[chosen], matching.sum())[:numbers]
        return [*chosen, *(int(count) for count in noise.release(exact, source=source))]

    events = [choice.event] * k + pending.pure(2 * numbers)[:numbers]  # each released number is moved by one
    release, found = pending.answer(f"top {k} of {column}", (k, *names), "peeling and Laplace", events, draw)
    public, counted = (pending.curator.n, None) if pending.everyone() else (None, found[-1])
    peeled = [names[i] for i in found[:k]]
    return released_counts(release, peeled, found[k : 2 * k], noise.scale, rows=public, counted=counted).top(k)


def ask_quantiles(pending: PendingQuestion, column: str, q: Any, grid: tuple[float, float, int], level: float) -> Estimate:
    """Quantiles on a grid, each with its limits."""
    rows.numeric(pending.curator.empty, column)
    low, high, steps = grid
    wanted = read_quantiles(q)
    check_level("level", level)
    if type(steps) is not int or not 1 <= steps <= MOST_STEPS:
        raise ParameterError("steps", steps, allowed=f"an integer from 1 to {MOST_STEPS:,}", fix="use 100 steps")
    points = rows.grid_points(low, high, steps)
    each = share_of(pending.epsilon, CHOICES * len(wanted))
    ranking = Ranking(each, steps, pending.curator.neighbors, pending.curator.book.rule == "zCDP")

    def draw(table: pl.DataFrame, matching: Array, source: Source | None) -> list[int]:
        held = rows.places(rows.numbers(table, column, matching), points)
        return [place for one in wanted for place in ranking.choose(held, one, level, source)]

    kind = ranking.selection(wanted[0])
    events = [kind.event] * (CHOICES * len(wanted))
    parts = (tuple(map(str, wanted)), str(low), str(high), steps, level)
    release, found = pending.answer(f"quantiles of {column}", parts, type(kind).__name__, events, draw)
    low_limits, chosen, high_limits = (np.array(found[i::CHOICES]) for i in range(CHOICES))
    middle = np.sort(chosen)  # quantiles rise, and sorting brings none further from the truth; limits are only ever widened
    below = np.minimum(np.minimum.accumulate(low_limits[::-1])[::-1], middle)
    above = np.maximum(np.maximum.accumulate(high_limits), middle)
    told = f"values count at the first of {steps + 1:,} grid points at or above them; {LACKING}"
    grid_numbers = np.array(points, dtype=float)
    law = ChosenQuantiles(
        n=pending.curator.n,
        numbers=grid_numbers[middle],
        low=grid_numbers[below],
        high=grid_numbers[above],
        missed=np.array([ranking.missed(one, level) for one in wanted]),
        ends=(float(points[0]), float(points[-1])),
        level=level,
    )
    return quantile_estimate(release, [float(one) for one in wanted], law, told)


@typed
def share_of(epsilon: float, parts: int) -> float:
    """Return the largest float of which ``parts`` fit into epsilon, whether read as decimal or as binary numbers.

    >>> share_of(0.3, 3), share_of(1.0, 3)
    (0.09999999999999999, 0.3333333333333333)
    """
    epsilon = check_epsilon(epsilon)
    if parts < 1:
        raise ParameterError("parts", parts, allowed="an integer from 1 on", fix="give the number of releases that share epsilon")
    most, share = min(Fraction(epsilon), Fraction(repr(epsilon))), epsilon / parts
    while parts > 1 and max(Fraction(share), Fraction(repr(share))) * parts > most:
        share = nextafter(share, 0.0)
    return share


def _told(pending: PendingQuestion, column: str, clip: Clip) -> str:
    return clip.note() if column in pending.curator.complete else f"{clip.note()}; {LACKING}"
