"""What an observer learns who knows when each value changes, and to which one."""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.observers import Observer
from deniable.lab.populations import Uniform

EXPERIMENT = Experiment(
    name="expected-change",
    title="Which value was it at first? 16 values, 30 reports for each step that everybody takes",
    question="What does a predictable change reveal, such as an age that grows by one?",
    found=(
        "Every step adds a permanent answer about the same fact. At epsilon = 2 an observer names 32 of 100 values without a step and 69 "
        "after seven. The lines are what 1, 2, 4 and 8 times epsilon allow."
    ),
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
