"""What a task promised to the people it asked, and what that can be checked against."""

from __future__ import annotations

from itertools import groupby

from deniable.collect.dashboard.html import Element, element, quoted
from deniable.collect.dashboard.layout import Visit, facts
from deniable.collect.dashboard.publications import OpenPublication, publication_list
from deniable.collect.dashboard.shuffle_view import promised, trust_in_words
from deniable.collect.dashboard.verdict_view import verdict_list
from deniable.collect.dashboard.words import epsilon_in_words
from deniable.contract.task import Task
from deniable.contract.verdict import verdicts


def promise(task: Task) -> Element:
    """What whoever answers was told before."""
    at_most = f"{task.answers:,} {'answer' if task.answers == 1 else 'answers'} of a person, at most"
    return element(
        "section",
        element("h2", "What people were promised", id="promise"),
        facts(
            ("Trust model", trust_in_words(task)),
            *promised(task),
            ("Epsilon of one answer", epsilon_in_words(task.epsilon)),
            ("Over a lifetime", at_most),
            ("Shown from", f"{task.minimum_batch:,} reports on"),
            ("Asked by", quoted(task.owner)),
        ),
        verdict_list(verdicts(task)),
        element("div", *paragraphs(task.statement), class_="statement"),
        aria_labelledby="promise",
    )


def proof(task: Task, signature: bytes, visit: Visit, query: str, opened: list[OpenPublication]) -> Element:
    """What this page can be checked against; ``opened`` are the task's open publications."""
    here, programs = f"/tasks/{task.id.hex()}", f"/v1/tasks/{task.id.hex()}"
    links: list[tuple[str, str]] = [("Task and signature as JSON", programs), ("Public log", "/log")]
    if visit.sees:
        links += [("Estimates as JSON", f"{here}/estimate.json{query}"), ("Estimates as Parquet", f"{here}/estimate.parquet{query}")]
    return element(
        "section",
        element("h2", "Check it", id="proof"),
        element("ul", *(element("li", element("a", told, href=address)) for told, address in links), class_="links"),
        facts(
            ("Task", element("code", task.id.hex())),
            ("Signature", element("code", signature.hex())),
            ("Collector's key", element("code", task.key.hex())),
        ),
        element(
            "details",
            element("summary", "The task as it was published; its SHA-256 is the task's name above"),
            element("pre", task.canonical.decode(), tabindex="0"),
        ),
        *publication_list(task, opened),
        aria_labelledby="proof",
    )


def paragraphs(statement: str) -> list[Element]:
    """A statement's lines; those with a dash are a list."""
    found: list[Element] = []
    for dashed, lines in groupby(filter(None, statement.split("\n")), lambda line: line.startswith("- ")):
        if dashed:
            found.append(element("ul", *(element("li", quoted(line.removeprefix("- "))) for line in lines)))
        else:
            found += [element("p", quoted(line)) for line in lines]
    return found
