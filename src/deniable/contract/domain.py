"""Domains: the answers that a person may give, and the integer that stands for each.

A domain maps each allowed value to a **key**: the value's index where the domain can be listed, a 64-bit hash of the
content where it cannot (text, bytes). Mechanisms work on keys; people and analysts see values.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass, field
from operator import index
from typing import Any, ClassVar, Self

from deniable.contract.hashing import string_key
from deniable.contract.record import Plain, wire
from deniable.contract.registry import Registry
from deniable.contract.words import is_text
from deniable.errors import DomainError, ParameterError

LARGEST_KEY = 2**64 - 1
LONGEST_STRING = 65_535
HOMES = ("numbers", "ratings", "subsets", "tracks", "writing")
DOMAINS = Registry("domain", "kind", homes=tuple(f"deniable.contract.{name}" for name in HOMES))
"""The domains that travel."""


class Domain(Plain, ABC):
    """The set of allowed values."""

    noun = "domain"
    registry = DOMAINS
    kind: ClassVar[str]
    listed: ClassVar[bool] = True
    """Whether keys are the indices 0..size - 1, so that every value can be counted without naming it."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of values."""

    @property
    def key_bits(self) -> int:
        """The number of bits that hold every key."""
        return (self.size - 1).bit_length() if self.listed else 64

    @abstractmethod
    def key(self, value: Any) -> int:
        """Return the integer that stands for a value; DomainError if the value is not allowed."""

    def value(self, key: int) -> Hashable:
        """Return the value behind a key, for domains that can be listed."""
        return key

    def refuse(self, value: object, position: int | None = None) -> DomainError:
        """Return the error for a value that is not allowed, naming its position where it came in a batch."""
        where = "value" if position is None else f"values[{position}]"
        return DomainError(where, value, allowed=self.describe(), fix="correct or drop it; nothing was counted")

    def spans(self, low: int, high: int) -> bool:
        """Return whether all integers from low to high are values."""
        return False

    def holds(self, name: str, domain: Domain) -> bool:
        """Return whether every value is a record with a value of just this domain under a name."""
        return False

    @abstractmethod
    def describe(self) -> str:
        """Return what is allowed, in a few words."""


@DOMAINS.add
@dataclass(frozen=True)
class IndexRange(Domain):
    """The integers 0..count - 1; for two of them, ``False`` and ``True`` as well.

    >>> IndexRange(4).key(3), IndexRange(2).key(True)
    (3, 1)
    """

    count: int = field(metadata=wire(name="size"))
    kind: ClassVar[str] = "index"

    def __post_init__(self) -> None:
        count = _integer(self.count)
        if count is None or not 2 <= count <= LARGEST_KEY + 1:
            fix = "count the possible answers" + (", or pass domain=" if self.count is None else "")
            raise ParameterError("domain_size", self.count, allowed="an integer from 2 to 2^64", fix=fix)
        object.__setattr__(self, "count", count)  # a NumPy integer would overflow in the device's arithmetic

    @property
    def size(self) -> int:
        return self.count

    def key(self, value: Any) -> int:
        key = int(value) if self.count == 2 and isinstance(value, bool) else _integer(value)
        if key is None or not 0 <= key < self.count:
            raise self.refuse(value)
        return key

    def spans(self, low: int, high: int) -> bool:
        return low >= 0 and high < self.count

    def describe(self) -> str:
        return f"integers from 0 to {self.count - 1}"


