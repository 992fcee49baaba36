"""What deniable stands on: declared where it is used, pinned for the tests, allowed by its license, and audited without a silent pass."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.answering import answering
from tests.conftest import ROOT
from tests.services import needed

SOURCE = ROOT / "src" / "deniable"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = {name: [Requirement(line) for line in lines] for name, lines in PROJECT["project"]["optional-dependencies"].items()}
MODULES = {"nacl": "pynacl", "sklearn": "scikit-learn", "vl_convert": "vl-convert-python", "cupy": "cupy-cuda12x"}
"""Modules that are called otherwise than their packages."""
NOT_IMPORTED = {"psycopg"}
"""SQLAlchemy loads it by the database's address."""
ROOMS = {
    **{room: {"analysis"} for room in ("kernels", "core", "accounting", "local", "central", "shuffle", "tasks", "engines")},
    **{"sealing": {"sealed"}, "multiparty": {"multiparty"}, "lab": {"lab"}, "collect": {"server"}, "cli": {"cli"}},
}
"""The extra that a room needs, as DESIGN's rooms and the README name them; contract, client, testing and errors need none."""
FILES = {
    "tasks/text/topics.py": {"lab"},
    "tasks/graphs/graph.py": {"lab"},
    "engines/spark.py": {"spark"},
    "engines/beam.py": {"beam"},
    "engines/cuda.py": {"gpu"},
    "cli/enrol.py": {"server"},
    "cli/stores.py": {"server"},
}
"""The same for single files, each of which, or the store that it opens first, says so when the package is missing."""


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / "checks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def packages(extra):
    """What an extra installs, by itself and by those that it builds on."""
    found = set()
    for requirement in EXTRAS[extra]:
        found |= (
            set().union(*map(packages, requirement.extras)) if requirement.name == "deniable" else {canonicalize_name(requirement.name)}
        )
    return found


