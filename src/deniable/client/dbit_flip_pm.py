"""dBitFlip with permanent memoization: noisy bits about a few values, drawn once, sent again as they are or with a little more noise."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

from deniable.client.chain import again_law, exact_share
from deniable.client.dbitflip import DBitFlip
from deniable.client.frequency import check_crowd
from deniable.client.longitudinal import LongitudinalSpec
from deniable.client.unary import bits_law, perturb_bits
from deniable.contract.law import OutputLaw
from deniable.contract.probability import ceil_threshold, exp_below, log_above
from deniable.contract.source import ONE, SYSTEM, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout
from deniable.errors import ParameterError


@mechanism
class DBitFlipPM(LongitudinalSpec, DBitFlip):
    """Draw b of the d values permanently. For each of them that the device ever holds, and once for all others, keep b noisy bits.

    ``bits`` is b, as in ``DBitFlip``. With ``first_epsilon`` left out the kept bits are sent as they are, as Microsoft's telemetry does;
    below ``epsilon``, each report flips every bit with a probability gamma besides (output perturbation): see ``with_gamma``.

    Guarantee: ``epsilon`` for all reports about one value. Values that were not drawn share their bits, so a lifetime costs at most
    min(b + 1, d) epsilon, between histories of the same pattern (``lifetime_epsilon``). Without output perturbation a change of value
    shows with certainty whenever the bits change, and whether they can depends on the values.

    Estimator: ``DBitFlip``'s, with p the probability that a bit is true after both steps. Rounds of the same people are correlated.

    Cost: b (1 + log2 d) bits, of which the b log2 d of the buckets are the same in every report of a device: they need to be sent once,
    and they link its reports. A device keeps at most (b + 1) b bits.

    >>> spec = DBitFlipPM(domain_size=32, epsilon=1.0, bits=4)
    >>> spec.first_epsilon, round(spec.variance(n=1), 3), spec.lifetime_epsilon(100)
    (1.0, 31.342, Fraction(5, 1))
    >>> DBitFlipPM.with_gamma("1/5", domain_size=32, epsilon=1.0, bits=1).first_epsilon
    0.5694451960428427

    References: Ding, Kulkarni, Yekhanin 2017.
    """

    @classmethod
    def with_gamma(cls, gamma: Any, *, epsilon: float, bits: int, **domain: Any) -> DBitFlipPM:
        """Return a spec with this probability of output perturbation; the epsilon of one report is computed from it."""
        flip = exact_share("gamma", gamma)
        if not 0 <= flip < Fraction(1, 2):
            raise ParameterError("gamma", gamma, allowed="a probability from 0 to below 1/2", fix="try 0.2, as the deployment did")
        still = cls(epsilon=epsilon, bits=bits, **domain)
        p = still.kept * (1 - flip) + (1 - still.kept) * flip
        return cls(epsilon=epsilon, bits=bits, first_epsilon=log_above((p / (1 - p)) ** min(2, bits)) if flip else None, **domain)  # type: ignore[arg-type]  # None: epsilon

    @property
    def usual_first(self) -> float:
        return self.epsilon

    @property
    def kept(self) -> Fraction:
        """The probability that a bit is kept as it is."""
        return Fraction(self.keep, ONE)

    @cached_property
    def flip_again(self) -> int:
        """The threshold of flipping a kept bit in a report. Rounded up: toward privacy."""
        if self.first_epsilon == self.epsilon:
            return 0
        e = exp_below(self.first_epsilon, Fraction(1, 2) if self.bits > 1 else Fraction(1))
        return ceil_threshold((self.kept - e / (e + 1)) / (2 * self.kept - 1))

    @property
    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep, "flip_again": self.flip_again}

    @property
    def gamma(self) -> Fraction:
        """The probability that a kept bit is flipped in a report."""
        return Fraction(self.flip_again, ONE)

    @cached_property
    def p(self) -> Fraction:
        return self.kept * (1 - self.gamma) + (1 - self.kept) * self.gamma

    @property
    def ratio(self) -> Fraction:
        return (self.kept / (1 - self.kept)) ** min(2, self.bits)

    @property
    def first_ratio(self) -> Fraction:
        return (self.p / self.q) ** min(2, self.bits)

    @property
    def personal_layout(self) -> Layout:
        return (Column("buckets", limit=self.domain_size, count=self.bits, increasing=True, drawn=True),)

    @property
    def answer_layout(self) -> Layout:
        return (Column.of_bits("bits", self.bits),)

    @property
    def classes(self) -> int:
        return min(self.bits + 1, self.domain_size)

    @property
    def alike(self) -> bool:
        return self.bits == self.domain_size  # all values are drawn by everybody

    @property
    def distinct(self) -> bool:
        return self.bits >= self.domain_size - 1  # a value that alone was not drawn has its class for itself

    def personal(self, source: Source = SYSTEM) -> Any:
        chosen = self._draw(source)
        return chosen if self.bits > 1 else chosen[0]

    def personal_law(self, seed: tuple[int, ...]) -> OutputLaw[Any]:
        sets = combinations(range(self.domain_size), self.bits)
        return OutputLaw({chosen if self.bits > 1 else chosen[0]: Fraction(1, comb(self.domain_size, self.bits)) for chosen in sets})

    def class_of(self, key: int, personal: Any) -> int:
        """Return the place of the value among the buckets; one more for all that were not drawn."""
        chosen = personal if self.bits > 1 else (personal,)
        return chosen.index(key) if key in chosen else self.bits

    def permanent_of(self, group: int, personal: object, source: Source) -> int:
        if group < self.bits:
            return perturb_bits(group, self.bits, self.raise_other, self.keep, source)
        return source.bernoulli_bits(self.raise_other, self.bits)

    def instantaneous(self, memo: int, source: Source = SYSTEM) -> int:
        return memo ^ source.bernoulli_bits(self.flip_again, self.bits)

    def permanent_law(self, group: int, personal: object) -> OutputLaw[int]:
        if group < self.bits:
            return OutputLaw(bits_law(group, self.bits, self.kept, 1 - self.kept))
        return OutputLaw(again_law(0, self.bits, (self.kept, 1 - self.kept)))

    def instantaneous_law(self, memo: int) -> OutputLaw[int]:
        return OutputLaw(again_law(memo, self.bits, (1 - self.gamma, self.gamma)))

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[Any]:
        return DBitFlip.output_law(self, key, seed)  # one report is dBitFlip's, with the p of both steps

    def permanent_variance(self, n: int, f: float = 0.0) -> float:
        check_crowd(n, f)
        share, noise = Fraction(self.domain_size, self.bits), self.kept * (1 - self.kept) / (2 * self.kept - 1) ** 2
        return n * (float(share * noise) + f * float(share - 1))
