"""Compare a test run with the table of tests that may take long (tests/README.md); anything else that takes longer is an error.

    .venv/bin/python -m pytest -n 4 --dist worksteal --junit-xml .bench/tests.xml
    .venv/bin/python scripts/checks/slow_tests.py .bench/tests.xml --busy 2

``--busy`` is how much longer tests took in that run than they would have alone. Tests of the table that are quick now are listed, too.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests" / "README.md"
LIMIT = 5.0
"""Seconds that a test may take without a reason in the table."""


def explained() -> set[str]:
    """The tests of the table, as ``file::name``."""
    return set(re.findall(r"^\| `(\S+::\w+)` \|", TABLE.read_text(), re.MULTILINE))


def longest(run: Path) -> dict[str, float]:
    """The seconds of each test in a run, those of the slowest case where it has several."""
    seconds: dict[str, float] = defaultdict(float)
    for case in ElementTree.parse(run).iter("testcase"):
        module, name = str(case.get("classname")), str(case.get("name")).partition("[")[0]
        test = f"{module.replace('.', '/')}.py::{name}" if module.startswith("tests.") else f"{module}::{name}"
        seconds[test] = max(seconds[test], float(case.get("time") or 0))
    return seconds


def main() -> None:
    """Print what the table lacks and what it need not hold; exit with 1 if it lacks something."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--busy", type=float, default=1.0)
    given = parser.parse_args()
    known, seconds = explained(), {test: taken / given.busy for test, taken in longest(given.run).items()}
    lacking = sorted((test for test, taken in seconds.items() if taken > LIMIT and test not in known), key=lambda test: -seconds[test])
    for test in lacking:
        print(f"{seconds[test]:6.1f} s  {test}: make it quicker, or add it to tests/README.md with its reason")
    for test in sorted(known - {test for test, taken in seconds.items() if taken > LIMIT / 2}):
        print(f"{seconds.get(test, 0.0):6.1f} s  {test}: quick, or gone: drop it from tests/README.md")
    sys.exit(bool(lacking))


if __name__ == "__main__":
    main()
