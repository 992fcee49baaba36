"""How many reports until Chrome's configuration identifies a value, among a hundred that it may be.

One report has epsilon = 2.04: hardly more than a guess. As reports come in the observer learns the permanent answer, and after about five
of them there is nothing more to learn: it names the value of nine devices in a hundred. That is far below what epsilon = 4.39 allows (45 in
a hundred), since RAPPOR spreads it over four bits. A device that drew its permanent noise anew would be known after thirty reports.
"""

from __future__ import annotations

from deniable.client.presets import chrome_2014
from deniable.lab.experiment import Experiment
from deniable.lab.filter_observer import FilterObserver
from deniable.lab.populations import Uniform

EXPERIMENT = Experiment(
    name="chrome-identification",
    title="Which of 100 values is it? How often an observer of Chrome's RAPPOR is right after so many reports",
    populations=[Uniform(0, 99)],
    mechanisms=[FilterObserver("Chrome, 2014"), FilterObserver("Chrome, permanent noise not kept", forgetful=True)],
    epsilons=[chrome_2014.epsilon],
    people=[1, 2, 5, 10, 30, 100, 300],
    repetitions=10,
    metrics=["observed"],
    against="n",
)
