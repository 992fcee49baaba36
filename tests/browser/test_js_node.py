"""The browser client in node: its own tests, each reported by name, and the package that would be published."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

import deniable
from deniable.contract.spec import MECHANISMS
from tests.conftest import ROOT
from tests.services import needed

CLIENT = ROOT / "clients" / "js"
OLDEST_NODE = 20


def program(name):
    """The path of a program that is needed."""
    found = shutil.which(name)
    needed(found, f"{name} is not installed (on Debian: apt-get install nodejs npm)")
    return found


def run(*command):
    return subprocess.run(command, cwd=CLIENT, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture(scope="module")
def node():
    path = program("node")
    version = int(re.match(r"v(\d+)", run(path, "--version").stdout)[1])
    needed(version >= OLDEST_NODE, f"node is of version {version}, and {OLDEST_NODE} is needed")
    return path


@pytest.mark.parametrize("path", sorted((CLIENT / "test").glob("*.test.js")), ids=lambda path: path.name)
def test_the_clients_own_tests_pass(node, path):
    done = run(node, "--test", "--test-reporter=tap", str(path.relative_to(CLIENT)))
    failed = re.findall(r"^\s*not ok \d+ - (.*)$", done.stdout, re.MULTILINE)
    passed = re.findall(r"^\s*ok \d+ - ", done.stdout, re.MULTILINE)
    assert done.returncode == 0, f"failed: {failed}\n{done.stdout}\n{done.stderr}"
    assert passed


def test_the_client_has_every_mechanism(node):
    code = 'import { MECHANISMS } from "./src/index.js"; console.log(JSON.stringify([...MECHANISMS.keys()]))'
    assert set(json.loads(run(node, "--input-type=module", "-e", code).stdout)) == set(MECHANISMS)


def test_the_package_packs_what_is_needed_and_nothing_else():
    done = run(program("npm"), "pack", "--dry-run", "--json", "--offline")
    (package,) = json.loads(done.stdout)
    sources = {str(path.relative_to(CLIENT)) for path in (CLIENT / "src").rglob("*.js")}
    assert {file["path"] for file in package["files"]} == sources | {"package.json", "README.md", "LICENSE", "index.d.ts"}
    assert (package["name"], package["version"]) == ("deniable", deniable.__version__)
    assert (CLIENT / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
