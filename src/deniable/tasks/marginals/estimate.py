"""Estimates of a table from its groups: marginals with errors and the whole covariance."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import inf, prod
from typing import Self

import numpy as np

from deniable.contract.guarantee import Guarantee
from deniable.contract.source import Source
from deniable.contract.spec import Spec
from deniable.core.estimate import Estimate, NumberEstimate, PeopleEstimate
from deniable.core.frequency import FrequencyEstimate
from deniable.core.scores import Scores
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.marginals.association import LEGEND, LOOK, Cramer, associate
from deniable.tasks.marginals.columns import Columns, Names
from deniable.tasks.marginals.components import components, shared_weights, signs, spreading
from deniable.tasks.marginals.groups import ViewShares

COVERS = "noise and who was asked what"


@dataclass(frozen=True, eq=False)
class CellScores(Scores):
    """Counts of the cells of a marginal, with the ``covariance`` of their shares among these people."""

    covariance: Array = field(kw_only=True)

    @property
    def drawn(self) -> Array:
        """The covariance of the shares as statements about everyone like these people."""
        shares = np.clip(self.sums / max(self.n, 1), 0.0, 1.0)
        return np.asarray(self.covariance + (np.diag(shares) - np.outer(shares, shares)) / max(self.n, 1))

    def select(self, positions: Array) -> CellScores:
        return replace(super().select(positions), covariance=self.covariance[np.ix_(positions, positions)])  # type: ignore[return-value, call-arg]  # ours

    def settled(self) -> Scores:
        """Return the law without the covariance, which has as many numbers as there are pairs of cells."""
        return Scores(**{each.name: getattr(self, each.name) for each in fields(Scores)})


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class MarginalEstimate(FrequencyEstimate):
    """Unbiased counts of the combinations of some columns, its ``axes``, among all people, with the covariance of the shares.

    A value is a tuple, one entry for each column, the last changing fastest. Errors cover the mechanism's noise and the luck of who was
    asked what; with ``population=True`` also that the people are a sample.
    """

    law: Scores
    shape: tuple[int, ...]
    """How many values each column has."""
    covers: str = COVERS

    @property
    def columns(self) -> Names:
        """The names of the columns."""
        return self.axes

    @property
    def whole(self) -> int:
        return prod(self.shape)

    @property
    def table(self) -> Array:
        """The shares as an array with one axis for each column."""
        return self.frequencies.reshape(self.shape)

    @property
    def every_cell(self) -> CellScores:
        """The law of all cells with their covariance; ParameterError where this is a part, or was read from a file."""
        if isinstance(self.law, CellScores) and len(self.values) == self.whole:
            return self.law
        shown, allowed = f"{len(self.values)} of {self.whole} cells", "all cells of a marginal with their covariance"
        raise ParameterError("estimate", shown, allowed=allowed, fix='use the whole marginal, for example table["place", "mood"]')

    def association(self) -> NumberEstimate:
        """Return how strongly two columns are associated: Cramér's V, with an interval and a test."""
        return associate(self)

    def given(self, column: str) -> Estimate:
        """Return the shares of the other columns' values among the people with each value of one column."""
        from deniable.tasks.marginals.conditional import conditional

        return conditional(self, column)


