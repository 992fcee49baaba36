"""Which releases in our environments have known vulnerabilities: everything that was installed, and npm's tools for the tests.

The package index says which advisories name a release. It is believed only if it knows them of a release that everybody knows to be bad.
The exit status is 0 if nothing is known against any, 1 if something is, and 2 if not everything could be looked up, which is no pass.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, NamedTuple

ENVIRONMENTS = (Path(sys.prefix), Path(f"{sys.prefix}-beam"))
"""The one that runs this, and the one next to it for Apache Beam."""
BENCH = Path(__file__).parents[2] / ".bench"
CLEAN, VULNERABLE, UNKNOWN = 0, 1, 2
NOT_OURS = ("deniable", "pip", "setuptools", "wheel")
"""The project, and what Python itself puts into an environment."""
PATIENCE = 30
"""Seconds to wait for an answer."""


class Release(NamedTuple):
    """One version of one package."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


CONTROL = Release("pycrypto", "2.6.1")
"""Given up in 2013, with advisories since. An index that has nothing against it has no advisories."""


class Unreachable(Exception):  # noqa: N818  # what it says
    """The index did not answer, or something else did."""


def installed() -> list[Release]:
    """All releases in the project's environments, and in no other."""
    folders = [str(path) for environment in ENVIRONMENTS for path in environment.glob("lib/python*/site-packages")]
    found = {Release(each.metadata["Name"], each.version) for each in distributions(path=folders)}
    return sorted(release for release in found if release.name not in NOT_OURS)


def advisories(index: str, release: Release) -> list[str] | None:
    """What is known against a release; None if the index does not know the release. Unreachable if it does not answer."""
    for path in (f"{release.name}/{release.version}", release.name):  # the second is about the newest: some mirrors have no other
        page = _page(f"{index}/{path}/json")
        try:
            if page is not None and page["info"]["version"] == release.version:
                standing = [each for each in page["vulnerabilities"] if not each.get("withdrawn")]
                return [f"{each['id']} (fixed in {', '.join(each['fixed_in']) or 'no release'})" for each in standing]
        except (TypeError, KeyError, AttributeError) as error:
            raise Unreachable(f"the package index answered something else about {release}") from error
    return None


def _page(address: str) -> Any:
    try:
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise Unreachable(f"the package index answered {error.code}") from error
    except (OSError, ValueError) as error:
        raise Unreachable(f"the package index did not answer: {error}") from error


def audit(index: str, releases: Iterable[Release]) -> int:
    """Say what is known against the releases; the exit status."""
    releases = list(releases)
    try:
        if not advisories(index, CONTROL):
            return _said(UNKNOWN, f"the package index has nothing against {CONTROL}: it has no advisories, and nothing was audited")
        with ThreadPoolExecutor(8) as several:
            found = dict(zip(releases, several.map(lambda release: advisories(index, release), releases), strict=True))
    except Unreachable as error:
        return _said(UNKNOWN, f"{error}; nothing was audited")
    for release, known in found.items():
        for advisory in known or ():
            print(f"{release}: {advisory}")
    unknown = [str(release) for release, known in found.items() if known is None]
    bad = sum(bool(known) for known in found.values())
    print(f"Python: {len(found) - len(unknown)} of {len(found)} releases looked up, {bad} with known vulnerabilities")
    if unknown:
        _said(UNKNOWN, f"the package index does not know {', '.join(unknown)}: not audited")
    return VULNERABLE if bad else UNKNOWN if unknown else CLEAN


def audit_npm(folder: Path = BENCH) -> int:
    """The same of the tools that npm installed for the tests; the client itself has no dependency."""
    npm = shutil.which("npm")
    if npm is None or not (folder / "node_modules").is_dir():
        return _said(UNKNOWN, "npm or its tools are not installed: not audited")
    done = subprocess.run([npm, "audit", "--json", "--no-package-lock"], cwd=folder, capture_output=True, text=True, check=False)
    try:
        counts = json.loads(done.stdout)["metadata"]["vulnerabilities"]
    except (ValueError, KeyError):
        return _said(UNKNOWN, "npm's registry answered no audit: its tools were not audited")
    print(f"npm: {counts['total']} known vulnerabilities in what the tests use")
    return VULNERABLE if counts["total"] else CLEAN


def _said(status: int, text: str) -> int:
    print(f"audit: {text}", file=sys.stderr)
    return status


def main() -> None:
    """Audit both, and exit with the worse of what was found: a vulnerability first, then what is not known."""
    from pip._internal.models.index import PyPI  # pip knows where the index is

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--index", default=PyPI.pypi_url, help="the address of an index that answers NAME/VERSION/json")
    arguments = parser.parse_args()
    statuses = {audit(arguments.index, installed()), audit_npm()}
    sys.exit(next(status for status in (VULNERABLE, UNKNOWN, CLEAN) if status in statuses))


if __name__ == "__main__":
    main()
