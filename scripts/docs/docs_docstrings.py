"""Docstrings for the docs site: doctests become code blocks, and what follows a double colon becomes a literal one."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

EXAMPLE = re.compile(r"(?:^[ \t]*>>> .*\n?(?:^(?![ \t]*\n).*\n?)*(?:\n(?=[ \t]*>>> ))?)+", re.MULTILINE)
RULE = re.compile(r"^=+(?: +=+)+$", re.MULTILINE)


class Readable(Extension):
    """Rewrites every docstring before it is rendered."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """One object's docstring."""
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    r"""A docstring as Markdown.

    >>> print(as_markdown("Adds.\n\n>>> 1 + 1\n2\n\nLayout::\n\n    0  1"))
    Adds.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    <BLANKLINE>
    Layout:
    <BLANKLINE>
        0  1
    """
    text = EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text + "\n").rstrip()
    return re.sub(r"::$", ":", text, flags=re.MULTILINE)
