"""The survey page: what is asked and promised, consent, the answer, a look at the report, and its receipt.

The server writes the texts and the form. ``answer.js`` does everything else in the browser, with the client that ships with the package:
the answer never reaches this process, and neither does a report that was not sent.
"""

from __future__ import annotations

from math import inf

from deniable.collect.admission import LiveTask
from deniable.collect.dashboard.answer_fields import admission_field, answer_fields, asked_domains, stratum_choices
from deniable.collect.dashboard.html import Element, Node, element, quoted
from deniable.collect.dashboard.layout import LEDGER, facts
from deniable.collect.dashboard.promise import paragraphs, verdict_list
from deniable.collect.dashboard.words import state_of, time_in_words
from deniable.collect.tasks.spans import moment_in_words
from deniable.contract.mixing import Mixing
from deniable.contract.readable import epsilon_text
from deniable.contract.task import Task
from deniable.contract.verdict import verdicts

ONCE = (
    "Next, your device draws the noise, once, and shows you the result. It counts against your privacy budget from then on, whether you "
    "send it or not: drawing again until you like the result would give your answer away."
)
DECIDE = (
    "Decide whether to take part, not whether you like this draw: sending only draws you like would give something away. If you don't send "
    "it, it still counts against your privacy budget."
)
NO_SCRIPT = (
    "This page needs JavaScript: your browser adds noise to your answer before anything is sent, and without JavaScript it cannot. "
    "Nothing was sent."
)
STARTING = "One moment: loading the question and checking its signature."
SERVED = (
    "This page comes from the collector itself. If you would rather not trust it, answer with a client of your own: all it needs is the "
    "task's id."
)


def answer_body(live: LiveTask, now: float) -> list[Node | None]:
    """Return the body of the survey page."""
    task, state, domains = live.task, state_of(live, now), asked_domains(live.task)
    here = f"/tasks/{task.id.hex()}"
    closed = _why_not(live, now, askable=domains is not None)
    return [
        element("p", element("a", "Tasks", href="/"), " / ", element("a", quoted(task.name), href=here), " / answer", class_="trail"),
        element("h1", quoted(task.question)),
        element("p", element("span", state, class_=f"state {state.partition(' ')[0]}"), " ", time_in_words(task), class_="when"),
        element("noscript", element("p", NO_SCRIPT, class_="notice trouble")),
        element("p", closed, class_="notice") if closed else None,
        element("p", hidden=True, id="trouble", class_="notice trouble", role="alert"),
        _promise(task),
        element("p", STARTING, id="starting", class_="note starting") if not closed else None,
        *([] if closed or domains is None else _steps(task, answer_fields(task, domains), here)),
        facts(("Task", element("code", task.id.hex()))),
        element("p", SERVED, class_="note"),
    ]


def _why_not(live: LiveTask, now: float, *, askable: bool) -> str | None:
    """Return why nobody can answer now, as the collector sees it; None if the task is open."""
    task = live.task
    if task.epsilon == inf:
        return "This task tests a collector and hides nothing. Nobody may answer it with real data."
    if not askable:
        return "This task asks for sets, records or places. This page cannot ask for those: please answer in the task's own app."
    state = state_of(live, now)
    if state == "closed":
        return "This task is closed. It takes no more answers."
    return f"This task has not started yet. It opens on {moment_in_words(task.start)}." if state != "open" else None


def _promise(task: Task) -> Element:
    return element(
        "section",
        element("h2", "How this survey protects you", id="promise"),
        element("p", _in_short(task), class_="short") if task.epsilon != inf else None,
        element("p", _shuffled(task.mixing), class_="short", id="shuffled") if task.mixing else None,
        verdict_list(verdicts(task)),
        element("details", element("summary", "Full privacy statement"), *paragraphs(task.statement), class_="statement", open=True),
        aria_labelledby="promise",
    )


def _in_short(task: Task) -> str:
    """Return what happens to an answer and what it costs; the verdicts below it show how strong that is."""
    once = "Your answer" if task.answers == 1 else f"Each of at most {task.answers:,} answers"
    return (
        "Your browser adds noise to your answer before it is sent, so the report alone does not prove what you answered. "
        f"{once} costs epsilon = {epsilon_text(task.epsilon)} of your privacy budget, which this browser keeps. The smaller epsilon is, "
        "the less an answer can reveal."
    )


def _shuffled(mixing: Mixing) -> str:
    """Return who passes the report on, and how much one batch can reveal."""
    several = len(mixing.shufflers) > 1
    who = "shufflers, which cannot read it and pass" if several else "a shuffler, which cannot read it and passes"
    honest = "one of the shufflers is" if several else "the shuffler is"
    return (
        f"Your report is encrypted and goes through {who} it on in a batch of at least {mixing.minimum:,}. As long as {honest} honest and "
        "does not work with the collector, nobody knows which report is yours, and one batch reveals at most epsilon = "
        f"{epsilon_text(mixing.epsilon)} about you (delta = {mixing.delta:g}). If they work together, only your own noise protects you."
    )


def _steps(task: Task, fields: list[Element], here: str) -> list[Node]:
    several = (
        element("p", "Please fill in all of these. Your device picks one at random and answers only that one.", class_="note")
        if len(fields) > 1
        else None
    )
    answer = element(
        "form",
        *fields,
        several,
        *stratum_choices(task),
        admission_field(task),
        element("p", ONCE, class_="note"),
        element("div", element("button", "Continue", id="draw"), class_="actions"),
        class_="survey",
        id="answer-form",
        autocomplete="off",
    )
    agreeing = element("div", element("button", "I agree", type="button", id="agree"), class_="actions")
    deciding = element(
        "div",
        element("button", "Send", type="button", id="send"),
        element("button", "Don't send", type="button", id="drop", class_="plain"),
        class_="actions",
    )
    links = [element("a", "See the results", href=here), element("a", "My ledger", href=LEDGER)]
    return [
        _step("consent", "Do you agree?", element("p", _agreed(task)), agreeing),
        _step("answer", "Your answer", answer),
        _step("review", "Before it is sent", element("div", id="report"), element("p", DECIDE, class_="note"), deciding),
        _step("done", "Done", element("div", id="receipt"), element("ul", *(element("li", link) for link in links), class_="links")),
    ]


def _agreed(task: Task) -> str:
    often = "one answer" if task.answers == 1 else f"at most {task.answers:,} answers"
    return f"You agree to give {often} to this task, with noise added. You can withdraw at any time, but not take back what was sent."


def _step(name: str, title: str, *inside: Node) -> Element:
    head = element("h2", title, id=f"{name}-title", tabindex="-1")
    return element("section", head, *inside, id=name, hidden=True, aria_labelledby=f"{name}-title", class_="step")
