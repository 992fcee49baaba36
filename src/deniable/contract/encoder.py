"""Encoders: from what a person holds to what a mechanism is asked about.

An encoder is registered data, like a spec. It runs on the device before the mechanism, so it may draw randomness, and it
is audited together with the mechanism behind it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from deniable.contract.canonical import read_object
from deniable.contract.source import Source
from deniable.errors import DomainError, WireError

ENCODERS: dict[str, type[Encoder]] = {}
"""Every encoder by its name."""


class Encoder(ABC):
    """A step on the device from a person's value to a mechanism's input. Fields are strings."""

    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        ENCODERS[cls.__name__] = cls
        cls.kind = cls.__name__

    @abstractmethod
    def encode(self, value: Any, source: Source) -> Any:
        """One person's input."""

    @abstractmethod
    def encode_many(self, values: Any, source: Source | None) -> Any:
        """The inputs of many people, column by column."""

    def to_json(self) -> dict[str, str]:
        """The encoder as plain data."""
        return {"encoder": self.kind, **asdict(self)}  # type: ignore[call-overload]  # every encoder is a dataclass


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
    """One attribute of a record.

    >>> Attribute("drink").encode({"drink": "tea", "age": 41}, source=None)
    'tea'
    """

    name: str

    def encode(self, value: Any, source: Source) -> Any:
        return self.encode_many(value, source)  # a record and a table of columns are read the same way

    def encode_many(self, values: Any, source: Source | None) -> Any:
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


def encoder_from_json(data: object) -> Encoder:
    """The encoder behind ``to_json``; WireError if it is none."""
    name = data.get("encoder") if isinstance(data, dict) else None
    if not isinstance(name, str) or name not in ENCODERS:
        raise WireError("encoder", data, allowed=f"one of {sorted(ENCODERS)}", fix="upgrade deniable or check the name")
    cls = ENCODERS[name]
    values = read_object("encoder", data, {"encoder", *getattr(cls, "__dataclass_fields__", ())})
    del values["encoder"]
    if not all(isinstance(value, str) for value in values.values()):
        raise WireError("encoder", data, allowed="string parameters", fix="publish it again")
    return cls(**values)
