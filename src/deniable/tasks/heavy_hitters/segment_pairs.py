"""The segment pair method: pairs of segments tell which segments belong together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations
from math import isqrt
from typing import Any, Self

import numpy as np

from deniable.contract.arguments import typed
from deniable.contract.form import HEXADECIMALS, tuple_of
from deniable.contract.question import Question
from deniable.contract.record import STATE, wire
from deniable.contract.segments import Segments
from deniable.contract.work import Work, together
from deniable.core.frequency import FrequencyEstimate
from deniable.errors import ParameterError
from deniable.tasks.heavy_hitters.counted import CountedSearchState
from deniable.tasks.heavy_hitters.prefixes import CANDIDATE_BYTES, LARGEST_LIST, strongest
from deniable.tasks.heavy_hitters.segments import SegmentSearch, frequent

Edges = dict[tuple[int, int], float]
"""Frequent pairs of two segments, with their counts."""


@typed
@dataclass(frozen=True, kw_only=True)
class SegmentPairsState(CountedSearchState):
    """What a search has found, and the segments that it follows."""

    frequent_segments: tuple[tuple[int, ...], ...] | None = field(default=None, metadata=wire(form=tuple_of(HEXADECIMALS)))
    """What was kept of each segment, in rising order, once the first groups have reported."""


@typed
@dataclass(frozen=True, kw_only=True)
class SegmentPairs(SegmentSearch):
    """Find the k most frequent values by their frequent pairs of segments (SPM).

    People are split at random into groups. The first groups report one segment each, and the frequent ones are kept. The next groups,
    one for each two segments, report these two, as far as both are frequent. A value whose pairs are all frequent, a clique in the graph
    of segments, is a candidate; a last group counts the candidates.

    All of a frequent value's pairs are frequent, and so are all its segments. The converse is wrong, in both steps: pairs of different
    frequent values can close a clique that nobody holds. Hence the last group.

    Guarantee: epsilon-local for any two inputs; everybody reports once, in one group.

    Estimator: the unbiased counts of the last group, which had no part in the search, with that group's errors and intervals.

    Cost: one report of one oracle. With s segments there are s (s + 1) / 2 groups besides the last, and each pays for that: the variance
    of a group's frequencies is at least s (s + 1) / 2 times 4 e^epsilon / (n (e^epsilon - 1)^2). ``keep``^2 candidates for each pair.

    >>> from deniable.testing import ReplaySource
    >>> search = SegmentPairs(bits=48, k=2, epsilon=2.0, people=40_000)
    >>> search.segments, search.groups, str(search.holdout)
    (3, 6, '1/7')
    >>> values = [0xCAFE_F00D_0123] * 12_000 + [0xDEAD_BEEF_4567] * 8000 + list(range(20_000))
    >>> found = search.run(values, source=ReplaySource.from_key("docs"))
    >>> [f"{value:x}" for value in found.values], found.frequencies.round(2).tolist()
    (['cafef00d0123', 'deadbeef4567'], [0.31, 0.2])

    References: Fanti, Pihur, Erlingsson 2016; Hong 2021 (CS 528); Wang, Li, Jha 2021.
    """

    state: SegmentPairsState = field(default=SegmentPairsState(), repr=False, metadata=STATE)

    def _resolve(self, put: Any) -> None:
        left_open = self.keep is None
        super()._resolve(put)
        if left_open:
            put("keep", min(self.keep, isqrt(LARGEST_LIST)))
        kept = self.state.frequent_segments
        if kept is not None:
            if len(kept) != self.segments or not all(kept):
                raise ParameterError("frequent_segments", kept, allowed=f"{self.segments} lists", fix="close the first round")
            for part, codes in zip(self.parts, kept, strict=True):
                Segments(self.domain, (part,), codes)  # its checks are ours

    @property
    def groups(self) -> int:
        return self.segments * (self.segments + 1) // 2

    def _search_work(self) -> Iterable[Work]:
        segments, _ = super()._search_work()
        lengths = [length for _, length in self.parts]
        widths = [min(self.keep, 1 << length) for length in lengths]
        pairs = [(1 << lengths[i] + lengths[j], widths[i] * widths[j]) for i, j in self._pairs]
        asked = together(self._spec(size, min(counted + 1, size)).finishing(counted) for size, counted in pairs)
        listed, followed = sum(counted for _, counted in pairs), self.most * max(widths)
        own = CANDIDATE_BYTES * listed + 256 * followed
        return segments, Work(asked.bytes + own, asked.steps + 1000 * followed * self.segments, asked.kept)

    def _search(self) -> tuple[tuple[Question, ...], int]:
        if self.state.frequent_segments is None:
            return self._segment_questions(), 0
        return tuple(self._pair_question(i, j) for i, j in self._pairs), self.segments

    @property
    def _pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(self.segments), 2))

    def _pair_candidates(self, i: int, j: int) -> tuple[int, ...]:
        kept: Any = self.state.frequent_segments
        return tuple(first << self.parts[j][1] | second for first in kept[i] for second in kept[j])

    def _pair_question(self, i: int, j: int) -> Question:
        encoder = Segments(self.domain, (self.parts[i], self.parts[j]))
        return self._ask(f"pair-{i + 1}-{j + 1}", encoder, encoder.size, self._pair_candidates(i, j))

    def _learn(self, estimates: list[FrequencyEstimate], salt: bytes) -> Self | tuple[int, ...]:
        if self.state.frequent_segments is None:
            kept = tuple(tuple(sorted(frequent(estimate.counts, self.keep, salt).tolist())) for estimate in estimates)
            if self.segments == 1 or not all(kept):
                return kept[0] if self.segments == 1 else ()
            return self.learned(frequent_segments=kept)
        edges = {}
        for (i, j), estimate in zip(self._pairs, estimates, strict=True):
            candidates = self._pair_candidates(i, j)
            counts = estimate.counts[: len(candidates)]
            shift = self.parts[j][1]
            pairs = [(divmod(candidates[at], 1 << shift), float(counts[at])) for at in frequent(counts, self.keep, salt)]
            edges[i, j] = dict(pairs)
        return self._cliques(edges, salt)

    def _cliques(self, edges: dict[tuple[int, int], Edges], salt: bytes) -> tuple[int, ...]:
        """Values all of whose pairs are frequent; of too many, those with the most frequent rarest pair."""
        kept: Any = self.state.frequent_segments
        found = [((first,), np.inf) for first in kept[0]]
        for j in range(1, self.segments):
            longer = []
            for segments, bound in found:
                for last in kept[j]:
                    counts = [edges[i, j].get((segments[i], last), 0.0) for i in range(j)]
                    if min(counts) > 0:
                        longer.append(((*segments, last), min(bound, *counts)))
            best = strongest(np.array([bound for _, bound in longer]), self.most, salt)
            found = [longer[i] for i in best]
        codes = []
        for segments, _ in found:
            code = 0
            for (_, length), segment in zip(self.parts, segments, strict=True):
                code = code << length | segment
            codes.append(code)
        return tuple(codes)