@DOMAINS.add
@dataclass(frozen=True, init=False, repr=False)
class Categories(Domain):
    """A list of labels.

    >>> colors = Categories("red", "green", "blue")
    >>> colors.size, colors.key("blue"), colors.value(0)
    (3, 2, 'red')
    """

    labels: tuple[str, ...]
    kind: ClassVar[str] = "categories"

    def __init__(self, *labels: str) -> None:
        object.__setattr__(self, "labels", labels)
        if len(labels) < 2 or not all(is_text(label) for label in labels) or len(set(labels)) < len(labels):
            raise ParameterError(
                "labels",
                labels,
                allowed="two or more different strings",
                fix='write Categories("red", "green") or Categories(*labels)',
            )
        object.__setattr__(self, "_index", {label: i for i, label in enumerate(labels)})

    @classmethod
    def from_fields(cls, *, labels: tuple[str, ...]) -> Self:  # type: ignore[override]  # one field
        return cls(*labels)

    @property
    def size(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        shown = ", ".join(repr(label) for label in self.labels[:4])
        return f"Categories({shown})" if self.size <= 4 else f"Categories({shown}, ... {self.size} labels)"

    def key(self, value: Any) -> int:
        index: dict[str, int] = self._index  # type: ignore[attr-defined]  # set in __init__, kept out of equality
        if not isinstance(value, str) or value not in index:
            raise self.refuse(value)
        return index[value]

    def value(self, key: int) -> str:
        return self.labels[key]

    def describe(self) -> str:
        shown = ", ".join(repr(label) for label in self.labels[:6])
        return f"one of {shown}" + (f" ... ({self.size} labels)" if self.size > 6 else "")


@DOMAINS.add
@dataclass(frozen=True)
class Integers(Domain):
    """The integers from low to high, both included; up to 2^64 of them.

    >>> Integers(-5, 5).key(-5), Integers(0, 2**64 - 1).key_bits
    (0, 64)
    """

    low: int
    high: int
    kind: ClassVar[str] = "integers"

    def __post_init__(self) -> None:
        bounds = (self.low, self.high)
        low, high = (_integer(bound) for bound in bounds)
        if low is None or high is None or not -(2**63) <= low < high <= LARGEST_KEY or high - low > LARGEST_KEY:
            raise ParameterError(
                "low, high", bounds, allowed="integers, low < high, at most 2^64 values of 64 bits", fix="swap or narrow them"
            )
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def size(self) -> int:
        return self.high - self.low + 1

    def key(self, value: Any) -> int:
        number = _integer(value)
        if number is None or not self.low <= number <= self.high:
            raise self.refuse(value)
        return number - self.low

    def value(self, key: int) -> int:
        return self.low + key

    def spans(self, low: int, high: int) -> bool:
        return self.low <= low and high <= self.high

    def describe(self) -> str:
        return f"integers from {self.low} to {self.high}"


@DOMAINS.add
@dataclass(frozen=True)
class Bytes(Domain):
    """Byte strings of at most ``max_length`` bytes; their keys are hashes, so only named candidates can be counted.

    >>> Bytes(4).key(b"") == Bytes(9).key(b"")
    True
    """

    max_length: int
    kind: ClassVar[str] = "bytes"
    listed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        length = _integer(self.max_length)
        if length is None or not 1 <= length <= LONGEST_STRING:
            raise ParameterError(
                "max_length", self.max_length, allowed=f"an integer from 1 to {LONGEST_STRING}", fix="bound it by the longest value"
            )
        object.__setattr__(self, "max_length", length)

    @property
    def size(self) -> int:
        size: int = (256 ** (self.max_length + 1) - 1) // 255
        return size

    def key(self, value: Any) -> int:
        if not isinstance(value, bytes) or len(value) > self.max_length:
            raise self.refuse(value)
        return string_key(value)

    def value(self, key: int) -> Hashable:
        raise ParameterError("key", key, allowed="a key of a listed domain", fix="name candidates: a hash cannot be turned back")

    def describe(self) -> str:
        return f"bytes, at most {self.max_length} long"


@DOMAINS.add
@dataclass(frozen=True)
class Text(Bytes):
    """Text of at most ``max_length`` bytes in UTF-8, compared byte by byte: no case folding, no normalization.

    >>> Text(8).key("tea") == Bytes(8).key(b"tea")
    True
    """

    kind: ClassVar[str] = "text"

    def key(self, value: Any) -> int:
        if not is_text(value) or len(value.encode()) > self.max_length:
            raise self.refuse(value)
        return string_key(value.encode())

    def describe(self) -> str:
        return f"text of at most {self.max_length} bytes in UTF-8"


def _integer(value: object) -> int | None:
    """Return the integer that a value is; None for floats, booleans and all else: True is not the answer 1 of many."""
    kind = getattr(getattr(value, "dtype", None), "kind", "i")  # NumPy's scalars, and arrays, which are no single value
    if isinstance(value, bool) or kind not in ("i", "u") or getattr(value, "shape", ()) != ():
        return None
    try:
        return index(value)  # type: ignore[arg-type]  # that is the question
    except TypeError:
        return None
