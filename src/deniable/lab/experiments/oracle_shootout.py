"""Every frequency oracle on a skewed and on a flat crowd, next to the error that theory predicts."""

from __future__ import annotations

from deniable.client.frequency import FrequencySpec
from deniable.client.longitudinal import Longitudinal
from deniable.contract.spec import MECHANISMS
from deniable.lab.experiment import Experiment
from deniable.lab.methods import Oracle
from deniable.lab.populations import Uniform, Zipf

ORACLES = sorted(
    name
    for name, cls in MECHANISMS.items()
    if issubclass(cls, FrequencySpec) and cls.largest_domain > 2 and not issubclass(cls, Longitudinal)  # whose epsilon is about more
)

EXPERIMENT = Experiment(
    name="oracle-shootout",
    title="Frequency oracles: 64 values",
    question="Which frequency oracle has the smallest error?",
    found=(
        "The mean squared error hardly depends on the crowd and follows theory (the lines). GRR is the worst at epsilon 1/2 and among the "
        "best at 4. Oracles that share hash functions (FLH, CMS, HCMS) do worse on a skewed crowd, where collisions weigh more."
    ),
    populations=[Zipf(exponent=1.1, size=64), Uniform(0, 63)],
    mechanisms=[Oracle(name) for name in ORACLES],
    epsilons=[0.5, 1.0, 2.0, 4.0],
    people=[10_000],
    repetitions=50,
    metrics=["mse", "max_error", "tv"],
    leave_out=True,
)
