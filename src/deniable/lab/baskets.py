"""Crowds of people who hold sets, and the searches for frequent items among them, as methods of experiments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.contract.domain import IndexRange
from deniable.contract.protocol import Protocol
from deniable.contract.source import Source
from deniable.contract.subsets import Subsets
from deniable.core.sets import ItemSets
from deniable.core.stream import random_words
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.lab.methods import Method, parameters_of
from deniable.lab.metrics import check_k
from deniable.lab.outcome import Outcome
from deniable.lab.populations.base import Population, is_integer, is_number, require
from deniable.lab.protocol_run import named_protocol, protocol_of
from deniable.local.oracle_choice import check_people


@dataclass(frozen=True)
class Baskets(Population, named=False):
    """People who each take some of ``items`` things, item i in proportion to 1 / (i + 1)^exponent; what is taken twice is held once.

    How often they take is geometric with the mean ``taken``, from nothing to ``most``. So sets are of very different sizes, as shopping
    baskets are: with the default mean of 4 a fifth is empty, and one of ten takes more than ten things.

    >>> from deniable.testing import ReplaySource
    >>> shop = Baskets(items=1000)
    >>> crowd = shop.draw(10_000, ReplaySource.from_key("docs"))
    >>> round(float(crowd.sizes.mean()), 2), int((crowd.sizes == 0).sum()), shop.length
    (3.69, 1947, 10)
    """

    items: int
    exponent: float = 1.0
    taken: float = 4.0
    most: int = 30

    def __post_init__(self) -> None:
        require(is_integer(self.items) and self.items >= 2, "items", self.items, "an integer from 2 on", "pass the number of items")
        require(is_number(self.exponent, 0), "exponent", self.exponent, "a number above 0", "1 is Zipf's")
        require(is_number(self.taken, 0), "taken", self.taken, "a number above 0", "pass the average number of items per person")
        require(is_integer(self.most) and self.most >= 1, "most", self.most, "an integer from 1 on", "30 is much")

    def table(self) -> tuple[Any, Array]:
        return np.arange(self.items), (np.arange(self.items) + 1.0) ** -self.exponent

    @property
    def domain(self) -> Subsets:
        """The sets of all items."""
        return Subsets(IndexRange(self.items))

    @property
    def length(self) -> int:
        """How many items nine of ten people take at most, which LDPMiner gets as a setting."""
        going_on = self.taken / (1 + self.taken)
        return max(1, min(self.most, int(np.ceil(np.log(0.1) / np.log(going_on))) - 1))

    def draw(self, n: int, source: Source | None = None) -> ItemSets:
        """The sets of n people; a word for each, and one for each time that something is taken."""
        check_people(n)
        going_on = self.taken / (1 + self.taken)
        chances = random_words(n, source) / 2.0**64
        often = np.minimum(np.floor(np.log1p(-chances) / np.log(going_on)), self.most).astype(np.int64)
        words = random_words(int(often.sum()), source) / 2.0**64
        drawn = np.searchsorted(np.cumsum(self.probabilities), words).clip(max=self.items - 1)
        taken = np.sort(np.repeat(np.arange(n), often) * self.items + drawn)
        person, item = np.divmod(taken[np.diff(taken, prepend=-1) != 0], self.items)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(person, minlength=n))])
        return ItemSets(self.domain, offsets, item.astype(np.int32))


@dataclass(frozen=True)
class SetSearch(Method):
    """A protocol about sets, by its name, and the k items that it says most people hold.

    Where there are few items, half of them are asked for. What a protocol must know of sizes of sets is the population's ``length``.
    """

    label: str
    protocol: str
    k: int
    parameters: Any = ()

    def __post_init__(self) -> None:
        named_protocol(self.protocol, sets=True)
        object.__setattr__(self, "parameters", parameters_of(self.parameters))
        check_k(self.k)

    def setup(self, population: Population, epsilon: float, n: int, repetition: int = 0) -> Protocol:
        if not isinstance(population, Baskets):
            raise ParameterError("population", population, allowed="people who hold sets", fix="take Baskets")
        told = {"domain": population.domain, "epsilon": epsilon, "k": self._asked(population.items), "length": population.length}
        return protocol_of(self.protocol, dict(self.parameters), told, sets=True)

    def run(self, setup: Protocol, values: ItemSets, source: Source) -> Outcome:
        result: Any = setup.run(values, source=source)
        found = result.parts.get("items", result).ranked  # papers measure lists of k, before the test that drops noise
        k, truth = self._asked(values.domain.items.size), values.counts
        best = np.argsort(-found.frequencies, kind="stable")[:k]
        listed = [found.values[i][0] if isinstance(found.values[i], tuple) else int(found.values[i]) for i in best]
        counts = np.full(truth.size, np.nan)
        counts[listed] = found.frequencies[best] * len(values)
        return Outcome(range(truth.size), truth, counts, k, listed, people=len(values))

    @property
    def gives(self) -> set[str]:
        return {"list", "hits"}

    def identity(self) -> str:
        return repr((self.label, self.k))

    def _asked(self, items: int) -> int:
        return min(self.k, items // 2)
