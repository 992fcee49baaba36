"""What an operator decides about a collector: defaults, overruled by a TOML file, by the environment, and by the command line.

::

    store = "/var/lib/deniable"      # a folder, or postgresql://user:password@host/database
    host = "127.0.0.1"
    port = 8000
    certificate = "certificate.pem"  # with key_file: TLS
    key_file = "key.pem"
    behind_proxy = false             # true: something in front speaks TLS
    public_estimates = false         # true: the dashboard shows estimates to everyone, not only to analysts who signed in
    publications = ""                # a folder of open publications (deniable export --open), which the dashboard serves
    lifetime_epsilon = 10.0          # what a browser may spend in all; the person can change it. At most 10: you may propose less
    tend_seconds = 1.0               # how often periods are sealed and rounds closed that are due
    log_level = "info"

    [limits]
    max_body = 1048576               # see Limits

In the environment they are ``DENIABLE_STORE``, ``DENIABLE_LIMITS_MAX_BODY`` and so on.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from deniable.collect.kit.limits import Limits
from deniable.collect.kit.settings import ProcessSettings
from deniable.collect.storage.backends import find_backend
from deniable.core.declared import did_you_mean, read_toml
from deniable.errors import ParameterError, one_of

PREFIX = "DENIABLE_"
ELSEWHERE = (
    "DENIABLE_CONFIG",
    "DENIABLE_TESTING",
    "DENIABLE_TEST_CLOCK",
    "DENIABLE_TEST_FAULT",
    "DENIABLE_TOKEN",
    "DENIABLE_TRACEBACK",
    "DENIABLE_URL",
)
"""Names in the environment that are read by others."""


@dataclass(frozen=True, kw_only=True)
class Settings(ProcessSettings):
    """Everything that is decided before a collector starts. Its ``repr`` does not show the store, whose address may hold a password."""

    store: str = field(default="deniable-store", repr=False)
    public_estimates: bool = False
    publications: str = ""
    lifetime_epsilon: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.store:
            raise ParameterError(
                "store", self.store, allowed="a folder or a postgresql:// address", fix="set store to the place where reports are kept"
            )
        if not 0 < self.lifetime_epsilon <= 10:
            fix = "propose less than the usual 10; only the person raises the limit"
            raise ParameterError("lifetime_epsilon", self.lifetime_epsilon, allowed="above 0, at most 10", fix=fix)

    @property
    def store_in_words(self) -> str:
        """The store as logs may name it: a folder by its full path."""
        backend = find_backend(self.store)
        return backend.shown if backend.remote else str(Path(backend.shown).resolve())


def read_settings(
    flags: Mapping[str, Any] | None = None, *, environment: Mapping[str, str] | None = None, file: str | Path | None = None
) -> Settings:
    """The settings; a flag that is None was not given. ParameterError naming what is unknown or cannot be used.

    >>> read_settings({"port": None}, environment={"DENIABLE_PORT": "8443"}).port
    8443
    """
    environment = os.environ if environment is None else environment
    file = file or environment.get("DENIABLE_CONFIG")
    found = _from_file(Path(file)) if file else {}
    found |= _from_environment(environment)
    found |= _checked({name: value for name, value in (flags or {}).items() if value is not None}, "the command line", strict=True)
    limits = {name.removeprefix("limits."): found.pop(name) for name in sorted(found) if name.startswith("limits.")}
    return Settings(**found, limits=Limits(**limits))


def _types() -> dict[str, Any]:
    """Every setting by its name with the type that it has."""
    own = {name: kind for name, kind in get_type_hints(Settings).items() if name != "limits"}
    return own | {f"limits.{name}": kind for name, kind in get_type_hints(Limits).items()}


def _from_file(path: Path) -> dict[str, Any]:
    content = read_toml(path.read_bytes(), path.name)
    limits = content.pop("limits", {})
    if not isinstance(limits, dict):
        raise ParameterError("limits", limits, allowed="a table", fix="write a table that begins with [limits]")
    return _checked(content | {f"limits.{name}": value for name, value in limits.items()}, path.name, strict=True)


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    names = {PREFIX + name.replace(".", "_").upper(): name for name in _types()}
    given = {name: value for name, value in environment.items() if name.startswith(PREFIX) and name not in ELSEWHERE}
    for name in given:
        if name not in names:
            raise ParameterError("environment", name, allowed=one_of(sorted(names)), fix=did_you_mean(name, names))
    return _checked({names[name]: value for name, value in given.items()}, "the environment", strict=False)


def _checked(content: Mapping[str, Any], where: str, *, strict: bool) -> dict[str, Any]:
    """The values in their types; from the environment they come as text."""
    types = _types()
    found = {}
    for name, value in content.items():
        if name not in types:
            raise ParameterError(where, name, allowed=one_of(types).replace("one of", "the keys"), fix=did_you_mean(name, types))
        try:
            found[name] = msgspec.convert(value, types[name], strict=strict)
        except msgspec.ValidationError as error:
            shown = "..." if name == "store" else value
            raise ParameterError(name, shown, allowed=f"of type {types[name].__name__}", fix=f"{error}, in {where}") from error
    return found
