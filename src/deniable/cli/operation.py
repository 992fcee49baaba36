"""The commands around a collector's or a shuffler's process, without all the others: they start faster on their own."""

from __future__ import annotations

import typer

from deniable.cli.rebuild import rebuild
from deniable.cli.serve import serve
from deniable.cli.shuffle import shuffle
from deniable.cli.token import token

operation = typer.Typer(name="deniable", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
operation.command()(serve)
operation.add_typer(shuffle, name="shuffle")
operation.add_typer(token, name="token")
operation.command()(rebuild)
