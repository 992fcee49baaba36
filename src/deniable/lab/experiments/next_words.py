"""How well is the next word foretold? The distance between the table from private pairs and the true one, weighted by use.

20 words, and everybody wrote eight of them in a row. One pair each, with the whole epsilon, against the naive way: all seven pairs, with a
seventh of epsilon each. "Any word, no data" foretells words as often as people use them: a table that is farther away was worth nobody's
report.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.writing import Foretold, Sentences

EXPERIMENT = Experiment(
    name="next-words",
    title="Table of next words of 20 words: total variation distance from the true one",
    populations=[Sentences()],
    mechanisms=[
        Foretold("one pair each", "one"),
        Foretold("naive: all pairs, epsilon split", "all"),
        Foretold("not private", "not private"),
        Foretold("any word, no data", "guess"),
    ],
    epsilons=[1.0, 4.0],
    people=[1000, 3000, 10_000, 30_000, 100_000],
    repetitions=10,
    metrics=["tv"],
    against="n",
)
