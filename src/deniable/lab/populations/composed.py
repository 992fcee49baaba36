"""Populations made of numbers you give, or of other populations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.domain import Categories
from deniable.contract.source import Source
from deniable.kernels.compiled import Array
from deniable.lab.populations.base import Population, is_number, require


@typed
@dataclass(frozen=True)
class Multinomial(Population):
    """Values in proportion to given weights; the integers from 0 on, or labels.

    >>> from deniable.testing import ReplaySource
    >>> drinks = Multinomial((5, 3, 2), labels=("tea", "coffee", "water"))
    >>> drinks.draw(4, ReplaySource.from_key("docs")).to_pylist(), drinks.counts(100).tolist(), drinks.describe()
    (['tea', 'tea', 'coffee', 'tea'], [50, 30, 20], 'Multinomial(3 labels)')
    """

    weights: Sequence[float]
    labels: Sequence[str] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", check_weights(self.weights, at_least=2))
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(self.labels))
            Categories(*self.labels)  # its checks are ours
            require(len(self.labels) == len(self.weights), "labels", self.labels, f"{len(self.weights)} labels", "one for each weight")

    def table(self) -> tuple[Any, Array]:
        return np.arange(len(self.weights)) if self.labels is None else list(self.labels), np.array(self.weights, dtype=float)

    def describe(self) -> str:
        return f"Multinomial({len(self.weights)} {'values' if self.labels is None else 'labels'})"


@dataclass(frozen=True)
class Mixture(Population):
    """Several crowds in one: each person belongs to one of the parts, in proportion to the weights.

    >>> from deniable.lab.populations import Poisson, Uniform
    >>> crowd = Mixture((Uniform(0, 1), Uniform(1, 2)), weights=(3, 1))
    >>> crowd.values.tolist(), crowd.probabilities.tolist(), crowd.describe()
    ([0, 1, 2], [0.375, 0.5, 0.125], 'Mixture(3 Uniform(0, 1), 1 Uniform(1, 2))')
    """

    parts: Sequence[Population]
    weights: Sequence[float]

    def __post_init__(self) -> None:
        good = isinstance(self.parts, Sequence) and len(self.parts) > 0 and all(isinstance(part, Population) for part in self.parts)
        require(good, "parts", self.parts, "populations", "write Mixture((Poisson(5), Uniform(0, 99)), weights=(1, 1))")
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "weights", check_weights(self.weights, at_least=1))
        require(len(self.parts) == len(self.weights), "weights", self.weights, f"{len(self.parts)} numbers", "one for each part")

    def table(self) -> tuple[Any, Array]:
        kinds = {part.labeled for part in self.parts}
        require(len(kinds) == 1, "parts", self.describe(), "integers in all parts, or labels in all", "do not mix the two")
        weights = np.concatenate([weight * part.probabilities for weight, part in zip(self.weights, self.parts, strict=True)])
        if kinds == {True}:
            labels = [label for part in self.parts for label in part.values]
            index = {label: i for i, label in enumerate(dict.fromkeys(labels))}
            return list(index), np.bincount([index[label] for label in labels], weights)
        values, positions = np.unique(np.concatenate([part.values for part in self.parts]), return_inverse=True)
        return values, np.bincount(positions, weights)

    def describe(self) -> str:
        return f"Mixture({', '.join(f'{weight:g} {part.describe()}' for weight, part in zip(self.weights, self.parts, strict=True))})"

    def identity(self) -> str:
        return f"Mixture({[part.identity() for part in self.parts]}, {self.weights})"


@dataclass(frozen=True)
class Typical(Population):
    """Another population without its luck: the crowd holds the expected counts, and every draw is the same.

    Of a ``FileColumn`` as many people as it has rows are the very people of the file.

    >>> from deniable.lab.populations import Zipf
    >>> Typical(Zipf(1.1, 3)).draw(8).tolist()
    [0, 0, 0, 0, 0, 1, 1, 2]
    """

    of: Population

    def __post_init__(self) -> None:
        require(isinstance(self.of, Population), "of", self.of, "a population", "write Typical(Zipf(1.1, 100))")

    def table(self) -> tuple[Any, Array]:
        return self.of.values, self.of.probabilities

    def draw(self, n: int, source: Source | None = None) -> Any:
        return self.at(np.repeat(np.arange(len(self.values)), self.counts(n)))

    def describe(self) -> str:
        return f"typical {self.of.describe()}"

    def identity(self) -> str:
        return f"Typical({self.of.identity()})"


def check_weights(weights: Any, at_least: int) -> tuple[float, ...]:
    """Weights as a tuple, none negative and not all zero."""
    good = isinstance(weights, Sequence | np.ndarray) and not isinstance(weights, str)
    numbers = tuple(weight.item() if isinstance(weight, np.generic) else weight for weight in weights) if good else ()
    good = len(numbers) >= at_least and all(is_number(weight) and weight >= 0 for weight in numbers) and 0 < sum(numbers) < np.inf
    require(good, "weights", weights, f"{at_least} or more numbers from 0 on, not all zero", "pass counts, for example (5, 3, 2)")
    return numbers
