"""A person answers with a number or a time in Chromium: the field refuses what is out of range, the look at the report says what leaves."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
from playwright.sync_api import expect

from deniable.contract.envelope import open_batch
from tests.browser.answering import agree, draw, opened, published, send

HEAD = """
question = "How old are you?"
owner = "the tests"
epsilon = 2.0
lasts = "1 day"
minimum_batch = 10
"""
AGE = f"name = 'age'\n{HEAD}[domain]\nnumbers = {{ low = 0, high = 120 }}\n[mechanism]\nname = 'OneBitMean'\n"
WAVE = f"name = 'wave'\n{HEAD}default = 30\n[domain]\nnumbers = {{ low = 0, high = 120, steps = 24 }}\n[mechanism]\nname = 'SquareWave'\n"
BED = f"name = 'bed'\n{HEAD}[domain]\nnumbers = {{ low = 2026-03-01T18:00:00, high = 2026-03-02T06:00:00 }}\n"
ZONE = BED.replace("'bed'", "'zone'").replace(":00:00", ":00:00Z") + "[mechanism]\nname = 'Duchi'\n"


def test_a_number_is_typed_looked_at_and_sent(site):
    task = published(site, AGE)
    spec = task.survey.questions[0].spec
    page, watched = opened(site, "age")
    bodies = []
    page.on("request", lambda request: bodies.append(request.post_data_buffer) if request.method == "POST" else None)
    agree(page)
    field = page.locator("#answer-0")
    for wrong in ("121", "-0.5"):
        field.fill(wrong)
        page.get_by_role("button", name="Continue").click()
        assert not field.evaluate("field => field.validity.valid")
    field.fill("41.5")
    draw(page)
    expect(page.locator("#told")).to_have_text("41.5")
    bit = int(re.fullmatch("the bit ([01])", page.locator("#leaving").inner_text())[1])
    expect(page.locator("#verdict")).to_contain_text("7.39 times as likely")
    expect(page.locator("tr.own")).to_contain_text("41.5")
    page.get_by_label("Another answer").fill("100.25")
    page.get_by_role("button", name="Compare").click()
    expect(page.locator(".chances tbody tr")).to_have_count(2)
    chances = {row.locator("bdi").inner_text(): row.locator(".chance").inner_text() for row in page.locator(".chances tbody tr").all()}
    assert {name: float(text.removesuffix(" %")) for name, text in chances.items()} == pytest.approx(
        {str(value): 100 * float(spec.law(value)[bit]) for value in (41.5, 100.25)}, abs=0.051
    )
    send(page)
    (body,) = bodies
    (sent,) = open_batch(body)
    assert spec.decode(sent.payload) == bit
    watched.check(site.server.url)


@pytest.mark.parametrize(
    ("toml", "typed", "shown", "leaving"),
    [
        (WAVE, "41.5", "41.5", r"the grid point (\d+) of (\d+)"),
        (WAVE.replace("'wave'", "'nothing'"), None, "30 (you have no answer)", r"the grid point (\d+) of (\d+)"),
        (BED, "2026-03-01T22:30", "2026-03-01T22:30", r"the (grid point|bit) .*"),
        (ZONE, "2026-03-01T22:30", None, "the bit [01]"),
    ],
)
def test_grid_points_and_times_are_told_in_words_and_counted(site, toml, typed, shown, leaving):
    task = published(site, toml)
    page, watched = opened(site, task.name, timezone_id="Europe/Berlin")
    agree(page)
    if typed is None:
        page.get_by_label("I have no answer").check()
    else:
        page.locator("#answer-0").fill(typed)
    draw(page)
    if shown is not None:
        expect(page.locator("#told")).to_have_text(shown)
    assert re.fullmatch(leaving, page.locator("#leaving").inner_text())
    expect(page.locator("#verdict")).to_contain_text("7.39 times as likely")
    if task.name == "zone":  # typed by the clock in Berlin, an hour ahead
        spec = task.survey.questions[0].spec
        bit = int(page.locator("#leaving").inner_text()[-1])
        at = datetime.fromisoformat("2026-03-01T22:30+01:00")
        chance = float(page.locator("tr.own .chance").inner_text().removesuffix(" %"))
        assert chance == pytest.approx(100 * float(spec.law(at)[bit]), abs=0.051)
    expect(page.locator("tr.own .chance")).to_be_visible()
    page.reload()  # the answer is kept nowhere: there is nothing to compare with yet
    expect(page.locator("#verdict")).to_contain_text("7.39 times as likely")
    expect(page.locator("tr.own")).to_have_count(0)
    send(page)
    watched.check(site.server.url)
