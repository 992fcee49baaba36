"""A small table with everything that may be missing in it, a session of it, what an answer cost, and a source that is watched."""

from __future__ import annotations

import polars as pl

from deniable.central import Session
from deniable.central.release import Release
from deniable.contract.source import Source
from deniable.testing import ReplaySource

PEOPLE = pl.DataFrame(
    {
        "name": ["Ann", "Ben", "Cleo", "Dan", None],
        "age": [34, 51, 29, None, 62],
        "weight": [61.5, float("nan"), 70.0, 82.25, float("inf")],
        "smokes": [True, False, None, True, False],
        "tags": [["a", "b"], ["b"], [], ["b", "b"], None],
    }
)
SPENT = Release("r", "something", "Laplace", 1.0, "add-remove")


class Watched(Source):
    """Words from a fixed stream; does something first, once."""

    def __init__(self, first=lambda: None):
        self.words_drawn, self._first, self._stream = 0, first, ReplaySource.from_key("watched")

    def word(self):
        if not self.words_drawn:
            self.words_drawn = 1
            self._first()
        self.words_drawn += 1
        return self._stream.word()


def opened(data=PEOPLE, budget=1.0, neighbors="add-remove", **options):
    return Session(data, budget=budget, neighbors=neighbors, **{"source": ReplaySource.from_key("tests"), **options})
