"""What is learned when the change is predictable, such as an age that grows by one: the observer knows which values to compare.

Each value has a permanent answer of its own, and all of them are now about one fact. Every step adds another epsilon, as the predicted
bounds show: the permanent answers for 3, 4 and 5 are three noisy views of the number that was 3 at first.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.observers import Observer
from deniable.lab.populations import Uniform

EXPERIMENT = Experiment(
    name="expected-change",
    title="Which value was it at first? 16 values, 30 reports for each step that everybody takes",
    populations=[Uniform(0, 15)],
    mechanisms=[
        Observer(
            "expected", "LongitudinalGRR", label=f"LongitudinalGRR, {moves} steps" if moves else "LongitudinalGRR, no step", moves=moves
        )
        for moves in (0, 1, 3, 7)
    ],
    epsilons=[0.5, 1.0, 2.0, 4.0],
    people=[30],
    repetitions=20,
    metrics=["observed"],
)
