"""Encoders: from what a person holds to what a mechanism is asked about.

An encoder is registered data, like a spec. It runs on the device before the mechanism, so it may draw randomness, and it
is audited together with the mechanism behind it.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

from deniable.contract.arguments import typed
from deniable.contract.canonical import read_object
from deniable.contract.codes import code_bits, code_of
from deniable.contract.domain import Domain
from deniable.contract.domain_json import domain_from_json
from deniable.contract.source import Source
from deniable.errors import DomainError, MissingExtra, ParameterError, WireError

Kind = TypeVar("Kind", bound="Encoder")
ENCODERS: dict[str, type[Encoder]] = {}
"""Every encoder by its name."""
_HOMES = (
    "deniable.contract.cells",
    "deniable.contract.clusters",
    "deniable.contract.fragment",
    "deniable.contract.gradient",
    "deniable.contract.segments",
    "deniable.contract.sets",
    "deniable.contract.lines",
)


class Encoder(ABC):
    """A step on the device from a person's value to a mechanism's input."""

    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        ENCODERS[cls.__name__] = cls
        cls.kind = cls.__name__

    @property
    def sampling(self) -> int:
        """No input is drawn with a probability above 1 / this, whatever the value; 1 where nothing is drawn."""
        return 1

    @abstractmethod
    def encode(self, value: Any, source: Source) -> Any:
        """One person's input."""

    def column(self, values: Any) -> Any:
        """The column that is asked about, of all that people hold."""
        return values

    @abstractmethod
    def encode_many(self, values: Any, source: Source | None) -> Any:
        """The inputs of many people, from their part of the column."""

    def to_json(self) -> dict[str, Any]:
        """The encoder as plain data; strings, unless a subclass says otherwise."""
        return {"encoder": self.kind, **asdict(self)}  # type: ignore[call-overload]  # every encoder is a dataclass

    @classmethod
    def from_json(cls, data: object) -> Encoder:
        """The encoder behind ``data`` from ``to_json``; WireError if there is none."""
        values = read_object("encoder", data, {"encoder", *getattr(cls, "__dataclass_fields__", ())})
        del values["encoder"]
        if not all(isinstance(value, str) for value in values.values()):
            raise WireError("encoder", data, allowed="string parameters", fix="publish it again")
        return cls(**values)


@dataclass(frozen=True)
class Identity(Encoder):
    """The value itself.

    >>> Identity().encode("tea", source=None)
    'tea'
    """

    def encode(self, value: Any, source: Source) -> Any:
        return value

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return values


@dataclass(frozen=True)
class Attribute(Encoder):
    """One attribute of a record, by its name.

    >>> Attribute("drink").encode({"drink": "tea", "age": 41}, source=None)
    'tea'
    """

    name: str

    def encode(self, value: Any, source: Source) -> Any:
        return self.column(value)  # a record and a table of columns are read the same way

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return values

    def column(self, values: Any) -> Any:
        names = getattr(values, "column_names", None) or getattr(values, "columns", None)  # Arrow; Polars and pandas
        if names is None and isinstance(values, Mapping):
            names = values.keys()
        if names is None or self.name not in list(names):
            raise DomainError(
                "values",
                type(values).__name__ if names is None else sorted(map(str, names)),  # names, not people's data
                allowed=f"records or columns with the attribute {self.name!r}",
                fix=f"pass a mapping such as {{{self.name!r}: ...}}",
            )
        return values[self.name]


@typed
@dataclass(frozen=True)
class Prefix(Encoder):
    """The first ``length`` bits of a value's code (``contract.codes``), or where they stand in a list of candidates.

    With ``candidates``, in rising order, the input is their position, and for everyone else one more: not a candidate. Without, it is
    the prefix itself, a number of up to 64 bits, or bytes.

    >>> from deniable.contract.domain import Integers
    >>> Prefix(Integers(0, 255), 4).encode(0x7B, source=None), Prefix(Integers(0, 255), 4, (3, 7, 9)).encode(0x7B, source=None)
    (7, 1)
    """

    domain: Domain
    length: int
    candidates: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if type(self.length) is not int or not 1 <= self.length <= code_bits(self.domain):
            allowed = f"an integer from 1 to {code_bits(self.domain)}"
            raise ParameterError("length", self.length, allowed=allowed, fix="codes of this domain have so many bits")
        listed = self.candidates if self.candidates is not None else ()
        if any(not 0 <= low < high for low, high in pairwise((*listed, 1 << self.length))):
            allowed = f"numbers of {self.length} bits, each larger than the one before"
            raise ParameterError("candidates", listed[:5], allowed=allowed, fix="sort them and drop repetitions")

    def encode(self, value: Any, source: Source) -> Any:
        prefix = code_of(self.domain, value) >> code_bits(self.domain) - self.length
        if self.candidates is None:
            return self.shown(prefix)
        position = bisect_left(self.candidates, prefix)
        return position if self.candidates[position : position + 1] == (prefix,) else len(self.candidates)

    def shown(self, prefix: int) -> int | bytes:
        """A prefix as a mechanism's domain has it: integers of up to 64 bits, bytes beyond."""
        return prefix if self.length <= 64 else prefix.to_bytes(-(-self.length // 8), "big")

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return bulk_half("codes", "Prefix.encode_many").prefixes(self, values)

    def to_json(self) -> dict[str, Any]:
        plain = {"encoder": self.kind, "domain": self.domain.to_json(), "length": self.length}
        return plain if self.candidates is None else {**plain, "candidates": [f"{prefix:x}" for prefix in self.candidates]}

    @classmethod
    def from_json(cls, data: object) -> Prefix:
        parts = read_object("encoder", data, {"encoder", "domain", "length"}, frozenset({"candidates"}))
        return reading(data, lambda: cls(domain_from_json(parts["domain"]), parts["length"], read_hexadecimal(parts.get("candidates"))))


def bulk_half(home: str, caller: str) -> Any:
    """The analyst's half of an encoder, a module of ``core``; contract knows only its name."""
    try:
        return importlib.import_module(f"deniable.core.{home}")
    except ModuleNotFoundError as error:
        raise MissingExtra(caller, "analysis", error.name) from error


def reading(data: object, make: Callable[[], Kind]) -> Kind:
    """The encoder that is made from plain data and says the same again, in the same form; WireError if there is none."""
    try:
        encoder = make()
    except (ValueError, TypeError, IndexError, ParameterError) as error:
        raise WireError("encoder", data, allowed="a valid encoder", fix=str(error)) from error
    if encoder.to_json() != data:
        raise WireError("encoder", data, allowed="the canonical form", fix="publish it again")
    return encoder


def read_hexadecimal(texts: Any) -> tuple[int, ...] | None:
    """Numbers from their hexadecimal digits; None for nothing. Whether they are spelled canonically is for ``reading`` to see."""
    return None if texts is None else tuple(int(text, 16) for text in texts)


def encoder_from_json(data: object) -> Encoder:
    """The encoder behind ``data`` from ``to_json``; WireError if there is none."""
    for home in _HOMES:
        importlib.import_module(home)  # registers the encoders there, which build on this file
    name = data.get("encoder") if isinstance(data, dict) else None
    if not isinstance(name, str) or name not in ENCODERS:
        raise WireError("encoder", data, allowed=f"one of {sorted(ENCODERS)}", fix="upgrade deniable or check the name")
    return ENCODERS[name].from_json(data)
