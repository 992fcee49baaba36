"""What people see of estimates that came as JSON: tables and charts, alike in a terminal, in a file and on a page.

Nothing here knows a kind of estimate. What is shown is what an estimate declares of itself: its columns, its words and its figures.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from deniable.core.estimate import Estimate
from deniable.core.saved import estimate_from_json
from deniable.errors import ParameterError, WireError

if TYPE_CHECKING:
    from deniable.core.chart import Chart


class TableText(NamedTuple):
    """The names of the columns, the lines, and all that is to be said about them."""

    names: list[str]
    lines: list[list[str]]
    remarks: list[str]


def estimates_in(answer: Mapping[str, Any]) -> dict[str, Estimate]:
    """The estimate of one question by its name, followed by its parts."""
    if "estimate" not in answer:
        fix = "upgrade the collector, or read it with the version that wrote it"
        raise WireError("answers", sorted(answer), allowed="an estimate for each question", fix=fix)
    return dict(unfolded(answer["question"], estimate_from_json(answer["estimate"])))


def unfolded(name: str, estimate: Estimate) -> Iterator[tuple[str, Estimate]]:
    """An estimate with its name, then its parts with theirs."""
    yield name, estimate
    named = next(iter((estimate.brief() or {}).values()), [])
    for part, inner in estimate.parts.items():
        if part not in named:  # else the estimate's own brief says it
            yield from unfolded(f"{name}: {part}", inner)


def first_rows(estimate: Estimate, k: int) -> Estimate:
    """An estimate and its parts with the first k values each, where values are listed."""
    return replace(estimate.shortened(k), parts={name: first_rows(part, k) for name, part in estimate.parts.items()})


def table_text(estimate: Estimate, k: int) -> TableText:
    """The first k rows of an estimate."""
    some = estimate.shortened(k)
    names, lines = some.cells(k)
    hidden = len(lines) < len(estimate.values) and some.brief() is None
    more = [f"the first {len(lines):,} of {len(estimate.values):,} rows"] if hidden else []
    return TableText(names, lines, [*some.headline().splitlines(), *more, *some.notes()])


def charts_of(content: Mapping[str, Any], k: int = 20) -> dict[str, Chart]:
    """A chart for each question, and each part of an answer, behind the JSON of an answer or of changes; none where nothing is drawn."""
    drawn: dict[str, Chart] = {}
    for answer in content["answers"]:
        for name, estimate in estimates_in(answer).items():
            if estimate.figures():
                try:
                    drawn[name] = estimate.chart(k, title=f"{name}: {estimate.shortened(k).headline()}")
                except ParameterError:  # too much to be drawn, it says
                    continue
                except (KeyError, TypeError, ValueError) as error:
                    fix = "do not trust this collector"
                    raise WireError(f"figures of {name}", repr(error), allowed="figures of an estimate's own columns", fix=fix) from error
    return drawn
