"""``deniable token``: access tokens of analysts, who read estimates, and admins, who publish tasks."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from deniable.cli.console import out, print_json, remark, table, tell
from deniable.cli.options import Json, StoreAddress
from deniable.cli.stores import open_catalog

token = typer.Typer(no_args_is_help=True, help="Create and revoke access tokens.")
Label = Annotated[str, typer.Argument(metavar="LABEL", help="A label for the token: the person or program that uses it.")]


class Role(StrEnum):
    """What a token may do."""

    analyst = "analyst"
    admin = "admin"


@token.command()
def add(
    label: Label,
    role: Annotated[Role, typer.Option(help="What the token may do: analyst reads estimates, admin also publishes and deletes tasks.")],
    store: StoreAddress,
    json_output: Json = False,
) -> None:
    """Create a token and print it. The store keeps only its digest, so it cannot be shown again.

    Creates the folder of a new store, so that you can create tokens before you start the collector.
    """
    with open_catalog(store, new=True) as catalog:
        from deniable.collect.web.access import add_token

        made = add_token(catalog, str(role), label)
    print_json({"token": made, "label": label, "role": str(role)}) if json_output else typer.echo(made)
    remark("Keep it now: it is not shown again. For the other commands, put it in DENIABLE_TOKEN or a --token-file.")


@token.command("list")
def list_all(store: StoreAddress, json_output: Json = False) -> None:
    """List tokens by label and role."""
    with open_catalog(store) as catalog:
        from deniable.collect.web.access import list_tokens

        tokens = list_tokens(catalog)
    if json_output:
        print_json({"tokens": [found._asdict() for found in tokens]})
        return
    rows = table("Tokens", ("label", "role"), words=("role",))
    for found in tokens:
        rows.add_row(found.label, found.role)
    out.print(rows)


@token.command()
def remove(label: Label, store: StoreAddress, json_output: Json = False) -> None:
    """Revoke a token: from now on the collector refuses it."""
    with open_catalog(store) as catalog:
        from deniable.collect.web.access import remove_token

        remove_token(catalog, label)
    print_json({"label": label}) if json_output else tell(f"removed {label}")
