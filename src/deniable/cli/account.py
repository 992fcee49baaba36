"""``deniable account``: what a budget ledger, or a list of events, has spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.cli.console import out, print_json, table, tell, working
from deniable.cli.options import Chart, Json


def account(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A budget ledger, or a TOML file of events.", exists=True, dir_okay=False)],
    delta: Annotated[float | None, typer.Option(help="The delta to compute epsilon for; the one in the file if left out.")] = None,
    chart: Chart = None,
    json_output: Json = False,
) -> None:
    """Print the privacy cost of all events together: epsilon by every rule that applies, and after each event."""
    from deniable.accounting.history import read_history  # heavy, and other commands start without it
    from deniable.core.chart import check_ending

    if chart is not None:
        check_ending(chart)
    history = read_history(file)
    with working("adding up"):
        bills = history.bills(delta)
        if chart is not None:
            history.chart(bills).save(chart)
    final = bills[-1]
    if json_output:
        steps: list[dict[str, Any]] = [
            {
                "label": entry.label,
                "when": entry.when,
                "event": entry.event.to_json(),
                "epsilon": bill.epsilon,
                "rule": bill.certificate,
            }
            for entry, bill in zip(history.entries, bills, strict=True)
        ]
        content: dict[str, Any] = {"epsilon": final.epsilon, "delta": final.delta, "certificate": final.certificate}
        content |= {"neighbors": final.relation, "epsilons": final.epsilons, "refusals": final.refusals, "caveat": history.caveat}
        print_json(content | {"events": steps})
        return
    spent = table(f"Spent so far, at delta = {final.delta:g}", ("when", "event", "epsilon so far", "by"), words=("event", "by"))
    for entry, bill in zip(history.entries, bills, strict=True):
        spent.add_row(entry.when, entry.label, _shown(bill.epsilon), bill.certificate)
    out.print(spent)
    rules = table("In total, by every rule", ("rule", "epsilon", "why not"), words=("why not",))
    for rule, epsilon in final.epsilons.items():
        rules.add_row(rule, _shown(epsilon), "")
    for rule, reason in final.refusals.items():
        rules.add_row(rule, "-", reason)
    out.print(rules)
    total = f"(epsilon = {_shown(final.epsilon)}, delta = {final.delta:g})"
    tell(f"{total} for neighbors by {final.relation}, by the {final.certificate} rule.")
    if history.caveat:
        tell(history.caveat)


def _shown(epsilon: float) -> str:
    """Return epsilon rounded up: printing must not make it smaller."""
    from decimal import ROUND_CEILING, Decimal

    return format(Decimal(repr(epsilon)).quantize(Decimal("0.0001"), rounding=ROUND_CEILING).normalize(), "f")
