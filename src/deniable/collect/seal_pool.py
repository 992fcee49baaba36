"""Opening the seals of a batch: a few in this process, many in processes of their own, which end with the batch or with this process."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

from deniable.contract.envelope import Envelope
from deniable.contract.task import Task
from deniable.errors import WireError
from deniable.sealing.keys import KeyPair
from deniable.sealing.seal import open_inners

MANY = 1 << 14
"""From so many seals on, processes are worth their start: opening one takes some 50 microseconds, and holds Python's lock."""
MOST_PROCESSES = 4


def open_seals(pairs: Mapping[bytes, KeyPair], seals: Sequence[bytes], task: Task) -> list[Envelope | WireError | None]:
    """What is in each seal: an envelope, None for a dummy, or the error of one that is damaged or for a key that is not kept."""
    processes = min(os.cpu_count() or 1, MOST_PROCESSES)
    if len(seals) < MANY or processes < 2:
        return open_inners(pairs, seals, task)
    # Not forked: this process has threads and a server's sockets.
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(processes, mp_context=context, initializer=_outlive_nobody) as pool:
            return open_inners(pairs, seals, task, pool)
    except BrokenProcessPool:  # one of them was killed, for its memory perhaps: slower, but it goes on
        return open_inners(pairs, seals, task)


def _outlive_nobody() -> None:
    """In a process of the pool: end when the one that started it is gone, even if that was killed and could say nothing."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_wait, args=(parent,), name="parent", daemon=True).start()


def _wait(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(0)
