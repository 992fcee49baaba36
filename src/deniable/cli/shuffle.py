"""``deniable shuffle``: run a shuffler, and keep its keys."""

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
keys = typer.Typer(no_args_is_help=True, help="Make, show and replace a shuffler's keys.")
shuffle.add_typer(keys, name="keys")
Folder = Annotated[Path, typer.Option(help="The shuffler's folder.")]
Days = Annotated[float, typer.Option(help="How long a new key is good for.")]


@shuffle.callback()
def run(
    context: typer.Context,
    folder: Annotated[Path | None, typer.Option(help="Where it keeps its keys and what it holds.")] = None,
    task: Annotated[list[str] | None, typer.Option(help="A task that it serves, by its id; say it again for more.")] = None,
    collector: Annotated[str, typer.Option(help="The collector of these tasks.")] = "",
    following: Annotated[str, typer.Option("--next", help="The next shuffler, if not at the address that the task has.")] = "",
    host: Host = "127.0.0.1",
    port: Port = 8001,
    certificate: Certificate = "",
    key_file: KeyFile = "",
    behind_proxy: BehindProxy = False,
    batch: Annotated[
        int, typer.Option(help="Seals that go at once while a period is open; 0: 16,384, or the minimum if that is more.")
    ] = 0,
    pad: Annotated[int, typer.Option(help="Fill batches with dummies to a multiple of this; for the last shuffler.")] = 1,
    key_days: Annotated[float, typer.Option(help="How long a key is good for; a new one is made at half of that.")] = 30.0,
    grace_days: Annotated[
        float, typer.Option(help="How long after its end a key still opens; 0: 7, or the longest period and its late reports.")
    ] = 0.0,
    workers: Annotated[int, typer.Option(help="Processes that open seals; 0: one for each core.")] = 0,
    tend_seconds: Annotated[float, typer.Option(help="How often to look whether a batch may go.")] = 1.0,
    insecure: Annotated[bool, typer.Option("--insecure", help="Pass on over plain http, on a network that you trust.")] = False,
    metrics_port: Annotated[int, typer.Option(help="Figures for Prometheus on this port, for this machine alone; 0: none.")] = 0,
    log_level: LogLevel = "info",
) -> None:
    """Run a shuffler until it is told to stop (SIGTERM, or Ctrl-C); prints its address once it is ready.

    It must not be run by whoever runs the collector: together they know who sent what. The task names the shuffler's identity, so make
    the keys first (deniable shuffle keys create) and give the identity to whoever publishes the task.
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
        raise ParameterError("--folder, --collector", "nothing", allowed="both", fix="see: deniable shuffle --help")
    _check_folder(folder)  # the task names the identity that was made there; a misspelled folder would get a new one
    if not 0 <= workers <= 1024:
        raise ParameterError("--workers", workers, allowed="from 0 to 1024", fix="0 takes one for each core")
    if not 0 <= metrics_port < 1 << 16:
        raise ParameterError("--metrics-port", metrics_port, allowed="a port, or 0", fix="0 serves no figures")
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
    """Make the identity and a first key, and print the identity: it goes into the task file. Harmless if they are there."""
    with _changing(folder) as ring:
        lifetime = _seconds("--key-days", key_days)
        if not ring.pairs:  # the shuffler looks after them from then on: it alone knows how long each is needed
            ring.rotate(time.time(), lifetime)
        identity = ring.identity.hex()
    print_json({"identity": identity}) if json_output else typer.echo(identity)
    remark("Give these digits to whoever publishes the task; keep a copy of the folder's keys.json in a safe place.")


@keys.command()
def show(folder: Folder, json_output: Json = False) -> None:
    """Show the identity, and the keys that are announced or still kept. Private halves are never shown."""
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
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Announce the keys so far no more, as after a suspicion.")] = False,
    json_output: Json = False,
) -> None:
    """Make a new key now. A running shuffler does so by itself before a key ends, and must be stopped for this.

    Devices go on with the keys so far until those end. After a suspicion add --withdraw: then they are no longer announced, and within a
    day no device seals for them. They still open what was sealed before. A period that is open is split into two crowds by it.
    """
    _check_folder(folder)  # keys of a misspelled folder would be new ones of a new identity, and the old ones go on
    with _changing(folder) as ring:
        pair = ring.rotate(time.time(), _seconds("--key-days", key_days), withdraw=withdraw)
        withdrawn = sorted(key.hex() for key in ring.withdrawn) if withdraw else []
    if json_output:
        print_json({"id": pair.id.hex(), "end": pair.end, "withdrawn": withdrawn})
        return
    tell(f"made key {pair.id.hex()}, good until {_day(pair.end)}")
    if withdraw:
        tell(f"withdrawn: {', '.join(withdrawn) or 'nothing'}")


def _check_folder(folder: Path) -> None:
    if not (folder / "keys.json").exists():
        raise ParameterError("--folder", str(folder), allowed="a shuffler's folder", fix="run: deniable shuffle keys create")


@contextmanager
def _changing(folder: Path) -> Iterator[KeyRing]:
    """The keys, while no shuffler runs: two writers would lose each other's."""
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
    """Days in seconds; ParameterError if they are none."""
    if not least <= days * DAY <= 366 * DAY:  # not a number is neither
        raise ParameterError(option, days, allowed=f"from {least} seconds to 366 days", fix="as in 30, or 0.5 for twelve hours")
    return int(days * DAY)


def _identity(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ParameterError("--task", text, allowed="an id of 64 digits 0-9 and a-f", fix="see: deniable task show") from None


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
