"""HTML as a tree of elements: every text is escaped when the tree is written, so no page can forget to.

Strangers write the names, questions and labels of tasks. Template engines escape too, until somebody marks a text as safe or forgets the
quotes of an attribute. Here, markup comes only from ``element``, which also refuses inline styles, inline scripts and addresses of other
origins. And a tree can be read: the live data come from the same tree as the page (``live_parts``), so both show the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from deniable.errors import ParameterError

VOID = frozenset({"br", "img", "input", "link", "meta", "source"})
ADDRESSES = frozenset({"href", "src", "action", "srcset"})
_NAME = re.compile(r"[a-z][a-z0-9-]*")
_HERE = re.compile(r"(#|\?|/(?![/\\]))[^\s\\]*")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that HTML cannot contain, and those that change the direction of text."""


@dataclass(frozen=True)
class Element:
    """A tag with its attributes and what is inside."""

    tag: str
    attributes: tuple[tuple[str, str], ...]
    children: tuple[Node, ...]

    def __str__(self) -> str:
        opened = "".join(f' {name}="{_text(value)}"' if value else f" {name}" for name, value in self.attributes)
        if self.tag in VOID:
            return f"<{self.tag}{opened}>"
        inside = "".join(str(child) if isinstance(child, Element) else _text(child) for child in self.children)
        return f"<{self.tag}{opened}>{inside}</{self.tag}>"

    def get(self, name: str) -> str | None:
        """Return an attribute."""
        return dict(self.attributes).get(name)


Node = Element | str


def element(tag: str, *children: Node | None, **attributes: Any) -> Element:
    """Return an element. ``class_`` sets class, ``data_live`` data-live; None and False omit an attribute, True writes it without a value.

    >>> print(element("p", element("b", "5 < 6"), " & more", class_="note", hidden=False))
    <p class="note"><b>5 &lt; 6</b> &amp; more</p>
    >>> print(element("a", "elsewhere", href="//example.org"))
    Traceback (most recent call last):
    deniable.errors.ParameterError: href: got '//example.org'; allowed: an address on this origin; ...
    """
    named = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items() if value is not None and value is not False}
    for name, value in named.items():
        if not _NAME.fullmatch(name) or name == "style" or name.startswith("on"):
            raise ParameterError("attribute", name, allowed="no inline style or script", fix="move it to a file in assets")
        if name in ADDRESSES and not _HERE.fullmatch(str(value)):
            raise ParameterError(name, value, allowed="an address on this origin", fix="serve it from this collector")
    inside = tuple(child for child in children if child is not None)
    if not _NAME.fullmatch(tag) or tag == "style" or (tag == "script" and inside):
        raise ParameterError("tag", tag, allowed="no inline style or script", fix="move it to a file in assets")
    return Element(tag, tuple((name, "" if value is True else str(value)) for name, value in named.items()), inside)


def quoted(text: object) -> Element:
    """Return a text from somebody else, isolated so that it cannot change the direction of the text around it."""
    return element("bdi", str(text))


def table(caption: Node, heads: list[str], rows: Sequence[Sequence[Node]], *, live: str | None = None, empty: str = "") -> Element:
    """Return a table whose first column names its rows; it scrolls on narrow screens."""
    body = [element("tr", element("th", element("bdi", row[0]), scope="row"), *(element("td", cell) for cell in row[1:])) for row in rows]
    if not rows and empty:
        body = [element("tr", element("td", empty, colspan=len(heads)))]
    head = element("thead", element("tr", *(element("th", name, scope="col") for name in heads)))
    inside = element("table", element("caption", element("span", caption)), head, element("tbody", *body, data_live_rows=live))
    return element("div", inside, class_="scroll", tabindex="0", role="region", aria_label=text_of(caption))


def text_of(node: Node) -> str:
    """Return the text of a tree, without markup."""
    return "".join(map(text_of, node.children)) if isinstance(node, Element) else node


def live_parts(tree: Element) -> dict[str, Any]:
    """Return the live data of a page: texts by their ``data-live``, rows of tables by their ``data-live-rows``."""
    texts: dict[str, str] = {}
    rows: dict[str, list[list[str]]] = {}
    for found in _walk(tree):
        if key := found.get("data-live"):
            texts[key] = _clean(text_of(found))
        if key := found.get("data-live-rows"):
            lines = [line for line in found.children if isinstance(line, Element)]
            rows[key] = [[_clean(text_of(cell)) for cell in line.children] for line in lines]
    return {"texts": texts, "rows": rows}


def _walk(tree: Element) -> Iterator[Element]:
    yield tree
    for child in tree.children:
        if isinstance(child, Element):
            yield from _walk(child)


def _clean(text: str) -> str:
    return _CONTROL.sub("\ufffd", text)


def _text(text: str) -> str:
    return escape(_clean(text))
