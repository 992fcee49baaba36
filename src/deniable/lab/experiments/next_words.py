"""How well is the next word foretold? The distance between the table from private pairs and the true one, weighted by use.

20 words, and everybody wrote eight words in a row: by a chain that is known, or pieces of real prose, where most words are not among the
20. One pair each, with the whole epsilon, against the naive way: all seven pairs, with a seventh of epsilon each. "Any word, no data"
foretells words as often as people use them: a table that is farther away was worth nobody's report.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.prose import Prose
from deniable.lab.texts import NextWordPrediction, Sentences

EXPERIMENT = Experiment(
    name="next-words",
    title="Table of next words of 20 words: total variation distance from the true one",
    populations=[Sentences(), Prose()],
    mechanisms=[
        NextWordPrediction("one pair each", "one"),
        NextWordPrediction("naive: all pairs, epsilon split", "all"),
        NextWordPrediction("not private", "not private"),
        NextWordPrediction("any word, no data", "guess"),
    ],
    epsilons=[1.0, 4.0],
    people=[1000, 3000, 10_000, 30_000, 100_000],
    repetitions=10,
    metrics=["tv"],
    against="n",
)
