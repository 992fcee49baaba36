"""The frame of every page: title, menu, what there is to see, and who is looking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from starlette.responses import Response

from deniable.collect.dashboard.html import Element, Node, element
from deniable.collect.dashboard.pages import PAGES
from deniable.collect.kit.answers import NAME, page_policy

TITLE = "deniable"
HTML = "text/html; charset=utf-8"


class Visit(NamedTuple):
    """A request as a page sees it. ``public``: whoever looks has not signed in. ``sees``: they may see estimates.

    ``strict``: a program asks, which should learn of a parameter that is unknown.
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
    """The module of a page, where it finds what changes, and the lifetime limit that the collector proposes to new ledgers."""

    name: str
    source: str
    lifetime: float | None = None


def page(
    visit: Visit, title: str, *main: Node | None, script: Script | None = None, status: int = 200, asks: Sequence[str] = ()
) -> Response:
    """A whole page as an answer; its script may ask these addresses. Nothing keeps a copy: whoever signs out must leave nothing behind."""
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
    """A page that says why there is none."""
    return page(visit, title, element("h1", title), element("p", text), element("p", element("a", "All tasks", href="/")), status=status)


def facts(*pairs: tuple[str, Node | None]) -> Element:
    """Names and what they stand for; a pair without a value is left out."""
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
    others = "other server for anything" if not asks else f"server but this one and {', '.join(asks)} for anything"
    promise = "Every report was randomized on the device that sent it, before it was sent."
    return element(
        "footer",
        element("p", f"{promise} This page asks no {others}."),
        element("p", element("a", "The interface for programs", href="/openapi.json")),
    )
