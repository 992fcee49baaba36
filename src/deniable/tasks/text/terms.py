"""Terms of a public list, and trends in their use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from deniable.contract.arguments import typed
from deniable.contract.texts import DrawnTerm
from deniable.contract.words import NONE
from deniable.core.comparison import Comparison
from deniable.core.frequency import FrequencyEstimate
from deniable.tasks.text.listed import Listed


@dataclass(frozen=True, kw_only=True)
class Terms(Listed):
    """How often people use each term of a public list, the ``vocabulary``: words, or n of them in a row.

    Each person draws one of their own words that are on the list, every occurrence as likely as another, or "none of them", the empty
    string.

    Guarantee: epsilon-local for any two texts of a person, whatever their lengths.

    Estimator: the mean over people of the term's share among the listed terms that a person wrote, and of "none of them". Everybody has one
    vote, however much they write. Take ``population=True`` for intervals: it covers the draw on the device as well.

    Cost: one report of one oracle over V + 1 answers.

    >>> from deniable.testing import ReplaySource
    >>> asking = Terms(vocabulary=["tea", "coffee"], epsilon=3.0, people=9000)
    >>> found = asking.run(["Tea and tea!", "coffee, tea", "hello"] * 3000, source=ReplaySource.from_key("terms"))
    >>> list(found.values), found.frequencies.round(2).tolist()
    (['tea', 'coffee', ''], [0.51, 0.16, 0.33])
    """

    ngram: int = 1
    """How many words each term of the vocabulary has."""
    result: ClassVar[str] = "terms"

    @cached_property
    def encoder(self) -> DrawnTerm:
        """What each device does with what its owner wrote."""
        return DrawnTerm(self.vocabulary, self.ngram)  # type: ignore[arg-type]  # it makes a tuple of any list

    def close(self, tallies: Mapping[str, Any]) -> FrequencyEstimate:
        self.open().check_tallies(tallies)
        found: FrequencyEstimate = self.spec.estimate(tallies[self.result])
        return replace(found, values=[*self.vocabulary, NONE], guarantee=self.guarantee)


@typed
def trending(before: FrequencyEstimate, after: FrequencyEstimate) -> Comparison:
    """Return the change of each term's share between the estimates ``before`` and ``after``; the empty string stands for none of the terms.

    A person who answers in both periods pays for both. Holm's correction keeps the chance of naming any term wrongly.

    >>> from deniable.testing import ReplaySource
    >>> asking, source = Terms(vocabulary=["tea", "mate", "milk"], epsilon=2.0, people=9000), ReplaySource.from_key("trend")
    >>> weeks = [["tea"] * 6000 + ["milk"] * 3000, ["tea"] * 4500 + ["mate"] * 1500 + ["milk"] * 3000]
    >>> trends = trending(*(asking.run(week, source=source) for week in weeks))
    >>> trends.risen(), trends.fallen(), trends.cost
    (['mate'], ['tea'], 4.0)
    """
    return before.compare(after)
