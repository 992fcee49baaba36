"""Padding and sampling: a person with many items reports on one of them, drawn from a list of fixed length.

With ``length`` l, every item of somebody with at most l of them is drawn with probability 1 / l, so l times the oracle's count is unbiased.
A small l under-counts the items of people with many, a large one drowns everybody in dummies.

Which oracle follows. Behind the sampling, generalized randomized response at epsilon' = ln(l (e^epsilon - 1) + 1) costs epsilon: a report y
has the probability q + (p - q) P(y is drawn), where P is at most 1 / l for items and for dummies, of which there are l. Hashing does not
gain: one symbol stands for many inputs. With d items, n Var of a rare item's frequency is::

    GRR at epsilon', d + l symbols    (d + l - 1 + l (e^epsilon - 1)) / (e^epsilon - 1)^2
    OLH at epsilon                    4 l^2 e^epsilon / (e^epsilon - 1)^2

and the first is smaller exactly if d < l (4 l - 1) e^epsilon + 1.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp
from typing import Any

import numpy as np

from deniable.client.grr import GRR
from deniable.client.olh import OLH
from deniable.client.pure import PureProtocol
from deniable.contract.domain import IndexRange
from deniable.contract.guarantee import Guarantee
from deniable.contract.question import Question
from deniable.contract.sets import Candidates, PadAndSample
from deniable.contract.subsets import Subsets
from deniable.core.frequency import FrequencyEstimate
from deniable.core.tally import Tally
from deniable.errors import ParameterError
from deniable.tasks.itemsets.estimate import PaddedSupports, item_estimate

KNOWN: dict[str, type[PureProtocol]] = {made.mechanism: made for made in (GRR, OLH)}
"""The oracles behind padding and sampling: the best one for few items, and the best one for many."""
ORACLES = ("auto", *KNOWN)


def check_oracle(name: str) -> None:
    """Refuse an oracle that padding and sampling does not know."""
    if name not in ORACLES:
        raise ParameterError("oracle", name, allowed=f"one of {ORACLES}", fix="use auto, which picks the one with the smaller error")


def check_subsets(domain: object) -> None:
    """Refuse what is not a domain of sets."""
    if not isinstance(domain, Subsets):
        raise ParameterError("domain", domain, allowed="Subsets of the items", fix="pass domain=Subsets(IndexRange(1000))")


def threshold(epsilon: float, length: int) -> float:
    """The number of items below which randomized response has the smaller error: l (4 l - 1) e^epsilon + 1.

    >>> [round(threshold(1.0, length), 3) for length in (1, 2, 5, 10)]
    [9.155, 39.056, 259.237, 1061.13]
    """
    return length * (4 * length - 1) * exp(epsilon) + 1


def padded_question(
    name: str,
    domain: Subsets,
    length: int,
    candidates: Candidates | None,
    *,
    epsilon: float,
    oracle: str = "auto",
    share: Fraction = Fraction(1),
    amplify: bool = True,
) -> Question:
    """A question about one of a person's items, or candidates, that costs epsilon in all.

    Without ``amplify`` randomized response gets epsilon itself, as in methods that do not know what sampling is worth.
    """
    encoder = PadAndSample(domain, length, candidates)
    few = encoder.counted < threshold(epsilon, length if amplify else 1)
    made = (GRR if few else OLH) if oracle == "auto" else KNOWN[oracle]
    spec = made(domain=IndexRange(max(encoder.inputs, 2)), epsilon=made.epsilon_before(epsilon, length) if amplify else epsilon)
    return Question(name=name, spec=spec, encoder=encoder, share=share)


def padded_estimate(question: Question, tally: Tally, values: Any, guarantee: Guarantee | None = None) -> FrequencyEstimate:
    """Return what the reports on padded samples say about the items or candidates, without the dummies.

    ``guarantee`` is what the reports cost; if left out, that of the question.

    >>> from deniable.contract.domain import IndexRange
    >>> asked = padded_question("items", Subsets(IndexRange(4)), 2, None, epsilon=2.0)
    >>> tally = asked.spec.tally(asked.spec.privatize([0] * 400 + [1] * 100 + [4] * 300 + [5] * 200))
    >>> estimate = padded_estimate(asked, tally, range(4))
    >>> len(estimate.counts), estimate.law.length, round(estimate.epsilon, 9)
    (4, 2, 2.0)
    """
    encoder, spec = question.encoder, question.spec
    if not isinstance(encoder, PadAndSample) or not isinstance(spec, PureProtocol):
        raise ParameterError("question", question.name, allowed="a padded question", fix="make it with padded_question")
    p, q = float(spec.p), float(spec.q)
    law = PaddedSupports(
        tally.n,
        spec.estimate(tally).law.supports[: encoder.counted],  # type: ignore[attr-defined]  # a pure protocol's law has supports
        np.asarray(q + (p - q) / encoder.length),
        np.asarray(q),
        length=encoder.length,
        sampled=question.share < 1,
    )
    return item_estimate(spec, values, law, guarantee or Guarantee(epsilon=question.epsilon, neighbors="any two sets of one person"))
