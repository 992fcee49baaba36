"""Ratings: which person rated which item, and how, on a declared scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import scipy

from deniable.contract.ratings import EXCESS_BITS, LARGEST_OWN, ONE, RIDGE, SWEEPS, HeldRating, Rated, RatingGradient
from deniable.core.features import Later
from deniable.core.values import keys_of
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array


@dataclass(frozen=True, eq=False, repr=False)
class Ratings:
    """The ratings of a crowd, person by person, scaled so that ``low`` is -1 and ``high`` is 1.

    >>> ratings = Ratings.of([0, 0, 2], [1, 3, 1], [5, 2, 1], shape=(3, 4), low=1, high=5)
    >>> ratings
    3 ratings from 1 to 5, of 4 items, by 3 people
    >>> rated, values = ratings.dense(slice(0, 1))
    >>> rated.tolist(), values.tolist()
    ([[False, True, False, True]], [[0.0, 1.0, 0.0, -0.5]])
    """

    starts: Array
    """Where a person's ratings begin; one more at the end."""
    items: Array
    """The rated items, person after person."""
    values: Array
    """Ratings, scaled."""
    number_of_items: int
    """How many items there are, rated or not."""
    low: float
    high: float

    @classmethod
    def of(cls, people: Any, items: Any, values: Any, *, shape: tuple[int, int], low: float, high: float) -> Ratings:
        """Ratings as three columns: who, what and how. ``shape`` is the number of people, with or without ratings, and of items."""
        if not (np.isfinite(high - low) and low < high):
            raise ParameterError("low", low, allowed=f"a number below high = {high}", fix="name the ends of the scale, as in low=1, high=5")
        if len(shape) != 2 or any(type(size) is not int or size < least for size, least in zip(shape, (0, 1), strict=True)):
            raise ParameterError("shape", shape, allowed="the number of people, and of items from 1 on", fix="write shape=(1000, 50)")
        who, what, how = np.asarray(people), np.asarray(items), np.asarray(values, dtype=float)
        if not who.shape == what.shape == how.shape == (who.size,):
            raise DomainError("values", [who.shape, what.shape, how.shape], allowed="three columns of one length", fix="align the columns")
        for name, column, size in (("people", who, shape[0]), ("items", what, shape[1])):
            if column.size and column.dtype.kind not in "iu":
                raise DomainError(name, f"dtype {column.dtype}", allowed="numbers from 0 on", fix=f"number the {name} from 0 on")
            _refuse_first(name, column, (column < 0) | (column >= size), f"numbers from 0 to {size - 1}")
        _refuse_first("values", how, ~((how >= low) & (how <= high)), f"ratings from {low:g} to {high:g}")
        order = np.lexsort((what, who))
        who, what, how = who[order], what[order], how[order]
        twice = np.zeros(who.size, dtype=bool)
        twice[order[1:]] = (who[1:] == who[:-1]) & (what[1:] == what[:-1])
        _refuse_first("items", np.asarray(items), twice, "at most one rating of an item by each person")
        starts = np.zeros(shape[0] + 1, dtype=np.int64)
        np.cumsum(np.bincount(who.astype(np.int64), minlength=shape[0]), out=starts[1:])
        return cls(starts, what.astype(np.int64), 2 * (how - low) / (high - low) - 1, shape[1], float(low), float(high))

    @classmethod
    def from_sparse(cls, matrix: Any, *, low: float, high: float) -> Ratings:
        """Ratings as a SciPy sparse matrix of people x items; what it stores is rated, zeros too."""
        found = scipy.sparse.coo_array(matrix)
        row, column = found.coords
        return cls.of(row, column, found.data, shape=tuple(map(int, found.shape)), low=low, high=high)  # type: ignore[arg-type]  # two of them

    def __len__(self) -> int:
        return self.starts.size - 1

    def __repr__(self) -> str:
        return f"{self.items.size:,} ratings from {self.low:g} to {self.high:g}, of {self.number_of_items:,} items, by {len(self):,} people"

    @property
    def people(self) -> Array:
        """The person who gave each rating."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def take(self, people: Array) -> Ratings:
        """Return the ratings of some people, in this order."""
        counts = np.diff(self.starts)[people]
        starts = np.concatenate([[0], np.cumsum(counts)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[people] - starts[:-1], counts)
        return Ratings(starts, self.items[places], self.values[places], self.number_of_items, self.low, self.high)

    def split(self, hidden: Array) -> tuple[Ratings, Ratings]:
        """Ratings that are known and ratings that are ``hidden``, one mark for each rating: to judge predictions by."""
        return self._only(~hidden), self._only(hidden)

    def _only(self, kept: Array) -> Ratings:
        starts = np.concatenate([[0], np.cumsum(kept)])[self.starts]
        return Ratings(starts, self.items[kept], self.values[kept], self.number_of_items, self.low, self.high)

    def dense(self, part: slice) -> tuple[Array, Array]:
        """For some people in a row, a ``part`` of them: who rated what, and the scaled ratings, 0 where there is none."""
        bounds = self.starts[part.start : part.stop + 1]
        rows = np.repeat(np.arange(bounds.size - 1), np.diff(bounds))
        inside = slice(bounds[0], bounds[-1])
        rated = np.zeros((bounds.size - 1, self.number_of_items), dtype=bool)
        values = np.zeros(rated.shape)
        rated[rows, self.items[inside]] = True
        values[rows, self.items[inside]] = self.values[inside]
        return rated, values

    def original(self, scaled: Array) -> Array:
        """Scaled numbers on the declared scale."""
        return self.low + (scaled + 1) * (self.high - self.low) / 2


def _refuse_first(name: str, column: Array, bad: Array, allowed: str) -> None:
    if bad.any():
        place = int(np.argmax(bad))
        raise DomainError(f"{name}[{place}]", column[place].item(), allowed=allowed, fix="correct or drop it; nothing was counted")


def ratings_of(domain: Rated, values: Any) -> Ratings:
    """Many people's ratings: ``Ratings`` of these items on this scale, a list of what each person holds, or an Arrow column of maps."""
    low, high = float(domain.scale.low), float(domain.scale.high)
    if isinstance(values, Ratings):
        if (values.number_of_items, values.low, values.high) != (domain.items, low, high):
            allowed = f"ratings of {domain.items} items from {low:g} to {high:g}"
            raise DomainError("ratings", repr(values), allowed=allowed, fix="make them with Ratings.of")
        return values
    column = values.to_arrow() if hasattr(values, "to_arrow") else values  # of Polars
    if isinstance(column, pa.Array | pa.ChunkedArray):
        return _of_maps(domain, column)
    if not isinstance(values, list | tuple):
        allowed = "Ratings, a list of mappings, or an Arrow column of maps"
        raise DomainError("values", type(values).__name__, allowed=allowed, fix="make them with Ratings.of")
    held = []
    for position, value in enumerate(values):
        try:
            held.append(domain.points(value))
        except DomainError as error:
            raise domain.refuse(value, position) from error
    starts = np.concatenate([[0], np.cumsum([len(points) for points in held], dtype=np.int64)]).astype(np.int64)
    items = np.array([item for points in held for item in points], dtype=np.int64)
    points = np.array([point for each in held for point in each.values()], dtype=np.int64)
    return Ratings(starts, items, points / ONE, domain.items, low, high)


