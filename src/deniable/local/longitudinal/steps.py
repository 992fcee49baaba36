"""What every longitudinal mechanism does in bulk: the same steps as one device, for many devices at once.

``privatize`` is one report of each of many devices that have nothing yet. ``kept`` makes their permanent answers, and ``again`` reports
from these; both are batches with the columns of reports, so that what devices keep can be stored and merged like reports. ``Crowd`` uses
them to follow the same devices over many rounds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from deniable.client.longitudinal import LongitudinalSpec
from deniable.contract.source import Source
from deniable.contract.spec import Spec
from deniable.core.reports import Reports
from deniable.core.stream import serve_everyone
from deniable.core.tally import require_same_spec
from deniable.core.values import keys_of
from deniable.kernels.compiled import Array
from deniable.kernels.longitudinal import AGAIN, ALL, PERMANENT, PERSONAL

Batches = tuple[Reports, Reports]
"""What devices keep, and what they send; may be the same batch where all steps are done at once."""


class Steps(ABC):
    """The bulk half of a mechanism in the frame of ``client.longitudinal``, beside what its one-step relative does."""

    spec: Any

    @abstractmethod
    def draw(self, steps: int, keys: Array, batches: Batches, part: slice, words: Array) -> tuple[int, int]:
        """Do the steps for the people in ``part``; return how many people and words were used."""

    def classes(self, keys: Array, memos: Reports) -> Array:
        """A number for the class of each value, given the personal part of each device: equal for equal classes of one device."""
        return keys

    def perturb(self, keys: Array, reports: Reports, part: slice, words: Array) -> tuple[int, int]:
        return self.draw(ALL, keys, (reports, reports), part, words)

    def kept(self, keys: Array, personal: Reports | None, source: Source | None) -> Reports:
        """The permanent answers of many devices, with their personal parts: new ones, or those of an earlier batch."""
        memos = Reports.empty(self.spec, keys.size)
        steps = PERMANENT if personal is not None else PERSONAL | PERMANENT
        if personal is not None:
            for column in self.spec.personal_layout:
                memos.columns[column.name][...] = personal.columns[column.name]
        serve_everyone(keys.size, lambda part, words: self.draw(steps, keys[part], (memos, memos), part, words), source)
        return memos

    def again(self, memos: Reports, source: Source | None) -> Reports:
        """One report of each device, from what it keeps."""
        require_same_spec(self.spec, memos.spec)
        memos = Reports(self.spec, memos.n, {name: np.require(column, requirements="W") for name, column in memos.columns.items()})
        out = Reports.empty(self.spec, memos.n)
        for column in self.spec.personal_layout:
            out.columns[column.name][...] = memos.columns[column.name]
        nothing = np.empty(0, dtype=np.uint64)
        serve_everyone(memos.n, lambda part, words: self.draw(AGAIN, nothing, (memos, out), part, words), source)
        return out


def permanent_answers(spec: LongitudinalSpec, values: Any, *, source: Source | None = None) -> Reports:
    """What many devices keep, each for its own value: a batch with the columns of reports.

    >>> from deniable.client import LongitudinalGRR
    >>> spec = LongitudinalGRR(domain_size=4, epsilon=2.0)
    >>> kept = permanent_answers(spec, [0, 1, 2, 3] * 100)
    >>> len(instantaneous_answers(spec, kept))
    400
    """
    return bulk_of(spec).kept(keys_of(spec.domain, values), None, source)


def instantaneous_answers(spec: LongitudinalSpec, kept: Reports, *, source: Source | None = None) -> Reports:
    """One report of each device, from what it keeps. ``source`` is for replaying fixed words in tests."""
    return bulk_of(spec).again(kept, source)


def bulk_of(spec: Spec) -> Steps:
    """The bulk half of a longitudinal mechanism."""
    return spec._bulk  # type: ignore[return-value]  # every longitudinal mechanism's is one
