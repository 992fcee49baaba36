"""Features of many people's records at once (``contract.features``), and what public models make of them; a table is read once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from deniable.contract.clusters import MAGNITUDES, ClusterSide, Magnitude
from deniable.contract.domain import Domain
from deniable.contract.encoder import Attribute
from deniable.contract.features import HALF, Features
from deniable.contract.gradient import CELL_BITS, ONE_PROBABILITY, SIGMOID, Gradient
from deniable.contract.source import Source
from deniable.core.stream import serve_everyone
from deniable.core.values import keys_of
from deniable.errors import DomainError
from deniable.kernels.compiled import Array
from deniable.kernels.sampling import fill_below


class FeatureTable(Mapping[str, Array]):
    """A table whose features, and label if there is one, were checked and made integers; all questions of a round are answered from it."""

    def __init__(self, values: Any, features: Features, label: str | None = None, classes: Domain | None = None) -> None:
        if isinstance(values, FeatureTable):  # its integers are no values: they would be read as such
            allowed = f"a table of {features.names}, or a FeatureTable of these features and this label"
            raise DomainError("values", f"a FeatureTable of {values.features.names}", allowed=allowed, fix="pass the table itself")
        self.features: Features = features
        self.label, self.classes = label, classes
        columns = {name: _keys(name, domain, values).astype(np.int64) - HALF for name, domain in features.columns}
        if label is not None and classes is not None:
            columns[label] = _keys(label, classes, values).astype(np.int64)
        sizes = {name: column.size for name, column in columns.items()}
        if len(set(sizes.values())) > 1:
            raise DomainError("values", sizes, allowed="columns of one length", fix="give one value per person in every column")
        self._columns = columns
        self.points: Array = np.stack([columns[name] for name in features.names], axis=1).astype(np.float64)
        """A row for each person, in steps from the middle of each range; doubles, which hold them exactly and multiply faster."""
        self._kept: tuple[Any, Array] | None = None

    def __getitem__(self, name: str) -> Array:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def margins(self, weights: tuple[int, ...]) -> Array:
        """The weighted sum of each person's features and the intercept, over 2^21; exact, below 2^40."""
        return (self.points @ np.array(weights[1:], dtype=np.float64)).astype(np.int64) + weights[0] * HALF

    def once(self, key: Any, work: Any) -> Array:
        """The result of some work on all people, kept until another one is asked for: the questions of a round share it."""
        if self._kept is None or self._kept[0] != key:
            self._kept = (key, work())
        return self._kept[1]


def table_of(values: Any, features: Features, label: str | None = None, classes: Domain | None = None) -> FeatureTable:
    """Return the table itself if it is already one with these features and label."""
    if (
        isinstance(values, FeatureTable)
        and values.features == features
        and (label is None or (values.label, values.classes) == (label, classes))
    ):
        return values
    return FeatureTable(values, features, label, classes)


def sigmoids(margins: Array) -> Array:
    """What ``contract.gradient.sigmoid`` gives for each margin.

    >>> sigmoids(np.array([0, 1 << 21, -(1 << 21), 1 << 40])).tolist()
    [16384, 23955, 8813, 32768]
    """
    table = np.array([*SIGMOID, ONE_PROBABILITY], dtype=np.int64)
    distance = np.abs(margins)
    cells = distance >> CELL_BITS
    far = cells >= 160
    cells = np.where(far, 161, cells)
    rest = np.where(far, 0, distance & (1 << CELL_BITS) - 1)
    above = table[cells] + ((table[cells + 1] - table[cells]) * rest >> CELL_BITS)
    return np.asarray(np.where(margins >= 0, above, ONE_PROBABILITY - above))


class Later:
    """A column that is worked out for those who are asked, when they are: of one coordinate in one round they are few."""

    def __init__(self, people: int, work: Callable[[Any], Array]) -> None:
        self._people, self._work = people, work

    def __len__(self) -> int:
        return self._people

    def __getitem__(self, positions: Any) -> Array:
        return self._work(positions)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self._work(slice(None)), dtype=dtype)


def gradients(encoder: Gradient, values: Any) -> Later:
    """What ``Gradient.encode`` gives for each row of a table: a mapping of columns, or an Arrow, Polars or pandas table."""
    table = table_of(values, encoder.features, encoder.label, encoder.classes)
    labels = table[encoder.label]

    errors = table.once(encoder.weights, lambda: sigmoids(table.margins(encoder.weights)) - labels * ONE_PROBABILITY)
    name = table.features.names[encoder.coordinate - 1] if encoder.coordinate else None

    def work(part: Any) -> Array:
        numbers = HALF if name is None else table[name][part]
        return np.asarray(np.clip(errors[part] * numbers, -encoder.limit, encoder.limit))

    return Later(errors.size, work)


def nearest(points: Array, centers: tuple[tuple[int, ...], ...]) -> Array:
    """The number of the nearest center of each point, the first of several."""
    rows = np.array(centers, dtype=np.float64)  # exact: squares of integers below 2^12, added up to 256 times
    return np.asarray(np.argmin((rows**2).sum(axis=1) - 2 * points @ rows.T, axis=1))


def places(encoder: ClusterSide, values: Any) -> Later:
    """What ``ClusterSide.place`` gives for each row of a table."""
    table = table_of(values, encoder.features)
    clusters = table.once(encoder.centers, lambda: nearest(table.points, encoder.centers))
    numbers, limit = table[table.features.names[encoder.coordinate]], encoder.limit
    return Later(clusters.size, lambda part: clusters[part] * (2 * limit + 1) + np.clip(numbers[part], -limit, limit) + limit)


def sides(encoder: ClusterSide, found: Array, source: Source | None) -> Array:
    """What ``ClusterSide.encode`` draws for each place, from the same words."""
    clusters, levels = np.divmod(found, 2 * encoder.limit + 1)
    drawn = np.zeros(found.size, dtype=np.uint32)
    serve_everyone(found.size, lambda part, words: fill_below(np.uint64(2 * encoder.limit), drawn[part], words), source)
    return np.asarray(2 * clusters + (drawn < levels))


def magnitudes(encoder: Magnitude, values: Any) -> Array:
    """What ``Magnitude.encode`` gives for each row of a table."""
    farthest = np.abs(table_of(values, encoder.features).points).max(axis=1, initial=0)
    bounds = np.array([HALF >> halvings for halvings in range(1, MAGNITUDES)])
    return np.asarray((farthest[:, None] <= bounds).sum(axis=1))


def _keys(name: str, domain: Domain, values: Any) -> Array:
    try:
        return keys_of(domain, Attribute(name).column(values))
    except DomainError as error:
        where = f"column {name!r}, {error.parameter}"
        raise DomainError(where, error.received, allowed=error.allowed, fix=error.fix) from error
