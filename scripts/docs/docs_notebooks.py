"""Notebooks as pages of the docs site: their text as it is, their code, and what the cells showed when they were stored."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Node = dict[str, Any]


def notebook_pages(docs: Path) -> Iterator[tuple[str, str]]:
    """The address of a page and its Markdown, for every notebook below docs/."""
    for path in sorted(docs.rglob("*.ipynb")):
        cells = json.loads(path.read_text())["cells"]
        title, *rest = (_shown(cell) for cell in cells)
        note = f'This is a notebook. <a href="../{path.name}" download>Download it</a> to run it.'
        heading, _, first = title.partition("\n")
        yield path.relative_to(docs).with_suffix(".md").as_posix(), "\n\n".join([heading, note, first, *rest])


def _shown(cell: Node) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    return "\n\n".join([_fenced(source, "python"), *filter(None, map(_output, cell["outputs"]))])


def _output(output: Node) -> str:
    """Charts as pictures, of which nothing is fetched or run; everything else as text."""
    if output["output_type"] == "stream":
        return _fenced("".join(output["text"]), "text")
    svg = "".join(output["data"].get("image/svg+xml", ""))
    if svg:
        return f"![chart](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"
    return _fenced("".join(output["data"]["text/plain"]), "text")


def _fenced(text: str, language: str) -> str:
    return f"```{language}\n{text.strip(chr(10))}\n```"
