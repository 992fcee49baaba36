"""PASTE: the noisy series of a crowd, where nobody sees a single person's series.

Every party transforms its own series, since a transform of a sum is the sum of transforms; writes the K numbers in fixed point; adds its
share of the noise; and takes part in a secure sum (``multiparty``). Only noisy sums of coefficients are ever opened, and the series is put
together from those.

Rounding is each party's own here: K halves of a step in the sensitivity, which at 4 bits after the point is nothing compared with it. The
noise has the law of the central mechanism's with ``honest`` of the parties, and 1 / sqrt(honest) of its standard deviation if all add their
shares.

References: Rastogi, Nath 2010. Their noise of four Gaussians is ``multiparty.historical``; it does not keep its promise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from deniable.accounting.event import ADD_REMOVE
from deniable.contract.guarantee import Guarantee
from deniable.contract.source import Source
from deniable.core.estimate import Estimate
from deniable.errors import DomainError, ParameterError
from deniable.kernels.compiled import Array
from deniable.multiparty.fixed_point import FixedPoint
from deniable.multiparty.private_sum import PrivateSum
from deniable.tasks.series.estimate import series_estimate
from deniable.tasks.series.mechanism import SeriesMechanism, check_series

BITS = 4


@dataclass(frozen=True, kw_only=True)
class Paste:
    """A series mechanism whose noise comes from the parties. Its numbers of a person lie between 0 and 1 at every point.

    >>> from deniable.tasks.series.perturbation import FPA
    >>> plan = Paste(mechanism=FPA(points=2000, k=20, epsilon=1.0), parties=1000, honest="1/2")
    >>> plan.sum.codec.length, plan.sum.word_bits, plan.guarantee.honest
    (39, 32, '500 of 1,000 parties, who add their noise and stay to the end')
    """

    mechanism: SeriesMechanism
    parties: int
    honest: str
    bits: int = BITS

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, SeriesMechanism) or self.mechanism.neighbors != ADD_REMOVE:
            allowed = f"a linear mechanism for neighbors={ADD_REMOVE!r}"
            raise ParameterError("mechanism", self.mechanism, allowed=allowed, fix="use FPA with a fixed k: EFPA chooses k from the sum")
        self.sum  # noqa: B018  # refuses what cannot be

    @cached_property
    def sum(self) -> PrivateSum:
        """The secure sum of all parties' coefficients."""
        length, norms = self.mechanism.questions, [self.mechanism.sensitivity(norm) for norm in (1, 2)]
        most = norms[1] * (1 + 1e-9)  # who holds 1 at all times reaches the root of n, and a transform in floats a little more
        codec = FixedPoint(length=length, largest=most, norm_1=norms[0], norm_2=norms[1], bits=self.bits)
        return PrivateSum(parties=self.parties, honest=self.honest, codec=codec, epsilon=self.mechanism.epsilon, delta=self.mechanism.delta)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee for each party."""
        return self.sum.guarantee

    def contribution(self, series: Array, source: Source | None = None) -> Array:
        """What a party hands to the engine: its own coefficients in steps, with its share of the noise. Drawn once, and never shown."""
        series = check_series(series, self.mechanism.points)
        outside = ~((series >= 0) & (series <= 1))
        if outside.any():  # the place alone: a party's numbers do not belong into a message, which may end in a log
            raise DomainError(
                f"series[{outside.argmax()}]",
                "a number outside of 0 to 1",
                allowed="numbers from 0 to 1",
                fix="scale or clip the numbers first",
            )
        return self.sum.contribution(self.mechanism.ask(series), source)

    def estimate(self, total: Array, *, survivors: int | None = None) -> Estimate:
        """The series behind the sum that an engine opened, with the noise of so many survivors; of all parties if left out."""
        answers = self.sum.codec.decode(total)
        ratio = float(self.sum.stderr(survivors)[0]) ** 2 / (self.mechanism.noise.variance / 4**self.mechanism.bits)
        found = np.asarray(self.mechanism.reconstruct(answers))
        spacing = self.mechanism.spacing * (1 << self.mechanism.bits) / (1 << self.bits)
        return series_estimate(self.mechanism, found, noise=self.mechanism.stderr**2 * ratio, step=spacing)
