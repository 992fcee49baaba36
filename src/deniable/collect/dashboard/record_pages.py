"""Two records: the public log of what this collector ever published, as a chain that anyone can check, and a browser's own ledger.

The ledger says what this browser has told, to whom, when and at what cost. It is read from the browser alone; the server knows nothing of
it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from deniable.collect.dashboard.html import Node, element, table
from deniable.collect.dashboard.layout import facts
from deniable.contract.public_log import LogEntry

SHOWN = 200
SHORT = 16
"""So many digits of a hash tell one from the others; all of them are in the JSON."""
WORDS = {"task": "task published", "round": "round opened", "closed": "task closed"}
ABOUT = (
    "What this browser has told the collector at this address, and what it cost. It is kept in this browser and nowhere else, and this "
    "page asks nobody for it. If you clear the site's data, this browser forgets it, and the same budget could be spent again. Another "
    "browser, a private window, and this survey embedded in another website each have a ledger and a limit of their own."
)
NO_SCRIPT = "The ledger is kept by script in this browser; without script nothing was ever told."


def log_body(entries: Sequence[LogEntry], key: bytes, after: int, known: Container[bytes]) -> list[Node]:
    """A part of the log, oldest first; ``entries`` may be one more than is shown. ``known`` are the tasks that have a page."""
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
            "Everything that devices are asked stands here, signed, in one chain: each entry names the hash of the one before it, so that "
            "none can be changed or taken out later. Remember the last hash, or compare it with somebody else's.",
            class_="when",
        ),
        facts(("Collector's key (Ed25519)", element("code", key.hex()))),
        table("Entries, oldest first", ["entry", "what", "task", "hash"], lines, empty="Nothing was published yet."),
        element("ul", *links, element("li", element("a", "All of it as JSON", href="/v1/log")), class_="links"),
    ]


def ledger_body() -> list[Node]:
    """The page, still empty."""
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
