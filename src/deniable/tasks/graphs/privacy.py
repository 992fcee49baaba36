"""Guarantees for lists of acquaintances: for one entry of a list, for one tie between two people, or for the whole list.

A graph has nodes 0 to n - 1. Each node is a person, who holds the list of the nodes that they are tied to: n - 1 bits. Three relations
say which lists a report must not tell apart:

* **edge** (edge-LDP): two lists of one person that differ in one bit;
* **tie** (relationship privacy): two whole graphs that differ in one undirected edge. The edge stands in *two* lists, one bit in each, so
  anyone who sees both people's reports sees up to the sum of both epsilons: **twice** the edge epsilon. Where a mechanism lets only one
  of the two people speak about a tie, the one with the larger number (the lower triangle of the matrix), it stays **once** epsilon;
* **node** (node-LDP): any two lists of one person, however different. What the *others* report about that person is theirs to protect.

Node-LDP of epsilon implies edge-LDP of epsilon. The converse costs a factor of n - 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, exp, nextafter

from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import exact_epsilon
from deniable.contract.verdict import Verdict
from deniable.errors import ParameterError
from deniable.tasks.checks import check_whole

EDGE, NODE = "edge", "node"
RELATIONS = {
    EDGE: "two lists of one person that differ in one entry",
    NODE: "any two lists of one person",
}


@dataclass(frozen=True, kw_only=True)
class GraphGuarantee(Guarantee):
    """A guarantee about lists, and what it means for a tie that two people report.

    >>> print(promise(1.0, EDGE, speakers=2).statement())
    One entry of a person's list, whether it is there or not, makes no report of that person more than 2.72 times as likely (epsilon = 1,
    edge-local model).
    Strong privacy. Even someone who had narrowed it down to two answers would guess right at most 74 times in 100. Guessing blindly gives
    50.
    Compared: two lists of one person that differ in one entry.
    A tie, against anyone who sees both people's reports: moderate privacy. Even someone who had narrowed it down to two answers would guess
    right at most 89 times in 100. Guessing blindly gives 50.
    A tie is in two lists, and both people report it: against anyone who sees both reports it is protected with epsilon = 2.
    The noise is added on the person's own device: nobody else, not even the collector, has to be trusted.
    This holds for all reports of one person together. Epsilons add up if people are asked again.
    Not protected: that the person took part; and properties of a list that do not depend on one entry, such as its length.
    """

    relation: str = EDGE
    tie_epsilon: float
    """The epsilon of one undirected edge over both people's reports."""

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """How strong the guarantee is for one person's reports and, where both people report a tie, for both people's."""
        tie = Verdict(self.tie_epsilon, when="A tie, against anyone who sees both people's reports")
        return super().verdicts if self.tie_epsilon <= self.epsilon else (*super().verdicts, tie)

    def _promised(self) -> str:
        factor, epsilon, tie = ceil(exp(self.epsilon) * 100) / 100, *(ceil(e * 1e4) / 1e4 for e in (self.epsilon, self.tie_epsilon))
        if self.relation == EDGE:
            first = (
                f"One entry of a person's list, whether it is there or not, makes no report of that person more than {factor:,.2f} times "
                f"as likely (epsilon = {epsilon:g}, edge-local model)."
            )
        else:
            first = (
                f"No list makes any report of a person more than {factor:,.2f} times as likely as any other list would "
                f"(epsilon = {epsilon:g}, node-local model)."
            )
        if self.tie_epsilon > self.epsilon:
            both = f"both people report it: against anyone who sees both reports it is protected with epsilon = {tie:g}."
        else:
            both = (
                f"only one of the two people reports it: it is protected with epsilon = {tie:g}, even against anyone who sees all reports."
            )
        return (
            f"{first}\nA tie is in two lists, and {both}\n"
            "The noise is added on the person's own device: nobody else, not even the collector, has to be trusted.\n"
            f"This holds for {self.unit}. Epsilons add up if people are asked again.\n"
            f"Not protected: {self.exposed}."
        )


def promise(epsilon: float, relation: str, *, speakers: int) -> GraphGuarantee:
    """Return the guarantee of a mechanism in which one or both ends of a tie report it."""
    exposed = "that the person took part"
    if relation == EDGE:
        exposed += "; and properties of a list that do not depend on one entry, such as its length"
    return GraphGuarantee(
        epsilon=epsilon,
        model=f"{relation}-local",
        unit="all reports of one person together",
        neighbors=RELATIONS[relation],
        exposed=exposed,
        relation=relation,
        tie_epsilon=epsilon * speakers,
    )


def split(epsilon: float, shares: Sequence[float]) -> tuple[float, ...]:
    """Split epsilon into parts whose exact sum is at most epsilon; the last part is rounded down for that.

    >>> split(1.0, (0.2, 0.4, 0.4))
    (0.2, 0.4, 0.3999999999999999)
    """
    if min(shares) <= 0 or abs(sum(shares) - 1) > 1e-9:
        raise ParameterError("shares", tuple(shares), allowed="numbers above 0 that add up to 1", fix="start with equal shares")
    parts = [float(epsilon * share) for share in shares[:-1]]
    rest = Fraction(exact_epsilon(epsilon)) - sum(max(Fraction(part), Fraction(repr(part))) for part in parts)
    last = float(rest)
    while max(Fraction(last), Fraction(repr(last))) > rest:
        last = nextafter(last, 0.0)
    return (*parts, last)


def check_nodes(nodes: object, most: int = 1 << 31) -> None:
    """Raise unless ``nodes`` is a positive integer that the mechanism can hold."""
    check_whole("nodes", nodes, 1, most, fix="pass the number of people, which is public")
