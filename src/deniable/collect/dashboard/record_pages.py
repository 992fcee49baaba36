"""The pages of two records: the public log, a chain that anyone can check, and the browser's own privacy ledger.

The ledger is read from the browser alone; the server knows nothing of it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from deniable.collect.dashboard.html import Node, element, table
from deniable.collect.dashboard.layout import facts
from deniable.contract.public_log import LogEntry

SHOWN = 200
SHORT = 16
"""Digits of a hash that are shown; the JSON has all of them."""
WORDS = {"task": "task published", "round": "round opened", "closed": "task closed"}
ABOUT = (
    "What you have answered here with this browser, and how much of your privacy budget it cost. The ledger is stored in this browser "
    "and nowhere else. If you clear the site's data, your browser forgets it, and the same budget could be spent again. Another "
    "browser, a private window, and this survey embedded in another website each have a ledger and a limit of their own."
)
NO_SCRIPT = "Your ledger needs JavaScript. Without it, this browser has never sent an answer."


def log_body(entries: Sequence[LogEntry], key: bytes, after: int, known: Container[bytes]) -> list[Node]:
    """Return a part of the log, oldest first; ``entries`` may have one more than is shown, ``known`` are the tasks that have a page."""
    lines = [_line(entry, known) for entry in entries[:SHOWN]]
    links = []
    if after >= 0:
        links.append(element("li", element("a", "From the beginning", href="/log")))
    if len(entries) > SHOWN:
        links.append(element("li", element("a", "Later entries", href=f"/log?after={after + SHOWN}")))
    return [
        element("h1", "Public log"),
        element(
            "p",
            "Everything that this collector asks devices, signed and chained: each entry contains the hash of the one before it, so nobody "
            "can change or remove an entry later. Keep the last hash, or compare it with somebody else's.",
            class_="when",
        ),
        facts(("Collector's key (Ed25519)", element("code", key.hex()))),
        table("Entries, oldest first", ["entry", "what", "task", "hash"], lines, empty="Nothing has been published yet."),
        element("ul", *links, element("li", element("a", "The whole log as JSON", href="/v1/log")), class_="links"),
    ]


def ledger_body() -> list[Node]:
    """Return the ledger page, still empty: the browser fills it in."""
    return [
        element("h1", "My ledger"),
        element("p", ABOUT, class_="when"),
        element("noscript", element("p", NO_SCRIPT, class_="notice")),
        element("p", hidden=True, id="trouble", class_="notice trouble", role="alert"),
        element("div", id="ledger", aria_live="polite"),
    ]


def _line(entry: LogEntry, known: Container[bytes]) -> list[Node]:
    content = entry.content
    what = WORDS[content.kind] + ("" if content.period is None else f" {content.period}")
    task = element("code", f"{content.task.hex()[:SHORT]}…")
    link = element("a", task, href=f"/tasks/{content.task.hex()}") if content.task in known else task
    return [str(content.sequence), what, link, element("code", f"{entry.hash.hex()[:SHORT]}…")]
