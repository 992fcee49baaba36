"""How commands end: one line on standard error, an exit status, and never a traceback."""

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

FAILED = "error"
"""How the line about an error begins: the classes of errors are for programs."""
FINE, DIFFERS, ERROR, CHANGED, TOO_FEW, BUG, STOPPED, UNREAD, TERMINATED = 0, 1, 2, 3, 4, 70, 130, 141, 143

STATUSES = {
    FINE: "success",
    DIFFERS: "a check failed (audit, verify, rebuild, doctor, task check --against)",
    ERROR: "an error",
    CHANGED: "two selections were compared, and some value changed",
    TOO_FEW: "fewer reports than the task's minimum batch (estimate, tally)",
    BUG: "a bug in deniable",
    STOPPED: "stopped by Ctrl-C, or by a no to a question",
    UNREAD: "output pipe closed",
    TERMINATED: "stopped by a signal; servers end with 0",
}
"""What an exit status means, for all commands. From 128 on it is 128 plus the number of a signal, as in shells."""
TRACEBACK = "DENIABLE_TRACEBACK"
"""Set it to anything to see where a bug in deniable lies."""
ADVICE = {
    errno.ENOENT: ("a file or folder that exists", "check the path"),
    errno.EEXIST: ("a new name", "choose another one: nothing is overwritten"),
    errno.EACCES: ("what this user may read and write", "check its owner and permissions"),
    errno.EPERM: ("what this user may read and write", "check its owner and permissions"),
    errno.EISDIR: ("a file", "check the path: this is a folder"),
    errno.ENOTDIR: ("a folder", "check the path: this is a file"),
    errno.ENOSPC: ("free space on the disk", "free some, then run the same command again"),
    errno.EADDRINUSE: ("a free port", "choose another --port, or stop the program that uses this one"),
}
NAMELESS = {errno.ENOSPC: "disk", errno.EADDRINUSE: "port"}
"""What these are about, since the system names no path."""


@contextmanager
def plain_end() -> Iterator[None]:
    """Run a command, and end the process with one line and an exit status for whatever it raises."""
    try:
        yield
    except KeyboardInterrupt:
        _leave(STOPPED, "stopped")
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # the libraries exit with 1 then, which means something else here
            _leave_unread()
        raise
    except BrokenPipeError:  # silently, like every command whose reader has gone: deniable lab list | head
        _leave_unread()
    except DeniableError as error:
        _leave(getattr(error, "exit_status", ERROR), str(error), FAILED)
    except OSError as error:
        _leave(ERROR, _in_words(error), FAILED)
    except Exception as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and not missing.startswith("deniable"):
            _leave(ERROR, str(MissingExtra("this command", extra_of(missing), missing)), FAILED)
        if os.environ.get(TRACEBACK):
            raise
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(where.filename)}, line {where.lineno}"
        _leave(BUG, f"{type(error).__name__}: {error} ({place}); report it, with what {TRACEBACK}=1 shows", "bug in deniable")


def _leave(status: int, text: str, kind: str = "") -> NoReturn:
    print_error(text, kind)
    try:
        sys.stdout.flush()
    except OSError:  # the disk is full, and the line above says so
        _drop_output()
    raise SystemExit(status) from None


def print_error(text: str, kind: str = FAILED) -> None:
    """Write one line to standard error; what a server or a file name puts into it cannot move the cursor."""
    line = " ".join(text.split())
    safe = "".join(letter if letter.isprintable() else "�" for letter in line)
    colored = kind and sys.stderr.isatty() and "NO_COLOR" not in os.environ
    shown = f"\x1b[1;31m{kind}\x1b[0m" if colored else kind
    sys.stderr.write(f"{shown}: {safe}\n" if kind else f"{safe}\n")


def _leave_unread() -> NoReturn:
    _drop_output()
    raise SystemExit(UNREAD) from None


def _drop_output() -> None:
    """Discard what is still in the buffers: the interpreter would complain about it as it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_words(error: OSError) -> str:
    """Return what the system said, in the shape of all errors here: what, value, allowed, what to do next."""
    what = NAMELESS.get(error.errno or 0) if error.filename is None else "path"
    if what is None or error.errno not in ADVICE:
        return str(error)
    allowed, fix = ADVICE[error.errno]
    got = error.strerror if error.filename is None else f"{shorten(str(error.filename))} ({error.strerror})"
    return f"{what}: got {got}; allowed: {allowed}; {fix}"
