"""What a visitor picks: periods and labels, as a form that needs no script, read as strictly as the interface for programs reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from deniable.collect.analysis.selection import ReportSelection, read_periods, read_strata
from deniable.collect.dashboard.html import Element, element, quoted
from deniable.collect.dashboard.layout import Visit
from deniable.collect.dashboard.words import period_in_words
from deniable.contract.task import Task

LISTED = 60
"""So many periods are offered, the latest first; an address may name any."""


class SelectionText(NamedTuple):
    """What was picked, as it was written."""

    period: str = "all"
    strata: Sequence[str] = ()


def asked(visit: Visit, kind: type[msgspec.Struct]) -> bytes:
    """The query without what a form left open; for people also without parameters that their page does not know, as trackers add them."""
    known = {field.encode_name.encode() for field in msgspec.structs.fields(kind)}
    parts = [part for part in visit.query.split(b"&") if part and not part.endswith(b"=")]
    return b"&".join(part for part in parts if visit.strict or part.partition(b"=")[0] in known)


def read_selection(task: Task, choice: SelectionText) -> ReportSelection:
    """What was picked; ParameterError if the task has no such periods or labels."""
    selection = ReportSelection(read_periods(task, choice.period), read_strata(task, choice.strata))
    selection.check(task)
    return selection


def query_of(choice: SelectionText) -> str:
    """The query that picks the same again, with its question mark; nothing if it is everything."""
    pairs = ([("period", choice.period)] if choice.period != "all" else []) + [("stratum", text) for text in choice.strata]
    return f"?{urlencode(pairs)}" if pairs else ""


def can_select(task: Task) -> bool:
    """Whether there is anything to choose from."""
    return not task.rounds and (task.period_count > 1 or bool(task.strata))


def period_field(task: Task, now: float, *, name: str, identity: str, told: str, chosen: str) -> Element | None:
    """A list of periods to choose one from; None if there is one only."""
    if task.rounds or task.period_count == 1:
        return None
    at_hand = min(max(int(now - task.start) // task.period, 0), task.period_count - 1)
    numbers = [str(number) for number in range(at_hand, max(at_hand - LISTED, -1), -1)]
    extra = [chosen] if chosen not in ("all", *numbers) else []
    options = [element("option", "all together", value="all", selected=chosen == "all")]
    options += [element("option", text, value=text, selected=True) for text in extra]
    options += [element("option", period_in_words(task, int(number)), value=number, selected=chosen == number) for number in numbers]
    return element("div", element("label", told, for_=identity), element("select", *options, name=name, id=identity), class_="field")


def stratum_fields(task: Task, *, name: str, identity: str, told: str, chosen: Sequence[str]) -> list[Element]:
    """For each kind of label a list to choose one from."""
    fields = []
    for place, (stratum, labels) in enumerate(task.strata):
        own = f"{identity}-{place}"
        options = [element("option", "all together", value="")]
        for text in labels:
            value = f"{stratum}:{text}"
            options.append(element("option", text, value=value, selected=value in chosen))
        fields.append(
            element(
                "div", element("label", told, quoted(stratum), for_=own), element("select", *options, name=name, id=own), class_="field"
            )
        )
    return fields
