"""How many small faults do the tests find? Draws mutants of ``contract``, ``client`` and ``core``, and runs the tests that reach them.

    .venv/bin/python mutation/run.py [--sample 100] [--draw 1] [--folder contract]

First the tests of those rooms run once, to learn which of them reach which line; that is kept in .bench/reach.json while no source changes.
Then each mutant is imported in place of its module, and the tests that reach its line run until one fails. Survivors are printed, to be
explained or killed. A mutant that runs for too long is found, too: it hangs.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import subprocess
import sys
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from mutants import SOURCE, mutants

ROOT = SOURCE.parent
ROOMS = ("contract", "client", "core")
TESTS = ("tests/contract", "tests/client", "tests/core", "tests/exact", "tests/laws", "tests/usability")
KEPT = ROOT / ".bench" / "reach.json"
MOST = 40
"""How many tests are run against a mutant at most; the ones that reach the fewest lines come first, since they look closest."""
SECONDS = 300


def files(folder: str | None) -> list[Path]:
    rooms = [folder] if folder else ROOMS
    return sorted(path for room in rooms for path in (SOURCE / "deniable" / room).rglob("*.py"))


def reach() -> dict[str, dict[str, list[str]]]:
    """For each file and line, the tests that run it."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in files(None))).hexdigest()
    if KEPT.exists():
        kept = json.loads(KEPT.read_text())
        if kept["digest"] == digest:
            return kept["reach"]
    print("learning which tests reach which lines ...", file=sys.stderr)
    data = ROOT / ".bench" / "coverage"
    options = [f"--cov={SOURCE / 'deniable' / room}" for room in ROOMS] + ["--cov-context=test", "--cov-report="]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider", *options, *TESTS]
    subprocess.run(command, cwd=ROOT, env=os.environ | {"COVERAGE_FILE": str(data)}, check=True, stdout=subprocess.DEVNULL)
    import coverage

    found = coverage.CoverageData(str(data))
    found.read()
    lines: dict[str, dict[str, list[str]]] = {}
    for path in found.measured_files():
        contexts = found.contexts_by_lineno(path)
        lines[path] = {str(line): sorted({test.partition("|")[0] for test in tests if test}) for line, tests in contexts.items()}
    KEPT.write_text(json.dumps({"digest": digest, "reach": lines}))
    return lines


def judged(path: Path, number: int, tests: list[str]) -> str:
    """What became of a mutant: "killed", "survived", or "unreached"."""
    if not tests:
        return "unreached"
    environment = os.environ | {"DENIABLE_MUTANT": f"{path}:{number}", "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "mutants", "-p", "no:cacheprovider", *tests[:MOST]]
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "killed"
    return "survived" if done.returncode == 0 else "killed"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--sample", type=int, default=100, help="how many mutants")
    arguments.add_argument("--draw", type=int, default=1, help="which sample: the same number draws the same mutants of the same source")
    arguments.add_argument("--folder", choices=ROOMS, help="only this room")
    chosen = arguments.parse_args()
    lines = reach()
    widths: dict[str, int] = defaultdict(int)
    for reached in lines.values():
        for tests in reached.values():
            for test in tests:
                widths[test] += 1
    every = [(path, number, mutant) for path in files(chosen.folder) for number, mutant in enumerate(mutants(ast.parse(path.read_text())))]
    drawn = random.Random(chosen.draw).sample(every, min(chosen.sample, len(every)))

    def judge(item):
        path, number, mutant = item
        reached = lines.get(str(path), {})
        tests = reached.get(str(mutant.line)) or {test for found in reached.values() for test in found}  # a line that importing runs
        tests = sorted(tests, key=lambda test: (widths[test], test))
        return judged(path, number, tests)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(zip(drawn, pool.map(judge, drawn), strict=True))
    for (path, number, mutant), outcome in outcomes:
        if outcome != "killed":
            print(f"{outcome}: {path.relative_to(ROOT)}:{mutant.line} {mutant.what} (number {number})")
    killed = sum(outcome == "killed" for _, outcome in outcomes)
    print(f"{killed} of {len(drawn)} mutants were found, {100 * killed / len(drawn):.0f} %; there are {len(every):,} in all")


if __name__ == "__main__":
    main()
