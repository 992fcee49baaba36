"""The examples, started as their README says, by one command each."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.conftest import ROOT

EXAMPLES = ROOT / "examples"


def run(name):
    done = subprocess.run([sys.executable, EXAMPLES / name / "run.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_example_is_in_the_readme():
    told = (EXAMPLES / "README.md").read_text()
    for folder in EXAMPLES.iterdir():
        if folder.is_dir() and folder.name != "__pycache__":
            assert f".venv/bin/python examples/{folder.name}/" in told


def test_three_hospitals_learn_their_totals():
    """The noise's tails fall faster than e^(-x / 2): beyond 40 it lies less than once in 10^8 runs."""
    told = run("hospitals")
    totals = dict(re.findall(r"^(flu|rsv|covid) +(\d+)", told, re.MULTILINE))
    for illness, truth in {"flu": 952, "rsv": 36, "covid": 133}.items():
        assert abs(int(totals[illness]) - truth) < 40


def test_an_editor_reports_and_shows_its_ledger():
    told = run("telemetry")
    before, after = told.split("-- what the user reads:")
    assert "nothing was sent: consent" in before
    assert "the answer is sent, epsilon 0.4 was spent" in after
    assert "Spent: epsilon 0.4 of 8, 7.6 left." in after
    assert "1,999 others report: {'sent': 1999}" in after
    assert "editor-theme: 2,000 reports, GRR, epsilon = 0.4" in after
