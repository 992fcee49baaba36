"""The licenses of everything that users install with deniable, as the packages state them; the exit status is 1 if one is not allowed.

deniable is under Apache-2.0 and ships nothing of these packages: pip installs them. So permissive licenses are allowed, and those
that ask for the source of the package itself and not of what uses it (LGPL, MPL).
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

INSTALLED = {Path(sys.prefix): {"all", "spark"}, Path(f"{sys.prefix}-beam"): {"beam"}}
"""The environments, this one and the one next to it for Apache Beam, and the extras that are in them. CuPy is in none."""
ALLOWED = re.compile(
    r"^\(*(Apache|MIT|0BSD|BSD|[23]-clause BSD|ISC|PSF|Python Software|Zlib|CC0|CNRI-Python|Unlicense|LGPL|MPL|Mozilla)", re.IGNORECASE
)
STATED_IN_ITS_FILE = {"locate": "MIT", "python-dateutil": "Apache-2.0 OR BSD-3-Clause"}
"""What says nothing useful in its metadata, and does in its license file."""


def licenses() -> dict[str, str]:
    """The license of each package that some extra brings, directly or not."""
    found: dict[str, str] = {}
    for environment, extras in INSTALLED.items():
        there = {canonicalize_name(each.metadata["Name"]): each for each in _installed(environment)}
        if "deniable" in there:
            found |= {each: license_of(there[each]) for each in needed(there, extras)}
    return found


def needed(there: dict[str, Distribution], extras: set[str]) -> set[str]:
    """The packages below deniable with these extras."""
    found: set[tuple[str, str]] = set()
    waiting = [("deniable", extra) for extra in extras]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) not in found:
            found.add((name, extra))
            asked = map(Requirement, there[name].requires or ())
            due = [each for each in asked if each.marker is None or each.marker.evaluate({"extra": extra})]
            waiting += [(canonicalize_name(each.name), one) for each in due for one in {"", *each.extras}]
    return {name for name, _ in found} - {"deniable"}


def license_of(package: Distribution) -> str:
    """What a package says of itself: as an expression, in a line, or by its classifiers."""
    said = package.metadata
    classified = [each.rpartition(" :: ")[2] for each in said.get_all("Classifier", []) if each.startswith("License ::")]
    line = (said.get("License") or "").strip()
    stated = said.get("License-Expression") or (line if line and "\n" not in line else " AND ".join(classified))
    return STATED_IN_ITS_FILE.get(said["Name"], stated or "not stated")


def allowed(stated: str) -> bool:
    """Whether every part of an expression leaves a choice that is allowed."""
    return all(any(ALLOWED.match(one) for one in part.split(" OR ")) for part in stated.split(" AND "))


def _installed(environment: Path) -> list[Distribution]:
    return list(distributions(path=[str(path) for path in environment.glob("lib/python*/site-packages")]))


def main() -> None:
    """List them by license."""
    found = licenses()
    for stated in sorted(set(found.values())):
        print(f"{stated}{'' if allowed(stated) else ', NOT ALLOWED'}: {', '.join(sorted(name for name in found if found[name] == stated))}")
    sys.exit(not all(map(allowed, found.values())))


if __name__ == "__main__":
    main()
