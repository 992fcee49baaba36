"""Options that several commands share, with one name and one text each, and how to read them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.errors import ParameterError

STORE_VARIABLE, URL_VARIABLE, TOKEN_VARIABLE = "DENIABLE_STORE", "DENIABLE_URL", "DENIABLE_TOKEN"
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document, and nothing else.")]
Chart = Annotated[Path | None, typer.Option("--chart", help="Save a chart as .svg, .png, .html or .json.")]
Epsilon = Annotated[float, typer.Option("--epsilon", help="The privacy budget of one report: smaller is more private.")]
People = Annotated[int, typer.Option("--people", help="How many people will report.", min=1)]
Top = Annotated[int, typer.Option("--top", help="How many values to show for each question; --json has all.", min=1)]
Which = Annotated[str, typer.Argument(metavar="TASK", help="A task by id, its first six or more digits, or name.")]
Period = Annotated[str, typer.Option("--period", help="Which periods: all, 3, 0-6, 2026-12-03 or 2026-12-01..2026-12-07, in UTC.")]
Strata = Annotated[list[str] | None, typer.Option("--stratum", help="Only this stratum, as in platform=phone; repeat it for more.")]
StoreAddress = Annotated[
    str, typer.Option("--store", envvar=STORE_VARIABLE, help="The collector's store: a folder or a postgresql:// address.")
]
Url = Annotated[str, typer.Option("--url", envvar=URL_VARIABLE, help="The collector's address.")]
TokenFile = Annotated[Path | None, typer.Option("--token-file", help=f"A file with the token, instead of the variable {TOKEN_VARIABLE}.")]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(help="The port; 0 takes a free one.")]
Certificate = Annotated[str, typer.Option(help="A file with the TLS certificate and its chain.")]
KeyFile = Annotated[str, typer.Option(help="A file with the certificate's private key.")]
BehindProxy = Annotated[bool, typer.Option("--behind-proxy", help="A proxy in front of this speaks TLS.")]
LogLevel = Annotated[str, typer.Option(help="The least important messages to log: debug, info, warning or error.")]


def read_labels(texts: list[str] | None) -> dict[str, str]:
    """Return labels by name from texts like platform=phone."""
    labels: dict[str, str] = {}
    for text in texts or []:
        name, sign, label = text.partition("=")
        if not (name and sign and label) or name in labels:
            raise ParameterError("--stratum", text, allowed="name=label, each name once", fix="write it as in --stratum platform=phone")
        labels[name] = label
    return labels
