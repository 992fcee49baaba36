"""The choice of how to ask about a table, by the predicted error of its marginals.

Where all cells are alike, the variance of one person's scores is the same in every direction that keeps their sum. Then the variance of a
share in the marginal of columns A, averaged over its d_A cells, is exactly::

    sum over components S of A of  rank(S) / d_A^2 / (sum of the strengths of all views that have S)

with the strengths n_V / (a_V d_V) of ``components``; and with T Hadamard coefficients, (2^b - 1) / 4^b T (e^epsilon + 1)^2 /
(e^epsilon - 1)^2 / n where the keys of A have b bits. Both count what is due to people being a sample. Real tables are not alike in all
cells; the prediction is for choosing, and every estimate comes with the error that its own reports imply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import inf

import numpy as np

from deniable.core.choice import Choice, nearly_least
from deniable.errors import ParameterError
from deniable.tasks.marginals.columns import Columns, Names
from deniable.tasks.marginals.components import components, rank
from deniable.tasks.marginals.designs import METHODS, View, cover, groups_of
from deniable.tasks.marginals.groups import Moments, oracle_for, strength

WIDEST = 6
"""Views of more columns are not considered."""


@dataclass(frozen=True)
class Design:
    """A way to ask: a method with its groups, and the error that is expected of it."""

    method: str
    groups: tuple[View, ...]
    error: float
    """The standard error of a share, averaged (in the square) over all cells of the wanted marginals."""

    @property
    def label(self) -> str:
        """The method, and how wide its views are."""
        return f"views of {max(len(asked.columns) for asked in self.groups)}" if self.method == "views" else self.method


def design_for(
    columns: Columns,
    sets: tuple[Names, ...],
    *,
    epsilon: float,
    people: int,
    method: str = "auto",
    views: Sequence[Sequence[str]] | None = None,
) -> Choice[Design]:
    """Return the way to ask with the smallest predicted error, and why; of one method, or of given views.

    >>> from deniable.tasks.marginals.designs import wanted
    >>> columns = Columns.of({name: ["yes", "no"] for name in "abcd"})
    >>> choice = design_for(columns, wanted(columns, 2, None), epsilon=1.0, people=10_000)
    >>> print(choice.why)
    split: the smallest predicted error, 0.0263 of a share with 10,000 people; fourier 0.0296, views of 3 0.028, direct 0.0322
    """
    if method not in ("auto", *METHODS):
        raise ParameterError(
            "method", method, allowed=f"auto or one of {list(METHODS)}", fix="use auto, which picks the one with the smallest error"
        )
    if (views is not None) and method != "views":
        raise ParameterError("views", views, allowed='method="views"', fix="leave out views: the other methods choose their own")
    considered: list[Design] = []
    refused: list[str] = []
    for name, own in _candidates(columns, sets, method, views):
        try:
            groups = groups_of(name, columns, sets, own)
        except ParameterError as error:
            if method != "auto":
                raise
            refused.append(f"{name} allows {error.allowed}, not {error.received}")
            continue
        if any(groups == design.groups for design in considered):  # of two columns, all at once is the same as a pair
            continue
        considered.append(Design(name, groups, predicted_error(columns, sets, groups, epsilon=epsilon, people=people)))
    if not considered:
        raise ParameterError("columns", list(columns.asked), allowed="few enough cells", fix="; ".join(refused))
    place, near = nearly_least([design.error for design in considered])
    return Choice(
        chosen=considered[place],
        why=_reason(considered, place, near, refused, people),
        considered=tuple(considered),
        refused=tuple(refused),
        columns=lambda: {
            "value": [design.label for design in considered],
            "error": np.array([design.error for design in considered]),
            "groups": [len(design.groups) for design in considered],
        },
        legend="error: standard error of a share, averaged over all cells; groups: number of groups of people",
    )


def _reason(considered: Sequence[Design], place: int, near: str, refused: Sequence[str], people: int) -> str:
    """Return the choice in a sentence, with the alternatives and what was ruled out."""
    design = considered[place]
    error = f"{design.error:.3g} of a share with {people:,} people"
    if len(considered) == 1 and not refused:
        return f"{design.label}, as you asked: predicted error {error}"
    others = [f"{other.label} {other.error:.3g}" for other in considered if other is not design]
    return "; ".join([f"{design.label}: {near}, {error}", *([", ".join(others)] if others else []), *refused])


def _candidates(
    columns: Columns, sets: tuple[Names, ...], method: str, views: Sequence[Sequence[str]] | None
) -> list[tuple[str, tuple[Names, ...] | None]]:
    """Methods with their views, where these are theirs to choose: covers of every width, or else the marginals themselves."""
    if views is not None:
        return [("views", tuple(columns.check(view) for view in views))]
    found: list[tuple[str, tuple[Names, ...] | None]] = []
    for name in METHODS if method == "auto" else (method,):
        if name != "views":
            found.append((name, None))
            continue
        widths = range(max(map(len, sets)) + 1, min(len(columns.asked), WIDEST + 1))
        covers = dict.fromkeys(cover(columns, sets, width) for width in widths)
        found += [("views", views) for views in covers if views not in (None, sets)] or [("views", sets)] * (method == "views")
    return found


def predicted_error(columns: Columns, sets: Sequence[Names], groups: Sequence[View], *, epsilon: float, people: int) -> float:
    """Return the standard error of a share where all cells are alike, averaged (in the square) over all cells of the wanted marginals.

    >>> columns = Columns.of({name: ["yes", "no"] for name in "abcdefgh"})
    >>> from deniable.tasks.marginals.designs import wanted
    >>> pairs = wanted(columns, 2, None)
    >>> for method in ("split", "fourier", "direct"):
    ...     print(method, round(predicted_error(columns, pairs, groups_of(method, columns, pairs), epsilon=1.0, people=1) ** 2, 4))
    split 24.9187
    fourier 31.6082
    direct 176.0792
    """
    size = people / len(groups)
    if groups[0].masks is not None:
        coefficient = 1 / _strength(2, epsilon, size)
        bits = [2 ** sum(columns.bits[name] for name in names) for names in sets]
        variances = [(whole - 1) / whole**2 * coefficient for whole in bits]
    else:
        totals: dict[frozenset[str], float] = {}
        for asked in groups:
            for component in components(asked.columns):
                totals[component] = totals.get(component, 0.0) + _strength(columns.cells(asked.columns), epsilon, size)
        variances = [
            sum(rank(some, columns.sizes) / totals[some] if some in totals else inf for some in components(names))
            / columns.cells(names) ** 2
            for names in sets
        ]
    return float(np.sqrt(np.average(variances, weights=[columns.cells(names) for names in sets])))


@cache
def _strength(cells: int, epsilon: float, people: float) -> float:
    return strength(Moments.of(oracle_for(cells, epsilon, int(people))), cells, people)
