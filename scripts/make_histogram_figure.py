"""Write docs/figures/histograms.svg: the chart of docs/tutorials/histograms.md, by running the page's own code."""

from __future__ import annotations

import doctest
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def main() -> None:
    """Run the page, and save the chart that it leaves behind."""
    page = DOCS / "tutorials" / "histograms.md"
    names: dict[str, object] = {}
    for example in doctest.DocTestParser().get_examples(page.read_text()):
        exec(compile(example.source, page.name, "single"), names)  # noqa: S102  # the page is ours
    names["chart"].save(DOCS / "figures" / "histograms.svg")  # type: ignore[attr-defined]  # a Chart


if __name__ == "__main__":
    main()
