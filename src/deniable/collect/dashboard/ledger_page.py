"""My ledger: what this browser has told, to whom, when and at what cost, read from the browser alone; the server knows nothing of it."""

from __future__ import annotations

from deniable.collect.dashboard.html import Node, element

ABOUT = (
    "What this browser has told the collector at this address, and what it cost. It is kept in this browser and nowhere else, and this "
    "page asks nobody for it. If you clear the site's data, this browser forgets it, and the same budget could be spent again. Another "
    "browser, a private window, and this survey embedded in another website each have a ledger and a limit of their own."
)
NO_SCRIPT = "The ledger is kept by script in this browser; without script nothing was ever told."


def ledger_body() -> list[Node]:
    """The page, still empty."""
    return [
        element("h1", "My ledger"),
        element("p", ABOUT, class_="when"),
        element("noscript", element("p", NO_SCRIPT, class_="notice")),
        element("p", hidden=True, id="trouble", class_="notice trouble", role="alert"),
        element("div", id="ledger", aria_live="polite"),
    ]
