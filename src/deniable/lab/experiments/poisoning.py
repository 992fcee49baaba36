"""What false reports gain: one person in twenty lifts the ten rarest values.

Gains are of frequencies, summed over the ten values: 1 means that they seem to be held by everybody. `hidden` reports set as many bits as
an honest one, so that counting bits shows nothing.
"""

from __future__ import annotations

from deniable.lab.attacks import Attack
from deniable.lab.experiment import Experiment
from deniable.lab.populations import Zipf

EXPERIMENT = Experiment(
    name="poisoning",
    title="What 5 % false reports add to the frequencies of ten rare values",
    question="How far do 5 % false reports lift ten rare values?",
    found=(
        "Under GRR the gain grows with the domain: at epsilon 1 ten of 1,024 values that nobody holds seem to be held by thirty times the "
        "crowd, where OUE and OLH do not depend on the domain. People who lie but randomize honestly gain their own share and no more. "
        "Post-processing keeps the sum at 1, and the false reports take most of it; `norm-mul` seems to protect the larger domain only "
        "because noise of 1,024 values takes the rest."
    ),
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
