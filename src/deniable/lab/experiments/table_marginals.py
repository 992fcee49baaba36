"""All pairs of four columns of a survey of 6,366 married women, by the mean total variation from the truth.

Everyone reports once. The naive way asks everybody about all six pairs, with a sixth of epsilon each.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.tables import Marriages, Pairs

EXPERIMENT = Experiment(
    name="table-marginals",
    title="All pairs of four columns (marriage, affair, religious, age): the mean total variation from the truth",
    question="How many people does it take to see how the columns of a table go together?",
    found=(
        "At epsilon 1 asking everybody about all six pairs takes eight or nine times the people that `split` takes. `views` of three "
        "columns catch up at epsilon 4; `fourier` is close at 1/2 and falls behind at a large epsilon. Below about 22,000 people at "
        "epsilon 1/2, 5,000 at 1 and 1,000 at 2 you do better by assuming that all combinations are equally likely (the flat line), "
        "without any report."
    ),
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
