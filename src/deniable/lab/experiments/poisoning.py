"""What liars gain: one person in twenty sends reports that were made up to lift the ten rarest values.

Gains are of frequencies, summed over the ten, so 1 means that values which hardly anybody holds seem to be held by everybody. What is added
for each liar does not depend on the crowd; for GRR it grows with the domain, for the others it does not, and for all it grows as epsilon
falls. Who merely lies and randomizes honestly gains a liar's share and no more.
"""

from __future__ import annotations

from deniable.lab.attacks import Attack
from deniable.lab.experiment import Experiment
from deniable.lab.populations import Zipf

EXPERIMENT = Experiment(
    name="poisoning",
    title="What 5 % liars add to the frequencies of ten rare values",
    populations=[Zipf(exponent=1.5, size=102), Zipf(exponent=1.5, size=1024)],
    mechanisms=[
        Attack("GRR"),
        Attack("OUE"),
        Attack("OLH"),
        Attack("OUE", "lying"),
        Attack("OUE", "hidden", postprocess="norm-sub"),
        Attack("OUE", "hidden", postprocess="norm-mul"),
        Attack("GRR", postprocess="norm-sub"),
    ],
    epsilons=[0.5, 1.0, 2.0, 4.0],
    people=[100_000],
    repetitions=20,
    metrics=["gain"],
)
