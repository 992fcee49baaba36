"""Write docs/figures/marginals.svg: the worked example of docs/how-to/marginals.md, estimates beside the truth.

The stream is fixed, so that the same figure comes out again.
"""

from __future__ import annotations

from pathlib import Path

from deniable.tasks.marginals import marginals
from deniable.tasks.marginals.chart import marginal_chart
from deniable.testing import ReplaySource

FOLDER = Path(__file__).parent.parent / "docs" / "figures"
MOODS = ("good", "mixed", "bad")
GUESTS = {"harbor": (6000, 1000, 1000), "castle": (5200, 2000, 4800), "market": (4000, 5000, 1000), "station": (1200, 1800, 7000)}


def main() -> None:
    """Ask and draw."""
    people = [(place, mood) for place, counts in GUESTS.items() for mood, count in zip(MOODS, counts, strict=True) for _ in range(count)]
    reviews = {"place": [place for place, _ in people], "sentiment": [mood for _, mood in people]}
    columns = {"place": list(GUESTS), "sentiment": list(MOODS)}
    found = marginals(reviews, columns=columns, epsilon=1.0, source=ReplaySource.from_key("reviews"))
    truth = [count / len(people) for counts in GUESTS.values() for count in counts]
    marginal_chart(found["place", "sentiment"], truth=truth).save(FOLDER / "marginals.svg")


if __name__ == "__main__":
    main()
