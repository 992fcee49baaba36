"""The table of all pages, and the frame of each page: title, menu (from the table), content and footer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from starlette.responses import Response

from deniable.collect.dashboard.html import Element, Node, element
from deniable.collect.kit.answers import NAME, page_policy

TITLE = "deniable"
HTML = "text/html; charset=utf-8"
TASK = "/tasks/{id}"
ANSWER = f"{TASK}/answer"
"""The survey page of a task."""
SHORT = "/s/{name}"
"""A short link to share: a task by name."""
LEDGER = "/ledger"
"""The browser's privacy ledger."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page: ``name`` is the method of ``Views`` that answers, ``menu`` its name in the menu."""

    path: str
    name: str
    method: str = "GET"
    menu: str = ""
    data: bool = False
    """True for what programs read: failures are data, too, and unknown parameters are refused."""
    slow: bool = False
    """True for pages that take long to compute and that everyone may open: computed one at a time, apart from all other pages."""


PAGES = (
    Page(path="/", name="tasks", menu="Tasks"),
    Page(path=TASK, name="task"),
    Page(path=f"{TASK}/live", name="task_live", data=True),
    Page(path=f"{TASK}/chart.svg", name="task_chart"),
    Page(path=f"{TASK}/estimate.json", name="estimate_json", data=True),
    Page(path=f"{TASK}/estimate.parquet", name="estimate_parquet", data=True),
    Page(path=f"{TASK}/compare", name="compare"),
    Page(path=f"{TASK}/compare/live", name="compare_live", data=True),
    Page(path=f"{TASK}/compare/chart.svg", name="compare_chart"),
    Page(path=ANSWER, name="answer"),
    Page(path=f"{TASK}/open/{{asset:path}}", name="publication", data=True),
    Page(path=SHORT, name="short"),
    Page(path=LEDGER, name="ledger", menu="My ledger"),
    Page(path="/plan", name="plan", menu="Planner", slow=True),
    Page(path="/plan/live", name="plan_live", data=True, slow=True),
    Page(path="/plan/chart.svg", name="plan_chart", slow=True),
    Page(path="/log", name="log", menu="Public log"),
    Page(path="/sign-in", name="sign_in"),
    Page(path="/sign-in", name="enter", method="POST"),
    Page(path="/sign-out", name="leave", method="POST"),
    Page(path="/assets/{asset}", name="asset"),
    Page(path="/assets/client/{asset:path}", name="client"),
)


class Visit(NamedTuple):
    """A request as a page sees it. ``public``: the visitor has not signed in. ``sees``: they may see estimates.

    ``strict``: a program asks, so unknown parameters are refused.
    """

    path: str
    task: bytes = b""
    name: str = ""
    query: bytes = b""
    asset: str = ""
    tag: str = ""
    cookies: str = ""
    body: bytes = b""
    public: bool = True
    sees: bool = False
    strict: bool = False


class Script(NamedTuple):
    """A page's JavaScript module, the address of its live data, and the lifetime limit that the collector proposes to new ledgers."""

    name: str
    source: str
    lifetime: float | None = None


def page(
    visit: Visit, title: str, *main: Node | None, script: Script | None = None, status: int = 200, asks: Sequence[str] = ()
) -> Response:
    """Return a whole page; its script may ask the addresses in ``asks``. Never cached: signing out must leave nothing behind."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("title", title if title == TITLE else f"{title} – {TITLE}"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("link", rel="stylesheet", href="/assets/style.css"),
        element("link", rel="icon", href="/assets/icon.svg", type="image/svg+xml"),
        element("script", type="module", src=f"/assets/{script.name}") if script else None,
    )
    body = element(
        "body",
        element("a", "Skip to the content", href="#main", class_="skip"),
        _header(visit),
        element(
            "main", *main, id="main", data_live_source=script.source if script else None, data_lifetime=script.lifetime if script else None
        ),
        _footer(asks),
    )
    headers = {NAME.decode(): page_policy(asks), "cache-control": "no-store"}
    return Response(f"<!doctype html>{element('html', head, body, lang='en')}", status, headers, media_type=HTML)


def message(visit: Visit, title: str, text: str, status: int) -> Response:
    """Return an error page."""
    return page(visit, title, element("h1", title), element("p", text), element("p", element("a", "All tasks", href="/")), status=status)


def facts(*pairs: tuple[str, Node | None]) -> Element:
    """Return a list of names with their values; pairs without a value are left out."""
    groups = [element("div", element("dt", name), element("dd", value)) for name, value in pairs if value is not None]
    return element("dl", *groups, class_="facts")


def _header(visit: Visit) -> Element:
    links = [
        element("li", element("a", entry.menu, href=entry.path, aria_current="page" if visit.path == entry.path else None))
        for entry in PAGES
        if entry.menu
    ]
    if visit.public:
        who = element("a", "Sign in", href="/sign-in", aria_current="page" if visit.path == "/sign-in" else None)
    else:
        who = element("form", element("button", "Sign out", class_="quiet"), method="post", action="/sign-out")
    home = element("a", element("span", "d", class_="mark", aria_hidden="true"), TITLE, href="/", class_="home")
    menu = element("nav", element("ul", *links, element("li", who, class_="who")), aria_label="Main")
    return element("header", element("div", home, menu, class_="wide"))


def _footer(asks: Sequence[str]) -> Element:
    servers = "this server" if not asks else f"this server and {', '.join(asks)}"
    promise = "Every device adds noise to its report before sending it."
    return element(
        "footer",
        element("p", f"{promise} This page connects to {servers} only."),
        element("p", element("a", "API", href="/openapi.json")),
    )
