"""The words of the docs: the check that ``make lint`` runs finds what it should, and every term of the glossary is one that pages use."""

from __future__ import annotations

import re
import sys
from importlib import import_module

import pytest

from tests.conftest import ROOT

TERMS = re.findall(r"^\| ([a-z][\w -]*) \|", (ROOT / "docs" / "glossary.md").read_text().replace("| term |", ""), re.MULTILINE)


@pytest.fixture(scope="module")
def voice():
    sys.path.insert(0, str(ROOT / "scripts" / "checks"))
    yield import_module("voice")
    sys.path.pop(0)


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("page.md", "Ask\nwhoever has it.\n", [2]),
        ("page.md", "It is done for\ngood. For good reasons.\n", [1]),
        ("page.md", "```\nwhoever\n```\n`liars` [can](told.md) be told apart.\n", []),
        ("module.py", '"""Fix it.\n\nAt hand.\n"""\n\nwhoever = 1  # told\n', [3, 6]),
        ("module.py", '"""``a`` for whoever has ``b``.\n\n>>> beside = 1\n"""\nf"{told}"\n', [1]),
        ("CHANGELOG.md", "# Changes\n\n## Unreleased\n\nbeside\n\n## 0.1\n\nbeside\n", [5]),
    ],
)
def test_words_are_found_where_people_read_them(voice, monkeypatch, tmp_path, name, text, lines):
    monkeypatch.setattr(voice, "ROOT", tmp_path)
    (tmp_path / name).write_text(text)
    assert sorted(int(each.split(":")[1]) for each in voice.found(tmp_path / name)) == lines


def test_what_is_listed_as_clean_is_there_and_clean(voice, capsys):
    assert (voice.main([]), capsys.readouterr().out) == (0, "")
    assert len(voice.files(["docs/how-to", "README.md"])) > 30


def test_terms_of_the_glossary_are_used_and_explained_once():
    pages = [path for path in (ROOT / "docs").rglob("*.md") if path.name != "glossary.md"]
    text = " ".join(" ".join(path.read_text() for path in pages).lower().split())
    assert [term for term in TERMS if not re.search(rf"\b{term}(s|es)?\b", text)] == []
    assert len(TERMS) == len({*TERMS}) > 50
