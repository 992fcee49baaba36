"""Commands that run a server need packages that the others do not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from deniable.errors import MissingExtra


@contextmanager
def server_extra(feature: str) -> Iterator[None]:
    """Around imports: a package that is missing is told as the extra to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("deniable"):
            raise
        raise MissingExtra(feature, "server", error.name) from error


@contextmanager
def summing_extra(feature: str) -> Iterator[None]:
    """The same for secure sums, which need two extras."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("deniable"):
            raise
        raise MissingExtra(feature, "server,multiparty", error.name) from error
