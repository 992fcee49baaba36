"""How many small faults do the tests find? Draws mutants of some rooms, and runs the tests that reach them.

    .venv/bin/python mutation/run.py [--sample 100] [--draw 1] [--folder contract]

The tests are collected once, and each runs once, to learn which lines it reaches and how long it takes; that is kept in .bench/reach
while neither the source nor the test's file changes. A mutant is judged in a fork of that process, where the functions of its module are
exchanged: the tests that reach its line run, closest first, until one fails. What lives through that is judged once more in a fresh process
that imports the mutant, since much is made while tests are collected. A mutant that computes for far too long is found, too: it hangs.
Survivors are printed, to be killed or explained (README.md).
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from forks import in_forks, run
from mutants import SOURCE, exchange, mutants
from reach import ROOMS, ROOT, Reach, reach, sources

EXACT = (
    "audit",
    "audit_hashed",
    "check_values",
    "coverage",
    "figures",
    "hashing",
    "integrity_laws",
    "longitudinal",
    "means",
    "mechanism_figures",
    "source",
    "square_wave",
)
TASKS = ("heavy_hitters/test_segments_encoder", "itemsets/test_columns", "itemsets/test_padding", "learning/test_encoders")
NEAR = [f"tests/{name}" for name in ("contract", "client", "sealing", "usability")] + ["src/deniable/contract", "src/deniable/client"]
NEAR += [f"tests/exact/test_{name}.py" for name in EXACT] + [f"tests/tasks/{name}.py" for name in TASKS]
NEAR += [f"tests/laws/test_{name}vectors.py" for name in ("", "client_", "document_")] + ["tests/collect/test_public_log.py"]
NEAR += [f"tests/core/test_{name}.py" for name in ("bulk", "encoders", "numbers", "run", "texts")]
NEAR += ["tests/laws/test_interface.py", "tests/laws/test_protocols.py::test_what_files_could_say_they_can_say_still"]
NEAR += [f"tests/local/test_{name}.py" for name in ("progressions", "projective")]
CORE = ["tests/core", "src/deniable/core", "tests/exact/test_integrity_laws.py"]
CORE += ["tests/tasks/heavy_hitters/test_significance.py", "tests/tasks/recommend/test_sampled.py"]
LAWS = ["tests/laws/test_protocols.py", "tests/laws/test_estimates.py", "tests/tasks", "src/deniable/tasks"]
TESTS = {"contract": NEAR, "client": NEAR, "core": [*CORE, "tests/laws/test_estimates.py"], "tasks": LAWS, None: NEAR + CORE + LAWS}
"""Tests that are close to the rooms and quick. Those of servers and of the command line start processes where no mutant would be."""
SURVIVED, KILLED, HUNG = range(3)
NAMES = ("survived", "killed", "hung")
LONGEST = 2
"""A test that takes more seconds than this is not run."""
SECONDS = 10
"""How long the tests of one mutant take together at most, as they were measured."""


def closest(path: Path, line: int, reaches: dict[str, Reach]) -> list[str]:
    """Tests for a mutant: those that reach its line, then those that reach its file; first the ones that see little else."""
    chosen, left = [], float(SECONDS)
    candidates = []
    for test, (seconds, lines) in reaches.items():
        here = lines.get(str(path), 0)
        if here and seconds <= LONGEST:
            share = here.bit_count() / sum(bits.bit_count() for bits in lines.values())
            candidates.append((not here >> line & 1, -share, test, seconds))
    for _, _, test, seconds in sorted(candidates):
        left -= seconds
        if left < 0:
            break
        chosen.append(test)
    return chosen


def judged(path: Path, number: int, tests: list[pytest.Item], seconds: Callable[[pytest.Item], float]) -> int:
    """What the tests make of a mutant, with its functions in this process, then with its module in a fresh one."""
    if not tests:
        return SURVIVED
    resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
    if exchange(path, number) and not all(passed for _, passed, _ in run(tests, lambda item: 20 + 10 * seconds(item))):
        return KILLED
    names = Path(os.environ["PYTEST_DEBUG_TEMPROOT"]) / "tests"
    names.write_text("\n".join(test.nodeid for test in tests))
    command = [sys.executable, "-m", "pytest", "-x", "-p", "mutants", "-p", "no:cacheprovider", f"@{names}"]
    environment = os.environ | {
        "DENIABLE_MUTANT": f"{path}:{number}",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
    }
    resource.setrlimit(resource.RLIMIT_CPU, (60 + 10 * SECONDS, 60 + 10 * SECONDS))  # of computing: others may compute here, too
    with suppress(subprocess.TimeoutExpired):
        code = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=3600, check=False).returncode
        return SURVIVED if code == 0 else KILLED if code > 0 else HUNG
    return HUNG


class Hunt:
    """Takes the place of pytest's loop over the tests that it collected."""

    def __init__(self, sample: int, draw: int, folder: str | None) -> None:
        self.every = [
            (path, number, mutant) for path in sources(folder) for number, mutant in enumerate(mutants(ast.parse(path.read_text())))
        ]
        self.drawn = random.Random(draw).sample(self.every, min(sample, len(self.every)))
        self.outcomes: list[int] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        session.config.pluginmanager.unregister(name="terminalreporter")  # forks have nothing to say
        items = {item.nodeid: item for item in session.items}
        with tempfile.TemporaryDirectory() as folder:
            reaches = reach(session.items, folder)
            tests = [[items[test] for test in closest(path, mutant.line, reaches)] for path, _, mutant in self.drawn]
            jobs = [
                partial(judged, path, number, some, lambda item: reaches[item.nodeid].seconds)
                for (path, number, _), some in zip(self.drawn, tests, strict=True)
            ]
            self.outcomes = [HUNG if code < 0 else code for code in in_forks(jobs, folder)]
        return True


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--sample", type=int, default=100, help="how many mutants")
    arguments.add_argument("--draw", type=int, default=1, help="which sample: the same number draws the same mutants of the same source")
    arguments.add_argument("--folder", choices=ROOMS, help="only this room")
    arguments.add_argument("--tests", nargs="+", help="where tests are; left out: those close to the room")
    chosen = arguments.parse_args()
    hunt = Hunt(chosen.sample, chosen.draw, chosen.folder)
    os.nice(10)
    os.chdir(ROOT)
    tests = chosen.tests or TESTS[chosen.folder]
    pytest.main(["-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "--no-summary", *tests], plugins=[hunt])
    for (path, number, mutant), outcome in zip(hunt.drawn, hunt.outcomes, strict=True):
        if outcome != KILLED:
            print(f"{NAMES[outcome]}: {path.relative_to(ROOT)}:{mutant.line} {mutant.what} (number {number})")
    files = Counter(path for path, _, _ in hunt.drawn)
    alive = Counter(path for (path, _, _), outcome in zip(hunt.drawn, hunt.outcomes, strict=True) if outcome == SURVIVED)
    for path, drawn in sorted(files.items()):
        print(f"{drawn - alive[path]:>4} of {drawn:<4} {path.relative_to(SOURCE / 'deniable')}")
    found = len(hunt.drawn) - hunt.outcomes.count(SURVIVED)
    print(f"{found} of {len(hunt.drawn)} mutants were found, {100 * found / len(hunt.drawn):.0f} %; there are {len(hunt.every):,} in all")


if __name__ == "__main__":
    main()
