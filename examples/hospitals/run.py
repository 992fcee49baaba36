"""Three hospitals add up their admissions, and none of them shows its own: an aggregator and three parties, each a process of its own.

    .venv/bin/python examples/hospitals/run.py

Each step prints the command that the hospital, or the aggregator, would type on a machine of its own.
"""

from __future__ import annotations

import csv
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from local_collector import DENIABLE, deniable, serving

ADMISSIONS = {
    "north": {"flu": 318, "rsv": 12, "covid": 44},
    "south": {"flu": 401, "rsv": 9, "covid": 61},
    "west": {"flu": 233, "rsv": 15, "covid": 28},
}
TERMS = """
name = "admissions, week 46"
values = ["flu", "rsv", "covid"]
unit = "person"
epsilon = 1.0
honest = "2/3"
corrupt = "1/3"
lost = "0"

[numbers]
largest = 10_000

[parties]
"""


def main() -> None:
    """From keys to the sum."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("1. every hospital makes its identity")
        keys = {hospital: show("party", "keys", "--folder", folder / hospital).strip() for hospital in ADMISSIONS}
        print("\n2. one of them writes the terms: what is added up, the noise, the keys of all three")
        terms = folder / "admissions.toml"
        terms.write_text(TERMS + "".join(f'{hospital} = "{key}"\n' for hospital, key in keys.items()))
        print("\n3. the aggregator begins the sum")
        told = show("aggregate", "create", terms, "--folder", folder / "sum")
        sum_id = next(line.split()[1] for line in told.splitlines() if line.startswith("sum"))
        print("\n4. every hospital confirms the terms by their id, and takes part")
        run = ("aggregate", "run", "--folder", folder / "sum", "--port", 0, "--tend-seconds", 0.1, "--linger", 1, "--log-level", "error")
        with serving(*run) as url:
            parties = {hospital: take_part(folder, hospital, url, sum_id) for hospital in ADMISSIONS}
            for hospital, party in parties.items():
                if party.wait():
                    raise SystemExit(f"{hospital} did not get through: {(folder / f'{hospital}.log').read_text()}")
        print("\n5. what everybody may know now")
        print(show("aggregate", "show", "--folder", folder / "sum"))
    truth = {illness: sum(counts[illness] for counts in ADMISSIONS.values()) for illness in ("flu", "rsv", "covid")}
    print(f"the true totals, which nobody saw: {truth}")


def show(*arguments: object) -> str:
    """Print a command, and run it."""
    print(f"   $ deniable {shlex.join(map(str, arguments))}")
    return deniable(*arguments)


def take_part(folder: Path, hospital: str, url: str, sum_id: str) -> subprocess.Popen[str]:
    """One hospital's process."""
    numbers = folder / f"{hospital}.csv"
    with numbers.open("w", newline="") as file:
        csv.writer(file).writerows([("value", "number"), *ADMISSIONS[hospital].items()])
    arguments = ("party", "run", "--folder", folder / hospital, "--url", url, "--numbers", numbers, "--sum", sum_id)
    print(f"   $ deniable {shlex.join(map(str, arguments))}")
    with (folder / f"{hospital}.log").open("w") as log:
        return subprocess.Popen([*DENIABLE, *map(str, arguments)], stdout=log, stderr=log)


if __name__ == "__main__":
    main()
