"""Independent segments: the first idea for long values, and why it is not enough."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Any, ClassVar

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.question import Question
from deniable.contract.segments import Segments
from deniable.contract.work import Work, together
from deniable.core.frequency import FrequencyEstimate
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.heavy_hitters.allocation import usual_keep
from deniable.tasks.heavy_hitters.counted import CountedSearch
from deniable.tasks.heavy_hitters.prefixes import LARGEST_LIST, strongest

LONGEST_SEGMENT = 16
"""The longest segment, in bits, unless the caller wants longer ones."""


@dataclass(frozen=True, kw_only=True)
class SegmentSearch(CountedSearch, abstract=True):
    """What searches by segments share: the code cut into ``segments`` of nearly equal length; by default of 16 bits at most, but two."""

    segments: int = None  # type: ignore[assignment]  # resolved below
    keep: int = None  # type: ignore[assignment]  # resolved below
    """How many frequent segments are kept at each place; k or twice that if left out."""
    most: int = 4096
    """How many combinations are followed, and counted in the end, at most."""

    sized_by: ClassVar[str] = "segments, keep, most"

    def _resolve(self, put: Any) -> None:
        if self.segments is None:
            put("segments", min(self.bits, max(2, ceil(self.bits / LONGEST_SEGMENT))))
        check_whole("segments", self.segments, ceil(self.bits / 24), self.bits)  # each bit of a segment doubles what is counted
        if self.keep is None:
            put("keep", usual_keep(self.k, self.epsilon, self.bits, self.people))
        check_whole("keep", self.keep, 1)
        check_whole("most", self.most, 1, LARGEST_LIST)

    @property
    def most_candidates(self) -> int:
        return self.most

    def _search_work(self) -> Iterable[Work]:
        asked = together(self._spec(1 << length, 1 << length).finishing(1 << length) for _, length in self.parts)
        combined = self.most * max(min(self.keep, 1 << length) for _, length in self.parts)
        return asked, Work(asked.kept + 32 * combined, 64 * combined)  # every combination with its rarest segment, sorted

    @property
    def parts(self) -> tuple[tuple[int, int], ...]:
        """The start and the length of each segment."""
        edges = [self.bits * i // self.segments for i in range(self.segments + 1)]
        return tuple((start, end - start) for start, end in pairwise(edges))

    def _segment_questions(self) -> tuple[Question, ...]:
        """One question for each segment, about everything that it can be."""
        encoders = [Segments(self.domain, (part,)) for part in self.parts]
        return tuple(self._ask(f"segment-{i + 1}", encoder, encoder.size) for i, encoder in enumerate(encoders))


def frequent(counts: Array, keep: int, salt: bytes) -> Array:
    """The positions of the largest counts, those above zero only, the largest first.

    >>> frequent(np.array([5.0, -1.0, 7.0, 0.0]), 3, b"salt").tolist()
    [2, 0]
    """
    best = strongest(counts, keep, salt)
    return best[counts[best] > 0]


@typed
@dataclass(frozen=True, kw_only=True)
class IndependentSegments(SegmentSearch):
    """Find the k most frequent values by finding the frequent segments of each place, and counting what they can be combined to.

    People are split at random into groups. Each reports one segment of its values; a last one counts the combinations of frequent
    segments.

    This is sound only while all combinations can be counted. Segments of a frequent value are frequent, but what is made of frequent
    segments need not be, and nothing says which belong together: k values make k^segments combinations. Of more than ``most`` those are
    kept whose rarest segment is the most frequent (no value is more frequent than that), and true values are lost among the ties.
    ``SegmentPairs`` and ``PEM`` fix this.

    Guarantee: epsilon-local for any two inputs; everybody reports once, in one group.

    Estimator: the unbiased counts of the last group, which had no part in the search, with that group's errors and intervals.

    Cost: one report of one oracle; 2^16 counters for a segment of 16 bits, at most ``most`` candidates in the end.

    >>> from deniable.testing import ReplaySource
    >>> search = IndependentSegments(bits=32, k=2, epsilon=2.0, people=20_000)
    >>> search.parts, [str(question.share) for question in search.open().questions], str(search.holdout)
    (((0, 16), (16, 16)), ['1/3', '1/3'], '1/3')
    >>> values = [0xCAFE_F00D] * 6000 + [0xDEAD_BEEF] * 4000 + list(range(10_000))
    >>> found = search.run(values, source=ReplaySource.from_key("docs"))
    >>> [f"{value:x}" for value in found.values], found.frequencies.round(2).tolist()
    (['cafef00d', 'deadbeef'], [0.3, 0.2])

    References: Hong 2021 (CS 528, "a first solution"); Wang, Li, Jha 2021.
    """

    @property
    def groups(self) -> int:
        return self.segments

    def _search(self) -> tuple[tuple[Question, ...], int]:
        return self._segment_questions(), 0

    def _learn(self, estimates: list[FrequencyEstimate], salt: bytes) -> tuple[int, ...]:
        joined, bounds = [0], np.array([np.inf])
        for (_, length), estimate in zip(self.parts, estimates, strict=True):
            kept = frequent(estimate.counts, self.keep, salt)
            bounds = np.minimum.outer(bounds, estimate.counts[kept]).ravel()
            best = strongest(bounds, self.most, salt)
            joined = [joined[i // kept.size] << length | int(kept[i % kept.size]) for i in best.tolist()]
            bounds = bounds[best]
        return tuple(joined)
