"""The packages of deniable, opened when they are first named: ``dn.tasks.heavy_hitters`` needs no import of its own."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType
from typing import Any

from deniable.errors import MissingExtra
from deniable.removed import missing_name

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
"""The rooms that users name, and the extra that each needs."""


def open_room(name: str) -> Any:
    """A package or module, by its name below ``deniable``; MissingExtra names what to install if it needs something that is not there."""
    full = f"deniable.{name}"
    try:
        module = importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name == full:
            raise missing_name(full.rpartition(".")[0], name.rpartition(".")[2]) from None
        if (error.name or "").startswith("deniable"):
            raise
        raise MissingExtra(full, EXTRAS[name.partition(".")[0]] or "analysis", error.name) from error
    if hasattr(module, "__path__") and "__getattr__" not in vars(module):
        _open_on_demand(module, name)
    return module


def _open_on_demand(package: ModuleType, path: str) -> None:
    """Let a package import its modules when they are first named."""

    def opened(name: str) -> Any:
        if name.startswith("_"):
            raise missing_name(package.__name__, name)
        return open_room(f"{path}.{name}")

    def named() -> list[str]:
        return sorted({*vars(package), *(each.name for each in pkgutil.iter_modules(package.__path__))})

    package.__getattr__, package.__dir__ = opened, named  # type: ignore[method-assign]  # written in packages, type checkers would accept any name
