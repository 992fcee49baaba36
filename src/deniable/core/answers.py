"""The results of a survey: an estimate for each question, and the guarantee of taking part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deniable.contract.guarantee import Guarantee


@dataclass(frozen=True, eq=False, repr=False)
class Answers(Mapping[str, Any]):
    """Estimates by question. ``guarantee`` is about the whole survey, of which each person answers one question.

    >>> from deniable.client import GRR, RR
    >>> from deniable.contract.survey import Survey
    >>> from deniable.testing import ReplaySource
    >>> survey = Survey.of(drink=GRR(domain_size=2, epsilon=1.0), smoker=RR(epsilon=0.5))
    >>> people = {"drink": [0, 1] * 4000, "smoker": [1, 0] * 4000}
    >>> survey.run(people, source=ReplaySource.from_key("answers"))
    2 estimates; each person answered one question, for epsilon = 1
    <BLANKLINE>
    drink: 4,044 reports, GRR, epsilon = 1; low and high: 95 %, noise only
    value  count  stderr    low   high  frequency
    0      2,089      61  1,969  2,209     51.7 %
    1      1,955      61  1,835  2,075     48.3 %
    <BLANKLINE>
    smoker: 3,956 reports, RR, epsilon = 0.5; low and high: 95 %, noise only
    value  count  stderr    low   high  frequency
    0      2,158     124  1,914  2,402     54.5 %
    1      1,798     124  1,554  2,042     45.5 %
    """

    estimates: Mapping[str, Any]
    guarantee: Guarantee

    def __getitem__(self, name: str) -> Any:
        return self.estimates[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def _head(self) -> str:
        several = "1 estimate" if len(self) == 1 else f"{len(self)} estimates; each person answered one question"
        return f"{several}, for epsilon = {self.guarantee.epsilon:.4g}"

    def __repr__(self) -> str:
        return "\n\n".join([self._head(), *(f"{name}: {each!r}" for name, each in self.items())])

    def _repr_html_(self) -> str:
        from html import escape

        parts = (f"<h4>{escape(name)}</h4>{each._repr_html_()}" for name, each in self.items())
        return f"<p>{escape(self._head())}</p>{''.join(parts)}"
