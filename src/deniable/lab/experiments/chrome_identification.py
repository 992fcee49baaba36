"""How often an observer of Chrome's configuration of 2014 names one of a hundred values.

One report has epsilon = 2.04, all of them epsilon = 4.39, which RAPPOR spreads over four bits.
"""

from __future__ import annotations

from deniable.client.presets import chrome_2014
from deniable.lab.experiment import Experiment
from deniable.lab.filter_observer import FilterObserver
from deniable.lab.populations import Uniform

EXPERIMENT = Experiment(
    name="chrome-identification",
    title="Which of 100 values is it? How often an observer of Chrome's RAPPOR is right after so many reports",
    question="After how many reports does Chrome's RAPPOR identify a value?",
    found=(
        "After about five reports an observer knows the permanent answer, and further reports add nothing: 9 of 100 values are named, "
        "where epsilon = 4.39 would allow 45. Without permanent answers the same configuration shows 88 of 100 values after 30 reports."
    ),
    populations=[Uniform(0, 99)],
    mechanisms=[FilterObserver("Chrome, 2014"), FilterObserver("Chrome, permanent noise not kept", forgetful=True)],
    epsilons=[chrome_2014.epsilon],
    people=[1, 2, 5, 10, 30, 100, 300],
    repetitions=10,
    metrics=["observed"],
    against="n",
)
