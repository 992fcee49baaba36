"""Counts the files that one report crosses on its walk from a device to the dashboard: python scripts/checks/walk.py [--list].

A collector serves on this machine, in this process, with every thread under a profiler. A device answers a survey over HTTP, its period is
closed, and somebody looks at the task's page, which counts, estimates and draws. A file is crossed if a function of it runs meanwhile. The
walk is done twice, and counted the second time: what runs once, to load and to remember, is no part of it.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.request import urlopen

import deniable
from deniable.client import FileLedger, Reporter
from deniable.collect.clock import Clock
from deniable.collect.kit.server import ProcessServer, port, server_config
from deniable.collect.server import Service
from deniable.collect.settings import Settings
from deniable.collect.storage.block import Bucket
from deniable.collect.tasks.task_file import read_task

PACKAGE = f"{Path(deniable.__file__).parent}/"
TASK = """
name = "tea-{turn}"
question = "What do you drink?"
owner = "somebody"
epsilon = 1.0
lasts = "1 hour"
minimum_batch = 1
[domain]
categories = ["tea", "coffee", "water"]
"""
HOUR = 3600.0


class Walk:
    """The files of the package in which functions ran, by stage."""

    def __init__(self) -> None:
        self.found: dict[str, set[str]] = {}
        self._stage: set[str] = set()

    def profile(self, frame: FrameType, event: str, _: Any) -> None:
        """What the interpreter calls whenever a function begins or ends."""
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(PACKAGE) and frame.f_code.co_name != "<module>":
            self._stage.add(name.removeprefix(PACKAGE))

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Keep what runs meanwhile under this name."""
        self.found[name] = self._stage = set()
        yield
        self._stage = set()


def walk_twice() -> Walk:
    """The second of two walks of a report, each with a task and a device of its own."""
    walk, ahead = Walk(), [0.0]
    clock = Clock(lambda: time.time() + ahead[0], lambda: time.monotonic() + ahead[0])
    threading.setprofile(walk.profile)
    sys.setprofile(walk.profile)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(store=f"{folder}/store", port=0, public_estimates=True, tend_seconds=HOUR, log_level="error")
        with port(settings) as listening, _served(settings, clock, listening) as service:
            url, collector = f"http://127.0.0.1:{listening.getsockname()[1]}", service.collector
            for turn in range(2):
                task = read_task(TASK.format(turn=turn).encode(), key=collector.registry.key, now=clock() - 1)
                collector.publish(task)
                ledger = FileLedger(f"{folder}/ledger-{turn}", lifetime_epsilon=10.0)
                with Reporter(url, task=task.id, ledger=ledger, clock=clock) as reporter:
                    ledger.consent(reporter.task.id)
                    with walk.stage("answered"):
                        reporter.report("tea")
                ahead[0] += 3 * HOUR
                with walk.stage("closed"):
                    collector.close_period(Bucket(task.id, 0), again=False)  # as tending does, without its other duties
                with walk.stage("shown"):
                    urlopen(f"{url}/tasks/{task.id.hex()}").read()  # noqa: S310  # the collector's address, above
    sys.setprofile(None)
    return walk


@contextmanager
def _served(settings: Settings, clock: Callable[[], float], listening: Any) -> Iterator[Service]:
    """A collector that answers in a thread of this process."""
    service = Service(settings, clock=clock)
    server = ProcessServer(server_config(service, settings))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield service
    server.should_exit = True
    thread.join()


if __name__ == "__main__":
    stages = walk_twice().found
    crossed = sorted(set().union(*stages.values()))
    if "--list" in sys.argv:
        sys.stdout.writelines(f"{name}: {', '.join(stage for stage, files in stages.items() if name in files)}\n" for name in crossed)
    rooms = Counter(name.split("/")[0] for name in crossed)
    sys.stdout.write(f"{len(crossed)} files: {', '.join(f'{count} of {room}' for room, count in rooms.items())}\n")
