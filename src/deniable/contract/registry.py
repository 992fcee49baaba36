"""Registries: which kinds of records and which mechanisms there are, and where. Only what is registered is ever made from data.

A mechanism is loaded from its file when it is first asked for: a device that was built for one need not load the other thirty.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

from deniable.errors import MissingExtra, WireError, install_command, one_of

if TYPE_CHECKING:
    from deniable.contract.spec import Spec

Kind = TypeVar("Kind", bound=type)


class Family(Protocol):
    """Records of several kinds; an object names its kind under ``tag``."""

    tag: str

    def name_of(self, cls: Any) -> str:
        """Return the kind of a class, as objects name it."""

    def read(self, noun: str, data: object) -> Any:
        """Return the record behind ``data``, of whichever kind; WireError if there is none."""


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
        """Return the kind of a class, as objects name it."""
        kind: str = cls.kind
        return kind

    def read(self, noun: str, data: object) -> Any:
        """Return the record behind ``data``, of whichever kind; WireError if there is none."""
        kind = data.get(self.tag) if isinstance(data, Mapping) else None
        if not isinstance(kind, str) or kind not in self.load(kind):
            raise WireError(noun, data, allowed=f"{self.tag}, {one_of(sorted(self))}", fix="check the name, or upgrade deniable")
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


FLOATING = {"PrivUnit": "deniable.local.vector.priv_unit", "ProjUnit": "deniable.local.vector.proj_unit"}
"""Mechanisms without an exact law, and where they are: they need the analyst's packages, also to randomize."""


class Mechanisms(MutableMapping[str, "type[Spec]"]):
    """Mechanisms by name, in alphabetical order. Asking for one loads its file; going through all of them loads them all.

    A mechanism's file bears its name in small letters, underscores left aside: ``SubsetSelection`` is in ``subset_selection``. So a name
    found in data is looked for among the files that were put on the shelf, and nowhere else.
    """

    tag = "mechanism"

    def __init__(self) -> None:
        self._loaded: dict[str, type[Spec]] = {}
        self._shelf: dict[str, str] = {}
        self._unread = False

    def shelve(self, package: str, modules: Iterable[str]) -> None:
        """Put a package's modules on the shelf; those without a mechanism do no harm there."""
        self._shelf |= {module.replace("_", ""): f"{package}.{module}" for module in modules}
        self._unread = True

    def name_of(self, cls: Any) -> str:
        """Return the name of a mechanism, as its specs state it."""
        name: str = cls.mechanism
        return name

    def read(self, noun: str, data: object) -> Spec:
        """Return the spec behind ``data``, of whichever mechanism; WireError if there is none."""
        importlib.import_module("deniable.client")  # puts the mechanisms on the shelf; contract knows only the name
        return self.named(data.get(self.tag) if isinstance(data, Mapping) else None).from_object(data)

    def named(self, name: object) -> type[Spec]:
        """Return the mechanism that data name, without an exact law or with one; WireError if there is none here."""
        if isinstance(name, str) and name in self:
            return self[name]
        if not isinstance(name, str) or name not in FLOATING:
            raise WireError("mechanism", name, allowed=one_of(sorted(self)), fix="check the name, or upgrade deniable")
        try:
            found: type[Spec] = getattr(importlib.import_module(FLOATING[name]), name)
        except ModuleNotFoundError as error:
            fix = install_command("analysis")
            raise WireError("mechanism", name, allowed="an exact mechanism on a device", fix=fix) from error
        return found

    def __getitem__(self, name: str) -> type[Spec]:
        if name not in self._loaded and name.lower() in self._shelf:
            importlib.import_module(self._shelf[name.lower()])
        return self._loaded[name]

    def __setitem__(self, name: str, mechanism: type[Spec]) -> None:
        self._loaded[name] = mechanism

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        if self._unread:
            for module in self._shelf.values():
                importlib.import_module(module)
            self._unread = False
        return iter(sorted(self._loaded))

    def __len__(self) -> int:
        return len(list(iter(self)))
