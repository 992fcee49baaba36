"""Options that several commands take: one name and one phrase for each thing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
