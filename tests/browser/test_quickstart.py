"""The quickstarts with a step in the browser, as a reader follows them: commands, files, and pages in Chromium."""

from __future__ import annotations

import doctest
import json
import re

from playwright.sync_api import expect

from tests.browser.answering import agree, draw, fill, send
from tests.conftest import ROOT
from tests.pages import FLAGS, Page, blocks

QUICKSTARTS = ROOT / "docs" / "quickstarts"


def test_the_survey_counts_an_answer_from_the_browser(context, tmp_path):
    def answer(page):
        tab = context.new_page()
        tab.goto(f"http://127.0.0.1:{page.ports['8000']}/s/morning-drink")
        agree(tab)
        fill(tab)
        draw(tab)
        send(tab)
        tab.locator("#done").get_by_role("link", name="My ledger").click()
        expect(tab.get_by_text("morning-drink").first).to_be_visible()

    Page(QUICKSTARTS / "survey.md", tmp_path).run(visit=answer, before="## 7.")
    (found,) = json.loads((tmp_path / "result.json").read_text())["answers"]
    assert found["estimate"]["n"] == 1001


def test_the_page_of_the_quickstart_answers_as_it_shows(context, tmp_path):
    path = QUICKSTARTS / "web.md"
    sent, ledger, refused = (block.text for block in blocks(path.read_text()) if block.language == "text")

    def shows(tab, name, expected):
        found = tab.locator(f"#{name}")
        expect(found).to_have_text(re.compile(re.escape(expected.split("...")[0].split("\n")[0].strip())))
        return doctest.OutputChecker().check_output(expected, found.inner_text() + "\n", FLAGS)

    def answer(page):
        tab = context.new_page()
        tab.goto(f"http://localhost:{page.ports['8080']}")
        tab.get_by_role("button", name="tea").click()
        assert shows(tab, "outcome", sent)
        assert shows(tab, "ledger", ledger)
        tab.get_by_role("button", name="coffee").click()
        assert shows(tab, "outcome", refused)

    Page(path, tmp_path).run(visit=answer)
