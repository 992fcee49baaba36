"""The budget filter: reserves privacy until the budget is spent, and never forgets what was spent.

**Reserve, draw, send.** A request reserves its cost, durably, *before* any noise is drawn; ``sending`` is recorded before any byte leaves.
A crash anywhere in between counts as spent. A request that was not sent can be abandoned and is then refunded; one that was sent cannot. A
request id that comes again gets the same reservation and costs nothing more: draw its noise once, and keep the answer.

**Adaptive choice.** Events may be chosen by looking at the answers before, their epsilons too. Sums of (epsilon, delta) and sums of rho
stay valid then; a loss distribution of events that were not fixed beforehand does not. So the filter adds, by one of two rules, and a
schedule that *is* fixed is reserved as one event, at the price of its best rule.

References: Rogers, Roth, Ullman, Vadhan 2016 (filters); Feldman, Zrnic 2021 (the zCDP filter).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from deniable.accounting.bill import account
from deniable.accounting.calibration import calibrate
from deniable.accounting.combinations import worlds
from deniable.accounting.event import Event, check_neighbors, event_from_json
from deniable.accounting.journal import JournalError, OpenJournal, open_journal
from deniable.accounting.moments import rho_of, zcdp_epsilon
from deniable.client.budget import decimal, exact
from deniable.contract.arguments import typed
from deniable.errors import BudgetExceeded, ParameterError, ProtocolError

RESERVED, SENT, ABANDONED = "reserved", "sent", "abandoned"


class Cost(NamedTuple):
    """What a request takes from the budget: epsilon and delta, or rho, as exact fractions."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)

    def __repr__(self) -> str:
        return f"Cost({', '.join(f'{name}={decimal(value)}' for name, value in self._asdict().items() if value)})"


class BudgetRequest(NamedTuple):
    """One request for a share of the budget: a line of the book."""

    id: str
    event: Event
    cost: Cost
    when: int
    label: str
    state: str


@typed
class BudgetFilter:
    """A budget for one data set, in a file at ``path`` that any number of processes may share.

    ``neighbors`` is the relation that the budget is stated for. ``rule`` is ``"basic"`` (epsilons and deltas add up) or ``"zCDP"`` (rhos
    add up, and become epsilon at delta once, at the end). Budget and rule are the file's first record; name the same ones when you
    open it again. ``clock`` is the machine's, unless a test brings its own.

    A ``request`` is an id of the caller's: one answer, however often it is asked for.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        epsilon: float,
        delta: float = 0.0,
        neighbors: str,
        rule: str = "basic",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path, self.rule, self._clock = Path(path).resolve(), rule, clock
        self.budget, self.neighbors = budget_of(epsilon, delta, rule), check_neighbors(neighbors)
        promise = {"epsilon": repr(float(epsilon)), "delta": repr(float(delta)), "neighbors": neighbors, "rule": rule}
        head = {"kind": "budget", "version": 1, **promise}
        with open_journal(self.path, create=True) as book:
            if not book.records:
                book.append(head)
            elif book.records[0] != head:
                allowed = f"the budget in the file: {book.records[0]}"
                raise ParameterError(
                    "budget", head, allowed=allowed, fix="open the ledger with the budget that it has: a budget cannot be changed"
                )

    def __repr__(self) -> str:  # without a look into the file: a repr must not fail
        caps = ", ".join(f"{name} {decimal(cap)}" for name, cap in self.budget._asdict().items() if cap)
        return f"<BudgetFilter {str(self.path)!r}: {caps}, {self.neighbors}>"

    def quote(self, event: Event, *, delta: float = 0.0) -> Cost:
        """Return what an event would cost; nothing is spent. ``delta`` is its share of the budget's delta, under the basic rule."""
        if event.relation != self.neighbors:
            allowed = f"events stated for {self.neighbors!r}, as the budget is"
            raise ParameterError(
                "event", event, allowed=allowed, fix="wrap add-remove events in Replaced(event=...) for a budget with replace"
            )
        if self.rule == "zCDP":
            return Cost(rho=max(sum((n * exact(rho_of(leaf)) for leaf, n in bag.items()), Fraction(0)) for bag in worlds(event)))
        return Cost(exact(account(event, delta=delta).epsilon), exact(delta))

    def reserve(self, request: str, event: Event, *, delta: float = 0.0, label: str = "") -> BudgetRequest:
        """Take the cost of an event from the budget, durably; BudgetExceeded, with nothing taken, if too little is left.

        ``delta`` is as in ``quote``. ``label`` is a note for readers of the ledger.
        """
        if not isinstance(request, str) or not 1 <= len(request) <= 200:
            raise ParameterError("request", request, allowed="a text of 1 to 200 characters", fix="give each request its own id")
        cost = self.quote(event, delta=delta)
        with open_journal(self.path) as book:
            known = requests(book)
            if request in known:
                same = known[request].event == event and known[request].cost.delta == cost.delta
                if not same or known[request].state == ABANDONED:
                    fix = "take a new id: an id names one request forever"
                    raise ProtocolError("request", request, allowed=f"an id that is new, or {known[request].event!r} again", fix=fix)
                return known[request]
            self._check(cost, known)
            book.append(
                {
                    "kind": "reserve",
                    "request": request,
                    "event": event.to_json(),
                    "cost": {name: str(value) for name, value in cost._asdict().items() if value},
                    "label": label,
                    "when": int(self._clock()),
                }
            )
            return requests(book)[request]

    def sending(self, request: str) -> None:
        """Record that an answer is about to be sent; from here on its cost is spent, whatever happens."""
        self._settle(request, SENT)

    def abandon(self, request: str) -> None:
        """Return a reserved cost to the budget; ProtocolError if the answer was sent."""
        self._settle(request, ABANDONED)

    def requests(self) -> list[BudgetRequest]:
        """Return every request, the oldest first."""
        with open_journal(self.path, write=False) as book:
            return list(requests(book).values())

    def spent(self) -> Cost:
        """Return the cost spent so far, reservations included; recomputed from the records each time."""
        return total(self.requests())

    def _settle(self, request: str, state: str) -> None:
        with open_journal(self.path) as book:
            known = requests(book)
            if request not in known:
                raise ProtocolError("request", request, allowed="the id of a reserved request", fix="reserve before drawing any noise")
            if known[request].state == state:
                return
            if known[request].state != RESERVED:
                fix = "reserve under a new id: sent requests stay spent, and abandoned ones are closed"
                raise ProtocolError("request", f"{request!r}, {known[request].state}", allowed="a request that is only reserved", fix=fix)
            book.append({"kind": state, "request": request})

    def _check(self, cost: Cost, known: dict[str, BudgetRequest]) -> None:
        spent = total(list(known.values()))
        for name, wanted, gone, cap in zip(Cost._fields, cost, spent, self.budget, strict=True):
            if wanted and gone + wanted > cap:
                allowed = f"{decimal(cap)}, of which {decimal(max(cap - gone, Fraction(0)))} is left"
                raise BudgetExceeded(
                    name, decimal(gone + wanted), allowed=allowed, fix="spend less on this question, or stop: nothing was released"
                )


