"""LOLOHA: one permanent hash function, and longitudinal randomized response on its few symbols."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

from deniable.client.grr import keep_or_replace
from deniable.client.longitudinal import LongitudinalSpec
from deniable.client.longitudinal_grr import second_keep, symbol_law, through
from deniable.client.olh import OLH, best_range
from deniable.client.pure import count_variance
from deniable.contract.law import OutputLaw
from deniable.contract.probability import exp_below
from deniable.contract.source import ONE, SYSTEM, Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout


@mechanism
class LOLOHA(LongitudinalSpec, OLH):
    """Hash every value to g symbols with one function, drawn once and kept; keep a symbol for each symbol, and report it with noise.

    Guarantee: ``epsilon`` for all reports about one value, ``first_epsilon`` for one. Values with the same symbol share their permanent
    answer, so a lifetime costs at most g epsilon however many values there were: 2 epsilon with ``hash_range=2`` (BiLOLOHA). That is
    between histories whose symbols have the same pattern (``lifetime_epsilon``); a change of symbol is not protected. The steps are those
    of ``LongitudinalGRR`` on g symbols, exactly.

    Estimator: as for OLH, with p = p1 p2 + (1 - p1) q2 on g symbols and q = 1/g, corrected by the exact collision probability. Variance of
    one round: OLH's at ``first_epsilon``, least at the default g = round(e^first_epsilon + 1). Rounds of the same people are correlated.

    Cost: 128 + log2 g bits, of which the 128 of the function are the same in every report of a device: they need to be sent once, and they
    link its reports. One or two random words for each later report; the device keeps at most g symbols.

    >>> spec = LOLOHA(domain_size=128, epsilon=2.0, first_epsilon=1.0)
    >>> spec.hash_range, round(spec.variance(n=1), 4), spec.lifetime_epsilon(100)
    (4, 3.6917, Fraction(8, 1))

    References: Arcolezi, Pinzon, Palamidessi, Gambs 2023, whose second step is right for g = 2 only.
    """

    @property
    def best_range(self) -> int:
        return best_range(self.first_epsilon)

    @property
    def kept(self) -> Fraction:
        """The probability that the true symbol is the permanent answer."""
        return Fraction(self.keep, ONE)

    @cached_property
    def keep_again(self) -> int:
        """The threshold of reporting the permanent answer. Rounded down: toward privacy."""
        again = second_keep(self.hash_range, self.kept, exp_below(self.first_epsilon))
        if not again < ONE:
            raise self.too_close()
        return again

    @property
    def thresholds(self) -> dict[str, int]:
        return {"keep": self.keep, "keep_again": self.keep_again}

    @property
    def again(self) -> Fraction:
        """The probability of reporting the permanent answer."""
        return Fraction(self.keep_again, ONE)

    @cached_property
    def p(self) -> Fraction:
        return through(self.hash_range, self.kept, self.again)

    @property
    def ratio(self) -> Fraction:
        return self.kept / (1 - self.kept) * (self.hash_range - 1)

    @property
    def first_ratio(self) -> Fraction:
        return self.p / self.apart

    @property
    def personal_layout(self) -> Layout:
        return (Column("seed", limit=ONE, count=self.seed_words, drawn=True),)

    @property
    def answer_layout(self) -> Layout:
        return (Column("symbol", limit=self.hash_range),)

    @property
    def classes(self) -> int:
        return min(self.hash_range, self.domain_size)

    def personal(self, source: Source = SYSTEM) -> tuple[int, ...]:
        return source.words(self.seed_words)

    def personal_law(self, seed: tuple[int, ...]) -> OutputLaw[Any]:
        return OutputLaw({seed: Fraction(1)})

    def class_of(self, key: int, personal: tuple[int, ...]) -> int:
        return self.symbol(personal, key)

    def permanent_of(self, group: int, personal: object, source: Source) -> int:
        return keep_or_replace(group, self.hash_range, self.keep, source)

    def instantaneous(self, memo: int, source: Source = SYSTEM) -> int:
        return keep_or_replace(memo, self.hash_range, self.keep_again, source)

    def permanent_law(self, group: int, personal: object) -> OutputLaw[int]:
        return symbol_law(group, self.hash_range, self.kept)

    def instantaneous_law(self, memo: int) -> OutputLaw[int]:
        return symbol_law(memo, self.hash_range, self.again)

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[Any]:
        return OutputLaw({(seed, symbol): weight for symbol, weight in symbol_law(self.symbol(seed, key), self.hash_range, self.p).items()})

    def permanent_variance(self, n: int, f: float = 0.0) -> float:
        collision, other = self.family.collision, (1 - self.kept) / (self.hash_range - 1)
        return count_variance(n, f, (self.kept, collision * self.kept + (1 - collision) * other))
