"""How well an observer sees that a value changed, by the number of reports before and after.

Half of the devices change. A change between values whose permanent answers happen to be equal cannot be seen.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.observers import Observer
from deniable.lab.populations import Uniform

EXPERIMENT = Experiment(
    name="change-detection",
    title="Did the value change? How often an observer is right: 4 values, so many reports before and after",
    question="Can an observer tell that a value changed?",
    found=(
        "Permanent answers that are sent without further noise show a change in the first report (97 % right; guessing gives 50 %). Noise "
        "in each report delays this to between 10 and 100 reports and does not prevent it."
    ),
    populations=[Uniform(0, 3)],
    mechanisms=[
        Observer("change", "DBitFlipPM", {"bits": 4}, label="DBitFlipPM, as kept", first=None),
        Observer("change", "DBitFlipPM", {"bits": 4}, label="DBitFlipPM, first = epsilon / 2"),
        Observer("change", "DBitFlipPM", {"bits": 4}, label="DBitFlipPM, first = epsilon / 4", first=0.25),
        Observer("change", "LongitudinalGRR", label="LongitudinalGRR, first = epsilon / 2"),
        Observer("change", "LongitudinalUnary", label="LongitudinalUnary, first = epsilon / 2"),
    ],
    epsilons=[1.0],
    people=[1, 3, 10, 30, 100],
    repetitions=20,
    metrics=["observed"],
    against="n",
)
