"""Mechanisms and protocols made from the settings in a task file: which there are, and how TOML says each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from fractions import Fraction
from typing import Any, get_args, get_origin, get_type_hints

from deniable.collect.tasks.domain_asking import KINDS, read_domain
from deniable.contract.domain import Domain
from deniable.contract.question import read_share
from deniable.core.declared import check_names
from deniable.errors import DeniableError, ParameterError

SETTLED = {"epsilon", "domain", "domain_size", "people"}
"""What stands elsewhere in the file."""


def settings_of(made: type, *others: str) -> list[str]:
    """What can be said about a mechanism or a protocol, beside what stands elsewhere and ``others``."""
    written = (field.name for field in fields(made) if field.init and field.metadata.get("setting", True))
    return [name for name in written if name not in {*SETTLED, *others}]


def make(made: Any, settings: Mapping[str, Any], settled: Mapping[str, Any]) -> Any:
    """A mechanism or a protocol with these settings, and with whatever it takes of what stands elsewhere."""
    taken = {field.name for field in fields(made)}
    with explained(made.__name__, settings):
        return made(**settings, **{name: value for name, value in settled.items() if name in taken})


@contextmanager
def explained(name: str, settings: Mapping[str, Any]) -> Iterator[None]:
    """Turn what a setting of another type than was thought of leads to into a ParameterError."""
    try:
        yield
    except DeniableError:
        raise
    except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError) as error:
        raise ParameterError(name, dict(settings), allowed="settings of the right type", fix=str(error)) from error


def read_settings(made: type, own: Mapping[str, Any]) -> dict[str, Any]:
    """A protocol's settings as it takes them, by the types that it declares; ParameterError naming one that is missing or unknown."""
    known = settings_of(made)
    needed = [field.name for field in fields(made) if field.default is MISSING and field.name in known]
    check_names(made.__name__, own, needed, known)
    hints = get_type_hints(made)
    return {name: _read(name, hints[name], value) for name, value in own.items()}


def _read(name: str, hint: Any, value: Any) -> Any:
    """A setting as TOML says it: tables are domains or have names of their own, shares are written as in "1/3"."""
    if isinstance(hint, type) and issubclass(hint, Domain):
        return _plain_domain(name, value)
    if isinstance(hint, type) and is_dataclass(hint):
        if not isinstance(value, Mapping):
            names = [field.name for field in fields(hint)]
            raise ParameterError(name, value, allowed=f"a table with {names}", fix=f"begin it with [protocol.{name}]")
        check_names(name, value, [f.name for f in fields(hint) if f.default is MISSING], [f.name for f in fields(hint)])
        hints = get_type_hints(hint)
        return make(hint, {part: _read(f"{name}.{part}", hints[part], what) for part, what in value.items()}, {})
    if get_origin(hint) is tuple and isinstance(value, list):
        return tuple(read_share(each) if Fraction in get_args(hint) else each for each in value)
    if hint is Any and isinstance(value, Mapping):  # columns by their names
        return {column: _plain_domain(f"{name}.{column}", what) if isinstance(what, Mapping) else what for column, what in value.items()}
    return value


def _plain_domain(name: str, value: Any) -> Domain:
    domain, candidates = read_domain(value, name)
    if candidates is not None:
        kinds = [kind for kind in KINDS if kind in value]
        raise ParameterError(name, ["candidates", *kinds], allowed="a domain without candidates", fix="leave them out")
    return domain
