"""The page that compares other systems: each cell about ourselves links to a test of it, and what it counts is counted here."""

from __future__ import annotations

import json
import re

import deniable as dn
from deniable.cli.audit import audit
from deniable.contract.spec import MECHANISMS, Spec
from deniable.lab.experiments.heavy_hitters_shootout import EXPERIMENT
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "comparison.md"


def tables():
    """The rows of each table by its heading, without its header."""
    sections = re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    rows = {heading: re.findall(r"^\| (.+) \|$", text, re.MULTILINE) for heading, text in sections}
    return {heading: [[cell.strip() for cell in row.split(" | ")] for row in found[1:]] for heading, found in rows.items()}


def test_every_cell_about_ourselves_links_to_a_test():
    found = tables()
    compared = [row for heading in ("Trust and promises", "What is shipped") for row in found[heading]]
    assert len(compared) == 15
    for row in compared:
        assert len(row) == 8
        (file,) = re.findall(r"\]\(\.\./(tests/[\w/]+\.py)\)", row[-1])
        assert "def test_" in (ROOT / file).read_text(), row


def test_what_is_named_is_there():
    named = re.findall(r"\[`(\w+)`\]\(\.\./(tests/[\w/]+\.py)\)", PAGE.read_text())
    assert len(named) > 6
    for name, file in named:
        assert re.search(rf"^(class|def) {name}\(", (ROOT / file).read_text(), re.MULTILINE), f"{name} in {file}"


def test_mechanisms_and_searches_are_counted():
    """Two mechanisms, for vectors, use floating point: they are not among those with an exact law."""
    public = [name for name in dir(dn) if isinstance(getattr(dn, name), type) and issubclass(getattr(dn, name), Spec)]
    assert set(public) - set(MECHANISMS) == {"PrivUnit", "ProjUnit"}
    local = [method for method in EXPERIMENT.mechanisms if "central" not in method.label]
    counted = {
        row[0]: re.match(r"\[(\d+)\]", row[-1])[1] for row in tables()["What is shipped"] if row[0].split()[0] in ("mechanisms", "searches")
    }
    assert list(counted.values()) == [str(len(public)), str(len(local))]


def test_every_exact_mechanism_passes_an_enumerated_audit(capsys):
    for name in sorted(MECHANISMS):
        audit(mechanism=name, json_output=True)
        found = json.loads(capsys.readouterr().out)
        assert found["passed"], name
        assert 0 < found["epsilon"] <= found["claimed"], name