def imported(path):
    """The packages that a file imports, and nobody's standard library."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names |= {alias.name for alias in node.names} if isinstance(node, ast.Import) else set()
        names |= {node.module} if isinstance(node, ast.ImportFrom) and node.module and not node.level else set()
    tops = {name.partition(".")[0] for name in names} - sys.stdlib_module_names - {"deniable"}
    return {canonicalize_name(MODULES.get(name, name)) for name in tops}


def test_every_import_is_declared_by_the_extra_of_its_room():
    used, undeclared = set(), defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        extras = ROOMS.get(place.partition("/")[0], set()) | FILES.get(place, set())
        needs = imported(path)
        used |= needs
        for missing in needs - set().union(*map(packages, extras)):
            undeclared[missing].add(place)
    assert undeclared == {}
    declared = set().union(*map(packages, EXTRAS))
    assert declared - used == NOT_IMPORTED, "what nothing imports is not asked for"
    for place in FILES:
        assert re.search("MissingExtra|server_extra|cli.stores", (SOURCE / place).read_text()), place


def test_every_dependency_has_a_lower_bound_and_a_pin():
    """A lower bound and no upper one: a library must not stand in the way of a fix."""
    pins = {
        canonicalize_name(pin.name): pin
        for name in ("constraints.txt", "constraints-beam.txt")
        for pin in map(Requirement, (line for line in (ROOT / name).read_text().splitlines() if not line.startswith("#")))
    }
    groups = PROJECT["dependency-groups"]["dev"]
    for requirement in [*chain.from_iterable(EXTRAS.values()), *map(Requirement, groups)]:
        if requirement.name == "deniable":
            continue
        assert {bound.operator for bound in requirement.specifier} == {">="}, requirement
        name = canonicalize_name(requirement.name)
        if name != "cupy-cuda12x":  # there is no graphics processor where the tests run
            (pin,) = pins[name].specifier
            assert pin.operator == "=="
            assert requirement.specifier.contains(pin.version), pins[name]


def test_licenses_allow_what_is_done_with_the_packages():
    licenses = script("licenses")
    found = licenses.licenses()
    assert {"numpy", "starlette", "llvmlite", "psycopg-binary", "pyspark"} <= set(found), "direct ones and others"
    assert {name: stated for name, stated in found.items() if not licenses.allowed(stated)} == {}
    for stated in ("GPL-3.0-only", "AGPL-3.0", "MIT AND GPL-2.0", "Other/Proprietary License", "not stated"):
        assert not licenses.allowed(stated), stated
    assert licenses.allowed("GPL-2.0 OR BSD-3-Clause")


@pytest.mark.parametrize(
    ("target", "expected"), [("demo", ["setup.sh"]), ("test", ["setup.sh", "setup_tests.sh"]), ("docs", ["setup.sh", "setup_tests.sh"])]
)
def test_the_demo_does_not_wait_for_what_only_tests_need(target, expected, tmp_path):
    make = shutil.which("make")
    needed(make, "make is not installed")
    command = [make, "--dry-run", "--no-print-directory", target, f"VENV={tmp_path / 'environment'}"]
    planned = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^sh scripts/(\S+)", planned, re.MULTILINE) == expected
    for name in expected:
        assert subprocess.run(["sh", "-n", ROOT / "scripts" / name], check=False).returncode == 0


class Index(BaseHTTPRequestHandler):
    """A package index: pages by path, and an error on demand."""

    pages: dict[str, object]

    def do_GET(self):
        page = self.pages.get(self.path)
        self.send_response(page if isinstance(page, int) else 404 if page is None else 200)
        self.end_headers()
        self.wfile.write(b"" if isinstance(page, int) else json.dumps(page).encode())

    def log_message(self, *_):
        pass


def page(version, *found):
    return {"info": {"version": version}, "vulnerabilities": list(found)}


BAD = {"id": "PYSEC-1", "fixed_in": ["2.0"], "withdrawn": None}
CONTROL = {"/pycrypto/json": page("2.6.1", BAD)}
CASES = {
    "clean": (CONTROL | {"/tea/1.0/json": page("1.0")}, 0),
    "vulnerable": (CONTROL | {"/tea/1.0/json": page("1.0", BAD)}, 1),
    "known as the newest alone": (CONTROL | {"/tea/json": page("1.0", BAD)}, 1),
    "withdrawn": (CONTROL | {"/tea/json": page("1.0", BAD | {"withdrawn": "2026-01-01"})}, 0),
    "the newest is another": (CONTROL | {"/tea/json": page("1.1")}, 2),
    "unknown": (CONTROL, 2),
    "no advisories": ({"/pycrypto/json": page("2.6.1"), "/tea/1.0/json": page("1.0")}, 2),
    "refused": (CONTROL | {"/tea/1.0/json": 503}, 2),
    "something else": (CONTROL | {"/tea/1.0/json": "hello"}, 2),
}


@contextmanager
def serving(pages):
    """The address of an index with these pages, or of none."""
    with answering(ThreadingHTTPServer(("127.0.0.1", 0), type("Pages", (Index,), {"pages": pages}))) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize("case", CASES)
def test_an_audit_passes_only_if_everything_was_looked_up(case, capsys):
    audit = script("audit")
    pages, expected = CASES[case]
    with serving(pages) as address:
        status = audit.audit(address, [audit.Release("tea", "1.0")])
    told = capsys.readouterr()
    assert status == expected, told
    assert ("PYSEC-1 (fixed in 2.0)" in told.out) == (expected == 1)
    assert ("audited" in told.err) == (expected == 2)


def test_everything_installed_is_audited_or_said_not_to_be(tmp_path):
    audit = script("audit")
    with serving({}) as away:
        pass
    assert audit.audit(away, [audit.Release("tea", "1.0")]) == audit.UNKNOWN
    found = {canonicalize_name(release.name) for release in audit.installed()}
    assert set(script("licenses").licenses()) <= found
    assert audit.audit_npm(tmp_path) == audit.UNKNOWN
    package = json.loads(Path(ROOT / "clients/js/package.json").read_text())
    assert [key for key in package if "ependencies" in key] == [], "the client in JavaScript needs nothing"
