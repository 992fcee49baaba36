"""Fast local hashing: local hashing with a few public functions, tallied once for all candidates."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar

from deniable.client.grr import keep_or_replace
from deniable.client.hashed import HashedResponse
from deniable.client.olh import best_range, chosen_range
from deniable.client.sketch import LARGEST_TABLE, SketchProtocol
from deniable.contract.law import OutputLaw
from deniable.contract.source import Source
from deniable.contract.spec import mechanism
from deniable.contract.wire import Column, Layout

USUAL_HASHES = 1 << 16


@mechanism
class FLH(HashedResponse, SketchProtocol):
    """Hash the value to g symbols with one of k public functions, and send the symbol by randomized response.

    Guarantee: epsilon-local for any two inputs and for every function; keep = e^epsilon / (e^epsilon + g - 1), rounded down.

    Estimator: as OLH, p = keep and q = 1/g, and OLH's variance; collisions add ``sketch``'s term, sum n_x^2 / (k (g - 1)), which intervals
    include.

    Cost: log2 k + log2 g bits, 18 at epsilon 1 against OLH's 130; two or three random words on the device; the collector counts in O(n)
    and then hashes k times for each candidate, however many reports came.

    >>> oracle = FLH(domain_size=128, epsilon=1.0)
    >>> oracle.hashes, oracle.hash_range, oracle.report_bits, round(oracle.variance(n=10_000), 2)
    (65536, 4, 18, 36916.55)

    References: Cormode, Maddock, Maple 2021.
    """

    hashes: int = USUAL_HASHES
    hash_range: int = None  # type: ignore[assignment]  # resolved below
    """The symbols of a function: g, as in ``OLH``."""
    cells_name: ClassVar[str] = "hash_range"
    small: ClassVar[Mapping[str, int]] = {"hashes": 3}

    def resolve(self) -> None:
        object.__setattr__(self, "hash_range", chosen_range(self.hash_range, best_range(self.epsilon), self.epsilon))
        if self.hashes == USUAL_HASHES and type(self.hash_range) is int and self.hash_range > 0:  # as many as a table holds
            object.__setattr__(self, "hashes", max(1, min(USUAL_HASHES, LARGEST_TABLE // self.hash_range)))
        super().resolve()

    def __repr__(self) -> str:
        shown = super().__repr__()
        return shown.replace(f", hash_range={self.hash_range}", "") if self.hash_range == best_range(self.epsilon) else shown

    @property
    def cells(self) -> int:
        return self.hash_range

    @property
    def scatter(self) -> Fraction:
        return 1 - Fraction(1, self.hash_range)

    @property
    def layout(self) -> Layout:
        return (self.function_column, Column("symbol", limit=self.hash_range))

    @property
    def outputs(self) -> int:
        return self.hashes * self.hash_range

    def perturb(self, key: int, source: Source) -> tuple[int, int]:
        function = source.below(self.hashes)
        return function, keep_or_replace(self.symbol(function, key), self.hash_range, self.keep, source)

    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[tuple[int, int]]:
        weights = {}
        for function in range(self.hashes):
            true = self.symbol(function, key)
            for symbol in range(self.hash_range):
                weights[function, symbol] = (self.p if symbol == true else self.apart) / self.hashes
        return OutputLaw(weights)
