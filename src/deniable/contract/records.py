"""Records: several answers of one person, each under a name and with its own domain."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any, ClassVar

from deniable.contract.canonical import read_object
from deniable.contract.domain import Domain
from deniable.contract.encoder import Attribute
from deniable.contract.form import Form
from deniable.contract.hashing import string_key
from deniable.contract.record import wire
from deniable.errors import DomainError, ParameterError, WireError

_KEY_BYTES = 8


def _write_columns(columns: tuple[tuple[str, Domain | str], ...]) -> list[dict[str, Any]]:
    return [{"name": name, **({"only": what} if isinstance(what, str) else {"domain": what.to_json()})} for name, what in columns]


def _read_columns(noun: str, data: object) -> tuple[tuple[Any, Any], ...]:
    """Return names with domains or only labels; the caller checks which are allowed."""
    if not isinstance(data, list):
        raise WireError(noun, data, allowed="a list of columns", fix="publish it again")
    parts = [read_object("column", column, {"name"}, frozenset({"domain", "only"})) for column in data]
    if any(len(part) != 2 for part in parts):
        raise WireError(noun, data, allowed="a domain or an only label for each", fix="publish it again")
    return tuple((part["name"], part["only"] if "only" in part else Domain.from_json(part["domain"])) for part in parts)


COLUMNS = Form(_write_columns, _read_columns)
"""Named columns: each with its domain, or with the only label that it has."""


@dataclass(frozen=True)
class Record(Domain):
    """Mappings with a value for each of some columns; other keys are ignored.

    In place of a domain a column may have the only label that there is. A record's key is a hash of its columns' keys. No mechanism takes
    records: encoders ask about some columns (``contract.cells``, ``contract.gradient``, ``contract.clusters``).

    >>> from deniable.contract.domain import Categories, Integers
    >>> review = Record((("place", Categories("bar", "inn")), ("stars", Integers(1, 5)), ("country", "Norway")))
    >>> review.keys({"stars": 5, "place": "inn", "country": "Norway", "name": "Ann"})
    (1, 4)
    >>> review.holds("stars", Integers(1, 5)), review.holds("stars", Integers(0, 5)), review.holds("name", Integers(1, 5))
    (True, False, False)
    """

    columns: tuple[tuple[str, Domain | str], ...] = field(metadata=wire(form=COLUMNS))
    kind: ClassVar[str] = "record"
    listed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        names = [name for name, _ in self.columns]
        if not names or not all(isinstance(name, str) and name for name in names) or len(set(names)) < len(names):
            raise ParameterError("columns", names[:5], allowed="one or more names, each once", fix="name what a record holds")
        for name, what in self.columns:
            if not isinstance(what, Domain | str) or not what:
                raise ParameterError(f"column {name!r}", what, allowed="a domain, or the only label", fix="write Integers(1, 5)")

    @property
    def size(self) -> int:
        return prod(what.size for _, what in self.columns if isinstance(what, Domain))

    def holds(self, name: str, domain: Domain) -> bool:
        return self._domains.get(name) == domain

    @cached_property
    def _domains(self) -> dict[str, Domain | str]:
        return dict(self.columns)

    def keys(self, value: Any) -> tuple[int, ...]:
        """Return the keys of a record's values, column by column; DomainError if one of them is missing or not allowed."""
        keys = []
        for name, what in self.columns:
            held = Attribute(name).column(value)
            try:
                keys += [what.key(held)] if isinstance(what, Domain) else self._only(what, held)
            except DomainError as error:
                raise DomainError(f"column {name!r}", error.received, allowed=error.allowed, fix=error.fix) from error
        return tuple(keys)

    def _only(self, label: str, held: Any) -> list[int]:
        if not isinstance(held, str) or held != label:
            raise DomainError("value", held, allowed=f"{label!r} alone", fix="correct or drop it; nothing was counted")
        return []

    def key(self, value: Any) -> int:
        return string_key(b"".join(key.to_bytes(_KEY_BYTES, "big") for key in self.keys(value)))

    def value(self, key: int) -> Hashable:
        raise ParameterError("key", key, allowed="a key of a listed domain", fix="ask about columns: a hash cannot be turned back")

    def describe(self) -> str:
        parts = [f"{name}: {what.describe() if isinstance(what, Domain) else repr(what)}" for name, what in self.columns[:4]]
        return f"records with {'; '.join(parts)}" + (f" ... ({len(self.columns)} columns)" if len(self.columns) > 4 else "")
