"""Mechanisms and protocols made from the settings in a task file: which there are, and how TOML says each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from deniable.collect.tasks.domain_asking import KINDS, read_domain
from deniable.contract.domain import Domain
from deniable.core import declared
from deniable.core.declared import explained
from deniable.errors import ParameterError

__all__ = ["explained", "make", "read_settings", "settings_of"]
SETTLED = {"epsilon", "domain", "domain_size", "people"}
"""What stands elsewhere in the file."""


def settings_of(made: type, *others: str) -> list[str]:
    """What can be said about a mechanism or a protocol, beside what stands elsewhere and ``others``."""
    return declared.settings_of(made, {*SETTLED, *others})


def make(made: Any, settings: Mapping[str, Any], settled: Mapping[str, Any]) -> Any:
    """A mechanism or a protocol with these settings, and with whatever it takes of what stands elsewhere."""
    taken = {field.name for field in fields(made)}
    with explained(made.__name__, settings):
        return made(**settings, **{name: value for name, value in settled.items() if name in taken})


def read_settings(made: type, own: Mapping[str, Any]) -> dict[str, Any]:
    """A protocol's settings as it takes them, by the types that it declares; ParameterError naming one that is missing or unknown."""
    readers = {Domain: _plain_domain, Any: _columns}
    return declared.read_settings(made, own, path="protocol", where=made.__name__, readers=readers, elsewhere=SETTLED)


def _columns(name: str, value: Any) -> Any:
    """Columns by their names."""
    if not isinstance(value, Mapping):
        return value
    return {column: _plain_domain(f"{name}.{column}", what) if isinstance(what, Mapping) else what for column, what in value.items()}


def _plain_domain(name: str, value: Any) -> Domain:
    domain, candidates = read_domain(value, name)
    if candidates is not None:
        kinds = [kind for kind in KINDS if kind in value]
        raise ParameterError(name, ["candidates", *kinds], allowed="a domain without candidates", fix="leave them out")
    return domain
