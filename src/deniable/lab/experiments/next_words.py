"""The distance between the table from private word pairs and the true one, each row weighted as its word is used.

20 words, and everybody wrote eight words in a row: by a chain that is known, or pieces of real prose, where most words are not among the
20. One pair each, with the whole epsilon, against the naive way: all seven pairs, with a seventh of epsilon each.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.prose import Prose
from deniable.lab.texts import NextWordPrediction, Sentences

EXPERIMENT = Experiment(
    name="next-words",
    title="Table of next words of 20 words: total variation distance from the true one",
    question="How well do private word pairs predict the next word?",
    found=(
        "One pair from each person gives a table 0.25 away from the true one with 10,000 people at epsilon 4 and 0.11 with 100,000; a "
        "table that ignores the word before, which needs no data, is 0.51 away. At epsilon 1 it takes 100,000 people for 0.40, and all "
        "pairs with a share of epsilon need about twenty times the people at epsilon 4. Real prose is harder: 0.34 with 10,000 people at "
        "epsilon 4, and no use at epsilon 1 even with 100,000."
    ),
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
