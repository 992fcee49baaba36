"""Options that several commands take, one name and one phrase for each thing, and how those that are more than a word are read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.errors import ParameterError

STORE_VARIABLE, URL_VARIABLE, TOKEN_VARIABLE = "DENIABLE_STORE", "DENIABLE_URL", "DENIABLE_TOKEN"
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON document, and nothing else.")]
Chart = Annotated[Path | None, typer.Option("--chart", help="Save a chart: .svg, .png, .html or .json.")]
Epsilon = Annotated[float, typer.Option("--epsilon", help="The privacy parameter: smaller is more private.")]
People = Annotated[int, typer.Option("--people", help="How many people will report.", min=1)]
Top = Annotated[int, typer.Option("--top", help="How many values to show of each question; --json has them all.", min=1)]
Which = Annotated[str, typer.Argument(metavar="TASK", help="A task: its id, the first six digits of it or more, or its name.")]
Period = Annotated[str, typer.Option("--period", help="all, 3, 0-6, 2026-12-03 or 2026-12-01..2026-12-07; times are UTC.")]
Strata = Annotated[list[str] | None, typer.Option("--stratum", help="Only these people, as in platform=phone; say it again for more.")]
StoreAddress = Annotated[str, typer.Option("--store", envvar=STORE_VARIABLE, help="The collector's store: a folder or postgresql://...")]
Url = Annotated[str, typer.Option("--url", envvar=URL_VARIABLE, help="The collector's address.")]
TokenFile = Annotated[
    Path | None, typer.Option("--token-file", help=f"A file with the token, instead of the environment's {TOKEN_VARIABLE}.")
]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(help="The port; 0 takes one that is free.")]
Certificate = Annotated[str, typer.Option(help="A file with the TLS certificate and its chain.")]
KeyFile = Annotated[str, typer.Option(help="A file with the certificate's private key.")]
BehindProxy = Annotated[bool, typer.Option("--behind-proxy", help="Something in front of this speaks TLS.")]
LogLevel = Annotated[str, typer.Option(help="debug, info, warning or error.")]


def read_labels(texts: list[str] | None) -> dict[str, str]:
    """Labels by name behind texts like platform=phone."""
    labels: dict[str, str] = {}
    for text in texts or []:
        name, sign, label = text.partition("=")
        if not (name and sign and label) or name in labels:
            raise ParameterError("--stratum", text, allowed="name=label, each name once", fix="as in --stratum platform=phone")
        labels[name] = label
    return labels
