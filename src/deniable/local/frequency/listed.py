"""Mechanisms whose counters belong to values: to all values of a listed domain, or to candidates that were named at tally time."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from deniable.core.frequency import FrequencyEstimate
from deniable.core.law import CountLaw
from deniable.core.tally import WHOLE_DOMAIN, Candidates, Tally
from deniable.errors import MergeError
from deniable.kernels.compiled import Array
from deniable.local.frequency.oracle import FrequencyOracle, SpecType


class ListedOracle(FrequencyOracle[SpecType]):
    """A bulk half that estimates everything it has counted, and then picks what was asked about."""

    @abstractmethod
    def count_law(self, n: int, counters: Array) -> CountLaw:
        """What the counters say about all values, or all candidates that were tallied."""

    def estimated(self, tally: Tally, candidates: Any) -> FrequencyEstimate:
        domain = self.spec.domain
        if tally.digest == WHOLE_DOMAIN:
            estimate = FrequencyEstimate.of(self.spec, Candidates.everything(domain).values, self.count_law(tally.n, tally.counters))
            if candidates is None:
                return estimate
            named = estimate.select(Candidates.of(domain, candidates).keys.astype(np.int64))
            return replace(named, family_size=len(named.values))  # named before looking: statements are about these alone
        chosen = tally.candidates if candidates is None else Candidates.of(domain, candidates)
        if chosen is None or chosen.digest != tally.digest or chosen.keys.size != tally.counters.size:
            raise MergeError(
                "candidates",
                None if chosen is None else chosen.digest.hex(),
                allowed=f"the list with digest {tally.digest.hex()}, which was tallied",
                fix="pass estimate(tally, candidates=...) the same values in the same order",
            )
        return FrequencyEstimate.of(self.spec, chosen.values, self.count_law(tally.n, tally.counters))
