"""Which lines each test reaches, and how long it takes: learned by running it once, and kept while nothing changes."""

from __future__ import annotations

import functools
import gc
import hashlib
import json
import resource
import signal
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import coverage
import pytest
from forks import in_forks, run
from mutants import SOURCE

ROOT = SOURCE.parent
ROOMS = ("contract", "client", "core", "tasks")
KEPT = ROOT / ".bench" / "reach"
PART = 25
"""How many tests of a file one process looks at."""
LONGEST, MOST = 8.0, 60.0
"""How many seconds of computing, with each line noted, a test may take, and a part. What takes longer is of no use here, and reaches
nothing: without a limit, the suite of all estimates had one process compute for ten minutes."""


class Reach(NamedTuple):
    """What a test was seen to do: how long it took, and which lines it ran, as bits of one number for each file. Nothing if it failed."""

    seconds: float
    lines: dict[str, int]


def learn(items: list[pytest.Item], place: Path) -> int:
    """Write down the reach of tests. One that fails or takes far too long reaches nothing.

    Each test makes anew what the tests have in common and keep, as the first one does that meets a mutant.
    """
    begun = time.process_time()
    seen = coverage.Coverage(data_file=None, config_file=False, source=[str(SOURCE / "deniable" / room) for room in ROOMS])
    seen.set_option("run:disable_warnings", ["no-data-collected"])  # some tests reach none of the rooms

    kept = [each for each in gc.get_objects() if isinstance(each, functools._lru_cache_wrapper) and each.__module__.startswith("tests.")]
    signal.signal(signal.SIGPROF, lambda *_: pytest.fail("takes too long"))
    resource.setrlimit(resource.RLIMIT_CPU, (2 * int(MOST), 2 * int(MOST)))  # a kernel hears no such signal before its end

    def patience(item: pytest.Item) -> float:
        for each in kept:
            each.cache_clear()
        seen.switch_context(item.nodeid)
        return LONGEST

    took = {}
    seen.start()
    with suppress(pytest.fail.Exception):  # between two tests
        for item, passed, seconds in run(items, patience):
            if passed:
                took[item.nodeid] = seconds
            if time.process_time() - begun > MOST:
                break
    seen.stop()
    data = seen.get_data()
    reached: dict[str, dict[str, int]] = {test: {} for test in took}
    for path in data.measured_files():
        for line, tests in data.contexts_by_lineno(path).items():
            for test in reached.keys() & tests:
                reached[test][path] = reached[test].get(path, 0) | 1 << line
    part = place.with_suffix(".part")
    part.write_text(
        json.dumps({test: (took[test], {path: f"{bits:x}" for path, bits in lines.items()}) for test, lines in reached.items()})
    )
    part.replace(place)
    return 0


def reach(items: list[pytest.Item], folder: str) -> dict[str, Reach]:
    """The reach of every test, learned anew where something changed."""
    by_file: dict[Path, list[pytest.Item]] = {}
    for item in items:
        by_file.setdefault(item.path, []).append(item)
    KEPT.mkdir(parents=True, exist_ok=True)
    source = b"".join(path.read_bytes() for path in sources(None))
    parts = [(path, tests[i : i + PART]) for path, tests in by_file.items() for i in range(0, len(tests), PART)]
    places = {KEPT / f"{_digest(path, source, tests)}.json": tests for path, tests in parts}
    in_forks([partial(learn, tests, place) for place, tests in places.items() if not place.exists()], folder)
    return {
        test: Reach(seconds, {path: int(bits, 16) for path, bits in lines.items()})
        for place in places
        if place.exists()
        for test, (seconds, lines) in json.loads(place.read_text()).items()
    }


def sources(folder: str | None) -> list[Path]:
    rooms = [folder] if folder else ROOMS
    return sorted(path for room in rooms for path in (SOURCE / "deniable" / room).rglob("*.py"))


def _digest(path: Path, source: bytes, tests: list[pytest.Item]) -> str:
    """Of all that the reach of a file's tests depends on, but for what lies outside of the rooms."""
    names = "\n".join(test.nodeid for test in tests)
    return hashlib.sha256(path.read_bytes() + source + names.encode()).hexdigest()
