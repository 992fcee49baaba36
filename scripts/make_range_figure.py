"""Draw ``docs/figures/ranges.svg``: the doctor's visits of a crowd, as a tree and as AHEAD see them, beside the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from deniable.core.chart import stacked
from deniable.lab.ranges import Visits
from deniable.tasks.ranges.asking import private_ranges
from deniable.testing import ReplaySource

FIGURES = Path(__file__).parent.parent / "docs" / "figures"


def main() -> None:
    """The crowd of ``docs/how-to/ranges.md``, with its own words."""
    crowd = Visits()
    visits = crowd.draw(100_000, ReplaySource.from_key("visits"))
    truth = np.bincount(visits, minlength=crowd.domain.size) / visits.size
    found = [
        private_ranges(visits, domain=crowd.domain, epsilon=1.0, rounds=rounds, source=ReplaySource.from_key(key))
        for key, rounds in (("ranges", False), ("rounds", True))
    ]
    stacked([estimate.chart(truth) for estimate in found]).save(FIGURES / "ranges.svg")


if __name__ == "__main__":
    main()
