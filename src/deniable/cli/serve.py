"""``deniable serve``: run a collector."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.extra import server_extra
from deniable.errors import ParameterError


def serve(
    store: Annotated[
        str | None,
        typer.Option(help="Where to keep reports: a folder, or postgresql://user:password@host/database."),
    ] = None,
    host: Annotated[str | None, typer.Option(help="The address to listen on; 127.0.0.1 if left out.")] = None,
    port: Annotated[int | None, typer.Option(help="The port; 8000 if left out, 0 takes a free one.")] = None,
    certificate: Annotated[str | None, typer.Option(help="A file with the TLS certificate and its chain.")] = None,
    key_file: Annotated[str | None, typer.Option(help="A file with the certificate's private key.")] = None,
    behind_proxy: Annotated[bool | None, typer.Option("--behind-proxy", help="A proxy in front of this speaks TLS.")] = None,
    public_estimates: Annotated[
        bool | None, typer.Option("--public-estimates", help="Show estimates to everyone on the dashboard, not only to analysts.")
    ] = None,
    publications: Annotated[str | None, typer.Option(help="A folder of open publications for the dashboard to serve.")] = None,
    tend_seconds: Annotated[float | None, typer.Option(help="Seconds between checks for periods to close; 1 if left out.")] = None,
    log_level: Annotated[str | None, typer.Option(help="The least important messages to log: debug, info, warning or error.")] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file with any of these, and with a table of limits.")] = None,
) -> None:
    """Run a collector until you stop it (SIGTERM or Ctrl-C). It prints its address when it is ready, and logs where its store is.

    Options that you leave out come from the environment (DENIABLE_STORE and so on), then from the config file. Put an address with a
    password there: other users can read a command line.
    """
    with server_extra("deniable serve"):
        from deniable.collect.clock import clock_of
        from deniable.collect.server import serve as run
        from deniable.collect.settings import read_settings

    flags = {
        "store": store,
        "host": host,
        "port": port,
        "certificate": certificate,
        "key_file": key_file,
        "behind_proxy": behind_proxy,
        "public_estimates": public_estimates,
        "publications": publications,
        "tend_seconds": tend_seconds,
        "log_level": log_level,
    }
    settings = read_settings(flags, file=config)
    if Path(settings.store).is_file():
        raise ParameterError(
            "--store", settings.store, allowed="a folder or a postgresql:// address", fix="choose another path: this is a file"
        )
    run(settings, clock=clock_of(os.environ))
