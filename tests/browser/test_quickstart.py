"""The quickstart for web developers, as a reader follows it: its commands, its files, and its page in Chromium."""

from __future__ import annotations

import doctest

from tests.conftest import ROOT
from tests.pages import FLAGS, Page, blocks

QUICKSTART = ROOT / "docs" / "quickstarts" / "web.md"


def test_the_page_of_the_quickstart_answers_as_it_shows(context, tmp_path):
    sent, ledger, refused = (block.text for block in blocks(QUICKSTART.read_text()) if block.language == "text")

    def shows(tab, name, expected):
        tab.wait_for_function(
            "([name, start]) => document.getElementById(name).textContent.startsWith(start)", arg=[name, expected.split("...")[0].strip()]
        )
        return doctest.OutputChecker().check_output(expected, tab.locator(f"#{name}").inner_text() + "\n", FLAGS)

    def visit(page):
        tab = context.new_page()
        tab.goto(f"http://localhost:{page.ports['8080']}")
        tab.get_by_role("button", name="tea").click()
        assert shows(tab, "outcome", sent)
        assert shows(tab, "ledger", ledger)
        tab.get_by_role("button", name="coffee").click()
        assert shows(tab, "outcome", refused)

    Page(QUICKSTART, tmp_path).run(then=visit)
