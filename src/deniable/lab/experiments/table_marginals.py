"""How the columns of a table go together: all pairs of four columns of a real survey, against the number of people.

Everyone reports once. The naive way asks everybody about all six pairs, with a sixth of epsilon each. "Nobody asked" takes all cells to be
alike, and costs nothing: where a method is above it, local privacy is not usable.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.tables import Marriages, Pairs

EXPERIMENT = Experiment(
    name="table-marginals",
    title="All pairs of four columns (marriage, affair, religious, age): the mean total variation from the truth",
    populations=[Marriages()],
    mechanisms=[
        Pairs("split", "split: a pair each"),
        Pairs("fourier", "fourier: a coefficient each"),
        Pairs("views", "views: three columns each"),
        Pairs("direct", "direct: all columns each"),
        Pairs("everything", "naive: all pairs, epsilon / 6 each"),
        Pairs("guess", "nobody asked: all cells alike"),
    ],
    epsilons=[0.5, 1.0, 2.0, 4.0],
    people=[1000, 3000, 10_000, 30_000, 100_000, 300_000],
    repetitions=20,
    metrics=["tv"],
    against="n",
)
