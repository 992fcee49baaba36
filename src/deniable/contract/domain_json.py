"""Reading a domain back from plain data, through the constructors that check it."""

from __future__ import annotations

from deniable.contract.canonical import read_number, read_object
from deniable.contract.domain import Bytes, Categories, Domain, IndexRange, Integers, Text
from deniable.contract.numbers import Numbers
from deniable.contract.subsets import Subsets
from deniable.errors import WireError


def domain_from_json(data: object) -> Domain:
    """The domain behind ``to_json``; WireError if it is none."""
    kind = data.get("kind") if isinstance(data, dict) else None
    if kind == IndexRange.kind:
        return IndexRange(read_number("size", read_object("domain", data, {"kind", "size"})["size"]))
    if kind == Categories.kind:
        labels = read_object("domain", data, {"kind", "labels"})["labels"]
        if isinstance(labels, list):
            return Categories(*labels)
    if kind == Integers.kind:
        fields = read_object("domain", data, {"kind", "low", "high"})
        return Integers(read_number("low", fields["low"]), read_number("high", fields["high"]))
    if kind == Numbers.kind:
        return Numbers.from_json(data)
    if kind == Subsets.kind:
        return Subsets(_flat(read_object("domain", data, {"kind", "items"})["items"]))
    for strings in (Bytes, Text):
        if kind == strings.kind:
            return strings(read_number("max_length", read_object("domain", data, {"kind", "max_length"})["max_length"]))
    raise WireError("domain", data, allowed="kind index, categories, integers, numbers, subsets, bytes or text", fix="check the version")


def _flat(data: object) -> Domain:
    """The domain of a set's items, which are no sets: refused before it is read, however deep they lie in each other."""
    if isinstance(data, dict) and data.get("kind") == Subsets.kind:
        raise WireError("items", data, allowed="items that are no sets", fix="publish it again")
    return domain_from_json(data)
