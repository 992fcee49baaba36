"""The page beside other systems: each cell about ourselves names what holds it, and each exact mechanism is audited as the page says."""

from __future__ import annotations

import json
import re

from deniable.cli.audit import audit
from deniable.contract.spec import MECHANISMS
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "comparison.md"


def tables():
    """The rows of each table by its heading, without the rows that say what the columns are."""
    sections = re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    rows = {heading: re.findall(r"^\| (.+) \|$", text, re.MULTILINE) for heading, text in sections}
    return {heading: [[cell.strip() for cell in row.split(" | ")] for row in found[1:]] for heading, found in rows.items()}


def test_every_row_names_what_holds_our_cell():
    found = tables()
    compared = [row for heading in ("Trust and promises", "What is shipped") for row in found[heading]]
    assert len(compared) == 15
    assert all(len(row) == 8 for row in compared)
    assert [row[0] for row in compared] == [row[0] for row in found["What holds the last column"]]


def test_what_is_named_is_there():
    named = re.findall(r"\[`(\w+)`\]\(\.\./(tests/[\w/]+\.py)\)", PAGE.read_text())
    assert len(named) > 6
    for name, file in named:
        assert re.search(rf"^(class|def) {name}\(", (ROOT / file).read_text(), re.MULTILINE), f"{name} in {file}"


def test_every_exact_mechanism_passes_an_enumerated_audit(capsys):
    for name in sorted(MECHANISMS):
        audit(mechanism=name, json_output=True)
        found = json.loads(capsys.readouterr().out)
        assert found["passed"], name
        assert 0 < found["epsilon"] <= found["claimed"], name
    assert f"| {len(MECHANISMS) + 2} |" in PAGE.read_text()  # and two for vectors, which use floating point
