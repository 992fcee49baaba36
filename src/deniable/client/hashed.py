"""Pure protocols on hashed values: a report names a hash function in the open, and speaks about the symbol of its sender's value.

Two values with the same symbol cannot be told apart by such a report. With c the exact probability that two values collide, p the
probability of supporting the own symbol and r that of supporting another given one, q = c p + (1 - c) r over the hash family.
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from deniable.client.pure import PureProtocol, independent_guess
from deniable.contract.hashing import HashFamily
from deniable.contract.probability import favored_threshold
from deniable.contract.source import ONE


class HashedProtocol(PureProtocol):
    """A mechanism whose reports are about symbols. The domain is never listed: text and 64-bit integers are fine."""

    needs_listed_domain: ClassVar[bool] = False

    @property
    @abstractmethod
    def family(self) -> HashFamily:
        """The hash functions, from keys to symbols."""

    @abstractmethod
    def symbol(self, function: Any, key: int) -> int:
        """Return the symbol of a key under the function that a report names."""

    @property
    @abstractmethod
    def apart(self) -> Fraction:
        """The probability that a report supports a value whose symbol is not its sender's."""

    @cached_property
    def q(self) -> Fraction:
        collision = self.family.collision
        return collision * self.p + (1 - collision) * self.apart

    @property
    def many(self) -> float:
        """The number of values as a float; strings are more than a float can count."""
        return float(min(self.domain_size, ONE))

    @property
    def best_guess(self) -> float:
        """Any value with the symbol that was sent; any at all if none has it. On average over hash functions."""
        return independent_guess(float(self.p), float(self.q), self.many)


class HashedResponse(HashedProtocol):
    """Generalized randomized response on the symbol: the true one with probability keep, any other with the same chance."""

    hash_range: int

    @cached_property
    def keep(self) -> int:
        """The threshold of sending the true symbol. Rounded down: sending it less often than allowed only adds privacy."""
        return favored_threshold(self.epsilon, 1, self.hash_range - 1)

    @property
    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep}

    @cached_property
    def p(self) -> Fraction:
        return Fraction(self.keep, ONE)

    @cached_property
    def apart(self) -> Fraction:
        return (1 - self.p) / (self.hash_range - 1)

    @property
    def ratio(self) -> Fraction:
        return self.p / self.apart

    def supports(self, report: tuple[Any, int], key: int) -> bool:
        function, symbol = report
        return self.symbol(function, key) == symbol
