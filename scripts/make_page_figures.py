"""Write the figures of pages that draw them: the ``chart`` of each, by running the page's own code up to the line that makes it."""

from __future__ import annotations

import doctest
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
PAGES = {"tutorials/histograms.md": "histograms.svg", "how-to/places.md": "places.svg", "how-to/words.md": "words.svg"}


def main() -> None:
    """Run each page until there is a chart, and save it."""
    for page, figure in PAGES.items():
        names: dict[str, object] = {}
        for example in doctest.DocTestParser().get_examples((DOCS / page).read_text()):
            exec(compile(example.source, page, "exec"), names)  # noqa: S102  # the page is ours
            if "chart" in names:
                break
        names["chart"].save(DOCS / "figures" / figure)  # type: ignore[attr-defined]  # a Chart


if __name__ == "__main__":
    main()
