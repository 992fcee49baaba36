"""Write docs/figures/words.svg: the new words of docs/how-to/words.md, by running the page's own code."""

from __future__ import annotations

import doctest
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def main() -> None:
    """Run the page up to the line that makes the chart, and save it."""
    page = (DOCS / "how-to" / "words.md").read_text()
    names: dict[str, object] = {}
    for example in doctest.DocTestParser().get_examples(page):
        exec(example.source, names)  # noqa: S102  # our own page
        if "chart" in names:
            break
    names["chart"].save(DOCS / "figures" / "words.svg")  # type: ignore[attr-defined]  # a Chart


if __name__ == "__main__":
    main()
