"""The interface against its own description: requests made from the OpenAPI document, inside of it and outside, for every role.

Not checked: that whatever fits the schema is accepted. A schema cannot say which labels a task has, or what a good TOML file is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deniable.client import RR
from deniable.contract.envelope import Envelope
from deniable.contract.source import SYSTEM
from tests.conftest import ROOT
from tests.system.conftest import Server

NOBODY = "0" * 64
SURVEY = """
name = "yes"
question = "Yes?"
owner = "tests"
epsilon = 1.0
weak_privacy = true
lasts = "1 day"
period = "1 hour"
answers = 24
minimum_batch = 2
[domain]
yes_no = true
[mechanism]
name = "RR"
[strata]
where = ["phone", "web"]
"""
CONFIG = """
[parameters]
"path.id" = "{task}"

[[operations]]
include-name = "DELETE /v1/tasks/{{id}}"
parameters = {{ "path.id" = "{nobody}" }}

[[operations]]
include-name = "POST /v1/tasks/{{id}}/close"
parameters = {{ "path.id" = "{nobody}" }}
"""


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """A collector with a task that has something to tell, and the tokens for it."""
    with Server(tmp_path_factory.mktemp("schemathesis") / "collector") as server:
        tokens = {role: server.token(role) for role in ("admin", "analyst")}
        task = server.publish(SURVEY, tokens["admin"])
        spec = RR(epsilon=1.0)
        for stratum in (0, 0, 1, 1):
            report = b"".join(SYSTEM.word().to_bytes(8, "little") for _ in range(2))
            answer = server.send(Envelope(bytes.fromhex(task), 0, 0, stratum, report, spec.encode(spec.randomize(1))))
            assert answer.status == 201
        yield server, tokens | {"nobody": ""}, task


@pytest.mark.parametrize(
    ("role", "whose", "examples"), [("admin", "real", 15), ("admin", "any", 5), ("analyst", "real", 5), ("nobody", "real", 5)]
)
def test_the_collector_does_what_its_description_says(described, role, whose, examples, tmp_path):
    """No server error, no status, header or body that is not described, nothing accepted that the description excludes."""
    server, tokens, task = described
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG.format(task=task, nobody=NOBODY) if whose == "real" else "")
    command = [Path(sys.executable).parent / "schemathesis", "--config-file", config, "--no-color", "run", f"{server.url}/openapi.json"]
    command += ["--phases", "coverage,fuzzing", "--max-examples", str(examples), "--seed", "1", "--generation-database", "none"]
    command += ["--checks", "all", "--exclude-checks", "positive_data_acceptance"]
    if tokens[role]:
        command += ["-H", f"Authorization: Bearer {tokens[role]}"]
    environment = os.environ | {"SCHEMATHESIS_HOOKS": "tests.system.schemathesis_hooks", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Tested: 20" in done.stdout
    assert server.get("/readyz").status == 200
    assert not [line for line in server.log() if line["level"] == "error"]
