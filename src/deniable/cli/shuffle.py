"""``deniable shuffle``: run a shuffler, and manage its keys."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.cli.console import out, print_json, remark, table, tell
from deniable.cli.extra import server_extra
from deniable.cli.options import BehindProxy, Certificate, Host, Json, KeyFile, LogLevel, Port
from deniable.contract.notice import SHUFFLER
from deniable.errors import ParameterError

if TYPE_CHECKING:
    from deniable.collect.shuffler.forwarder import Link
    from deniable.collect.shuffler.shuffler import Shuffler
    from deniable.sealing.keys import KeyRing

DAY = 86_400
shuffle = typer.Typer(invoke_without_command=True)
keys = typer.Typer(no_args_is_help=True, help="Create, show and replace a shuffler's keys.")
shuffle.add_typer(keys, name="keys")
Folder = Annotated[Path, typer.Option(help="The shuffler's folder.")]
Days = Annotated[float, typer.Option(help="Days that a new key is valid.")]


@shuffle.callback()
def run(
    context: typer.Context,
    folder: Annotated[Path | None, typer.Option(help="The shuffler's folder, with its keys and pending reports.")] = None,
    task: Annotated[list[str] | None, typer.Option(help="A task to serve, by id; repeat it for more.")] = None,
    collector: Annotated[str, typer.Option(help="The address of these tasks' collector.")] = "",
    following: Annotated[str, typer.Option("--next", help="The next shuffler's address, if it is not the one in the task.")] = "",
    host: Host = "127.0.0.1",
    port: Port = 8001,
    certificate: Certificate = "",
    key_file: KeyFile = "",
    behind_proxy: BehindProxy = False,
    batch: Annotated[
        int, typer.Option(help="Sealed reports per batch while a period is open; 0 means 16,384, or the minimum if it is larger.")
    ] = 0,
    pad: Annotated[int, typer.Option(help="Fill batches with dummies to a multiple of this (last shuffler only).")] = 1,
    key_days: Annotated[float, typer.Option(help="Days that a key is valid; a new one is created halfway.")] = 30.0,
    grace_days: Annotated[
        float, typer.Option(help="Days after its end that a key still decrypts; 0 means 7, or the longest period with its late reports.")
    ] = 0.0,
    workers: Annotated[int, typer.Option(help="Processes that decrypt reports; 0 means one per core.")] = 0,
    tend_seconds: Annotated[float, typer.Option(help="Seconds between checks whether a batch can be sent.")] = 1.0,
    insecure: Annotated[bool, typer.Option("--insecure", help="Allow plain http to the next server, on a network that you trust.")] = False,
    metrics_port: Annotated[int, typer.Option(help="Serve metrics for Prometheus on this port, for this machine only; 0 means none.")] = 0,
    log_level: LogLevel = "info",
) -> None:
    """Run a shuffler until you stop it (SIGTERM or Ctrl-C); it prints its address when it is ready.

    The collector's operator must not run it: together they would know who sent what. The task names the shuffler's identity, so create
    the keys first (deniable shuffle keys create), and give the identity to the person who publishes the task.
    """
    if context.invoked_subcommand is not None:
        return
    with server_extra("deniable shuffle"):
        from deniable.collect.clock import clock_of
        from deniable.collect.kit.limits import Limits
        from deniable.collect.kit.log import note
        from deniable.collect.kit.settings import ProcessSettings
        from deniable.collect.shuffler.plan import ANSWER_SECONDS, ShufflerPlan, arrange
        from deniable.collect.shuffler.service import serve_shuffler
        from deniable.collect.tasks.spans import until
        from deniable.core.stream import cores

    if folder is None or not collector:
        raise ParameterError("--folder, --collector", None, allowed="both", fix="pass both; see: deniable shuffle --help")
    _check_folder(folder)  # the task names the identity in there; a misspelled folder would get a new one
    if not 0 <= workers <= 1024:
        raise ParameterError("--workers", workers, allowed="from 0 to 1024", fix="pass 0 for one per core")
    if not 0 <= metrics_port < 1 << 16:
        raise ParameterError("--metrics-port", metrics_port, allowed="a port, or 0", fix="pass 0 to serve no metrics")
    plan = ShufflerPlan(
        folder=folder,
        tasks=tuple(_identity(text) for text in task or ()),
        collector=collector,
        following=following,
        batch=batch,
        pad=pad,
        lifetime=_seconds("--key-days", key_days),
        grace=_seconds("--grace-days", grace_days, least=0),
        insecure=insecure,
    )
    settings = ProcessSettings(
        host=host,
        port=port,
        certificate=certificate,
        key_file=key_file,
        behind_proxy=behind_proxy,
        tend_seconds=tend_seconds,
        log_level=log_level,
        limits=Limits(max_body=4 << 20),
    )
    clock = clock_of(os.environ)

    def make() -> tuple[Shuffler, Mapping[bytes, Link]]:
        note(
            f"waiting for the tasks at {collector}, until {until(ANSWER_SECONDS * max(len(plan.tasks), 1))} at the latest"
        )  # the log is JSON
        return arrange(plan, clock=clock)

    serve_shuffler(settings, make, workers=workers or cores(), metrics_port=metrics_port)


@keys.command()
def create(folder: Folder, key_days: Days = 30.0, json_output: Json = False) -> None:
    """Create the identity and a first key, and print the identity for the task file. Keeps keys that exist."""
    with _changing(folder) as ring:
        lifetime = _seconds("--key-days", key_days)
        if not ring.pairs:  # from then on the shuffler manages them: it alone knows how long each is needed
            ring.rotate(time.time(), lifetime)
        identity = ring.identity.hex()
    print_json({"identity": identity}) if json_output else typer.echo(identity)
    remark("Give this identity to the person who publishes the task; keep a safe copy of the folder's keys.json.")


@keys.command()
def show(folder: Folder, json_output: Json = False) -> None:
    """Show the identity and the keys that are announced or still kept, never their private halves."""
    _check_folder(folder)
    with server_extra("deniable shuffle"):
        from deniable.sealing.keys import KeyRing
    ring = KeyRing(folder, SHUFFLER)
    pairs = sorted(ring.pairs.values(), key=lambda pair: pair.start)
    if json_output:
        listed = [
            {"id": key.hex(), "public": pair.public.hex(), "start": pair.start, "end": pair.end, "withdrawn": key in ring.withdrawn}
            for key, pair in sorted(ring.pairs.items(), key=lambda item: item[1].start)
        ]
        print_json({"identity": ring.identity.hex(), "keys": listed})
        return
    rows = table(f"Keys of {ring.identity.hex()}", ("key", "from", "until"), words=("from", "until"))
    for pair in pairs:
        rows.add_row(pair.id.hex(), _day(pair.start), "withdrawn" if pair.id in ring.withdrawn else _day(pair.end))
    out.print(rows)


@keys.command()
def rotate(
    folder: Folder,
    key_days: Days = 30.0,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Stop announcing the old keys, for example after a suspected leak.")] = False,
    json_output: Json = False,
) -> None:
    """Create a new key now. Stop the shuffler first; while it runs, it creates keys automatically before one ends.

    Devices keep using the old keys until those end. If you suspect a leak, add --withdraw: the old keys are no longer announced, and
    within a day no device uses them. They still decrypt earlier reports. An open period is split into two crowds.
    """
    _check_folder(folder)  # a misspelled folder would get a new identity, and the old keys would go on
    with _changing(folder) as ring:
        pair = ring.rotate(time.time(), _seconds("--key-days", key_days), withdraw=withdraw)
        withdrawn = sorted(key.hex() for key in ring.withdrawn) if withdraw else []
    if json_output:
        print_json({"id": pair.id.hex(), "end": pair.end, "withdrawn": withdrawn})
        return
    tell(f"created key {pair.id.hex()}, valid until {_day(pair.end)}")
    if withdraw:
        tell(f"withdrawn: {', '.join(withdrawn) or 'nothing'}")


def _check_folder(folder: Path) -> None:
    if not (folder / "keys.json").exists():
        raise ParameterError(
            "--folder",
            str(folder),
            allowed="a shuffler's folder",
            fix=f"check the path, or run: deniable shuffle keys create --folder {folder}",
        )


@contextmanager
def _changing(folder: Path) -> Iterator[KeyRing]:
    """Open the keys while no shuffler runs: two writers would overwrite each other's."""
    with server_extra("deniable shuffle"):
        from deniable.collect.storage.files import DISK, hold
        from deniable.sealing.keys import KeyRing
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = hold(DISK, folder / "lock")
    try:
        yield KeyRing(folder, SHUFFLER)
    finally:
        DISK.close(handle)


def _seconds(option: str, days: float, *, least: int = 1) -> int:
    """Return days in seconds; raise ParameterError if they are out of range."""
    if not least <= days * DAY <= 366 * DAY:  # false for nan, too
        raise ParameterError(option, days, allowed="up to 366 days", fix="write a number of days, such as 30, or 0.5 for twelve hours")
    return int(days * DAY)


def _identity(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ParameterError("--task", text, allowed="an id of 64 digits 0-9 and a-f", fix="see: deniable task show") from None


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
