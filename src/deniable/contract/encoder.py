"""Encoders: from what a person holds to what a mechanism is asked about.

An encoder is registered data, like a spec. It runs on the device before the mechanism, so it may draw randomness, and it
is audited together with the mechanism behind it.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import ge
from typing import Any, ClassVar

from deniable.contract.arguments import typed
from deniable.contract.codes import code_bits, code_of
from deniable.contract.domain import Bytes, Domain
from deniable.contract.form import HEXADECIMAL, tuple_of
from deniable.contract.record import Plain, wire
from deniable.contract.registry import Registry
from deniable.contract.source import Source
from deniable.errors import DomainError, MissingExtra, ParameterError

ENCODERS = Registry(
    "encoder",
    "encoder",
    homes=tuple(
        f"deniable.contract.{name}"
        for name in ("cells", "clusters", "fragment", "gradient", "ratings", "segments", "sets", "lines", "texts", "tracks")
    ),
)
"""Every encoder by its name."""


class Encoder(Plain, ABC):
    """A step on the device from a person's value to a mechanism's input."""

    noun = "encoder"
    registry = ENCODERS
    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        cls.kind = cls.__name__
        ENCODERS.add(cls)

    checks_column: ClassVar[bool] = False
    """Whether ``column`` refuses whatever is no value, so that nothing is left to check before anyone is asked."""

    @property
    def sampling(self) -> int:
        """No input is drawn with a probability above 1 / this, whatever the value; 1 where nothing is drawn."""
        return 1

    @property
    @abstractmethod
    def inputs(self) -> int:
        """How many inputs there are, counted from 0 on; ``fits`` says more where they are something else."""

    @abstractmethod
    def reads(self, domain: Domain) -> bool:
        """Return whether every value of a domain has an input: who answers must not show what they hold."""

    def fits(self, asked: Domain) -> bool:
        """Return whether a mechanism over the domain ``asked`` takes every input."""
        return asked.spans(0, self.inputs - 1)

    def takes(self, domain: Domain, asked: Domain) -> bool:
        """Return whether a mechanism over ``asked`` gets an input that it takes from every value of a domain."""
        return self.reads(domain) and self.fits(asked)

    @abstractmethod
    def encode(self, value: Any, source: Source) -> Any:
        """Return one person's input."""

    def column(self, values: Any) -> Any:
        """Return the column that is asked about, of all that people hold."""
        return values

    @abstractmethod
    def encode_many(self, values: Any, source: Source | None) -> Any:
        """Return the inputs of many people, from their part of the column."""


@dataclass(frozen=True)
class Identity(Encoder):
    """The value itself.

    >>> Identity().encode("tea", source=None)
    'tea'
    """

    inputs: ClassVar[int] = 0  # whatever the domain has

    def reads(self, domain: Domain) -> bool:
        return True

    def takes(self, domain: Domain, asked: Domain) -> bool:
        return asked == domain

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
    inputs: ClassVar[int] = 0  # whatever the attribute's domain has

    def reads(self, domain: Domain) -> bool:
        return False  # only ``takes`` can say it: not without the attribute's own domain

    def takes(self, domain: Domain, asked: Domain) -> bool:
        return domain.holds(self.name, asked)

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
    candidates: tuple[int, ...] | None = field(default=None, metadata=wire(form=tuple_of(HEXADECIMAL)))

    def __post_init__(self) -> None:
        if type(self.length) is not int or not 1 <= self.length <= code_bits(self.domain):
            allowed = f"an integer from 1 to {code_bits(self.domain)}"
            raise ParameterError("length", self.length, allowed=allowed, fix="choose a length within the bits of this domain's codes")
        listed = tuple(self.candidates) if self.candidates is not None else ()
        if listed and (listed[0] < 0 or any(map(ge, listed, (*listed[1:], 1 << self.length)))):
            allowed = f"numbers of {self.length} bits, each larger than the one before"
            raise ParameterError("candidates", listed[:5], allowed=allowed, fix="sort them and drop repetitions")

    @property
    def inputs(self) -> int:
        return counted(1 << self.length, self.candidates)

    def reads(self, domain: Domain) -> bool:
        return self.domain == domain

    def fits(self, asked: Domain) -> bool:
        if self.candidates is None and isinstance(shown := self.shown(0), bytes):
            return type(asked) is Bytes and len(shown) <= asked.max_length  # Text, though a kind of Bytes, takes no bytes
        return super().fits(asked)

    def encode(self, value: Any, source: Source) -> Any:
        prefix = code_of(self.domain, value) >> code_bits(self.domain) - self.length
        if self.candidates is None:
            return self.shown(prefix)
        position = bisect_left(self.candidates, prefix)
        return position if self.candidates[position : position + 1] == (prefix,) else len(self.candidates)

    def shown(self, prefix: int) -> int | bytes:
        """Return a prefix as a mechanism's domain has it: integers of up to 64 bits, bytes beyond."""
        return prefix if self.length <= 64 else prefix.to_bytes(-(-self.length // 8), "big")

    def encode_many(self, values: Any, source: Source | None) -> Any:
        return bulk_half("codes", "Prefix.encode_many").prefixes(self, values)


def counted(whole: int, candidates: tuple[int, ...] | None) -> int:
    """Return how many inputs there are: the ``whole``, or a place for each candidate and one for the others, if there are any."""
    return whole if candidates is None else min(len(candidates) + 1, whole)


def bulk_half(home: str, caller: str) -> Any:
    """Return the analyst's half of an encoder, a module of ``core``; contract knows only its name."""
    try:
        return importlib.import_module(f"deniable.core.{home}")
    except ModuleNotFoundError as error:
        raise MissingExtra(caller, "analysis", error.name) from error


def encoder_from_json(data: object) -> Encoder:
    """Return the encoder behind ``data`` from ``to_json``; WireError if there is none."""
    return Encoder.from_json(data)
