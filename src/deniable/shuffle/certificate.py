"""Certificates: the sharpest proved bound for what is known about the randomizers.

* any epsilon0-local randomizers: the clone bound of 2021;
* symmetric binary randomized response: the same with its own, larger clone probability (its blanket);
* one finite mechanism for everyone: the privacy blanket, over all pairs of values;
* too large for that: the clone bound again.

Never the variation-ratio bound of 2024: enumeration refutes it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from math import exp, inf

import numpy as np

from deniable.contract.spec import MECHANISMS, Spec
from deniable.errors import ParameterError
from deniable.shuffle.blanket import Blanket, Homogeneous
from deniable.shuffle.channel import InputPair, pairs_of
from deniable.shuffle.clone import Clones, binary_probability

MOST_PEOPLE, MOST_EPSILON = 1 << 33, 700
"""More people than there are, and the largest power of e that is a double: beyond them sums would not fit into memory, or overflow."""
CLONES, BLANKET = "clone bound 2021, exact sum", "privacy blanket"


class Certificate(ABC):
    """A proved curve: delta at an epsilon, for n people."""

    name: str
    local: float
    n: int
    delta: float

    @abstractmethod
    def keeps(self, epsilon: float) -> bool:
        """True if epsilon is certified at delta."""

    @abstractmethod
    def epsilon(self) -> float:
        """The smallest epsilon that is certified, rounded up."""

    @abstractmethod
    def at_least(self, epsilon: float) -> float:
        """An epsilon below which nothing is true, rounded down; ``epsilon`` is where to start looking."""


class CloneCertificate(Certificate):
    """For any randomizers, or for binary ones."""

    name = CLONES

    def __init__(self, epsilon0: float, n: int, delta: float, *, binary: bool = False) -> None:
        self.local, self.n, self.delta, self.binary = epsilon0, n, delta, binary
        if binary:
            self.name = f"{BLANKET} of binary randomized response, exact sum"
        self._clones = Clones(epsilon0=epsilon0, n=n, delta=delta, probability=binary_probability(epsilon0) if binary else None)

    def keeps(self, epsilon: float) -> bool:
        return self._clones.at(epsilon) <= self.delta

    def epsilon(self) -> float:
        return self._clones.epsilon()

    def at_least(self, epsilon: float) -> float:
        """By two of the randomizers that the bound is for: binary randomized response and, unless it is for that alone, ternary."""
        e = exp(self.local)
        truth = e / (e + 1)
        yes, no = np.array([truth, 1 - truth, 0.0]), np.array([1 - truth, truth, 0.0])
        tried = [(yes, no, yes), (yes, no, no)]
        if not self.binary:
            q = 1 / (e + 2)
            tried.insert(0, (np.array([e * q, q, q]), np.array([q, e * q, q]), np.array([q, q, e * q])))
        return _largest((Homogeneous(*laws, n=self.n, delta=self.delta) for laws in tried), epsilon)


class BlanketCertificate(Certificate):
    """For one finite mechanism that everyone uses."""

    name = BLANKET

    def __init__(self, local: float, pairs: list[InputPair], n: int, delta: float) -> None:
        self.local, self.n, self.delta, self.pairs = local, n, delta, pairs
        self._bounds = [Blanket(pair, n=n, delta=delta) for pair in pairs]

    def keeps(self, epsilon: float) -> bool:
        return all(bound.at(epsilon) <= self.delta for bound in self._bounds)

    def epsilon(self) -> float:
        """The largest over all pairs; a pair that keeps the largest so far is not solved."""
        found = 0.0
        for bound in self._bounds:
            if not bound.at(found) <= self.delta:
                found = max(found, bound.epsilon())
        return min(found, self.local)

    def at_least(self, epsilon: float) -> float:
        """All others hold one of the two values, or a third one."""
        return _largest(self._examples(), epsilon)

    def _examples(self) -> Iterator[Homogeneous]:
        for pair in self.pairs[:8]:
            kinds = np.where(pair.one > pair.other, 0, np.where(pair.one < pair.other, 1, 2))
            one, other = (np.bincount(kinds, weights=law, minlength=3) for law in (pair.one, pair.other))
            laws = [one, other] + ([] if pair.third is None else [np.array([pair.third, pair.third, 1 - 2 * pair.third])])
            yield from (Homogeneous(one, other, law, n=self.n, delta=self.delta) for law in laws)


def _largest(bounds: Iterable[Homogeneous], epsilon: float) -> float:
    """The largest lower bound, but at most epsilon; one that allows the largest so far is not solved."""
    found = 0.0
    for bound in bounds:
        if bound.at(found) > bound.delta:
            found = max(found, bound.epsilon(found or epsilon))
    return min(found, epsilon)


def certificate(*, spec: Spec | None = None, epsilon0: float | None = None, delta: float, n: int) -> Certificate:
    """The sharpest certificate for what is given."""
    if type(n) is not int or not 1 <= n <= MOST_PEOPLE:
        raise ParameterError(
            "n", n, allowed=f"an integer from 1 to {MOST_PEOPLE:,}", fix="count honest, distinct people in the batch, not messages"
        )
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 < delta < 1:
        raise ParameterError("delta", delta, allowed="between 0 and 1", fix="use a delta far below 1 / n, such as 1e-6")
    if (spec is None) == (epsilon0 is None):
        raise ParameterError(
            "spec, epsilon0", (spec, epsilon0), allowed="one of the two", fix="pass the spec if you have one: it gives a smaller epsilon"
        )
    if spec is None:
        if isinstance(epsilon0, bool) or not isinstance(epsilon0, int | float) or not 0 < epsilon0 <= MOST_EPSILON:
            raise ParameterError(
                "epsilon0", epsilon0, allowed=f"above 0, up to {MOST_EPSILON}", fix="give the epsilon of one report, such as 2.0"
            )
        return CloneCertificate(float(epsilon0), n, delta)
    promise = spec.guarantee if isinstance(spec, Spec) else None
    if promise is None or promise.delta or promise.model != "local" or not promise.epsilon < inf or promise.unit != "one report":
        allowed = "a mechanism with a pure local epsilon for one report"  # memoized answers link a device's reports, shuffled or not
        raise ParameterError("spec", spec, allowed=allowed, fix="pass a spec such as GRR(domain_size=10, epsilon=2.0)")
    if spec.fair_coin and MECHANISMS.get(spec.mechanism) is type(spec):  # a subclass may change its law
        return CloneCertificate(spec.epsilon, n, delta, binary=True)
    pairs = pairs_of(spec)
    return CloneCertificate(spec.epsilon, n, delta) if pairs is None else BlanketCertificate(spec.epsilon, pairs, n, delta)