@dataclass(frozen=True, eq=False)
class TableShares:
    """The reports of all groups of a table, and the marginals that follow from them."""

    columns: Columns
    sets: tuple[Names, ...]
    """The columns of each marginal that was asked for."""
    method: str
    """How people were asked."""
    groups: tuple[ViewShares, ...]
    spec: Spec
    """The mechanism of the first group."""
    guarantee: Guarantee | None = None

    @property
    def n(self) -> int:
        """How many people reported."""
        return sum(group.n for group in self.groups)

    @cached_property
    def _weights(self) -> tuple[list[dict[frozenset[str], float]], set[frozenset[str]]]:
        return shared_weights([group.columns for group in self.groups], [group.strength for group in self.groups])

    def forms(self, names: Names) -> tuple[float, list[tuple[ViewShares, Array]]]:
        """The shares of the cells of the columns of these names, as a number plus linear forms of the groups' shares."""
        sizes, wanted = self.columns.sizes, set(names)
        if self.method == "fourier":
            whole = 2.0 ** -sum(self.columns.bits[name] for name in names)
            own = [(group, signs(names, sizes, dict(zip(group.columns, group.masks or (), strict=True)))) for group in self.groups
                   if wanted.issuperset(group.columns)]  # fmt: skip
            return whole, [(group, whole * np.stack([sign, -sign], axis=1)) for group, sign in own]
        pairs = zip(self.groups, self._weights[0], strict=True)
        some = [(group, weights) for group, weights in pairs if group.n and wanted.intersection(group.columns)]
        return 1 / self.columns.cells(names), [(group, spreading(names, sizes, group.columns, weights)) for group, weights in some]

    def known(self, names: Names) -> bool:
        """Whether the columns of these names were asked about together, so that every component of their marginal has an estimate."""
        views = self.sets if self.method == "fourier" else [group.columns for group in self.groups]
        return any(set(names) <= set(view) for view in views)

    def marginal(self, names: Names) -> MarginalEstimate:
        """Return the shares of all combinations of these columns; ParameterError if nobody was asked about them together."""
        asked = self.columns.check(names)
        if not self.known(asked):
            allowed = f"columns of one of {list(self.sets)}"
            raise ParameterError("columns", names, allowed=allowed, fix="ask about them together, or estimate with reconstruct(...)")
        return MarginalEstimate.of(
            self.spec,
            self.columns.labels(names),
            self._law(asked),
            about=f"{' x '.join(names)}: {self.n:,} people, {self.method}, epsilon = {self.spec.epsilon:.4g}",
            guarantee=self.guarantee,
            axes=tuple(names),
            figure={"axis": "people"} | ({"group": names[0]} if len(names) > 1 else {}),
            shape=tuple(self.columns.sizes.get(name, 1) for name in names),
        )

    def _law(self, asked: Names) -> CellScores:
        """The counts of the cells of these columns, and their errors."""
        cells, n = self.columns.cells(asked), self.n
        start, forms = self.forms(asked) if asked else (1.0, [])
        empty = any(not group.n for group, _ in forms) if self.method == "fourier" else bool(self._weights[1] & set(components(asked)))
        used = [(group, rows) for group, rows in forms if group.n]
        shares = start + sum((rows @ group.frequencies for group, rows in used), np.zeros(cells)) if n else np.zeros(cells)
        drawn = sum((group.moments.covariance(rows, group.shares) / group.n for group, rows in used), np.zeros((cells, cells)))
        held = np.clip(shares, 0.0, 1.0)
        covariance = drawn - (np.diag(held) - np.outer(held, held)) / max(n, 1) if asked and n else drawn
        np.fill_diagonal(covariance, inf if empty and n else np.maximum(np.diag(covariance), 0.0))
        worst = sum(float(group.moments.worst(rows).max()) / group.n for group, rows in used)
        reach = max((group.moments.reach(rows) / group.n for group, rows in used), default=1.0)
        spread, farthest = n**2 * np.diag(covariance), max(n * reach, 1.0)
        return CellScores(n, n * shares, spread, slope=0.0, reach=farthest, worst=n * worst, covariance=covariance)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TableEstimate(Estimate):
    """All marginals of a table, from what its groups reported. ``estimate["place", "mood"]`` is one of them, and so are its ``parts``.

    Its own numbers are the association of each two columns that were asked about together.
    """

    shares: TableShares
    """What the groups reported."""
    kind: str = "associations"

    @classmethod
    def of(cls, shares: TableShares, why: str) -> Self:
        """The marginals and associations behind what groups reported."""
        asked = list(shares.columns.asked)
        pairs = [(a, b) for i, a in enumerate(asked) for b in asked[i + 1 :] if shares.known((a, b))]
        parts = {" x ".join(names): shares.marginal(names) for names in shares.sets}
        found = [associate(parts.get(" x ".join(pair)) or shares.marginal(pair)) for pair in pairs]
        return cls(
            values=[" x ".join(pair) for pair in pairs],
            law=Cramer.together(shares.n, [each.law for each in found]),  # type: ignore[misc]  # associations have no other
            about=f"{shares.n:,} people in {len(shares.groups):,} groups, {shares.method}, epsilon = {shares.spec.epsilon:.4g}",
            guarantee=shares.guarantee,
            parts=parts,
            details={"p": np.concatenate([np.zeros(0), *(each.law.p_values for each in found)])},
            remarks=(why, LEGEND),
            shares=shares,
            **LOOK,
        )

    @property
    def sets(self) -> tuple[Names, ...]:
        """The columns of each marginal that was asked for."""
        return self.shares.sets

    def marginal(self, *names: str) -> MarginalEstimate:
        """Return the shares of all combinations of the columns ``names``; ParameterError if nobody was asked about them together."""
        return self.shares.marginal(names)

    def __getitem__(self, names: str | tuple[str, ...]) -> MarginalEstimate:
        return self.marginal(*((names,) if isinstance(names, str) else names))

    def reconstruct(self, *names: str, method: str = "max-entropy", replicates: int = 100, source: Source | None = None) -> PeopleEstimate:
        """Return the shares of the columns ``names``, which were not asked about together, estimated from the marginals that were.

        The ``method`` is "max-entropy" or "least-squares" (``reconstruct``); errors are those of so many ``replicates`` of the noise.
        """
        from deniable.tasks.marginals.reconstruction import reconstruct

        return reconstruct(self.shares, names, method=method, replicates=replicates, source=source)
