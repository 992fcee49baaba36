"""The command line: one file per command."""

from __future__ import annotations

import typer

from deniable import __version__
from deniable.cli.account import account
from deniable.cli.aggregate import aggregate
from deniable.cli.audit import audit
from deniable.cli.demo import demo
from deniable.cli.enrol import enrol
from deniable.cli.estimate import estimate
from deniable.cli.export import export, verify
from deniable.cli.lab import lab
from deniable.cli.party import party
from deniable.cli.plan_mean import plan
from deniable.cli.rebuild import rebuild
from deniable.cli.serve import serve
from deniable.cli.shuffle import shuffle
from deniable.cli.simulate import simulate
from deniable.cli.tally import tally
from deniable.cli.task import task
from deniable.cli.token import token

app = typer.Typer(
    name="deniable",
    help="Learn what a crowd knows without learning about anyone in it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)
app.command()(audit)
app.command()(account)
app.command()(simulate)
app.command()(estimate)
app.add_typer(plan, name="plan")
app.add_typer(lab, name="lab")
app.add_typer(task, name="task")
app.command()(serve)
app.add_typer(shuffle, name="shuffle")
app.add_typer(aggregate, name="aggregate")
app.add_typer(party, name="party")
app.add_typer(token, name="token")
app.command()(enrol)
app.command()(rebuild)
app.command()(export)
app.command()(verify)
app.command()(tally)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"deniable {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version and exit."),
) -> None:
    """Learn what a crowd knows without learning about anyone in it."""
