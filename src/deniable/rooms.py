"""Packages that are imported on first use: ``dn.tasks.heavy_hitters`` needs no import of its own.

A package becomes a ``Room`` when it is imported: Python then binds it to its parent package, which is a room, too.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

EXTRAS = {
    "accounting": "analysis",
    "central": "analysis",
    "client": "",
    "collect": "server",
    "contract": "",
    "core": "analysis",
    "engines": "analysis",
    "errors": "",
    "lab": "lab",
    "local": "analysis",
    "multiparty": "multiparty",
    "sealing": "sealed",
    "shuffle": "analysis",
    "tasks": "analysis",
    "testing": "",
}
"""The packages that users name, and the extra that each needs."""


class Room(ModuleType):
    """A package whose modules are imported on first use; its own ``__getattr__`` comes first."""

    def __setattr__(self, name: str, value: Any) -> None:
        if type(value) is ModuleType and hasattr(value, "__path__"):
            value.__class__ = Room
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        from deniable.errors import MissingExtra
        from deniable.removed import missing_name

        if name.startswith("_"):
            raise missing_name(self.__name__, name)
        try:
            return open_room(f"{self.__name__}.{name}".partition(".")[2])
        except MissingExtra as error:  # help() and the like ask for every name, and accept no other error
            raise AttributeError(str(error), name=name, obj=self) from error

    def __dir__(self) -> list[str]:
        if "__dir__" in vars(self):  # it lists its own names
            return sorted(super().__dir__())
        from pkgutil import iter_modules

        return sorted({*super().__dir__(), *(each.name for each in iter_modules(self.__path__))})


def open_room(name: str) -> Any:
    """Import a package or module by its name below ``deniable``; raise MissingExtra if it needs packages that are not installed."""
    full = f"deniable.{name}"
    try:
        return import_module(full)
    except ModuleNotFoundError as error:
        if error.name == full:
            from deniable.removed import missing_name

            raise missing_name(full.rpartition(".")[0], name.rpartition(".")[2]) from None
        if (error.name or "").startswith("deniable"):
            raise
        from deniable.errors import MissingExtra

        raise MissingExtra(full, EXTRAS.get(name.partition(".")[0]) or "analysis", error.name) from error
