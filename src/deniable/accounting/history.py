"""Privacy spent over time: the events of a ledger or of a TOML file, and the bill after each of them.

::

    delta = 1e-6
    [[event]]
    kind = "Pure"                # any event, with its fields
    epsilon = 0.5
    times = 12                   # once if left out
    when = 2026-01-05            # a date; in the order of the file if left out
    label = "weekly question"
    [[event]]
    kind = "Sampled"
    rate = 0.01
    event = { kind = "Gaussian", sigma = 2.0 }
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from deniable.accounting.bill import Bill, account
from deniable.accounting.budget import ABANDONED, BudgetRequest, read_book
from deniable.accounting.combinations import Repeated, Sequential
from deniable.accounting.event import Event, event_from_json, float_above
from deniable.accounting.leaves import ZCDP, Approximate
from deniable.core.chart import Chart
from deniable.errors import DeniableError, ParameterError, WireError


class HistoryEntry(NamedTuple):
    """One event with what people know it by."""

    event: Event
    label: str
    when: str


@dataclass(frozen=True)
class History:
    """Events in order. ``rules`` are those that hold for them, all if None; ``caveat`` says what a file's reader should know."""

    entries: tuple[HistoryEntry, ...]
    delta: float
    rules: tuple[str, ...] | None = None
    caveat: str = ""

    @property
    def event(self) -> Event:
        """All events together."""
        return Sequential(events=tuple(entry.event for entry in self.entries))

    def bill(self, delta: float | None = None) -> Bill:
        """The bill of all events together."""
        return account(self.event, delta=self.delta if delta is None else delta, rules=self.rules)

    def bills(self, delta: float | None = None) -> list[Bill]:
        """The bills of the first event, of the first two, and so on."""
        return [History(self.entries[: i + 1], self.delta, self.rules).bill(delta) for i in range(len(self.entries))]

    def chart(self, bills: Sequence[Bill]) -> Chart:
        """Epsilon so far, one line for each rule."""
        import altair as alt

        dated = all(entry.when for entry in self.entries)
        rows = [
            {"when": entry.when if dated else str(i), "rule": rule, "epsilon": epsilon}
            for i, (entry, bill) in enumerate(zip(self.entries, bills, strict=True), start=1)
            for rule, epsilon in bill.epsilons.items()
        ]
        axis = alt.X("when:T", title=None) if dated else alt.X("when:O", sort=None, title="event")
        lines = alt.Chart(alt.InlineData(values=rows)).mark_line(point=True, interpolate="step-after" if dated else "linear")
        heading = alt.Title("Privacy spent", subtitle=f"epsilon at delta = {bills[-1].delta:g}; every line is an upper bound")
        encoded = lines.encode(x=axis, y=alt.Y("epsilon:Q", title="epsilon so far"), color=alt.Color("rule:N", title="rule"))
        return Chart(encoded.properties(title=heading, width=480))


def read_history(path: str | os.PathLike[str]) -> History:
    """The events of a budget ledger or of a TOML file; which of the two it is shows in its first byte."""
    content = Path(path).read_bytes()
    if content.startswith(b"{"):
        return _from_ledger(Path(path))
    try:
        table = tomllib.loads(content.decode())
    except (UnicodeError, tomllib.TOMLDecodeError) as error:
        raise WireError("file", str(path), allowed="a budget ledger, or TOML in UTF-8", fix=f"fix the file: {error}") from error
    try:
        return history_of(table)
    except DeniableError as error:
        where = str(path) if error.parameter == "file" else f"{path}, {error.parameter}"
        raise WireError(where, error.received, allowed=error.allowed, fix=error.fix) from error


def history_of(table: dict[str, Any]) -> History:
    """The events of a TOML table."""
    listed = table.get("event")
    if not set(table) <= {"event", "delta"} or not isinstance(listed, list) or not listed:
        raise WireError(
            "file", sorted(table), allowed="'delta' and one or more [[event]]", fix="write them as docs/how-to/account.md shows"
        )
    delta = table.get("delta", 0.0)
    return History(tuple(_entry(i, item) for i, item in enumerate(listed, start=1)), delta)


def _entry(number: int, item: dict[str, Any]) -> HistoryEntry:
    fields = dict(item)
    label, when = fields.pop("label", ""), fields.pop("when", "")
    times = fields.pop("times", 1) if fields.get("kind") != "Repeated" else 1
    if not isinstance(label, str) or not isinstance(when, date | str) or when in (True, False):
        raise WireError(f"event {number}", item, allowed="'label' a text, 'when' a date", fix="write when = 2026-01-05")
    try:
        event = event_from_json(fields)
    except WireError as error:
        raise WireError(f"event {number}", error.received, allowed=error.allowed, fix=error.fix) from error
    try:
        return HistoryEntry(event if times == 1 else Repeated(event=event, times=times), label or event.kind, str(when))
    except ParameterError as error:
        raise WireError(f"event {number}", item, allowed="'times' an integer from 1 on", fix=str(error)) from error


def _from_ledger(path: Path) -> History:
    head, requests, torn = read_book(path)
    kept = [request for request in requests if request.state != ABANDONED]
    if not kept:
        raise ParameterError(
            "ledger",
            str(path),
            allowed="a ledger with requests that were not abandoned",
            fix="spend something first: there is nothing to show yet",
        )
    told = f"The budget is epsilon {head['epsilon']}, delta {head['delta']}, for neighbors by {head['neighbors']}."
    told += f" An unfinished last line of {torn} bytes is ignored." if torn else ""
    return History(tuple(map(_charged, kept)), float(head["delta"]), (head["rule"],), told)


def _charged(request: BudgetRequest) -> HistoryEntry:
    """A request at the price that it was charged: only that price holds where later requests were chosen by looking at answers."""
    cost, neighbors = request.cost, request.event.relation
    when = datetime.fromtimestamp(request.when, UTC).isoformat(timespec="seconds")
    if cost.rho:
        return HistoryEntry(ZCDP(rho=float_above(cost.rho), neighbors=neighbors), request.label or request.id, when)
    charged = Approximate(epsilon=float_above(cost.epsilon), delta=float_above(cost.delta), neighbors=neighbors)
    return HistoryEntry(charged, request.label or request.id, when)
