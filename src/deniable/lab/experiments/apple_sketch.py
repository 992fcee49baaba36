"""Apple's count-mean sketch on a Zipf population, at the epsilon that a day of taking part costs and around it.

With few hash functions the collisions with frequent values do not average out: more epsilon does not help. With a thousand they hardly
matter for 100,000 people. Apple takes 65,536, for many more people. That is not run here: a tally is then 512 MB, and of 100,000 people
each function has one or two. The noise is that of the unary encoding: OUE, which tells every value apart, is a little better and sends
more bits where there are more values than cells.
"""

from __future__ import annotations

from deniable.lab.experiment import Experiment
from deniable.lab.methods import Oracle
from deniable.lab.populations import Zipf

EXPERIMENT = Experiment(
    name="apple-sketch",
    title="Apple's count-mean sketch: 1,024 cells, 2,600 values by Zipf's law, 100,000 people",
    populations=[Zipf(exponent=1.1, size=2600)],
    mechanisms=[
        *(Oracle("CMS", {"hashes": hashes, "width": 1024}, label=f"CMS, {hashes} functions") for hashes in (4, 64, 1024)),
        Oracle("OUE"),
        Oracle("OLH"),
    ],
    epsilons=[1.0, 2.0, 4.0, 8.0],
    people=[100_000],
    repetitions=5,
    metrics=["mse", "max_error"],
)
