"""A collector's store, as the commands beside the collector find it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deniable.cli.console import waiting
from deniable.cli.extra import server_extra
from deniable.errors import ParameterError

if TYPE_CHECKING:
    from sqlalchemy import Engine

DATABASE = "collector.sqlite"


class Database(NamedTuple):
    """A store's database without its reports: a running collector has those to itself."""

    engine: Engine


@contextmanager
def open_database(address: str, *, new: bool = False) -> Iterator[Database]:
    """The database of a store; only if it may be ``new`` is the folder of an embedded one made: a misspelled path is no empty store."""
    with server_extra("a collector's store"):
        from deniable.collect.storage.database import CONNECT_SECONDS, connect
    if new and address and not is_server(address):
        _check_free(Path(address))
        Path(address).mkdir(parents=True, exist_ok=True, mode=0o700)
    else:
        check_store(address)
    with waiting("the database", CONNECT_SECONDS):
        engine = connect(address if is_server(address) else Path(address) / DATABASE)
    try:
        yield Database(engine)
    finally:
        engine.dispose()


def check_store(address: str) -> None:
    """Refuse what is no store, before anything is made of it."""
    if is_server(address):
        with server_extra("a collector's store"):
            from deniable.collect.storage.database import CONNECT_SECONDS, has_store
        with waiting("the database", CONNECT_SECONDS):
            there = has_store(address)
    else:
        there = bool(address) and (Path(address) / DATABASE).exists()
    if not there:
        fix = "check the path, or make it with: deniable serve, or deniable token add"
        raise ParameterError("--store", address, allowed="the folder of a collector's store, or a postgresql:// address", fix=fix)


def _check_free(folder: Path) -> None:
    """Refuse a folder of something else as the place of a new store."""
    if folder.exists() and not (folder / DATABASE).exists() and (not folder.is_dir() or any(folder.iterdir())):
        allowed = "a collector's store, or a folder that is empty or new"
        raise ParameterError("--store", str(folder), allowed=allowed, fix="check the path: other files are there")


def is_server(address: str) -> bool:
    """Whether a store is at a database server, and not in a folder."""
    return address.startswith("postgresql:")
