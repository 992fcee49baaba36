"""Regret per day of private learners and its bound, on random losses and on two sequences made to hurt."""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.experts import Learner, LossSequence

EXPERIMENT = Experiment(
    name="experts-regret",
    title="Regret per day of learning from 10 experts, delta = 1e-6, one day protected; n: days; lines: bounds",
    question="What does privacy cost if you learn from experts day by day?",
    found=(
        "When one expert is always right (the needle), weighted majority loses 0.103 a day over 10,000 days with the rate that the "
        "accountant allows, and 0.468 with a rate 4.6 times smaller that is often taught. Noisy sums in a tree lose least over 10,000 "
        "days and do not help over 100. On the comb there is nothing to learn, and all learners lose about the same."
    ),
    populations=[LossSequence("random"), LossSequence("needle"), LossSequence("comb")],
    mechanisms=[
        Learner("no privacy", "no privacy"),
        Learner("weighted majority", "accountant's rate"),
        Learner("slides", "slides' rate"),
        Learner("tree", "tree of noisy sums"),
    ],
    epsilons=[1.0],
    people=[100, 1000, 10_000],
    repetitions=10,
    metrics=["regret"],
    against="n",
)
