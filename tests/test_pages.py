"""Every page runs as it stands: Python and commands, from top to bottom; the runner itself rejects pages that are wrong."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT
from tests.pages import Page, blocks

ELSEWHERE = {ROOT / "docs" / "how-to" / "beam.md", ROOT / "docs" / "quickstarts" / "web.md"}
"""tests/engines/test_beam.py runs the first in an environment with Apache Beam, tests/browser/test_quickstart.py the second in Chromium."""
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")), *sorted({*(ROOT / "docs").rglob("*.md")} - ELSEWHERE)]
RUN = [page for page in PAGES if any(block.language in ("python", "console") for block in blocks(page.read_text()))]


@pytest.mark.parametrize("page", RUN, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_runs_as_it_stands(page, tmp_path):
    Page(page, tmp_path).run()


@pytest.mark.parametrize(
    "text",
    [
        "```python\n>>> 1 + 1\n3\n```\n",
        "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n",
        "```python\nprint(1 + 1)\n```\n",
        "```python\nraise ValueError\n```\n",
        "```console\n$ echo tea\ncoffee\n```\n",
        "```console\n$ deniable --nothing\n```\n",
        "```console\n$ export DRINK=tea\n$ echo $DRINK\n$DRINK\n```\n",
        "```console\n$ deniable plan --nothing &\n$ wait\n```\n",
        '```toml title="tea.toml"\na = 1\n```\n\n```console\n$ cat tea.toml\na = 2\n```\n',
    ],
)
def test_a_page_that_is_wrong_fails(text, tmp_path):
    (page := tmp_path / "page.md").write_text(text)
    (folder := tmp_path / "empty").mkdir()
    with pytest.raises((AssertionError, ValueError)):
        Page(page, folder).run()


def test_numbers_repeat_without_a_source(tmp_path):
    text = "```python\nimport deniable as dn\nprint(dn.GRR(domain_size=1000, epsilon=0.1).privatize(range(8)).to_arrow()[0])\n```\n"
    printed = []
    for want in ("", "..."):
        (page := tmp_path / "page.md").write_text(text + (f"\n```text\n{want}\n```\n"))
        try:
            Page(page, tmp_path).run()
        except AssertionError as error:
            printed.append(str(error))
    assert len(printed) == 1
