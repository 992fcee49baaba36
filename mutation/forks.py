"""Tests run in forks of one process that has imported and collected everything: seconds for each mutant become tenths."""

from __future__ import annotations

import os
import shutil
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import pytest

BROKEN = 70
STDERR = os.dup(2)
"""Where to tell about ourselves, while pytest keeps what is printed."""


def run(items: list[pytest.Item], patience: Callable[[pytest.Item], float]) -> Iterator[tuple[pytest.Item, bool, float]]:
    """Run tests here: each with whether it passed and how long it took. A signal ends what computes for longer than ``patience`` has."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        allowed = patience(item)
        signal.setitimer(signal.ITIMER_PROF, allowed)  # of computing: others may compute here, too
        signal.setitimer(signal.ITIMER_REAL, 200 + 10 * allowed)
        failed, begun = item.session.testsfailed, time.process_time()
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        yield item, item.session.testsfailed == failed, time.process_time() - begun


def in_forks(jobs: Iterable[Callable[[], int]], folder: str) -> list[int]:
    """What each job says, a small number, in a fork of its own, as many at a time as there are cores; negative if the fork is killed.

    A job finds a place for its files in PYTEST_DEBUG_TEMPROOT, below ``folder``, which is removed after it.
    """
    outcomes: dict[int, int] = {}
    running: dict[int, int] = {}

    def wait() -> None:
        child, status = os.wait()
        code, number = os.waitstatus_to_exitcode(status), running.pop(child)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what its tests left running
        if code == BROKEN:
            raise RuntimeError("not a test but this tool failed, in a fork")
        outcomes[number] = code
        shutil.rmtree(f"{folder}/{number}", ignore_errors=True)

    for number, job in enumerate(jobs):
        if len(running) == (os.cpu_count() or 1):
            wait()
        os.mkdir(f"{folder}/{number}")
        child = os.fork()
        if not child:
            code = BROKEN
            try:
                os.setsid()
                os.environ["PYTEST_DEBUG_TEMPROOT"] = f"{folder}/{number}"
                code = job()
            except BaseException:  # pytest would keep it, and go on as the parent
                os.write(STDERR, traceback.format_exc().encode())
            finally:
                os._exit(code)
        running[child] = number
    while running:
        wait()
    return [outcome for _, outcome in sorted(outcomes.items())]
