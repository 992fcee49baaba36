"""``deniable doctor``: what is installed, what works, and how to fix the rest."""

from __future__ import annotations

import typer
from rich.text import Text

from deniable.cli.console import out, print_json, table, working
from deniable.cli.installation import BROKEN, FINE, MISSING, Diagnosis, looked_at
from deniable.cli.options import Json

STYLES = {FINE: "green", MISSING: "yellow", BROKEN: "bold red"}


def doctor(json_output: Json = False) -> None:
    """Check this installation: extras, compiled kernels, a mechanism's exact law, what Spark and GPUs need.

    Shows the command that installs what is missing. The exit status is 1 if something that is installed does not work.
    """
    with working("checking this installation"):
        found = looked_at()
    if json_output:
        print_json(found.fields())
    else:
        _show(found.title, "what", found.checks)
        _show("Extras", "extra", found.extras)
    if found.status:
        raise typer.Exit(found.status)


def _show(title: str, what: str, found: list[Diagnosis]) -> None:
    rows = table(title, (what, "state", "detail"), words=("state", "detail"))
    for each in found:
        rows.add_row(each.what, Text(each.state, STYLES[each.state]), "\n".join(filter(None, (each.detail, each.advice))))
    out.print(rows)
