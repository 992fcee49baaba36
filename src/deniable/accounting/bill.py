"""The bill: what events cost together, by every rule that knows them; the smallest epsilon is the certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, inf

from deniable.accounting.combinations import Bag, worlds
from deniable.accounting.composition import advanced, basic, optimal
from deniable.accounting.event import NEIGHBORS, Event
from deniable.accounting.moments import rdp, zcdp
from deniable.accounting.pld import pld
from deniable.contract.arguments import typed
from deniable.contract.guarantee import Guarantee
from deniable.errors import ParameterError

RULES: dict[str, Callable[[Bag, float], float]] = {
    "basic": basic,
    "advanced": advanced,
    "zCDP": zcdp,
    "RDP": rdp,
    "exact": optimal,
    "PLD": pld,
}
"""Every rule by its name: from a bag of leaves and delta to epsilon. Each refuses what it does not know, naming the event."""


@dataclass(frozen=True)
class Bill:
    """What events cost at a delta: epsilon by each rule that covers them, and why the others refuse."""

    delta: float
    relation: str
    """The neighboring relation that the events are stated for."""
    epsilons: dict[str, float]
    """By the rules' names."""
    refusals: dict[str, str]
    """Why other rules do not cover the events, by the rules' names."""

    def __repr__(self) -> str:
        rules = ", ".join(f"{rule} {ceil(epsilon * 10_000) / 10_000:g}" for rule, epsilon in self.epsilons.items())  # up: a promise
        refusing = f"; refused by {', '.join(self.refusals)}" if self.refusals else ""
        return f"<Bill at delta {self.delta:g}, {self.relation}: epsilon by {rules}{refusing}>"

    @property
    def epsilon(self) -> float:
        """The smallest epsilon of all rules: each of them is valid."""
        return min(self.epsilons.values())

    @property
    def certificate(self) -> str:
        """The rule that it comes from; the simplest one where several agree."""
        return next(rule for rule, epsilon in self.epsilons.items() if epsilon == self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of all events together."""
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            model="central",
            unit="all of these events together",
            neighbors=NEIGHBORS[self.relation],
            honest="the party that ran the mechanisms",
            certificate=f"{self.certificate} composition",
        )


@typed
def account(event: Event, *, delta: float, rules: tuple[str, ...] | None = None) -> Bill:
    """Return the bill of an event, which may combine any number of events.

    Epsilons are upper bounds. ``rules`` names the rules to ask; all if left out. An event that no rule knows is refused.

    >>> from deniable.accounting import Pure, Repeated
    >>> bill = account(Repeated(event=Pure(epsilon=0.1), times=1000), delta=1e-6)
    >>> {rule: round(epsilon, 2) for rule, epsilon in bill.epsilons.items()}
    {'basic': 100.0, 'advanced': 21.62, 'zCDP': 20.54, 'RDP': 20.46, 'exact': 19.34, 'PLD': 19.34}
    >>> bill.certificate, round(bill.epsilon, 4)
    ('exact', 19.3447)
    >>> account(Pure(epsilon=1.0), delta=0)
    <Bill at delta 0, replace: epsilon by basic 1; refused by advanced, zCDP, RDP, exact, PLD>
    """
    if not isinstance(event, Event):
        raise ParameterError("event", event, allowed="an event", fix="pass an event such as Pure(epsilon=1.0)")
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 <= delta < 1:
        raise ParameterError(
            "delta", delta, allowed="from 0 on, below 1", fix="use a delta far below 1 / n, such as 1e-6, or 0 for pure epsilon"
        )
    asked = tuple(RULES) if rules is None else rules
    bags = worlds(event)
    epsilons, refusals = {}, {}
    for rule in asked:
        if rule not in RULES:
            raise ParameterError("rules", rule, allowed=f"some of {list(RULES)}", fix="leave it out for all of them")
        try:
            epsilons[rule] = max(_price(rule, bag, delta) for bag in bags)
        except ParameterError as refusal:
            refusals[rule] = str(refusal)
    if not epsilons or min(epsilons.values()) == inf:
        why = "; ".join(f"{rule}: {reason}" for rule, reason in refusals.items()) or "no finite epsilon at this delta"
        raise ParameterError("event", event, allowed="events that one of the rules covers", fix=why)
    return Bill(float(delta), event.relation, {rule: epsilon for rule, epsilon in epsilons.items() if epsilon < inf}, refusals)


def _price(rule: str, bag: Bag, delta: float) -> float:
    if delta == 0 and rule != "basic":
        raise ParameterError("delta", delta, allowed=f"above 0 for {rule}", fix="use the basic rule, which adds pure epsilons")
    return RULES[rule](bag, delta)
