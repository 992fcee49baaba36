"""The page where an analyst shows a token."""

from __future__ import annotations

import re

from deniable.collect.dashboard.html import Node, element

_NEXT = re.compile(r"/(tasks/[0-9a-f]{64})?")


def sign_in_body(after: str, trouble: str = "") -> list[Node]:
    """The form; ``trouble`` says why the last try failed."""
    told = "Estimates are for analysts. Paste the token that this collector's operator made for you with "
    return [
        element("h1", "Sign in"),
        element("p", told, element("code", "deniable token add"), "."),
        element("p", trouble, class_="notice trouble", role="alert", id="trouble") if trouble else element("p", hidden=True),
        element(
            "form",
            element("input", type="hidden", name="next", value=after),
            element(
                "div",
                element("label", "Token", for_="token"),
                element(
                    "input",
                    type="password",
                    id="token",
                    name="token",
                    required=True,
                    maxlength=200,
                    autocomplete="current-password",
                    autofocus=True,
                    aria_describedby="trouble" if trouble else None,
                ),
                class_="field",
            ),
            element("div", element("button", "Sign in"), class_="actions"),
            method="post",
            action="/sign-in",
            class_="choice",
        ),
        element("p", "It is kept by nobody: this browser gets a random cookie instead, for twelve hours.", class_="note"),
    ]


def where_to(wanted: str) -> str:
    """Where to go after signing in: a page of this dashboard, whatever was asked for.

    >>> where_to("//example.org"), where_to("/tasks/" + "0" * 64) == "/tasks/" + "0" * 64
    ('/', True)
    """
    return wanted if _NEXT.fullmatch(wanted) else "/"
