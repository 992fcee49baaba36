"""What a task file would publish: mechanism and reasons, privacy, report size, predicted error."""

from __future__ import annotations

from datetime import timedelta
from math import isfinite
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from deniable.cli.console import LEVELS, out, tell
from deniable.client.frequency import FrequencySpec
from deniable.collect.tasks.spans import moment_in_words, span_in_words
from deniable.contract.admission import SIZES
from deniable.contract.encoder import Attribute, Identity
from deniable.contract.envelope import HEADER
from deniable.contract.question import Question
from deniable.contract.readable import percent
from deniable.contract.task import Task
from deniable.contract.verdict import verdicts

if TYPE_CHECKING:
    from deniable.collect.tasks.task_file import TaskFile

FEW = 8
"""The most questions to show; a search may ask hundreds at once."""


def described(file: TaskFile) -> dict[str, Any]:
    """Return what the file would publish, as data."""
    task, promise = file.task, file.asking.protocol.guarantee
    return {
        "name": task.name,
        "question": task.question,
        "owner": task.owner,
        "start": task.start,
        "end": task.end,
        "time": f"{moment_in_words(task.start)} to {moment_in_words(task.end)}, {_periods(task)}",
        "protocol": file.asking.protocol.kind,
        "guarantee": {"unit": promise.unit, "neighbors": promise.neighbors},
        "epsilon": task.epsilon,
        "answers": task.answers,
        "admission": task.admission,
        "lifetime_epsilon": verdicts(task)[-1].epsilon,  # if nobody is honest and the answer changes
        "verdicts": [verdict.to_json() for verdict in verdicts(task)],
        "trust": task.model,
        **({} if task.mixing is None else {"shuffle": task.mixing.to_json() | _priced(task)}),
        "people": file.people,
        "minimum_batch": task.minimum_batch,
        "strata": {name: list(labels) for name, labels in task.strata},
        "why": list(file.asking.reasons),
        "questions": [_question(question, file) for question in file.asking.protocol.open().questions],
        "statement": task.statement,
    }


def print_described(content: dict[str, Any]) -> None:
    """Print what the file would publish, for people."""
    tell(f"{content['name']}: {content['question']}", style="bold")
    table = Table.grid(padding=(0, 2))
    table.add_row("owner", content["owner"])
    table.add_row("time", content["time"])
    for why in content["why"]:
        table.add_row("mechanism", why)
    lifetime = f"{content['epsilon']:g} for an answer, {content['lifetime_epsilon']:g} over a lifetime (at most {content['answers']})"
    table.add_row("epsilon", lifetime)
    for verdict in content["verdicts"]:
        table.add_row("strength", Text(verdict["text"], style=LEVELS[verdict["level"]]))
    table.add_row("promise", f"about {content['guarantee']['neighbors']}; it holds for {content['guarantee']['unit']}")
    if "shuffle" in content:
        mixed = content["shuffle"]
        table.add_row(
            "shuffled",
            f"{mixed['price']:.4g} for a batch of {mixed['minimum']:,}, of {mixed['epsilon']} claimed (delta = {mixed['delta']})",
        )
        table.add_row("through", ", then ".join(relay["url"] for relay in mixed["shufflers"]))
    if content["admission"] != "open":
        table.add_row("admission", f"people with a {content['admission']}: see deniable enrol")
    for name, labels in content["strata"].items():
        table.add_row("in the clear", f"{name}: {', '.join(labels)}")
    for question in content["questions"][:FEW]:
        size = f"{question['mechanism']}, {question['report_bytes']} bytes sent by {question['people']:,} people"
        table.add_row(question["name"], f"{size}; {_error(question)}")
    if len(content["questions"]) > FEW:
        table.add_row("", f"and {len(content['questions']) - FEW} more questions in this round")
    out.print(table)
    tell("\nWhat people will read", style="bold")
    tell(content["statement"])


def _priced(task: Task) -> dict[str, float]:
    """Return the epsilon of the smallest batch."""
    from deniable.collect.tasks.batch_price import price

    return {} if task.mixing is None else {"price": price(task, task.mixing.minimum).epsilon}


def _question(question: Question, file: TaskFile) -> dict[str, Any]:
    from deniable.local.mean_choice import worst_error
    from deniable.local.oracle_choice import predicted_error
    from deniable.tasks.plan import detectable

    spec = question.spec
    asked = max(int(file.people * question.share), 1)
    content: dict[str, Any] = {
        "name": question.name,
        "answers": spec.domain.describe(),
        "mechanism": spec.mechanism,
        "people": asked,
        "report_bytes": HEADER.size + SIZES[file.task.admission] + sum(column.row_bytes for column in spec.layout),
    }
    if isinstance(spec, FrequencySpec):
        found = {"error": predicted_error(spec, asked), "detectable": detectable(spec, asked)}
        content |= {name: number for name, number in found.items() if isfinite(number)}  # JSON has no infinity
    mean: Any = spec.mean_spec if isinstance(question.encoder, Identity | Attribute) else None  # others send what no person typed
    if mean is not None:
        content["mean_error"] = worst_error(mean, asked)  # in the numbers of the domain; seconds for points in time
        content["error_in_words"] = number_in_words(mean.domain.shown_distance(content["mean_error"]))
    return content


def _error(question: dict[str, Any]) -> str:
    if "mean_error" in question:
        return f"± {question['error_in_words']} (standard error of the mean, at worst); answers: {question['answers']}"
    if "error" not in question:
        return "no predicted error"
    share = question["error"] / question["people"]
    seen = question.get("detectable", 1)
    smallest = f"shares above {percent(seen)} are detectable" if seen < 1 else "too few people: no share is detectable"
    return f"± {question['error']:,.3g} people, {percent(share)} (standard error of a count); {smallest}"


def number_in_words(value: Any) -> str:
    """Return an error in the units of the answers: a number, or a span of time."""
    return str(timedelta(seconds=round(value.total_seconds()))) if isinstance(value, timedelta) else f"{value:,.3g}"


def _periods(task: Task) -> str:
    if task.rounds:
        return f"rounds of {span_in_words(task.period)}" if task.period else "rounds that you close by hand"
    count = task.period_count
    return "one period" if count == 1 else f"{count:,} periods of {span_in_words(task.period)}"
