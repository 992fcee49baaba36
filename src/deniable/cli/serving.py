"""What all commands that serve ask alike: where to listen, TLS, how often to look, what to log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from deniable.collect.settings import Settings

Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(help="The port; 0 takes one that is free.")]
Certificate = Annotated[str, typer.Option(help="A file with the TLS certificate and its chain.")]
KeyFile = Annotated[str, typer.Option(help="A file with the certificate's private key.")]
BehindProxy = Annotated[bool, typer.Option("--behind-proxy", help="Something in front of this speaks TLS.")]
LogLevel = Annotated[str, typer.Option(help="debug, info, warning or error.")]


def settings_of(
    folder: Path,
    host: str,
    port: int,
    certificate: str,
    key_file: str,
    behind_proxy: bool,
    tend_seconds: float,
    log_level: str,
    **more: Any,
) -> Settings:
    """The settings of a process with a folder of its own."""
    from deniable.collect.settings import Settings

    tls: dict[str, Any] = {"certificate": certificate, "key_file": key_file, "behind_proxy": behind_proxy}
    return Settings(store=str(folder), host=host, port=port, **tls, tend_seconds=tend_seconds, log_level=log_level, **more)
