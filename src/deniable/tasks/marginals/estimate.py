"""What a table's groups say: marginals with errors, the whole covariance, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.contract.source import Source
from deniable.contract.spec import Spec
from deniable.core.postprocess import METHODS, Postprocessed
from deniable.core.scores import ScoreEstimate
from deniable.core.table import Table, row_numbers
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.marginals.columns import Columns, Names
from deniable.tasks.marginals.components import components, shared_weights, signs, spreading
from deniable.tasks.marginals.groups import Group

if TYPE_CHECKING:
    from deniable.core.chart import Chart
    from deniable.tasks.marginals.association import Association
    from deniable.tasks.marginals.conditional import ConditionalShares
    from deniable.tasks.marginals.reconstruct import Reconstruction


@dataclass(frozen=True, eq=False, repr=False)
class MarginalEstimate(ScoreEstimate):
    """Unbiased counts of the combinations of some columns among all people, with the covariance of the shares.

    A value is a tuple, one entry for each of ``columns``, the last changing fastest. Errors cover the mechanism's noise and the luck of who
    was asked what; with ``population=True`` also that the people are a sample.
    """

    columns: Names = field(kw_only=True)
    shape: tuple[int, ...] = field(kw_only=True)
    """How many values each column has."""
    covariance: Array = field(kw_only=True)
    """Of the shares, among these people; ``drawn`` adds what is due to their being a sample."""
    method: str = field(kw_only=True)
    """How people were asked."""

    @property
    def drawn(self) -> Array:
        """The covariance of the shares as statements about everyone like these people."""
        shares = np.clip(self.frequencies, 0.0, 1.0)
        return np.asarray(self.covariance + (np.diag(shares) - np.outer(shares, shares)) / max(self.n, 1))

    @property
    def table(self) -> Array:
        """The shares with one axis for each column."""
        return self.frequencies.reshape(self.shape)

    def select(self, positions: Any) -> MarginalEstimate:
        positions = row_numbers(positions, len(self.values))
        return replace(super().select(positions), covariance=self.covariance[np.ix_(positions, positions)])  # type: ignore[return-value, call-arg]  # of our class

    def association(self) -> Association:
        """How strongly two columns go together: Cramér's V, with an interval and a test."""
        from deniable.tasks.marginals.association import associate

        return associate(self)

    def given(self, column: str) -> ConditionalShares:
        """The shares of the other columns' values among the people with each value of one column."""
        from deniable.tasks.marginals.conditional import conditional

        return conditional(self, column)

    def postprocess(self, method: str) -> Postprocessed:
        """Counts made consistent by a ``method``, "norm-sub" or another of ``core.postprocess`` that needs no law of single reports."""
        allowed = sorted(set(METHODS) - {"mle"})
        if method not in allowed:
            raise ParameterError("method", method, allowed=f"one of {allowed}", fix="norm-sub suits whole distributions")
        return Postprocessed(method, METHODS[method](self) if self.n else np.zeros(len(self.values)), self)

    def rows(self) -> dict[str, Any]:
        return super().rows() | {"value": [", ".join(map(str, value)) for value in self.values]}

    def headline(self) -> str:
        asked = f"{' x '.join(self.columns)}: {self.n:,} people, {self.method}, epsilon = {self.spec.epsilon:.4g}"
        return f"{asked}; low and high: 95 %{', together' if self.picked else ''}, noise and who was asked what"

    def to_arrow(self) -> Any:
        import pyarrow as pa

        labels = {name: [str(value[i]) for value in self.values] for i, name in enumerate(self.columns)}
        return pa.table(labels | {name: column for name, column in self.rows().items() if name != "value"})

    def chart(self, k: int = 40) -> Chart:
        """Shares with their 95 % intervals, a panel for each value of the first column; of more than k cells, the largest."""
        from deniable.tasks.marginals.chart import marginal_chart

        return marginal_chart(self.top(k) if len(self.values) > k else self)


