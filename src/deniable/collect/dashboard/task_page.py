"""One task: what its reports say, live while they come in, and everything that it promised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from deniable.collect.admission import LiveTask
from deniable.collect.analysis.analyst import Answer, TooFew
from deniable.collect.dashboard.answers import SharedAnswers
from deniable.collect.dashboard.html import Element, Node, element, quoted
from deniable.collect.dashboard.layout import Visit
from deniable.collect.dashboard.pages import ANSWER
from deniable.collect.dashboard.question_view import tell
from deniable.collect.dashboard.selection_form import SelectionText, can_select, period_field, query_of, read_selection, stratum_fields
from deniable.collect.dashboard.shuffle_view import shuffled
from deniable.collect.dashboard.words import state_of, time_in_words
from deniable.contract.task import Task
from deniable.core.figure import Spec
from deniable.core.integrity import IntegrityReport
from deniable.errors import DeniableError, ProtocolError


class Seen(NamedTuple):
    """A page's parts that change, and its charts by name."""

    result: Element
    charts: dict[str, Spec]


def see_task(answers: SharedAnswers, live: LiveTask, visit: Visit, choice: SelectionText) -> Seen:
    """What the selected reports of a task say, or why that is not shown."""
    selection = read_selection(live.task, choice)
    if not visit.sees:
        link = element("a", "Sign in", href=f"/sign-in?next=/tasks/{live.task.id.hex()}")
        return _nothing("Estimates are for this collector's analysts. ", link, " with a token to see them.")
    try:
        answer = answers.estimate(live.task.id, selection, public=visit.public)
        tested = answers.integrity(live.task.id, public=visit.public)
    except TooFew:
        return _nothing(f"Fewer than {live.task.minimum_batch:,} reports: nothing is shown below that, as the task promises.")
    except ProtocolError as error:
        return _nothing(_unfinished(live, error, answers.total(live.task.id, public=visit.public)))
    return _told(answer, live.task, query_of(choice), tested)


def task_body(seen: Seen, live: LiveTask, visit: Visit, now: float, choice: SelectionText) -> list[Node | None]:
    """The page of a task."""
    task = live.task
    state = state_of(live, now)
    answering = element("a", "Answer it in this browser", href=ANSWER.format(id=task.id.hex()), class_="button")
    return [
        element("p", element("a", "Tasks", href="/"), " / ", quoted(task.name), class_="trail"),
        element("h1", quoted(task.question)),
        element("p", element("span", state, class_=f"state {state.partition(' ')[0]}"), " ", time_in_words(task), class_="when"),
        element("p", answering) if state == "open" else None,
        _choosing(task, now, choice) if can_select(task) else None,
        element("div", seen.result, id="result", data_live_open=state != "closed"),
    ]


def _told(answer: Answer, task: Task, query: str, tested: Mapping[str, IntegrityReport]) -> Seen:
    charts: dict[str, Spec] = {}
    sections: list[Node] = []
    titled = len(answer.estimates) + len(answer.withheld) > 1
    for place, (name, estimate) in enumerate(answer.estimates.items()):
        picture = f"/tasks/{task.id.hex()}/chart.svg{query}{'&' if query else '?'}question={place}"
        told = tell(answer.asked[name], estimate, place, picture=picture, titled=titled, tested=tested.get(name))
        sections.append(told.section)
        charts |= told.drawn(place)
    if answer.mixed is not None:
        sections.append(shuffled(answer.mixed, sum(estimate.n for estimate in answer.estimates.values())))
    if answer.withheld:
        names = ", ".join(answer.withheld)
        sections.append(element("p", f"Not shown, with fewer than {task.minimum_batch:,} reports: ", quoted(names), class_="notice"))
    state = "Reports are still coming in." if answer.provisional else "All reports of this selection are in."
    sections.append(element("p", state, class_="fresh", data_live="state"))
    return Seen(element("div", *sections), charts)


def _nothing(*told: Node) -> Seen:
    return Seen(element("div", element("p", *told, class_="notice", data_live="notice")), {})


def _unfinished(live: LiveTask, error: DeniableError, reports: int | None) -> str:
    if live.closed:
        return str(error)
    if live.trouble:
        return f"Round {live.round} could not be closed. It waits for an admin, who sees why in the task's status and may advance it again."
    counted = f"fewer than {live.task.minimum_batch:,}" if reports is None else f"{reports:,}"
    return f"This task goes on: round {live.round} is open, with {counted} reports in all rounds so far. Its result is shown at the end."


def _choosing(task: Task, now: float, choice: SelectionText) -> Element:
    fields: list[Node] = [*stratum_fields(task, name="stratum", identity="stratum", told="", chosen=choice.strata)]
    periods = period_field(task, now, name="period", identity="period", told="Period", chosen=choice.period)
    fields = [periods, *fields] if periods else fields
    here = f"/tasks/{task.id.hex()}"
    buttons = element("div", element("button", "Show"), element("a", "Compare two", href=f"{here}/compare"), class_="actions")
    return element("form", *fields, buttons, method="get", action=here, class_="choice", aria_label="Periods and strata")
