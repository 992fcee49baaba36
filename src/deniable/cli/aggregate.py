"""``deniable aggregate``: begin a secure sum, and run its aggregator, which never sees a party's numbers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.console import print_json, remark, tell
from deniable.cli.exits import ERROR
from deniable.cli.extra import summing_extra
from deniable.cli.options import BehindProxy, Certificate, Host, Json, KeyFile, LogLevel, Port

if TYPE_CHECKING:
    from deniable.collect.sums.aggregation import Aggregation
    from deniable.core.estimate import Estimate

aggregate = typer.Typer(no_args_is_help=True, help="Add up numbers that parties show to nobody.")
Folder = Annotated[Path, typer.Option(help="The folder for this sum; every sum needs its own.")]


@aggregate.command()
def create(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A TOML file: the parties' public keys, what to add up, the noise, how many may drop out."),
    ],
    folder: Folder,
    json_output: Json = False,
) -> None:
    """Begin a sum: write its terms into a new folder, and print them with the id that every party must confirm."""
    with summing_extra("deniable aggregate"):
        from deniable.collect.storage.sum_store import SumStore
        from deniable.collect.sums.agreement import described
        from deniable.collect.sums.agreement_file import read_agreement_file

    agreement = read_agreement_file(file.read_bytes(), file.name)
    SumStore(folder, agreement.canonical).close()
    remark("Never restore an older copy of this folder: two sums of one agreement could reveal a party's numbers.")
    if json_output:
        print_json(described(agreement))
        return
    for name, text in described(agreement).items():
        tell(f"{name:<10}{text}")


@aggregate.command()
def run(
    folder: Folder,
    secret: Annotated[Path | None, typer.Option(help="The aggregator's secret file from the dealer, for a stream sum.")] = None,
    host: Host = "127.0.0.1",
    port: Port = 8002,
    certificate: Certificate = "",
    key_file: KeyFile = "",
    behind_proxy: BehindProxy = False,
    join_seconds: Annotated[float, typer.Option(help="Seconds to wait for all parties to begin.")] = 86_400.0,
    step_seconds: Annotated[float, typer.Option(help="Seconds for each later step; a party that is late drops out.")] = 3_600.0,
    linger: Annotated[float, typer.Option(help="Seconds to keep serving after the end, so that every party learns of it.")] = 60.0,
    tend_seconds: Annotated[float, typer.Option(help="Seconds between checks whether a step is over.")] = 1.0,
    json_output: Json = False,
    log_level: LogLevel = "info",
) -> None:
    """Run the aggregator until the sum is complete, and print it; the first line of output is the address.

    You can stop or kill it at any time: start it again on the same folder, and it goes on. Exit status 2: the sum was aborted.
    """
    with summing_extra("deniable aggregate"):
        from deniable.collect.clock import clock_of
        from deniable.collect.kit.settings import ProcessSettings
        from deniable.collect.storage.sum_store import ABORTED, SumStore
        from deniable.collect.sums.aggregation import Aggregation, Patience
        from deniable.collect.sums.party_folder import read_private
        from deniable.collect.sums.service import serve_sum

    settings = ProcessSettings(
        host=host,
        port=port,
        certificate=certificate,
        key_file=key_file,
        behind_proxy=behind_proxy,
        tend_seconds=tend_seconds,
        log_level=log_level,
    )
    patience, clock = Patience(join_seconds, step_seconds), clock_of(os.environ)
    dealt = read_private(secret) if secret else b""
    ended: list[str] = []

    def over(found: Aggregation) -> None:
        ended.append(found.state)
        if found.state == ABORTED:
            remark(f"aborted: {found.result}; begin a new sum: deniable aggregate create")
        else:
            _show(found.estimate(), json_output)

    def make() -> Aggregation:
        return Aggregation(SumStore(folder), steady=clock.steady, patience=patience, secret=dealt)

    serve_sum(settings, make, clock, linger=linger, over=over)
    if ended == [ABORTED]:
        raise typer.Exit(ERROR)


@aggregate.command()
def show(folder: Folder, json_output: Json = False) -> None:
    """Print a sum that is complete, with its standard errors."""
    with summing_extra("deniable aggregate"):
        from deniable.collect.storage.sum_store import SumStore
        from deniable.collect.sums.aggregation import estimate_of

    store = SumStore(folder)
    try:
        _show(estimate_of(store), json_output)
    finally:
        store.close()


def _show(estimate: Estimate, json_output: bool) -> None:
    print_json({"estimate": estimate.to_json()}) if json_output else typer.echo(repr(estimate))
