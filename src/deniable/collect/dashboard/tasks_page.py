"""The list of tasks: what is asked, whether it is open, and how many have answered."""

from __future__ import annotations

from collections.abc import Iterable

from deniable.collect.admission import LiveTask
from deniable.collect.dashboard.answers import SharedAnswers
from deniable.collect.dashboard.html import Element, Node, element, quoted
from deniable.collect.dashboard.layout import Visit
from deniable.collect.dashboard.pages import ANSWER
from deniable.collect.dashboard.words import state_of, time_in_words


def tasks_body(answers: SharedAnswers, lives: Iterable[LiveTask], visit: Visit, now: float) -> list[Node]:
    """The page with all tasks, those first that can be answered."""
    ordered = sorted(lives, key=lambda live: (state_of(live, now) != "open", live.task.name, live.task.id))
    if not ordered:
        nothing = element("p", "No task is published yet. An admin publishes one: ", element("code", "deniable task publish FILE"))
        return [element("h1", "Tasks"), nothing]
    return [element("h1", "Tasks"), element("ul", *(_card(answers, live, visit, now) for live in ordered), class_="cards")]


def several_body(lives: Iterable[LiveTask], now: float) -> list[Node]:
    """The page behind a short link that leads to several tasks."""
    listed = []
    for live in sorted(lives, key=lambda live: (state_of(live, now) != "open", -live.task.start, live.task.id)):
        link = element("a", quoted(live.task.question), href=ANSWER.format(id=live.task.id.hex()))
        listed.append(element("li", link, f" ({state_of(live, now)}, {time_in_words(live.task)})"))
    return [element("h1", "Which one?"), element("p", "Several tasks have this name:"), element("ul", *listed)]


def _card(answers: SharedAnswers, live: LiveTask, visit: Visit, now: float) -> Element:
    task, state = live.task, state_of(live, now)
    return element(
        "li",
        element("h2", element("a", quoted(task.question), href=f"/tasks/{task.id.hex()}")),
        element("p", element("span", state, class_=f"state {state.partition(' ')[0]}"), " ", quoted(task.name), " · ", time_in_words(task)),
        element("p", _reports(answers, live, visit), class_="count") if visit.sees else None,
    )


def _reports(answers: SharedAnswers, live: LiveTask, visit: Visit) -> str:
    total = answers.total(live.task.id, public=visit.public)
    return f"fewer than {live.task.minimum_batch:,} reports" if total is None else f"{total:,} reports"