@dataclass(frozen=True, eq=False, repr=False)
class TableEstimate(Table):
    """All marginals of a table, from what its groups reported. ``estimate["place", "mood"]`` is one of them.

    Its own rows are how strongly any two columns go together, where their marginal was asked for.
    """

    columns: Columns
    sets: tuple[Names, ...]
    """The columns of each marginal that was asked for."""
    method: str
    """How people were asked."""
    epsilon: float
    groups: tuple[Group, ...]
    spec: Spec
    """The mechanism of the first group."""
    why: str
    """The choice of the method, in a sentence."""

    @property
    def n(self) -> int:
        """How many people reported."""
        return sum(group.n for group in self.groups)

    @cached_property
    def _weights(self) -> tuple[list[dict[frozenset[str], float]], set[frozenset[str]]]:
        return shared_weights([group.columns for group in self.groups], [group.strength for group in self.groups])

    def parts(self, names: Names) -> tuple[float, list[tuple[Group, Array]]]:
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

    def marginal(self, *names: str) -> MarginalEstimate:
        """The shares of all combinations of the columns of these names; ParameterError if nobody was asked about them together."""
        asked = self.columns.check(names)
        if not self.known(asked):
            allowed = f"columns of one of {list(self.sets)}"
            raise ParameterError("columns", names, allowed=allowed, fix="ask about them together, or guess: reconstruct(...)")
        cells, n = self.columns.cells(asked), self.n
        start, parts = self.parts(asked) if asked else (1.0, [])
        empty = any(not group.n for group, _ in parts) if self.method == "fourier" else bool(self._weights[1] & set(components(asked)))
        used = [(group, rows) for group, rows in parts if group.n]
        shares = start + sum((rows @ group.frequencies for group, rows in used), np.zeros(cells)) if n else np.zeros(cells)
        drawn = sum((group.scores.covariance(rows, group.shares) / group.n for group, rows in used), np.zeros((cells, cells)))
        held = np.clip(shares, 0.0, 1.0)
        covariance = drawn - (np.diag(held) - np.outer(held, held)) / max(n, 1) if asked and n else drawn
        np.fill_diagonal(covariance, inf if empty and n else np.maximum(np.diag(covariance), 0.0))
        worst = sum(float(group.scores.worst(rows).max()) / group.n for group, rows in used)
        reach = max((group.scores.reach(rows) / group.n for group, rows in used), default=1.0)
        return MarginalEstimate(
            self.spec,
            self.columns.labels(names),
            n,
            n * shares,
            n**2 * np.diag(covariance),
            slope=0.0,
            reach=max(n * reach, 1.0),
            worst=n * worst,
            columns=tuple(names),
            shape=tuple(self.columns.sizes.get(name, 1) for name in names),
            covariance=covariance,
            method=self.method,
        )

    def __getitem__(self, names: str | tuple[str, ...]) -> MarginalEstimate:
        return self.marginal(*((names,) if isinstance(names, str) else names))

    def tables(self) -> dict[str, MarginalEstimate]:
        """Every marginal that was asked for, by the names of its columns."""
        return {" x ".join(names): self.marginal(*names) for names in self.sets}

    def reconstruct(self, *names: str, method: str = "max-entropy", replicates: int = 100, source: Source | None = None) -> Reconstruction:
        """The shares of columns that were not asked about together, by their names, from the marginals that were.

        The ``method`` is "max-entropy" or "least-squares" (``reconstruct``); errors are those of so many ``replicates`` of the noise.
        """
        from deniable.tasks.marginals.reconstruct import reconstruct

        return reconstruct(self, names, method=method, replicates=replicates, source=source)

    @cached_property
    def _pairs(self) -> list[Association]:
        asked = list(self.columns.asked)
        pairs = [(a, b) for i, a in enumerate(asked) for b in asked[i + 1 :] if self.known((a, b))]
        return [self.marginal(*pair).association() for pair in pairs]

    def rows(self) -> dict[str, Any]:
        limits = [pair.interval(0.95) for pair in self._pairs]
        return {
            "value": [" x ".join(pair.columns) for pair in self._pairs],
            "association": np.array([pair.value for pair in self._pairs]),
            "low": np.array([low for low, _ in limits]),
            "high": np.array([high for _, high in limits]),
            "p": np.array([pair.p_value for pair in self._pairs]),
        }

    def headline(self) -> str:
        asked = f"{self.n:,} people in {len(self.groups):,} groups, {self.method}, epsilon = {self.epsilon:.4g}"
        return f"{asked}\n{self.why}\nassociation: Cramér's V, from 0 to 1; low and high: 95 %; p: how likely as much is without any"

    def order(self) -> Array:
        return np.argsort([pair.p_value for pair in self._pairs], kind="stable")