def _of_maps(domain: Rated, values: Any) -> Ratings:
    """Ratings from a column of Arrow's maps of items to numbers, or of lists of pairs, which is how Polars holds maps."""
    column = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if pa.types.is_map(column.type):
        column = column.cast(pa.list_(pa.struct([("item", column.type.key_type), ("rating", column.type.item_type)])))
    pair = column.type.value_type if pa.types.is_list(column.type) or pa.types.is_large_list(column.type) else None
    kinds = [] if pair is None or not pa.types.is_struct(pair) else [field.type for field in pair]
    if len(kinds) != 2 or not pa.types.is_integer(kinds[0]) or not (pa.types.is_integer(kinds[1]) or pa.types.is_floating(kinds[1])):
        fix = "map each person's items to ratings, with items numbered from 0 on"
        raise DomainError("values", f"a column of {column.type}", allowed="a column of maps", fix=fix)
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise DomainError(
            f"values[{row}]", None, allowed=domain.describe(), fix="leave out people who did not answer; an empty map rates nothing"
        )
    sizes = column.value_lengths().to_numpy()
    people = np.repeat(np.arange(sizes.size), sizes)
    items, ratings = (part.to_numpy(zero_copy_only=False) for part in column.flatten().flatten())
    order = np.lexsort((items, people))
    twice = np.zeros(people.size, dtype=bool)
    twice[order[1:]] = (people[order[1:]] == people[order[:-1]]) & (items[order[1:]] == items[order[:-1]])
    low, high = float(domain.scale.low), float(domain.scale.high)
    bad = twice | ~((items >= 0) & (items < domain.items) & (ratings >= low) & (ratings <= high))
    if bad.any():
        row = int(people[np.argmax(bad)])
        raise domain.refuse(column[row].as_py(), row)
    points = keys_of(domain.scale, ratings[order]).astype(np.int64) - ONE
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Ratings(starts, items[order].astype(np.int64), points / ONE, domain.items, low, high)


def column(encoder: HeldRating | RatingGradient, values: Any) -> Later:
    """What ``encode`` gives for each person, worked out for those who are asked."""
    ratings = ratings_of(encoder.domain, values)

    def work(part: Any) -> Array:
        asked = ratings.take(np.arange(len(ratings))[part])
        rated, scaled = asked.dense(slice(0, len(asked)))
        if isinstance(encoder, HeldRating):
            return rated[:, encoder.item].astype(np.int64)
        own, errors = own_numbers(np.array(encoder.model, dtype=np.int64), rated, np.rint(scaled * ONE).astype(np.int64))
        moved = np.asarray(errors[:, encoder.item] * (own[:, encoder.coordinate] if encoder.coordinate else ONE), dtype=np.int64)
        return np.asarray(np.clip(moved >> EXCESS_BITS, -encoder.limit, encoder.limit))

    return Later(len(ratings), work)


def own_numbers(model: Array, rated: Array, points: Array) -> tuple[Array, Array]:
    """What ``contract.ratings.own_numbers`` gives for each person: a row of own numbers, and a row of errors, 0 where nothing is rated."""
    known = np.concatenate([np.full((len(model), 1), ONE, dtype=np.int64), model[:, 1:]], axis=1)
    held = rated.astype(np.int64)
    errors = held * (points - model[:, 0]) * ONE
    weights = held @ known**2 + RIDGE
    own = np.zeros((len(held), known.shape[1]), dtype=np.int64)
    for k in [*range(known.shape[1])] * SWEEPS:
        pull = errors @ known[:, k] + own[:, k] * (weights[:, k] - RIDGE)
        best = np.clip(pull // weights[:, k], -LARGEST_OWN, LARGEST_OWN)
        errors -= held * ((best - own[:, k])[:, None] * known[:, k])
        own[:, k] = best
    return own, errors
