"""The figures of worked examples: drawn from what the page's own code computes, so that a figure shows the numbers of its page."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from figure_frame import Recipe

from deniable.core.chart import Chart, stacked

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.pages import Page

DOCS = Path(__file__).parents[2] / "docs"
Names = dict[str, Any]


def drawn(page: str, last: str, draw: Callable[[Names], Chart]) -> Chart:
    """Run a page until it has given this name, and draw from all its names."""
    with TemporaryDirectory() as folder:
        names = Page(DOCS / page, Path(folder)).run(until=last)
    if last not in names:
        raise KeyError(f"{page} gives no {last}")
    return draw(names)


def marginals(names: Names) -> Chart:
    """The combinations of place and sentiment, with the truth."""
    truth = [count for counts in names["guests"].values() for count in counts]
    made: Chart = names["both"].chart(truth=truth)
    return made


def ranges(names: Names) -> Chart:
    """The same visits as a tree and as AHEAD see them, with the truth."""
    truth = np.bincount(names["visits"], minlength=names["line"].size).cumsum() / names["visits"].size
    return stacked([names[found].chart(truth=truth) for found in ("found", "adaptive")])


def distribution(names: Names) -> Chart:
    """The ages and how they add up, with the truth."""
    spec, ages = names["oracle"], names["ages"]
    nearest = np.floor(ages * (spec.steps / spec.high) + 0.5).astype(int)
    return names["est"].chart(truth=np.cumsum(np.bincount(nearest, minlength=spec.steps + 1) / ages.size))


def chart(names: Names) -> Chart:
    """What the page draws itself."""
    made: Chart = names["chart"]
    return made


FIGURES: dict[str, Recipe] = {
    "histograms": partial(drawn, "tutorials/cs208.md", "chart", chart),
    "places": partial(drawn, "how-to/places.md", "chart", chart),
    "words": partial(drawn, "how-to/words.md", "chart", chart),
    "marginals": partial(drawn, "how-to/marginals.md", "both", marginals),
    "ranges": partial(drawn, "how-to/ranges.md", "adaptive", ranges),
    "distribution": partial(drawn, "how-to/distributions.md", "est", distribution),
}
