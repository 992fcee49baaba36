"""Every way out of a command: one line on standard error, an exit status, and never a traceback."""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from deniable.cli.extra import extra_of
from deniable.errors import DeniableError, MissingExtra, shorten

FINE, DIFFERS, ERROR, CHANGED, TOO_FEW, BUG, STOPPED, UNREAD, TERMINATED = 0, 1, 2, 3, 4, 70, 130, 141, 143

STATUSES = {
    FINE: "all is well",
    DIFFERS: "what was checked is not as it should be",
    ERROR: "an error, told in one line with what to do next",
    CHANGED: "some value changed, where two selections were compared",
    TOO_FEW: "there are fewer reports than the task shows",
    BUG: "a mistake in deniable itself",
    STOPPED: "stopped by Ctrl-C, or by a no to a question",
    UNREAD: "whoever read the output has closed it",
    TERMINATED: "told to stop by a signal; servers end with 0",
}
"""What an exit status means, whichever command ends with it. From 128 on it is a signal's number more, as shells count."""
TRACEBACK = "DENIABLE_TRACEBACK"
"""Set to anything, it shows where a mistake in deniable itself lies."""
ADVICE = {
    errno.ENOENT: ("a file or folder that is there", "check the path"),
    errno.EEXIST: ("a name that is not taken yet", "nothing is overwritten: choose another one"),
    errno.EACCES: ("what this user may read and write", "check its owner and its rights"),
    errno.EPERM: ("what this user may read and write", "check its owner and its rights"),
    errno.EISDIR: ("a file", "this is a folder: check the path"),
    errno.ENOTDIR: ("a folder", "this is a file: check the path"),
    errno.ENOSPC: ("room on the disk", "make room, then run the same command again"),
    errno.EADDRINUSE: ("a port that is free", "choose another --port, or stop what listens there"),
}
NAMELESS = {errno.ENOSPC: "disk", errno.EADDRINUSE: "port"}
"""What they are about where the system names no path."""


@contextmanager
def plain_end() -> Iterator[None]:
    """Around all that a command does: whatever it raises is told in one line, with its exit status."""
    try:
        yield
    except KeyboardInterrupt:
        _leave(STOPPED, "stopped")
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # the libraries end with 1 then, which says something else here
            _leave_unread()
        raise
    except BrokenPipeError:  # without a word, as everything does whose reader has gone: deniable lab list | head
        _leave_unread()
    except DeniableError as error:
        _leave(getattr(error, "exit_status", ERROR), str(error), type(error).__name__)
    except OSError as error:
        _leave(ERROR, _in_words(error), type(error).__name__)
    except Exception as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and not missing.startswith("deniable"):
            _leave(ERROR, str(MissingExtra("this command", extra_of(missing), missing)), "MissingExtra")
        if os.environ.get(TRACEBACK):
            raise
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(where.filename)}, line {where.lineno}"
        _leave(BUG, f"{type(error).__name__}: {error} ({place}); report it, with what {TRACEBACK}=1 shows", "a mistake in deniable")


def _leave(status: int, text: str, kind: str = "") -> NoReturn:
    tell_error(text, kind)
    try:
        sys.stdout.flush()
    except OSError:  # the disk is full, and that was told
        _drop_output()
    raise SystemExit(status) from None


def tell_error(text: str, kind: str = "") -> None:
    """One line on standard error; what a server or a file name put into it cannot move the cursor."""
    line = " ".join(text.split())
    safe = "".join(letter if letter.isprintable() else "�" for letter in line)
    colored = kind and sys.stderr.isatty() and "NO_COLOR" not in os.environ
    shown = f"\x1b[1;31m{kind}\x1b[0m" if colored else kind
    sys.stderr.write(f"{shown}: {safe}\n" if kind else f"{safe}\n")


def _leave_unread() -> NoReturn:
    _drop_output()
    raise SystemExit(UNREAD) from None


def _drop_output() -> None:
    """What is still in the buffers goes nowhere: else the interpreter would complain about them at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_words(error: OSError) -> str:
    """What the system said, in the shape of all errors here: what, value, allowed, what to do next."""
    what = NAMELESS.get(error.errno or 0) if error.filename is None else "path"
    if what is None or error.errno not in ADVICE:
        return str(error)
    allowed, fix = ADVICE[error.errno]
    got = error.strerror if error.filename is None else f"{shorten(str(error.filename))} ({error.strerror})"
    return f"{what}: got {got}; allowed: {allowed}; {fix}"
