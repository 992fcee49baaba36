"""How a kernel is compiled: once per machine, without the interpreter lock, and announced."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event

Array = np.ndarray[Any, Any]
Function = TypeVar("Function", bound=Callable[..., Any])


class _Announcement(event.Listener):
    """Says once per process that a compilation has begun; kernels found in the cache stay silent."""

    def __init__(self) -> None:
        self.tell: Callable[[str], object] = lambda text: sys.stderr.write(f"deniable: {text}\n")

    def on_start(self, event: Any) -> None:
        ours = str(getattr(event.data.get("dispatcher"), "__module__", "")).startswith("deniable")
        if ours and not self.done:
            self.done = True
            self.tell("compiling kernels for this machine, once for each kind of data (a second or two) ...")

    def on_end(self, event: object) -> None:
        pass

    done = False


_announcement = _Announcement()
event.register("numba:compile", _announcement)  # type: ignore[no-untyped-call]  # numba leaves it untyped


def announce_by(tell: Callable[[str], object]) -> None:
    """Have compilations announced in another way than by a line on standard error, as by a server that logs."""
    _announcement.tell = tell


def kernel(function: Function) -> Function:
    """A loop over arrays, compiled on first use and cached. It runs without the interpreter lock, so threads share the work.

    Where no folder can be written to, neither the package's nor the user's (set ``NUMBA_CACHE_DIR`` to name one), it is compiled anew in
    every process.
    """
    try:
        return cast(Function, numba.njit(cache=True, nogil=True)(function))
    except RuntimeError:  # numba's word for: no place to keep the cache
        return cast(Function, numba.njit(nogil=True)(function))


def inlined(function: Function) -> Function:
    """A step inside kernels, expanded where it is called."""
    return cast(Function, numba.njit(inline="always")(function))


def inlined_late(function: Function) -> Function:
    """The same for a step that may end its loop early. It is expanded after the compiler has counted who holds which array.

    Expanded before, it would have the array of words counted in and out for every person, which takes longer than the draw.
    """
    return cast(Function, numba.njit(forceinline=True)(function))
