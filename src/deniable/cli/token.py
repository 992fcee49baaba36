"""``deniable token``: who may ask a collector for estimates, and who may publish tasks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from rich.table import Table

from deniable.cli.console import err, out, plain_errors, print_json
from deniable.cli.extra import server_extra
from deniable.errors import ParameterError

if TYPE_CHECKING:
    from sqlalchemy import Engine

token = typer.Typer(no_args_is_help=True, help="Give and take the tokens that a collector's analysts and admins use.")
Address = Annotated[str, typer.Option("--store", envvar="DENIABLE_STORE", help="The collector's store: a folder or postgresql://...")]
Label = Annotated[str, typer.Argument(help="What tells it from others: who or what uses it.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")]


class Role(StrEnum):
    """What a token opens."""

    analyst = "analyst"
    admin = "admin"


class Database(NamedTuple):
    """A store's database without its reports: a running collector has those to itself."""

    engine: Engine


@token.command()
def add(label: Label, role: Annotated[Role, typer.Option(help="admin also publishes and deletes.")], store: Address) -> None:
    """Make a token, and print it: it is kept as a digest only, and cannot be shown again."""
    with plain_errors(), open_database(store) as database:
        from deniable.collect.web.access import add_token

        typer.echo(add_token(database, str(role), label))
        err.print("Keep it now: it is not shown again. For the other commands, put it in DENIABLE_TOKEN or a --token-file.")


@token.command("list")
def list_all(store: Address, json_output: Json = False) -> None:
    """List tokens by label and role."""
    with plain_errors(), open_database(store) as database:
        from deniable.collect.web.access import list_tokens

        tokens = list_tokens(database)
    if json_output:
        print_json({"tokens": [found._asdict() for found in tokens]})
        return
    table = Table("label", "role")
    for found in tokens:
        table.add_row(found.label, found.role)
    out.print(table)


@token.command()
def remove(label: Label, store: Address) -> None:
    """Remove a token: from now on it opens nothing."""
    with plain_errors(), open_database(store) as database:
        from deniable.collect.web.access import remove_token

        remove_token(database, label)
    out.print(f"removed {label}")


@contextmanager
def open_database(address: str) -> Iterator[Database]:
    """The database of a store; the folder of an embedded one is made if it is not there, so that tokens can come first."""
    with server_extra("deniable token"):
        from deniable.collect.storage.database import connect
    if not address:
        raise ParameterError("--store", address, allowed="a folder or a postgresql:// address", fix="as the collector was given it")
    if not address.startswith("postgresql:"):
        Path(address).mkdir(parents=True, exist_ok=True, mode=0o700)
    engine = connect(address if address.startswith("postgresql:") else Path(address) / "collector.sqlite")
    try:
        yield Database(engine)
    finally:
        engine.dispose()
