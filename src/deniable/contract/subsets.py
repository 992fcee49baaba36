"""Sets of items: what people hold when they hold more than one thing, or nothing."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, ClassVar

from deniable.contract.domain import DOMAINS, Domain
from deniable.contract.hashing import string_key
from deniable.errors import DomainError, ParameterError

MOST_ITEMS = 1 << 26
"""The most items that sets are made of: each is counted."""
_ITEM_BYTES = 4


@DOMAINS.add
@dataclass(frozen=True)
class Subsets(Domain):
    """The sets of items of a listed domain, the empty one included: a list, tuple or set that names each item once.

    A set's code is the keys of its items in rising order, four bytes each, the most significant first; its key is a hash of that, so that
    only named sets could be counted. Usually encoders ask about single items instead (``contract.sets``).

    >>> from deniable.contract.domain import Categories
    >>> drinks = Subsets(Categories("tea", "coffee", "water"))
    >>> drinks.keys({"water", "tea"}), drinks.keys([]), drinks.size
    ((0, 2), (), 8)
    """

    items: Domain
    kind: ClassVar[str] = "subsets"
    listed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not isinstance(self.items, Domain) or not self.items.listed or self.items.size > MOST_ITEMS:
            allowed = f"a listed domain of at most {MOST_ITEMS} items"
            raise ParameterError(
                "items", self.items, allowed=allowed, fix='write Subsets(Categories("tea", "milk")) or Subsets(IndexRange(9))'
            )

    @property
    def size(self) -> int:
        return 1 << self.items.size

    def keys(self, value: Any) -> tuple[int, ...]:
        """Return the keys of a set's items, in rising order; DomainError if it is not a set of them."""
        if not isinstance(value, list | tuple | set | frozenset):
            raise self.refuse(value)
        try:
            keys = sorted(self.items.key(item) for item in value)
        except DomainError as error:
            raise self.refuse(value) from error
        if len(set(keys)) < len(keys):
            raise self.refuse(value)
        return tuple(keys)

    def code(self, value: Any) -> bytes:
        """Return the bytes that stand for a set."""
        return b"".join(key.to_bytes(_ITEM_BYTES, "big") for key in self.keys(value))

    def key(self, value: Any) -> int:
        return string_key(self.code(value))

    def value(self, key: int) -> Hashable:
        raise ParameterError("key", key, allowed="a key of a listed domain", fix="name candidates: a hash cannot be turned back")

    def named(self, keys: tuple[int, ...]) -> tuple[Hashable, ...]:
        """Return the items behind their keys."""
        return tuple(self.items.value(key) for key in keys)

    def describe(self) -> str:
        return f"sets that name each item once: {self.items.describe()}"
