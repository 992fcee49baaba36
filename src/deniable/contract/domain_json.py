"""Reading a domain back from plain data, through the constructors that check it."""

from __future__ import annotations

from deniable.contract.domain import Domain


def domain_from_json(data: object) -> Domain:
    """The domain behind ``to_json``; WireError if it is none."""
    return Domain.from_json(data)
