"""Multiple channels: frequent values are isolated by a public hash, and each channel spells out one value, bit by bit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.codes import value_of
from deniable.contract.fragment import Fragment
from deniable.contract.question import Question
from deniable.contract.source import ONE
from deniable.contract.work import Work, together
from deniable.core.frequency import FrequencyEstimate
from deniable.tasks.checks import check_whole
from deniable.tasks.heavy_hitters.counted import CountedSearch

MOST_CHANNEL_BITS = 15
"""Of the default: 2^15 channels are 2^16 counters for each bit."""


@typed
@dataclass(frozen=True, kw_only=True)
class MultipleChannels(CountedSearch):
    """Find the k most frequent values, each from the channel that a public hash has put it in.

    People are split at random into groups, one for each bit of a value's code. Each reports the channel of its value and that one bit,
    together, by one oracle on 2 x channels symbols. If a channel holds one frequent value, its dominant bits spell it. The value must
    hash to the channel that it was found in, which a random spelling does once in ``channels`` times. A last group counts the candidates.

    The literature's form reports one bit in every channel, true in the own channel and random in the others; two values differ in two
    channels, so each bit gets epsilon / 2. One symbol at the full epsilon says the same, more exactly.

    It fails where two frequent values share a channel: 2^channel_bits channels, by default about 4 k^2, keep all k apart 7 times of 8.
    The other values of a channel are noise to its bits as well. Another ``salt`` puts values in other channels.

    Guarantee: epsilon-local for any two inputs; everybody reports once, in one group.

    Estimator: the unbiased counts of the last group, which had no part in the search, with that group's errors and intervals.

    Cost: one report of one oracle. There is a group for every bit: with b bits the variance of a group's frequencies is at least b times
    4 e^epsilon / (n (e^epsilon - 1)^2). 2 x channels counters for each bit.

    >>> from deniable.testing import ReplaySource
    >>> search = MultipleChannels(bits=16, k=2, epsilon=3.0, people=40_000)
    >>> search.channel_bits, search.groups, str(search.share), search.open().questions[0].spec.domain_size
    (4, 16, '9/160', 32)
    >>> values = [0xCAFE] * 12_000 + [0xBEEF] * 8000 + list(range(20_000))
    >>> found = search.run(values, source=ReplaySource.from_key("docs"))
    >>> [f"{value:x}" for value in found.values], found.frequencies.round(2).tolist()
    (['cafe', 'beef'], [0.31, 0.2])

    References: Bassily, Smith 2015; Hong 2021 (CS 528).
    """

    channel_bits: int = None  # type: ignore[assignment]  # resolved below
    salt: int = 0

    sized_by: ClassVar[str] = "channel_bits"

    def _resolve(self, put: Any) -> None:
        if self.channel_bits is None:
            put("channel_bits", min((4 * self.k**2 - 1).bit_length(), MOST_CHANNEL_BITS))
        check_whole("channel_bits", self.channel_bits, 1, 23)
        check_whole("salt", self.salt, 0, ONE - 1)

    @property
    def groups(self) -> int:
        return self.bits

    @property
    def most_candidates(self) -> int:
        return 1 << self.channel_bits

    def _search_work(self) -> Iterable[Work]:
        size = 2 << self.channel_bits
        return (together([self._spec(size, size).finishing(size)] * self.bits),)

    def _search(self) -> tuple[tuple[Question, ...], int]:
        size = 2 << self.channel_bits
        return tuple(self._ask(f"bit-{i + 1}", self._encoder(i), size) for i in range(self.bits)), 0

    def _encoder(self, bit: int) -> Fragment:
        return Fragment(self.domain, bit, 1, hash_bits=self.channel_bits, salt=self.salt)

    def _learn(self, estimates: list[FrequencyEstimate], salt: bytes) -> tuple[int, ...]:
        margins = np.array([estimate.counts[1::2] - estimate.counts[::2] for estimate in estimates])  # of one over zero: bits x channels
        spelled = np.packbits(margins > 0, axis=0).T
        hashed = self._encoder(0)
        found = []
        for channel in np.flatnonzero(np.all(margins != 0, axis=0)).tolist():  # a bit that is a tie says nothing
            code = int.from_bytes(spelled[channel].tobytes(), "big") >> -self.bits % 8
            value = value_of(self.domain, code)
            if value is not None and hashed.hash(value) == channel:
                found.append(code)
        return tuple(found)
