"""Marginals of a table as a protocol: each person answers one question about their own record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, ClassVar

from deniable.contract.arguments import typed
from deniable.contract.cells import Cell
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Progress, Protocol
from deniable.contract.question import Question, Round
from deniable.contract.record import UNWRITTEN, form_of, wire
from deniable.contract.source import Source
from deniable.contract.work import Work, together
from deniable.core.run import crowd_size
from deniable.tasks.checks import check_whole
from deniable.tasks.feasible import check_feasible
from deniable.tasks.marginals.choice import design_for
from deniable.tasks.marginals.columns import Columns, Names
from deniable.tasks.marginals.designs import View, groups_of, wanted
from deniable.tasks.marginals.estimate import TableEstimate, TableShares
from deniable.tasks.marginals.groups import ViewShares, oracle_for

SETS = form_of(tuple[Names, ...])


@typed
@dataclass(frozen=True, kw_only=True)
class Marginals(Protocol):
    """Marginals of a table: shares of all combinations of ``k`` columns, or of the columns named in ``sets``.

    ``columns`` maps names to domains or lists of labels. People are split at random into groups, and each group is asked about one view of
    the table (``method``: see ``designs``; "auto" takes the one with the smallest predicted error for ``people``).

    Guarantee: epsilon-local for any two records of one person, however many columns differ; everybody reports once, in one group, with the
    whole epsilon. The group is drawn by the device before it looks at the record.

    Estimator: unbiased shares, put together from what all groups say about the same columns (``components``), which agree with each
    other; their exact covariance goes with them, for errors, conditional shares and association.

    Cost: one report about at most 8,192 cells; for "fourier" one bit. With m groups variances are about m times those of one question.

    >>> survey = Marginals(columns={"place": ["bar", "inn", "spa"], "mood": ["good", "bad"], "new": ["yes", "no"]}, k=2, epsilon=1.0)
    >>> survey.method, [question.name for question in survey.open().questions]
    ('split', ['place x mood', 'place x new', 'mood x new'])

    References: Cormode, Kulkarni, Srivastava 2018 (fourier); Zhang, Wang, Li, He, Chen 2018 (CALM: views).
    """

    result: ClassVar[str] = "marginals"

    columns: Any = field(metadata=wire(form=form_of(Columns)))
    epsilon: float
    k: int = field(default=2, metadata=UNWRITTEN)
    sets: Sequence[Sequence[str]] | None = field(default=None, metadata=wire(form=SETS))
    method: str = "auto"
    views: Sequence[Sequence[str]] | None = field(default=None, metadata=wire(form=SETS))
    people: int = 100_000
    why: str = field(default="", init=False, repr=False, compare=False, metadata=UNWRITTEN)
    """Why the method was chosen, in a sentence."""

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("epsilon", check_epsilon(self.epsilon))
        put("columns", Columns.of(self.columns))
        check_whole("people", self.people, 1, fix="pass the number of people that you expect")
        put("sets", wanted(self.columns, self.k, self.sets))
        put("k", max(map(len, self.wanted)))
        choice = design_for(self.columns, self.wanted, epsilon=self.epsilon, people=self.people, method=self.method, views=self.views)
        put("why", choice.why)
        put("method", choice.chosen.method)
        put("views", tuple(asked.columns for asked in choice.chosen.groups) if self.method == "views" else None)
        check_feasible(self, "columns, k", fix="use fewer or coarser columns, or name the sets that you need")

    def work(self) -> Work:
        """The work of computing every marginal with its covariance, and the association of any two columns."""
        cells = [self.columns.cells(names) for names in self.wanted]
        sizes = list(self.columns.sizes.values())
        pairs = [one * other for i, one in enumerate(sizes) for other in sizes[i + 1 :]] if self.k > 1 else []
        held, largest = 8 * sum(size**2 for size in cells), 40 * max(cells) ** 2
        return together([super().work(), Work(held + largest, sum(size**3 for size in (*cells, *pairs)) // 4)])

    @property
    def wanted(self) -> tuple[Names, ...]:
        """The marginals to be answered."""
        found: tuple[Names, ...] = self.sets  # type: ignore[assignment]  # resolved
        return found

    # --- asking ---

    @cached_property
    def asked(self) -> tuple[View, ...]:
        """What each group is asked."""
        return groups_of(self.method, self.columns, self.wanted, self.views)  # type: ignore[arg-type]  # resolved

    @cached_property
    def _round(self) -> Round:
        share = Fraction(1, len(self.asked))
        people = self.people // len(self.asked)
        questions = []
        for asked in self.asked:
            encoder = Cell(tuple((name, self.columns.asked[name]) for name in asked.columns), asked.masks)
            spec = oracle_for(encoder.inputs, self.epsilon, people)
            questions.append(Question(name=asked.name, spec=spec, encoder=encoder, share=share))
        return Round(tuple(questions))

    def open(self) -> Round:
        return self._round

    def close(self, tallies: Mapping[str, Any]) -> TableEstimate:
        questions = self._round.questions
        self._round.check_tallies(tallies)
        pairs = zip(self.asked, questions, strict=True)
        groups = tuple(ViewShares.of(asked.columns, asked.masks, question.spec, tallies[question.name]) for asked, question in pairs)  # type: ignore[arg-type]  # ours
        shares = TableShares(self.columns, self.wanted, self.method, groups, questions[0].spec, self.guarantee)
        return TableEstimate.of(shares, self.why)

    def read(self, values: Any) -> Any:
        """Return a checked table, from a mapping of columns or from an Arrow, Polars or pandas table; only declared columns are read."""
        return self.columns.keyed(values)

    @property
    def guarantee(self) -> Guarantee:
        unit = "one report, about one view of the table"
        return Guarantee(epsilon=self.epsilon, unit=unit, neighbors="any two records of one person, in all columns at once")


@typed
def marginals(
    table: Any,
    *,
    columns: Any,
    epsilon: float,
    k: int = 2,
    sets: Sequence[Sequence[str]] | None = None,
    method: str = "auto",
    views: Sequence[Sequence[str]] | None = None,
    source: Source | None = None,
    progress: Progress | None = None,
) -> TableEstimate:
    """Return the marginals of a table, where each person reports once and privately.

    ``table`` is a mapping of columns, or an Arrow, Polars or pandas table; ``columns`` declares the possible values, and is never read off
    the data, which would give away that somebody holds a rare one. The result has all combinations of ``k`` columns, or only the ``sets``
    of columns that are named. ``method`` and ``views`` say how people are asked, as in ``Marginals``; left out, so that the error is
    smallest.

    >>> from deniable.testing import ReplaySource
    >>> reviews = {"place": ["bar"] * 6000 + ["spa"] * 6000, "mood": (["good"] * 4 + ["bad"] * 2) * 1000 + (["good"] + ["bad"] * 5) * 1000}
    >>> columns = {"place": ["bar", "inn", "spa"], "mood": ["good", "bad"]}
    >>> found = marginals(reviews, columns=columns, epsilon=2.0, source=ReplaySource.from_key("reviews"))
    >>> found["place", "mood"]
    place x mood: 12,000 people, split, epsilon = 2; low and high: 95 %, noise and who was asked what
    place  mood  count  stderr    low   high  frequency
    spa     bad  5,031    80.6  4,873  5,189     41.9 %
    bar    good  3,900    76.1  3,751  4,049     32.5 %
    bar     bad  1,986    67.8  1,854  2,119     16.6 %
    spa    good  1,005    63.1    882  1,129     8.38 %
    inn     bad   55.1    58.2  -58.9    169    0.459 %
    inn    good   22.1      58  -91.5    136    0.184 %
    >>> found["place", "mood"].association()
    place x mood: 12,000 people, split, epsilon = 2; low and high: 95 %, noise and who was asked what
    value         association  stderr    low  high          p
    place x mood        0.502  0.0159  0.471     1  1.29e-181
    association: Cramér's V, from 0 to 1; p: chance of one this large if there is none
    not seen: place = inn
    >>> gap = found["place", "mood"].given("place").contrast(("spa", "good"), ("bar", "good"))
    >>> round(gap.value, 3), round(gap.stderr, 3)  # half of the guests more like the bar
    (0.496, 0.013)
    """
    survey = Marginals(columns=columns, epsilon=epsilon, k=k, sets=sets, method=method, views=views, people=max(crowd_size(table), 1))
    found: TableEstimate = survey.run(table, source=source, progress=progress)
    return found
