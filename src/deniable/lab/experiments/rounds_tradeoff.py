"""Rounds, communication and accuracy: the same search in one round or in up to sixteen."""

from __future__ import annotations

from deniable.client.grr import GRR
from deniable.client.oue import OUE
from deniable.lab.experiment import Experiment
from deniable.lab.experiments.pem_distributions import K, pem
from deniable.lab.populations import Poisson
from deniable.lab.protocol_run import ProtocolRun

BITS = 16
ROUNDS = {"GRR": (2, 4, 8, 16), "OUE": (1, 2, 4, 8, 16)}


def report_bits(oracle: str, rounds: int) -> int:
    """The bits of a report in the last round: about the candidates there, and whether the value is none of them.

    >>> report_bits("GRR", 8), report_bits("OUE", 8), report_bits("OUE", 1)
    (6, 37, 65536)
    """
    symbols = (K << BITS // rounds) + 1 if rounds > 1 else 1 << BITS  # with several rounds one more: none of the candidates
    return (GRR if oracle == "GRR" else OUE)(domain_size=symbols, epsilon=1.0).report_bits


def tried(oracle: str, rounds: int) -> ProtocolRun:
    """One line of the chart."""
    label = f"{oracle}, {rounds} round{'s' * (rounds > 1)}: {report_bits(oracle, rounds):,} bits"
    return pem(label, oracle=oracle, groups=rounds)


EXPERIMENT = Experiment(
    name="rounds-tradeoff",
    title="Rounds and bits per report against accuracy: PEM, 16-bit values, the nine most frequent ones",
    question="How many rounds should a search take, and how many bits a report?",
    found=(
        "At a small epsilon many rounds are better, since few candidates leave few places where noise can win; at a large one few rounds "
        "are better, since more people answer in each. The best at a large epsilon is one round of OUE over all 65,536 values, at 65,536 "
        "bits a person; two rounds take 2,305 bits and lose little on the concentrated crowd. GRR sends 5 to 12 bits and needs the rounds "
        "most."
    ),
    populations=[Poisson(5.0), Poisson(100.0)],
    mechanisms=[tried(oracle, rounds) for oracle, several in ROUNDS.items() for rounds in several],
    epsilons=[1.0, 2.0, 3.0, 4.0, 6.0, 8.0],
    people=[1000],
    repetitions=50,
    metrics=["ndcg"],
)
