"""Families of records: which kinds there are, and where they are found. Only what is registered is ever made from data."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, Protocol, Self, TypeVar

from deniable.errors import MissingExtra, WireError

Kind = TypeVar("Kind", bound=type)


class Family(Protocol):
    """Records of several kinds; an object names its kind under ``tag``."""

    tag: str

    def name_of(self, cls: Any) -> str:
        """The kind of a class, as objects name it."""

    def read(self, noun: str, data: object) -> Any:
        """The record behind ``data``, of whichever kind; WireError if there is none."""


class Registry(dict[str, type]):
    """Records of one family by kind, which an object names under ``tag``. Only what is registered is ever made from data.

    ``homes`` are the modules that register kinds; they build on the family's own module, which knows only their names.
    """

    def __init__(self, noun: str, tag: str, homes: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.noun, self.tag, self._homes = noun, tag, homes

    def add(self, cls: Kind) -> Kind:
        """Class decorator: register a record under its ``kind``."""
        self[cls.kind] = cls  # type: ignore[attr-defined]  # every member of a family has one
        return cls

    def name_of(self, cls: Any) -> str:
        """The kind of a class, as objects name it."""
        kind: str = cls.kind
        return kind

    def read(self, noun: str, data: object) -> Any:
        """The record behind ``data``, of whichever kind; WireError if there is none."""
        kind = data.get(self.tag) if isinstance(data, Mapping) else None
        if not isinstance(kind, str) or kind not in self.load(kind):
            raise WireError(noun, data, allowed=f"{self.tag}, one of {sorted(self)}", fix="upgrade deniable or check the name")
        return self[kind].from_object(data)  # type: ignore[attr-defined]  # a record

    def load(self, wanted: object = None) -> Self:
        """Load the homes, all of them unless the ``wanted`` kind is known already; MissingExtra if it may be in one that cannot be."""
        for home in () if isinstance(wanted, str) and wanted in self else self._homes:
            try:
                importlib.import_module(home)
            except ModuleNotFoundError as error:
                if (error.name or "").startswith("deniable"):
                    raise
                raise MissingExtra(f"the {self.noun} {wanted!r}", "analysis", error.name) from error
        return self
