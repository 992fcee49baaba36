"""Every search for frequent values on one crowd: six letters, 48 bits, 20,000 people, the twenty most frequent words.

Four people of five hold one of twenty words, the k-th in proportion to 1 / k; the others hold one of 2,000 rare words. All searches run
with their defaults. TrieHH does not rank what it finds, so as many words are planted as are asked for, and scores do not look at the order
within the list. The public hash functions are the same in all runs.
"""

from __future__ import annotations

from hashlib import sha256
from string import ascii_lowercase

from deniable.contract.domain import Text
from deniable.lab.experiment import Experiment
from deniable.lab.populations import Mixture, Multinomial
from deniable.lab.protocol_run import ProtocolRun

K = 20
FREQUENT, RARE = K, 2000
DELTA = 1e-6
LOCAL = ("PEM", "TreeHist", "Bitstogram", "SegmentPairs", "IndependentSegments", "MultipleChannels")


def word(i: int) -> str:
    """A word of six letters, always the same.

    >>> word(0), word(1)
    ('hmsgjs', 'shcpym')
    """
    return "".join(ascii_lowercase[byte % 26] for byte in sha256(f"word {i}".encode()).digest()[:6])


CROWD = Mixture(
    (
        Multinomial([1 / (i + 1) for i in range(FREQUENT)], labels=[word(i) for i in range(FREQUENT)]),
        Multinomial([1] * RARE, labels=[word(i) for i in range(FREQUENT, FREQUENT + RARE)]),
    ),
    weights=(4, 1),
)

EXPERIMENT = Experiment(
    name="heavy-hitters-shootout",
    title="Searches for frequent words: six letters (48 bits), the twenty most frequent",
    question="Which search finds words that nobody listed?",
    found=(
        "No local search wins everywhere: SFP, which knows that words are made of letters, has the best F1 up to epsilon 4, and at "
        "epsilon 6 PEM, TreeHist, Bitstogram and SegmentPairs find nearly all twenty words. IndependentSegments makes too many "
        "combinations to count at 6, and MultipleChannels has too few people in each of its 48 groups. TrieHH is not local (its counter "
        "sees true prefixes of those who are drawn): it shows what the local model costs."
    ),
    populations=[CROWD],
    mechanisms=[
        *(ProtocolRun(name, {"domain": Text(6)}, name, k=K) for name in LOCAL),
        ProtocolRun("SFP", {"domain": Text(6), "alphabet": ascii_lowercase}, "SFP", k=K),  # it knows that words are made of letters
        ProtocolRun("TrieHH", {"domain": Text(6), "delta": DELTA}, f"TrieHH (central, delta = {DELTA:g})", k=K),
    ],
    epsilons=[1.0, 2.0, 3.0, 4.0, 6.0],
    people=[20_000],
    repetitions=20,
    metrics=["f1", "ncr"],
)
