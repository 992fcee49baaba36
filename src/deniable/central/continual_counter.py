"""What counters over time share: parameters, order, and the promise for one event."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from deniable.accounting.bill import account
from deniable.accounting.budget import budget_of
from deniable.accounting.event import NEIGHBORS, Event, check_neighbors, positive, positive_integer
from deniable.central.grid import LARGEST_STEP, check_count
from deniable.central.one_process import OneProcess
from deniable.central.rationals import listed
from deniable.client.budget import exact
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.source import SYSTEM, Source
from deniable.core.estimate import Estimate
from deniable.core.law import Law
from deniable.errors import DomainError, ParameterError, ProtocolError, shorten
from deniable.kernels.compiled import Array

LARGEST_HORIZON = 1 << 20
EVENT_LEVEL = "one event of one person: one entry of the stream, over all releases together"


@dataclass(frozen=True, kw_only=True, eq=False)
class ContinualCounter(ABC):
    """The running sum of a stream of integers, released after every entry, for up to ``horizon`` entries.

    ``sensitivity`` is how far one event can move one entry of the stream. The promise is for **one event**: a person with several of them
    is protected as a group of that size. Entries may be chosen by looking at what was released before. Give ``epsilon`` (and ``delta``), or
    ``rho`` (and ``delta`` for a guarantee).
    """

    horizon: int
    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None
    sensitivity: int
    neighbors: str
    source: Source | None = field(default=None, repr=False)
    _lock: OneProcess = field(init=False, repr=False, default_factory=OneProcess)

    def __post_init__(self) -> None:
        positive_integer("horizon", self.horizon)
        if self.horizon > LARGEST_HORIZON:
            raise ParameterError("horizon", self.horizon, allowed=f"at most {LARGEST_HORIZON:,}", fix="count over a coarser time")
        check_count("sensitivity", self.sensitivity)
        check_neighbors(self.neighbors)
        positive("delta", self.delta, zero=True, below=1.0)
        if (self.epsilon is None) == (self.rho is None):
            given = f"epsilon={self.epsilon!r}, rho={self.rho!r}"
            raise ParameterError("epsilon", given, allowed="either epsilon or rho", fix="write epsilon=1.0, delta=1e-6")
        if self.epsilon is not None:
            object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        else:
            positive("rho", self.rho)

    # --- what a subclass says ---

    @property
    @abstractmethod
    def event(self) -> Event:
        """The event of all releases together, for accounting."""

    @abstractmethod
    def _step(self, value: int) -> float:
        """Count the next entry and return the noisy sum so far."""

    @property
    @abstractmethod
    def steps(self) -> int:
        """The number of entries counted."""

    @abstractmethod
    def law(self, times: Array, counts: Array) -> Law:
        """The errors of noisy sums, ``counts``, after so many entries, ``times``."""

    # --- what follows ---

    def variance(self, times: Any) -> Array:
        """The variance of the noise after so many entries, elementwise."""
        law = self._noise_after(times)
        return law.variance(law.point)

    def reach(self, times: Any, alpha: float) -> Array:
        """A distance that the noise exceeds with probability alpha at most, after so many entries, elementwise."""
        return self._noise_after(times).limits(alpha)[1]

    def _noise_after(self, times: Any) -> Law:
        found = self._times(times)
        return self.law(found, np.zeros(found.shape))

    def _times(self, times: Any) -> Array:
        """Return numbers of entries as an array; raise ParameterError unless there are so many."""
        found = np.asarray(times)
        if found.size and (found.dtype.kind not in "iu" or found.min() < 0 or found.max() > self.horizon):
            raise ParameterError("times", times, allowed=f"integers from 0 to {self.horizon:,}", fix="count the entries so far")
        return found.astype(np.int64)

    def _check(self, value: int) -> None:  # noqa: B027  # optional: most counters take any integer
        """Raise unless the entry can be counted."""

    def add(self, value: Any) -> float:
        """Count ``value``, one more entry of the stream, and return the noisy sum so far."""
        return self._take([value])[0]

    def run(self, values: Sequence[Any] | Array) -> Estimate:
        """Count many entries in order and return the noisy sums, with their errors.

        Errors are correlated over time: a change is known better than two sums apart.

        >>> from deniable.central import BinaryTreeCounter
        >>> from deniable.testing import ReplaySource
        >>> source = ReplaySource.from_key("series")
        >>> BinaryTreeCounter(horizon=3, epsilon=2.0, sensitivity=1, neighbors="add-remove", source=source).run([10, 12, 9])
        3 steps, BinaryTreeCounter, horizon 3; low and high: 95 %, noise only
        value  count  stderr  low  high
        1         10    1.36    7    13
        2         21    1.36   18    24
        3         30    1.92   23    37
        """
        entries = listed("values", values)
        with self._lock:
            first = self.steps + 1
            counts = np.array(self._take(entries), dtype=float)
        times, name = np.arange(first, first + len(entries)), type(self).__name__
        return Estimate(
            values=times.tolist(),
            law=self.law(times, counts),
            about=f"{len(times):,} steps, {name}, horizon {self.horizon:,}",
            guarantee=self.guarantee if self.rho is None or self.delta else None,  # rho alone is no epsilon
            title=f"{len(times):,} steps, {name}",
            quantity="count",
            kind="count series",
            figure={"mark": "curve", "axis": "sum so far", "interval": "95 % interval; errors are correlated over time"},
        )

    def _take(self, values: Sequence[Any]) -> list[float]:
        entries = [_whole(value, place) for place, value in enumerate(values)]
        with self._lock:  # one at a time: the order is part of the promise
            if self.steps + len(entries) > self.horizon:  # a bad batch counts nothing
                allowed = f"{self.horizon - self.steps} more, up to the horizon of {self.horizon}"
                fix = "begin a new counter: the noise of this one was planned for its horizon"
                raise ProtocolError("values", f"{len(entries)} entries", allowed=allowed, fix=fix)
            for entry in entries:
                self._check(entry)
            return [self._step(entry) for entry in entries]

    @property
    def exact_rho(self) -> Fraction:
        """The rho of all releases together, as a rational."""
        if self.rho is not None:
            return exact(self.rho)
        return budget_of(float(self.epsilon or 0.0), self.delta, "zCDP").rho

    @cached_property
    def guarantee(self) -> Guarantee:
        """Return the guarantee for one event over all releases; Gaussian noise needs a delta."""
        bill = account(self.event, delta=self.delta)
        epsilon = bill.epsilon if self.epsilon is None else min(self.epsilon, bill.epsilon)
        return Guarantee(
            epsilon=epsilon,
            delta=self.delta,
            model="central",
            unit=EVENT_LEVEL,
            neighbors=NEIGHBORS[self.neighbors],
            honest="the curator",
            certificate=f"exact law, {bill.certificate} composition",
        )

    @property
    def _source(self) -> Source:
        return SYSTEM if self.source is None else self.source

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Two copies would release two noisy sums of the same entries: twice what was paid for.
        raise ProtocolError(
            type(self).__name__, "a copy", allowed="one counter for each stream", fix="pass the object itself, or make a new one"
        )


def _whole(value: Any, place: int) -> int:
    entry = value.item() if isinstance(value, np.generic) else value
    if type(entry) is not int or abs(entry) > LARGEST_STEP:
        allowed = f"integers from {-LARGEST_STEP} to {LARGEST_STEP}"
        raise DomainError("value", f"{shorten(value)} at {place}", allowed=allowed, fix="count in whole units: cents, seconds")
    return entry
