"""The form to select periods and labels: it works without JavaScript and is read as strictly as the API's parameters."""

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
"""The most periods in the list, latest first; an address may name any."""


class SelectionText(NamedTuple):
    """A selection as it was typed."""

    period: str = "all"
    strata: Sequence[str] = ()


def asked(visit: Visit, kind: type[msgspec.Struct]) -> bytes:
    """Return the query without empty fields and, for people, without unknown parameters, which trackers add."""
    known = {field.encode_name.encode() for field in msgspec.structs.fields(kind)}
    parts = [part for part in visit.query.split(b"&") if part and not part.endswith(b"=")]
    return b"&".join(part for part in parts if visit.strict or part.partition(b"=")[0] in known)


def read_selection(task: Task, choice: SelectionText) -> ReportSelection:
    """Return the selection; raise ParameterError if the task has no such periods or labels."""
    selection = ReportSelection(read_periods(task, choice.period), read_strata(task, choice.strata))
    selection.check(task)
    return selection


def query_of(choice: SelectionText) -> str:
    """Return the query for the same selection, with its question mark; empty if it selects everything."""
    pairs = ([("period", choice.period)] if choice.period != "all" else []) + [("stratum", text) for text in choice.strata]
    return f"?{urlencode(pairs)}" if pairs else ""


def can_select(task: Task) -> bool:
    """Return True if there is anything to select."""
    return not task.rounds and (task.period_count > 1 or bool(task.strata))


def period_field(task: Task, now: float, *, name: str, identity: str, told: str, chosen: str) -> Element | None:
    """Return a list of periods to choose from; None if there is only one."""
    if task.rounds or task.period_count == 1:
        return None
    current = min(max(int(now - task.start) // task.period, 0), task.period_count - 1)
    numbers = [str(number) for number in range(current, max(current - LISTED, -1), -1)]
    extra = [chosen] if chosen not in ("all", *numbers) else []
    options = [element("option", "all", value="all", selected=chosen == "all")]
    options += [element("option", text, value=text, selected=True) for text in extra]
    options += [element("option", period_in_words(task, int(number)), value=number, selected=chosen == number) for number in numbers]
    return element("div", element("label", told, for_=identity), element("select", *options, name=name, id=identity), class_="field")


def stratum_fields(task: Task, *, name: str, identity: str, told: str, chosen: Sequence[str]) -> list[Element]:
    """Return a list for each stratum."""
    fields = []
    for place, (stratum, labels) in enumerate(task.strata):
        own = f"{identity}-{place}"
        options = [element("option", "all", value="")]
        for text in labels:
            value = f"{stratum}:{text}"
            options.append(element("option", text, value=value, selected=value in chosen))
        fields.append(
            element(
                "div", element("label", told, quoted(stratum), for_=own), element("select", *options, name=name, id=own), class_="field"
            )
        )
    return fields
