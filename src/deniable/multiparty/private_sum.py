"""A private sum with any engine: numbers in steps, each party's share of the noise, and the estimate with its error.

Every party encodes its own numbers, adds its share and hands the integers to an engine: ``masking``, ``paillier`` or ``stream``. The engine
opens the sum and nothing else, and the sum has the noise of all who stayed. The promise to a party holds if ``honest`` of the parties are
honest and stay to the end; what others do with their own shares changes nothing about it. Who takes part is public: a party that is not
there adds no share, so the promise compares its numbers with zeros in their place, and not with its absence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import Any

import numpy as np

from deniable.accounting.event import ADD_REMOVE, NEIGHBORS, Event
from deniable.contract.guarantee import Guarantee
from deniable.contract.source import Source
from deniable.core.estimate import Estimate
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.multiparty.estimate import sum_estimate
from deniable.multiparty.fixed_point import FixedPoint, laplace_reach, skellam_reach
from deniable.multiparty.noise import LaplaceShares, NoiseShares, SkellamShares
from deniable.multiparty.terms import read_share


@dataclass(frozen=True, kw_only=True)
class PrivateSum:
    """Sums of the numbers of ``parties`` parties, of whom a share of ``honest`` is honest and stays to the end.

    ``codec`` says what a party's numbers are; delta = 0 takes discrete Laplace noise, otherwise Skellam.

    >>> counts = FixedPoint(length=4, largest=1.0, norm_1=1.0, norm_2=1.0, bits=0, whole=True)
    >>> plan = PrivateSum(parties=1000, honest="4/5", codec=counts, epsilon=1.0)
    >>> plan.honest_parties, plan.word_bits, round(float(plan.stderr()[0]), 2)
    (800, 32, 1.52)
    """

    parties: int
    honest: str
    codec: FixedPoint
    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.codec, FixedPoint):
            raise ParameterError("codec", self.codec, allowed="a FixedPoint", fix="describe a party's numbers with a FixedPoint")
        if isinstance(self.delta, bool) or not isinstance(self.delta, int | float) or not 0 <= self.delta < 1:
            raise ParameterError("delta", self.delta, allowed="from 0 on, below 1", fix="use 0 for Laplace noise, 1e-6 for Skellam noise")
        if type(self.parties) is not int or self.parties < 2:
            raise ParameterError("parties", self.parties, allowed="an integer from 2 on", fix="add parties: a sum needs at least two")
        if not read_share("honest", self.honest) * self.parties >= 1:
            raise ParameterError("honest", self.honest, allowed="a share of at least one party", fix='write "4/5", say')
        self.shares  # noqa: B018  # refuses what cannot be

    @property
    def honest_parties(self) -> int:
        """The number of parties that the noise is scaled for."""
        return floor(Fraction(self.honest) * self.parties)

    @cached_property
    def shares(self) -> NoiseShares:
        """The noise of the sum, in shares."""
        if self.delta:
            one, two = float(self.codec.steps_1), self.codec.steps_2
            return SkellamShares(epsilon=self.epsilon, delta=self.delta, sensitivity_1=one, sensitivity_2=two, honest=self.honest_parties)
        return LaplaceShares(epsilon=self.epsilon, sensitivity=self.codec.steps_1, honest=self.honest_parties)

    @property
    def reach(self) -> float:
        """How far the noise of all parties goes in any entry, except with a probability of 2^-40; a single share goes no further."""
        honest, deviation = self.honest_parties / self.parties, (self.shares.variance * self.parties / self.honest_parties) ** 0.5
        if self.delta:
            return skellam_reach(deviation, self.codec.length)
        return laplace_reach((self.shares.variance / 2) ** 0.5 + 1, self.codec.length, honest)

    @property
    def word_bits(self) -> int:
        """The words in which the sum does not wrap around, except with a probability of 2^-40."""
        return self.codec.word_bits(self.parties, self.reach)

    def contribution(self, numbers: Any, source: Source | None = None) -> Array:
        """What a party hands to the engine: its integers with its share of the noise. Drawn once for each sum, and never shown."""
        return self.codec.encode(numbers) + self.shares.draw(self.codec.length, source)

    def stderr(self, survivors: int | None = None) -> Array:
        """The standard error of each sum, in the numbers' own units, with the noise of so many survivors; all if left out."""
        shares = (self.parties if survivors is None else survivors) / self.honest_parties
        return np.full(self.codec.length, (self.shares.variance * shares) ** 0.5 / (1 << self.codec.bits))

    def estimate(self, total: Array, *, survivors: int | None = None, labels: Sequence[Any] | None = None) -> Estimate:
        """The sums behind ``total``, the integers that an engine opened.

        ``survivors`` is how many parties stayed to the end; all if left out. ``labels`` are the names of the numbers.
        """
        if np.shape(total) != (self.codec.length,):
            raise ParameterError("total", np.shape(total), allowed=f"{self.codec.length} integers", fix="pass what the engine opened")
        names = tuple(range(self.codec.length)) if labels is None else tuple(labels)
        kind = "Skellam" if self.delta else "discrete Laplace"
        return sum_estimate(
            names,
            self.codec.decode(total),
            self.stderr(survivors) ** 2,
            self.guarantee,
            n=self.parties if survivors is None else survivors,
            step=1 / (1 << self.codec.bits),
            who=f"{self.parties:,} parties",
            how=f"{self.honest} of them honest, {kind} noise in shares, epsilon = {self.epsilon:g}",
        )

    @property
    def event(self) -> Event:
        """The event of the sum, for accounting."""
        return self.shares.event

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of each party, or of each person in its counts."""
        people = self.codec.of_people
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            model="multiparty",
            unit="one person's part in one party's numbers, in one sum" if people else "a party's whole contribution to one sum",
            neighbors=NEIGHBORS[ADD_REMOVE] if people else "a party's numbers, compared with zeros",
            honest=f"{self.honest_parties:,} of {self.parties:,} parties, who add their noise and stay to the end",
            certificate="exact law of the shares; secrecy of the parts is computational",
            exposed="which parties took part",
        )
