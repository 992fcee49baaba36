"""Sketches: hashed protocols whose reports choose one of a few public hash functions instead of bringing their own.

A report names its function by a number, so it is short, and the tally is one table: supports by function and cell, filled before
anyone names a candidate. The price is that reports which share a function share its collisions. For a value v, with k functions on m
cells and n_x holders of each other value x, the counts of colliding values add the variance::

    sum over x of n_x (n_x - 1) / (k (m - 1))          over the choice of the functions; it does not average out as n grows

The functions are derived from ``salt`` (``contract.hashing``), and any three values are hashed independently: collisions with different
values do not add up.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from deniable.client.hashed import HashedProtocol
from deniable.contract.hashing import HashFamily, public_function
from deniable.contract.source import ONE
from deniable.contract.wire import Column
from deniable.contract.work import Work
from deniable.errors import ParameterError

LARGEST_TABLE = 1 << 28
"""The most counters of a sketch: 2 GiB."""
MOST_HASHES, MOST_CELLS = 1 << 20, 1 << 26


@dataclass(frozen=True, kw_only=True, repr=False)
class SketchProtocol(HashedProtocol):
    """A mechanism on the cells of public hash functions."""

    hashes: int = 1024
    """How many public functions there are: k."""
    salt: int = 0
    """Names the functions: another salt, other functions."""
    cells_name: ClassVar[str] = "width"
    shares_hashes: ClassVar[bool] = True

    @property
    @abstractmethod
    def cells(self) -> int:
        """How many cells a function hashes to."""

    @property
    @abstractmethod
    def scatter(self) -> Fraction:
        """The expected squared distance of one report's supports, over the cells of its function, from their mean."""

    def resolve(self) -> None:
        if type(self.salt) is not int or not 0 <= self.salt < ONE:
            raise ParameterError("salt", self.salt, allowed="an integer from 0 to 2^64 - 1", fix="leave it out, or publish another one")
        if type(self.cells) is not int or not 2 <= self.cells <= MOST_CELLS:
            raise ParameterError(self.cells_name, self.cells, allowed=f"an integer from 2 to {MOST_CELLS}", fix="leave it out")
        most = min(MOST_HASHES, LARGEST_TABLE // self.cells)
        if type(self.hashes) is not int or not 1 <= self.hashes <= most:
            allowed = f"an integer from 1 to {most} with {self.cells} cells"
            raise ParameterError("hashes", self.hashes, allowed=allowed, fix="try 1024; more functions collide less")

    @cached_property
    def family(self) -> HashFamily:
        return HashFamily(key_bits=self.domain.key_bits, range=self.cells, shared=True)

    def symbol(self, function: int, key: int) -> int:
        return self.family.symbol(public_function(self.salt, function), key)

    def counters(self, values: int) -> int:
        return self.hashes * self.cells

    def finishing(self, values: int) -> Work:
        """Return what it takes to look every value up in every function's cells."""
        work = super().finishing(values)
        return work._replace(steps=self.hashes * (values + self.cells * self.cells.bit_length()))

    @property
    def function_column(self) -> Column:
        """The number of the function, first in every report."""
        return Column("function", limit=self.hashes, drawn=True)

    @property
    def shared_variance(self) -> float:
        return self.collisions

    @property
    def collisions(self) -> float:
        """The variance of a count for each squared count of another value."""
        collision = self.family.collision
        return float(collision / (1 - collision) / self.hashes)
