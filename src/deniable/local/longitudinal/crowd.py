"""A crowd of devices that are asked again and again: every one keeps its permanent answers, for experiments and simulations."""

from __future__ import annotations

from typing import Any

import numpy as np

from deniable.client.longitudinal import LongitudinalSpec
from deniable.contract.source import Source
from deniable.core.reports import Reports
from deniable.core.values import keys_of
from deniable.errors import DomainError
from deniable.kernels.compiled import Array
from deniable.local.longitudinal.memoized import bulk_of

_PEOPLE_SHIFT = 32


class Crowd:
    """Devices in the order of their values: the same place is the same device, round after round.

    A device whose value is of a class that it has held before draws nothing anew; the others draw one permanent answer. What devices keep
    grows with the changes, not with the rounds. ``source`` is for replaying fixed words in tests.

    >>> from deniable.client import LongitudinalGRR
    >>> spec = LongitudinalGRR(domain_size=4, epsilon=2.0)
    >>> crowd = Crowd(spec)
    >>> rounds = [crowd.report([0, 1, 2, 3] * 100) for _ in range(3)]
    >>> crowd.permanent_answers, len(rounds[2])
    (400, 400)
    >>> _ = crowd.report([1, 1, 2, 3] * 100)
    >>> crowd.permanent_answers
    500
    """

    def __init__(self, spec: LongitudinalSpec, *, source: Source | None = None) -> None:
        self.spec = spec
        self.source = source
        self._bulk = bulk_of(spec)
        self._numbers: dict[int, int] = {}
        self._held: Array = np.empty(0, dtype=np.int64)  # device and class in one number, in ascending order
        self._places: Array = np.empty(0, dtype=np.int64)  # where in the bank its permanent answer is
        self._bank: Array = np.empty((0, sum(column.row_bytes for column in spec.layout)), dtype=np.uint8)
        self._first: Array | None = None
        """The rows that devices started with; the personal part of each is permanent."""

    @property
    def permanent_answers(self) -> int:
        """How many permanent answers all devices keep together."""
        return len(self._bank)

    @property
    def answers_of(self) -> Array:
        """How many permanent answers each device keeps: times epsilon, the privacy that it has spent."""
        return np.bincount(self._held >> _PEOPLE_SHIFT, minlength=0 if self._first is None else len(self._first))

    def report(self, values: Any) -> Reports:
        """One report of every device, each from the permanent answer for its value."""
        keys = keys_of(self.spec.domain, values)
        if self._first is None:
            kept = self._bulk.kept(keys, None, self.source)
            self._first = self._bank = kept.rows().copy()
            self._held, self._places = self._codes(keys, kept), np.arange(keys.size)
            return self._bulk.again(kept, self.source)
        if keys.size != len(self._first):
            raise DomainError("values", f"{keys.size} of them", allowed=f"one for each of {len(self._first)} devices", fix="keep the order")
        codes = self._codes(keys, self._batch(self._first))
        found = np.searchsorted(self._held, codes)
        new = np.flatnonzero(np.append(self._held, -1)[found] != codes)
        if new.size:
            drawn = self._bulk.kept(keys[new], self._batch(self._first[new]), self.source)
            self._keep(codes[new], drawn.rows())
        places = self._places[np.searchsorted(self._held, codes)]
        return self._bulk.again(self._batch(self._bank[places]), self.source)

    def _codes(self, keys: Array, personal: Reports) -> Array:
        classes, back = np.unique(self._bulk.classes(keys, personal), return_inverse=True)
        numbers = np.array([self._numbers.setdefault(number, len(self._numbers)) for number in classes.tolist()], dtype=np.int64)
        codes: Array = (np.arange(keys.size) << _PEOPLE_SHIFT) | numbers[back.ravel()]
        return codes

    def _keep(self, codes: Array, rows: Array) -> None:
        held = np.concatenate([self._held, codes])
        order = np.argsort(held, kind="stable")
        places = np.concatenate([self._places, len(self._bank) + np.arange(codes.size)])
        self._held, self._places = held[order], places[order]
        self._bank = np.concatenate([self._bank, rows])

    def _batch(self, rows: Array) -> Reports:
        return Reports.from_rows(self.spec, rows.tobytes())
