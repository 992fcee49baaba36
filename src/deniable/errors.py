"""The errors that deniable raises, one class per kind of mistake.

Every message says four things: which parameter, what was received, what is allowed, and how to fix it. The same
facts are attributes of the exception, so that a program need not parse the text.
"""

from __future__ import annotations

from typing import Any


class DeniableError(Exception):
    """The base of every error raised on purpose by deniable.

    Its attributes are the four things that its message says: the ``parameter`` by name, the object that was ``received``, what is
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
        # The default would call the class with the message alone, and kill the worker pool that an error crosses.
        return _rebuild, (type(self), self.parameter, self.received, self.allowed, self.fix)


class ParameterError(DeniableError):
    """A mechanism, question or method was configured with something it cannot honor."""


class DomainError(DeniableError):
    """A value lies outside the declared domain, or has the wrong type for it."""


class BudgetExceeded(DeniableError):
    """The privacy that would be spent is more than what is left; nothing was sent."""


class WireError(DeniableError):
    """Bytes are not a well-formed image: truncated, padded, corrupted, of another version or of another spec."""


class MergeError(DeniableError):
    """Two things that do not belong together were to be combined: other spec, other candidates."""


class ProtocolError(DeniableError):
    """A protocol was driven out of order, or with tallies that do not answer its questions."""


class MissingExtra(DeniableError, ImportError):
    """A ``feature`` needs packages that the base install leaves out: an ``extra`` has them, and the one ``missing`` was found first."""

    def __init__(self, feature: str, extra: str, missing: str | None) -> None:
        super().__init__(
            feature,
            f"no module named {missing!r}",
            allowed=f"an installation with the extra '{extra}'",
            fix=f"run in a checkout of deniable: {install_command(extra)}",
        )


def install_command(extra: str) -> str:
    """Return the command that installs an ``extra``, for the folder of a checkout: deniable is on no package index.

    >>> install_command("analysis")
    'pip install ".[analysis]"'
    """
    return f'pip install ".[{extra}]"'


def _rebuild(kind: type[DeniableError], parameter: str, received: object, allowed: str, fix: str) -> DeniableError:
    error = kind.__new__(kind)
    DeniableError.__init__(error, parameter, received, allowed=allowed, fix=fix)
    return error


def shorten(value: object, limit: int = 80) -> str:
    """The repr of a value, cut to ``limit`` characters so that a message stays readable whatever was passed in."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits, or a value that contains itself
        text = f"<{type(value).__name__}>"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
