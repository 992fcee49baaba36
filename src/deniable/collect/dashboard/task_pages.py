"""The task pages: the list, and each task with its results, live while reports come in.

For shuffled tasks, a page shows the batches behind an answer, both epsilons, and the error compared with that of local trust.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from deniable.client.frequency import FrequencySpec
from deniable.collect.admission import LiveTask
from deniable.collect.analysis.analyst import Answer, TooFew
from deniable.collect.analysis.shuffled_batches import ShuffledBatches
from deniable.collect.dashboard.answers import SharedAnswers
from deniable.collect.dashboard.html import Element, Node, element, quoted
from deniable.collect.dashboard.layout import ANSWER, Visit, facts
from deniable.collect.dashboard.question_view import tell
from deniable.collect.dashboard.selection_form import SelectionText, can_select, period_field, query_of, read_selection, stratum_fields
from deniable.collect.dashboard.words import state_of, time_in_words
from deniable.collect.tasks.batch_price import spec_of
from deniable.contract.readable import digits, epsilon_text, percent
from deniable.contract.task import Task
from deniable.core.figure import Spec
from deniable.core.integrity import IntegrityReport
from deniable.errors import DeniableError, ProtocolError
from deniable.local.oracle_choice import frequency_oracle, predicted_error


def tasks_body(answers: SharedAnswers, lives: Iterable[LiveTask], visit: Visit, now: float) -> list[Node]:
    """Return the page of all tasks, open ones first."""
    ordered = sorted(lives, key=lambda live: (state_of(live, now) != "open", live.task.name, live.task.id))
    if not ordered:
        nothing = element("p", "No tasks yet. An admin can publish one: ", element("code", "deniable task publish FILE"))
        return [element("h1", "Tasks"), nothing]
    return [element("h1", "Tasks"), element("ul", *(_card(answers, live, visit, now) for live in ordered), class_="cards")]


def several_body(lives: Iterable[LiveTask], now: float) -> list[Node]:
    """Return the page for a short link that several tasks share."""
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


# --- one task ---


class Seen(NamedTuple):
    """The parts of a page that change, and its charts by name."""

    result: Element
    charts: dict[str, Spec]


def see_task(answers: SharedAnswers, live: LiveTask, visit: Visit, choice: SelectionText) -> Seen:
    """Return the results of the selected reports, or why they are not shown."""
    selection = read_selection(live.task, choice)
    if not visit.sees:
        link = element("a", "Sign in", href=f"/sign-in?next=/tasks/{live.task.id.hex()}")
        return _nothing("Only analysts can see estimates. ", link, " with an access token.")
    try:
        answer = answers.estimate(live.task.id, selection, public=visit.public)
        tested = answers.integrity(live.task.id, public=visit.public)
    except TooFew:
        return _nothing(f"Fewer than {live.task.minimum_batch:,} reports so far. The task promises to show nothing below that number.")
    except ProtocolError as error:
        return _nothing(_unfinished(live, error, answers.total(live.task.id, public=visit.public)))
    return _told(answer, live.task, query_of(choice), tested)


def task_body(seen: Seen, live: LiveTask, visit: Visit, now: float, choice: SelectionText) -> list[Node | None]:
    """Return the page of a task."""
    task = live.task
    state = state_of(live, now)
    answering = element("a", "Answer in this browser", href=ANSWER.format(id=task.id.hex()), class_="button")
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
    state = "Provisional: reports are still coming in." if answer.provisional else "Final: all reports for this selection are in."
    sections.append(element("p", state, class_="fresh", data_live="state"))
    return Seen(element("div", *sections), charts)


def _nothing(*told: Node) -> Seen:
    return Seen(element("div", element("p", *told, class_="notice", data_live="notice")), {})


def _unfinished(live: LiveTask, error: DeniableError, reports: int | None) -> str:
    if live.closed:
        return str(error)
    if live.trouble:
        return f"Round {live.round} could not be closed. An admin can see why in the task's status, and advance it again."
    counted = f"fewer than {live.task.minimum_batch:,}" if reports is None else f"{reports:,}"
    return f"Round {live.round} is open, with {counted} reports in all rounds so far. The result appears when the task ends."


def _choosing(task: Task, now: float, choice: SelectionText) -> Element:
    fields: list[Node] = [*stratum_fields(task, name="stratum", identity="stratum", told="", chosen=choice.strata)]
    periods = period_field(task, now, name="period", identity="period", told="Period", chosen=choice.period)
    fields = [periods, *fields] if periods else fields
    here = f"/tasks/{task.id.hex()}"
    buttons = element("div", element("button", "Show"), element("a", "Compare two", href=f"{here}/compare"), class_="actions")
    return element("form", *fields, buttons, method="get", action=here, class_="choice", aria_label="Periods and strata")


def shuffled(mixed: ShuffledBatches, n: int) -> Element:
    """Return the section about the batches behind an answer from n reports."""
    told = mixed.to_json()
    sizes = ", ".join(f"{size:,}" for size in told["sizes"][:8]) + (" and more" if told["batches"] > 8 else "")
    here, local = both_errors(mixed.task, n)
    return element(
        "section",
        element("h2", "Through the shuffler", id="shuffled"),
        facts(
            (
                "Epsilon with an honest shuffler",
                _live("epsilon", f"{epsilon_text(told['epsilon'])}, delta = {told['delta']:g}"),
            ),
            ("Epsilon without one", epsilon_text(told["local_epsilon"])),
            ("Batches", _live("batches", f"{told['batches']:,}")),
            ("Batch sizes", _live("sizes", sizes)),
            ("Standard error of a share", _live("error", _share(here)) if here is not None else None),
            ("Standard error at this epsilon without a shuffler", _live("local-error", _share(local)) if local is not None else None),
        ),
        element("p", quoted(told["promise"].replace("\n", " ")), class_="statement", data_live="shuffled-promise"),
        aria_labelledby="shuffled",
    )


@lru_cache(maxsize=256)
def both_errors(task: Task, n: int) -> tuple[float | None, float | None]:
    """Return the standard error of a share of 0: with the shuffler, and under local trust at the same epsilon.

    None where it cannot be predicted, as for numbers.
    """
    if task.mixing is None or not isinstance(spec := spec_of(task), FrequencySpec) or n == 0:
        return None, None
    alone = frequency_oracle(domain=spec.domain, epsilon=task.mixing.epsilon, n=n).spec
    return predicted_error(spec, n) / n, predicted_error(alone, n) / n


def _share(error: float) -> str:
    return f"± {percent(error, min(digits(2 * error) + 1, 4))}"


def _live(name: str, text: str) -> Element:
    return element("span", text, data_live=f"shuffled-{name}")
