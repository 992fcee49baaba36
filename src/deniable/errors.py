"""The errors that deniable raises, one class per kind of mistake.

Every message has four parts: the parameter, the value received, what is allowed, and how to fix it. They are attributes of the
exception, too, so that programs need not parse the text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class DeniableError(Exception):
    """The base of every error raised on purpose by deniable.

    Its attributes are the four parts of its message: the name of the ``parameter``, the object that was ``received``, what is
    ``allowed``, and the ``fix``.

    >>> error = ParameterError("epsilon", -1.0, allowed="a finite number above 0", fix="try 1.0")
    >>> print(error)
    epsilon: got -1.0; allowed: a finite number above 0; try 1.0
    >>> error.parameter, error.received
    ('epsilon', -1.0)
    """

    def __init__(self, parameter: str, received: object, *, allowed: str, fix: str) -> None:
        self.parameter = parameter
        self.received = received
        self.allowed = allowed
        self.fix = fix
        super().__init__(f"{parameter}: got {shorten(received)}; allowed: {allowed}; {fix}")

    def __reduce__(self) -> tuple[Any, ...]:
        # The default would call the class with the message alone, and kill a worker pool that passes the error on.
        return _rebuild, (type(self), self.parameter, self.received, self.allowed, self.fix)


class ParameterError(DeniableError):
    """A mechanism, question or method has a setting that it cannot use."""


class DomainError(DeniableError):
    """A value is outside the declared domain, or has the wrong type for it."""


class BudgetExceeded(DeniableError):
    """The request would cost more than the privacy budget that is left; nothing was sent."""


class WireError(DeniableError):
    """Bytes cannot be read: truncated, padded, corrupted, of another version or of another spec."""


class MergeError(DeniableError):
    """Two things cannot be combined: they have different specs or different candidates."""


class ProtocolError(DeniableError):
    """A protocol's steps came in the wrong order, or its tallies do not match its questions."""


class MissingExtra(DeniableError, ImportError):
    """A ``feature`` needs packages from an ``extra`` that is not installed; ``missing`` is the first of them."""

    def __init__(self, feature: str, extra: str, missing: str | None) -> None:
        super().__init__(
            feature,
            f"no module named {missing!r}",
            allowed=f"an installation with the extra '{extra}'",
            fix=f"run in a checkout of deniable: {install_command(extra)}",
        )


def install_command(extra: str) -> str:
    """Return the command that installs an ``extra`` in a checkout: deniable is on no package index.

    >>> install_command("analysis")
    'pip install ".[analysis]"'
    """
    return f'pip install ".[{extra}]"'


def one_of(names: Iterable[object], most: int = 12) -> str:
    """Return the names that are allowed as the words of an error; of a long list the first ``most``, and how many there are.

    >>> one_of(["auto", "GRR"]), one_of(range(100), most=3)
    ("one of 'auto', 'GRR'", 'one of 0, 1, 2, ... (100 in all)')
    """
    known = list(names)
    shown = ", ".join(map(repr, known[:most]))
    return f"one of {shown}" if len(known) <= most else f"one of {shown}, ... ({len(known)} in all)"


def _rebuild(kind: type[DeniableError], parameter: str, received: object, allowed: str, fix: str) -> DeniableError:
    error = kind.__new__(kind)
    DeniableError.__init__(error, parameter, received, allowed=allowed, fix=fix)
    return error


def shorten(value: object, limit: int = 80) -> str:
    """Return the repr of a value, cut to ``limit`` characters so that messages stay readable."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer with thousands of digits, or a value that contains itself
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
