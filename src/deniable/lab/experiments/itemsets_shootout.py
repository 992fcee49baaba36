"""Who holds what: searches for frequent items among people who hold sets, and what their counts are worth.

A shop of 1,000 items, of which people take four on average, by Zipf's law, and the 32 most frequent ones are wanted; and a menu of 12, for
the strawman that counts all 4,096 sets. The slides say that SVIM finds "3x more frequent items" than LDPMiner "with 3 magnitudes less
errors". ``f1`` is how much of the list is right, ``hit_rmse`` the root mean squared error of the frequencies of what is rightly in it.
"""

from __future__ import annotations

from deniable.contract.protocol import Protocol
from deniable.lab.baskets import Baskets, SetSearch
from deniable.lab.experiment import Experiment
from deniable.tasks.itemsets.ldp_miner import LDPMiner
from deniable.tasks.itemsets.psfo import PSFO
from deniable.tasks.itemsets.svim import SVIM
from deniable.tasks.itemsets.whole_sets import WholeSets

K = 32


def svim(*, population: Baskets, epsilon: float, k: int) -> Protocol:
    """With its defaults."""
    return SVIM(domain=population.domain, k=k, epsilon=epsilon)


def svim_published(*, population: Baskets, epsilon: float, k: int) -> Protocol:
    """With all of the noisy histogram of lengths."""
    return SVIM(domain=population.domain, k=k, epsilon=epsilon, projection="norm-sub")


def miner(*, population: Baskets, epsilon: float, k: int) -> Protocol:
    """Half of the people in each round."""
    return LDPMiner(domain=population.domain, k=k, epsilon=epsilon, length=population.length)


def miner_published(*, population: Baskets, epsilon: float, k: int) -> Protocol:
    """Half of epsilon in each round."""
    return LDPMiner(domain=population.domain, k=k, epsilon=epsilon, length=population.length, split="epsilon")


def one_round(*, population: Baskets, epsilon: float, k: int) -> Protocol:
    """All items at once."""
    return PSFO(domain=population.domain, length=population.length, epsilon=epsilon)


def strawman(*, population: Baskets, epsilon: float, k: int) -> Protocol:
    """All sets at once; refused for more than 16 items."""
    return WholeSets(domain=population.domain, k=k, epsilon=epsilon)


EXPERIMENT = Experiment(
    name="itemsets-shootout",
    title="Frequent items of people who hold sets: 32 of 1,000 in a shop, 6 of 12 on a menu",
    populations=[Baskets(items=1000), Baskets(items=12)],
    mechanisms=[
        SetSearch("SVIM", svim, k=K),
        SetSearch("SVIM, as published", svim_published, k=K),
        SetSearch("LDPMiner", miner, k=K),
        SetSearch("LDPMiner, as published", miner_published, k=K),
        SetSearch("padding and sampling, one round", one_round, k=K),
        SetSearch("all sets (strawman)", strawman, k=K),
    ],
    epsilons=[1.0, 4.0],
    people=[1000, 10_000, 100_000, 1_000_000],
    repetitions=20,
    metrics=["f1", "hit_rmse"],
    against="n",
    leave_out=True,
)
