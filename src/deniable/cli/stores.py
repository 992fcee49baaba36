"""A collector's store, for commands that open it themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from deniable.cli.console import waiting
from deniable.cli.extra import server_extra
from deniable.errors import ParameterError

if TYPE_CHECKING:
    from deniable.collect.storage.backends import Backend
    from deniable.collect.storage.catalog import Catalog


@contextmanager
def open_catalog(address: str, *, new: bool = False) -> Iterator[Catalog]:
    """Open the database of a store. Only if it may be ``new`` is its folder created: a misspelled path is no empty store."""
    backend = _backend(address)
    if not (new and address and backend.make()):
        check_store(address)
    with waiting("the database", _patience()):
        catalog = backend.open_catalog()
    try:
        yield catalog
    finally:
        catalog.close()


def check_store(address: str) -> None:
    """Raise unless this is a store, before anything is created."""
    backend = _backend(address)
    with waiting("the database", _patience()) if backend.remote else nullcontext():
        there = backend.exists()
    if not there:
        fix = "check the path, or create the store: deniable serve, or deniable token add"
        raise ParameterError("--store", backend.shown, allowed="a collector's store: a folder or a postgresql:// address", fix=fix)


def _backend(address: str) -> Backend:
    with server_extra("a collector's store"):
        from deniable.collect.storage.backends import find_backend

        return find_backend(address)


def _patience() -> float:
    from deniable.collect.storage.backends import CONNECT_SECONDS

    return CONNECT_SECONDS
