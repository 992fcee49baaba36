"""Mechanisms and protocols made from the settings in a file, of a task or of an experiment: which there are, and how TOML says each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from deniable.contract.domain import Domain
from deniable.core import declared
from deniable.core.declared import explained
from deniable.core.declared_domain import KINDS, read_domain
from deniable.errors import ParameterError

SETTLED = {"epsilon", "domain", "domain_size", "people"}
"""What stands elsewhere in the file."""


def settings_of(made: type, *others: str) -> list[str]:
    """Return the settings that a file may give for a mechanism or a protocol, except those given elsewhere and ``others``."""
    return declared.settings_of(made, {*SETTLED, *others})


def make(made: Any, settings: Mapping[str, Any], settled: Mapping[str, Any]) -> Any:
    """A mechanism or a protocol with these settings, and with whatever it takes of what stands elsewhere."""
    taken = {field.name for field in fields(made)}
    with explained(made.__name__, settings):
        return made(**settings, **{name: value for name, value in settled.items() if name in taken})


def read_settings(made: type, own: Mapping[str, Any], *others: str, path: str = "protocol") -> dict[str, Any]:
    """A protocol's settings as it takes them, by the types that it declares; ParameterError naming one that is missing or unknown.

    Not read are those that stand elsewhere in the file, and ``others``; ``path`` is the name of the table in the file.
    """
    readers = {Domain: plain_domain, Any: _columns}
    return declared.read_settings(made, own, path=path, where=made.__name__, readers=readers, elsewhere={*SETTLED, *others})


def _columns(name: str, value: Any) -> Any:
    """Columns by their names."""
    if not isinstance(value, Mapping):
        return value
    return {column: plain_domain(f"{name}.{column}", what) if isinstance(what, Mapping) else what for column, what in value.items()}


def plain_domain(name: str, value: Any) -> Domain:
    """Return a domain; ParameterError if candidates are listed with it."""
    domain, candidates = read_domain(value, name)
    if candidates is not None:
        kinds = [kind for kind in KINDS if kind in value]
        raise ParameterError(name, ["candidates", *kinds], allowed="a domain without candidates", fix="leave them out")
    return domain
