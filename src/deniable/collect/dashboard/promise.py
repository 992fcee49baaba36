"""What a task promises to respondents, how strong that is, and how to verify it.

The strength is shown in words first, and in a matching color.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from deniable.collect.dashboard.html import Element, element, quoted
from deniable.collect.dashboard.layout import Visit, facts
from deniable.collect.dashboard.publications import OpenPublication, publication_list
from deniable.contract.readable import epsilon_text
from deniable.contract.task import Task
from deniable.contract.verdict import Verdict, verdicts

LOCAL = "Local: each device adds the noise itself, so nobody else has to be trusted with an answer."
SHUFFLE = (
    "Shuffle: each device adds some noise itself, and a shuffler hides who sent what. The collector's operator must not run the shuffler. "
    "Without an honest shuffler, only the device's own noise protects an answer."
)


def promise(task: Task) -> Element:
    """Return the promise that respondents read before they answered."""
    at_most = f"at most {task.answers:,} {'answer' if task.answers == 1 else 'answers'} per person"
    return element(
        "section",
        element("h2", "Promise to respondents", id="promise"),
        facts(
            ("Trust model", trust_in_words(task)),
            *promised(task),
            ("Epsilon per answer", epsilon_text(task.epsilon)),
            ("Over a lifetime", at_most),
            ("Minimum batch", f"{task.minimum_batch:,} reports"),
            ("Asked by", quoted(task.owner)),
        ),
        verdict_list(verdicts(task)),
        element("div", *paragraphs(task.statement), class_="statement"),
        aria_labelledby="promise",
    )


def proof(task: Task, signature: bytes, visit: Visit, query: str, opened: list[OpenPublication]) -> Element:
    """Return what this page can be checked against; ``opened`` are the task's open publications."""
    here, programs = f"/tasks/{task.id.hex()}", f"/v1/tasks/{task.id.hex()}"
    links: list[tuple[str, str]] = [("Task and signature as JSON", programs), ("Public log", "/log")]
    if visit.sees:
        links += [("Estimates as JSON", f"{here}/estimate.json{query}"), ("Estimates as Parquet", f"{here}/estimate.parquet{query}")]
    return element(
        "section",
        element("h2", "Verify", id="proof"),
        element("ul", *(element("li", element("a", told, href=address)) for told, address in links), class_="links"),
        facts(
            ("Task", element("code", task.id.hex())),
            ("Signature", element("code", signature.hex())),
            ("Collector's key", element("code", task.key.hex())),
        ),
        element(
            "details",
            element("summary", "The task as published; its SHA-256 is the task id above"),
            element("pre", task.canonical.decode(), tabindex="0"),
        ),
        *publication_list(task, opened),
        aria_labelledby="proof",
    )


def paragraphs(statement: str) -> list[Element]:
    """Return a statement as paragraphs and lists (lines with a dash)."""
    found: list[Element] = []
    for dashed, lines in groupby(filter(None, statement.split("\n")), lambda line: line.startswith("- ")):
        if dashed:
            found.append(element("ul", *(element("li", quoted(line.removeprefix("- "))) for line in lines)))
        else:
            found += [element("p", quoted(line)) for line in lines]
    return found


def trust_in_words(task: Task) -> str:
    """Return the trust model of a task in a sentence."""
    return LOCAL if task.mixing is None else SHUFFLE


def promised(task: Task) -> list[tuple[str, Element | str]]:
    """Return what a shuffled task promises about its batches."""
    if task.mixing is None:
        return []
    claim = f"{epsilon_text(task.mixing.epsilon)}, except with probability {task.mixing.delta:g}"
    addresses = ", then ".join(relay.url for relay in task.mixing.shufflers)
    return [
        ("Epsilon per shuffled batch", f"{claim}, if a shuffler is honest"),
        ("Smallest batch", f"{task.mixing.minimum:,} reports, of which {task.mixing.people(task.mixing.minimum):,} are assumed honest"),
        ("Shuffler", quoted(addresses)),
    ]


def verdict_list(verdicts: Iterable[Verdict]) -> Element:
    """Return the verdicts as a list, one line for each condition."""
    return element("ul", *(_line(verdict) for verdict in verdicts), class_="verdicts")


def verdict_class(verdict: Verdict) -> str:
    """Return the CSS class that colors a verdict."""
    return f"verdict {verdict.level.replace(' ', '-')}"


def _line(verdict: Verdict) -> Element:
    title = f"{verdict.title[0].upper()}{verdict.title[1:]}"
    when = element("span", f"{verdict.when}: ", class_="condition") if verdict.when else None
    told = " ".join(filter(None, (verdict.guess, verdict.beyond)))
    return element("li", when, element("strong", title), element("span", told), class_=verdict_class(verdict))
