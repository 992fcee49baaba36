"""The collector's log: one JSON object on a line of standard error for each event, and nothing in it about a request or its sender.

There is no time in it either: whatever keeps the lines stamps them. Of an error it says the kind and the places in the program, not the
message, which may quote what was sent.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from typing import Any, TextIO

from deniable.kernels.compiled import announce_by

NAME = "deniable"
_logger = logging.getLogger(NAME)


def note(event: str, *, level: str = "info", **facts: str | int | float) -> None:
    """Log an event with a few facts, none of which may come from a request."""
    _logger.log(logging.getLevelNamesMapping()[level.upper()], event, extra={"facts": facts})


def note_error(event: str, error: BaseException) -> None:
    """Log an error by its kind and by where it happened."""
    _logger.error(event, extra={"facts": places(error)})


def places(error: BaseException) -> dict[str, Any]:
    """The kind of an error and of what caused it, and the lines that led to it."""
    frames = [f"{frame.name} ({frame.filename.rpartition('/')[2]}:{frame.lineno})" for frame in traceback.extract_tb(error.__traceback__)]
    cause = error.__cause__ or error.__context__
    found = {"error": type(error).__name__, "trace": frames}
    return found | ({"cause": type(cause).__name__} if cause is not None else {})


class Lines(logging.Formatter):
    """Writes our events with their facts. Of what other packages log only the sentence is kept, without what was filled in."""

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        ours = record.name == NAME
        content: dict[str, Any] = {"level": record.levelname.lower(), "event": str(record.msg).partition("\n")[0]}
        content |= getattr(record, "facts", {}) if ours else {"from": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            content |= places(record.exc_info[1])
        return json.dumps(content, ensure_ascii=False)


def begin(level: str, stream: TextIO | None = None) -> None:
    """Send everything that this process logs through here."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(Lines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)  # others: only what is wrong
    _logger.setLevel(level.upper())
    announce_by(note)
