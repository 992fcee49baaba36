"""``deniable serve``: run a collector."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.extra import server_extra


def serve(
    store: Annotated[
        str | None,
        typer.Option(help="Where reports are kept: a folder, or postgresql://user:password@host/database."),
    ] = None,
    host: Annotated[str | None, typer.Option(help="The address to listen on; 127.0.0.1 if left out.")] = None,
    port: Annotated[int | None, typer.Option(help="The port; 8000 if left out, 0 takes one that is free.")] = None,
    certificate: Annotated[str | None, typer.Option(help="A file with the TLS certificate and its chain.")] = None,
    key_file: Annotated[str | None, typer.Option(help="A file with the certificate's private key.")] = None,
    behind_proxy: Annotated[bool | None, typer.Option("--behind-proxy", help="Something in front of this speaks TLS.")] = None,
    public_estimates: Annotated[
        bool | None, typer.Option("--public-estimates", help="Show estimates to everyone on the dashboard, not only to analysts.")
    ] = None,
    publications: Annotated[str | None, typer.Option(help="A folder of open publications, which the dashboard serves.")] = None,
    tend_seconds: Annotated[float | None, typer.Option(help="How often to seal what is over; 1 if left out.")] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file with any of these, and with a table of limits.")] = None,
) -> None:
    """Run a collector until it is told to stop (SIGTERM, or Ctrl-C); prints its address once it is ready.

    What is not given here is read from the environment (DENIABLE_STORE and so on), then from the config file.
    An address with a password is better kept there: other users can read a command line.
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
    run(read_settings(flags, file=config), clock=clock_of(os.environ))
