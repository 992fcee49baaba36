"""Backends: where a store can be. The scheme of its address says which one it is, and nothing else in the system asks.

Without a scheme an address is a folder. A backend is a class, found by the scheme in ``BACKENDS``; CONTRIBUTING shows how to add one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from pathlib import Path
from typing import ClassVar

from deniable.collect.storage.catalog import Catalog
from deniable.collect.storage.log import Log
from deniable.errors import ParameterError

CONNECT_SECONDS = 20
"""How long a database may take to answer; a connection that it drops is tried once more."""
BACKENDS = {
    "": "deniable.collect.storage.folder:Folder",
    "postgresql": "deniable.collect.storage.postgres_catalog:Server",
}
"""Module and class by scheme: a module is loaded when an address needs it."""


class Backend(ABC):
    """The place that an address names."""

    remote: ClassVar[bool] = False
    """Whether opening it may mean waiting for another machine."""

    def __init__(self, address: str) -> None:
        self.address = address

    @property
    def shown(self) -> str:
        """The address as logs may name it: one that can hold a password says less."""
        return self.address

    @abstractmethod
    def exists(self) -> bool:
        """True if there is a store; StorageError if nobody can tell."""

    def make(self) -> bool:
        """Make the place for a new store; False if only a collector can do that. ParameterError if something else is there."""
        return False

    @abstractmethod
    def open_catalog(self) -> Catalog:
        """The database alone: a running collector has the reports to itself."""

    @abstractmethod
    def open(self) -> tuple[Catalog, Log]:
        """The whole store, made if it is not there."""


def find_backend(address: str | Path) -> Backend:
    """The backend for an address; ParameterError if its scheme is unknown.

    >>> find_backend("/var/lib/deniable").shown, find_backend("postgresql://me:secret@localhost/db").shown
    ('/var/lib/deniable', 'PostgreSQL')
    """
    scheme, separator, _ = str(address).partition("://")
    mistyped = next((each for each in BACKENDS if each and not separator and str(address).lower().startswith(f"{each}:")), "")
    if mistyped:  # it may hold a password, and no folder is to be named after it
        raise ParameterError("store", f"{mistyped}:...", allowed=f"an address that begins with {mistyped}://", fix="write both slashes")
    where = BACKENDS.get(scheme if separator else "")
    if where is None:
        schemes = ", ".join(f"{each}://" for each in sorted(BACKENDS) if each)
        raise ParameterError(
            "store", f"{scheme}://...", allowed=f"a folder, or an address that begins with {schemes}", fix="check the scheme"
        )
    module, _, name = where.partition(":")
    found: type[Backend] = getattr(import_module(module), name)
    return found(str(address))
