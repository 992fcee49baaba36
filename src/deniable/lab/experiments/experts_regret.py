"""What privacy costs someone who learns from experts: regret per day and its bound, on random losses and on two made to hurt.

On a needle the bounds are nearly reached: a private learner is slow, and loses nearly every day until it knows. On the comb there is
nothing to learn, so all lose the same. The slides' rate is a quarter of the accountant's. The tree pays a fixed price for noisy sums: much
for few days, and the least for many.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.experts import Learner, LossSequence

EXPERIMENT = Experiment(
    name="experts-regret",
    title="Regret per day of learning from 10 experts, delta = 1e-6, one day protected; n: days; lines: bounds",
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
