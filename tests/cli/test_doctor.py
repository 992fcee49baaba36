"""The doctor names what is missing and what does not work; shells learn the commands and their options."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from deniable.cli import doctor, installation
from deniable.cli.commands import COMMANDS
from tests.cli.running import COMMAND, run


def test_a_healthy_installation():
    found = json.loads(run("doctor", "--json").stdout)
    states = {each["what"]: each["state"] for each in found["checks"]}
    assert {states[what] for what in ("Python", "exact law", "kernels", "charts")} == {"fine"}
    extras = {each["what"]: each for each in found["extras"]}
    assert {"analysis", "cli", "lab", "server", "multiparty", "sealed", "spark", "beam", "gpu"} == set(extras)
    assert extras["cli"]["state"] == "fine"
    assert "typer" in extras["cli"]["detail"]
    assert [extras["gpu"][field] for field in ("state", "advice")] == ["missing", 'pip install ".[gpu]"']
    assert "Extras" in run("doctor").stdout
    assert "Extras" in run("--", "doctor").stdout


@pytest.mark.parametrize(
    ("needs", "state", "words"),
    [
        ({"numpy": "2.0"}, "fine", "numpy 2"),
        ({"numpy": "2.0", "no-such-package": "1"}, "missing", "no no-such-package"),
        ({"numpy": "999.1"}, "broken", "too old: numpy"),
    ],
    ids=["there", "missing", "too old"],
)
def test_an_extra_is_there_missing_or_too_old(needs, state, words):
    finding = installation._extra("some", needs)
    assert (finding.state, words in finding.detail) == (state, True)
    assert (finding.advice == 'pip install ".[some]"') == (state != "fine")


def test_what_does_not_work_is_told_and_ends_with_status_1(monkeypatch, capsys):
    def broken():
        raise OSError("no room for compiled code")

    monkeypatch.setitem(installation.LOOKS, "kernels", broken)
    with pytest.raises(doctor.typer.Exit) as ended:
        doctor.doctor(json_output=True)
    assert ended.value.exit_code == 1
    (finding,) = [each for each in json.loads(capsys.readouterr().out)["checks"] if each["state"] == "broken"]
    assert finding["detail"] == "OSError: no room for compiled code"


def completions(*words):
    asked = {"_DENIABLE_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(COMMAND, env=os.environ | asked, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_shells_complete_commands_and_options():
    assert set(completions("deniable", "")) >= set(COMMANDS)
    assert completions("deniable", "aud") == ["audit"]
    assert "--epsilon" in completions("deniable", "audit", "--")
