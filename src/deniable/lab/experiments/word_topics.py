"""Pairs of words put into one topic, against those that belong there: 24 words, four topics, six words from everybody.

One pair each, with the whole epsilon, against the naive way: all fifteen pairs, with a fifteenth of epsilon each.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.texts import Grouped, Talk

EXPERIMENT = Experiment(
    name="word-topics",
    title="Four topics of six words from private pairs: F1 of words put together",
    question="From how many people on do private word pairs show topics?",
    found=(
        "One pair from each person finds all four topics from 10,000 people on at epsilon 4 and with 100,000 at epsilon 2; at epsilon 1, "
        "100,000 score 0.54 (and 300,000, beyond the picture, find them all). Putting all words into one topic scores 0.36. With 3,000 "
        "people at epsilon 2, or 30,000 at epsilon 1, the topics are noise."
    ),
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
