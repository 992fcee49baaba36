"""Whatever arrives by the name of its kind is found in a process that has imported nothing else yet."""

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

FAMILIES = {
    "domain": "from deniable.contract.domain import DOMAINS as family",
    "encoder": "from deniable.contract.encoder import ENCODERS as family",
    "protocol": "from deniable.contract.protocol import PROTOCOLS as family",
}
AFTER = """
import importlib, json, pkgutil
found = set(family.load())
import deniable
for room in ("contract", "client", "core", "local", "shuffle", "tasks"):
    home = importlib.import_module(f"deniable.{room}")
    for module in pkgutil.walk_packages(home.__path__, f"{home.__name__}."):
        importlib.import_module(module.name)
print(json.dumps([sorted(found), sorted(set(family.load()) - found)]))
"""


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_loads_all_its_kinds(name):
    """A device that is asked about ratings first must know them before it has read any encoder of ratings."""
    code = f"{FAMILIES[name]}\n{AFTER}"
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    found, missing = json.loads(done.stdout.splitlines()[-1])
    assert len(found) > 5
    assert missing == []