def budget_of(epsilon: float, delta: float, rule: str) -> Cost:
    """The caps behind a promise; the largest rho that keeps it, under zCDP."""
    if rule not in ("basic", "zCDP"):
        allowed = "'basic' or 'zCDP'"
        raise ParameterError("rule", rule, allowed=allowed, fix="use basic or zCDP, or reserve a fixed schedule of events as one event")
    if isinstance(epsilon, bool) or not isinstance(epsilon, int | float) or not 0 < epsilon < inf:
        raise ParameterError(
            "epsilon", epsilon, allowed="a finite number above 0", fix="choose with care, such as 1.0: it cannot be changed later"
        )
    if isinstance(delta, bool) or not isinstance(delta, int | float) or not 0 <= delta < 1 or (rule == "zCDP" and delta == 0):
        raise ParameterError(
            "delta", delta, allowed="from 0 on, below 1; above 0 for zCDP", fix="use a delta far below 1 / n, such as 1e-6"
        )
    if rule == "basic":
        return Cost(epsilon=exact(epsilon), delta=exact(delta))
    return Cost(rho=exact(calibrate(lambda rho: zcdp_epsilon(rho, delta) <= epsilon, safe=0.0, risky=float(epsilon), name="rho")))


def requests(book: OpenJournal) -> dict[str, BudgetRequest]:
    """The requests in a book by their ids, in order; JournalError if it is not one of a budget."""
    found: dict[str, BudgetRequest] = {}
    if not book.records or book.records[0].get("kind") != "budget" or book.records[0].get("version") != 1:
        head = book.records[0] if book.records else None
        raise JournalError("ledger", head, allowed="a budget ledger of version 1", fix="name another file, or upgrade deniable")
    for body in book.records[1:]:
        if body["kind"] == "reserve":
            cost = Cost(**{name: Fraction(value) for name, value in body["cost"].items()})
            found[body["request"]] = BudgetRequest(
                body["request"], event_from_json(body["event"]), cost, body["when"], body["label"], RESERVED
            )
        elif body["kind"] in (SENT, ABANDONED):
            found[body["request"]] = found[body["request"]]._replace(state=body["kind"])
    return found


def total(entries: list[BudgetRequest]) -> Cost:
    """The sum of all costs but the abandoned ones'."""
    kept = [entry.cost for entry in entries if entry.state != ABANDONED]
    return Cost(*(sum((cost[i] for cost in kept), Fraction(0)) for i in range(3)))


def read_book(path: str | os.PathLike[str]) -> tuple[dict[str, Any], list[BudgetRequest], int]:
    """The head of a ledger, its requests and the bytes of an unfinished last line, without taking part."""
    with open_journal(Path(path), write=False) as book:
        return dict(book.records[0]) if book.records else {}, list(requests(book).values()), book.torn
