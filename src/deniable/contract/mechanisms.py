"""Every mechanism by its name, each loaded from its file when it is first asked for.

A device that was built for one mechanism need not load the other thirty.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from deniable.errors import WireError, install_command

if TYPE_CHECKING:
    from deniable.contract.spec import Spec

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
        """The name of a mechanism, as its specs state it."""
        name: str = cls.mechanism
        return name

    def read(self, noun: str, data: object) -> Spec:
        """The spec behind ``data``, of whichever mechanism; WireError if there is none."""
        importlib.import_module("deniable.client")  # puts the mechanisms on the shelf; contract knows only the name
        return self.named(data.get(self.tag) if isinstance(data, Mapping) else None).from_object(data)

    def named(self, name: object) -> type[Spec]:
        """The mechanism that data name, without an exact law or with one; WireError if there is none here."""
        if isinstance(name, str) and name in self:
            return self[name]
        if not isinstance(name, str) or name not in FLOATING:
            raise WireError("mechanism", name, allowed=f"one of {sorted(self)}", fix="upgrade deniable or check the name")
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
