"""From how many people on do private word pairs show topics? Pairs of words that are put into one topic, against those that belong there.

24 words in four topics. Everybody wrote six words, four in five of one topic. One pair each, with the whole epsilon, against the naive way:
all fifteen pairs, with a fifteenth of epsilon each. Putting all words into one topic, without asking anyone, scores 0.36: less than that
was worth nobody's report.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.texts import Grouped, Talk

EXPERIMENT = Experiment(
    name="word-topics",
    title="Four topics of six words from private pairs: F1 of words put together",
    populations=[Talk()],
    mechanisms=[
        Grouped("one pair each", "one"),
        Grouped("naive: all pairs, epsilon split", "all"),
        Grouped("not private", "not private"),
        Grouped("all in one topic, no data", "one topic"),
    ],
    epsilons=[1.0, 2.0, 4.0],
    people=[1000, 3000, 10_000, 30_000, 100_000],
    repetitions=10,
    metrics=["f1"],
    against="n",
)
