"""The survey page and the ledger for everyone who looks at them: hostile texts, the policy, keyboards, narrow screens, readers."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.answering import agree, draw, fill, opened, published, send
from tests.browser.conftest import AXE, HOSTILE
from tests.browser.looks import CONTRAST, SIZES, in_both_themes, serious_faults
from tests.services import needed


def test_hostile_texts_do_nothing(site):
    page, watched = opened(site, "evil")
    shown = HOSTILE.replace("\u202e", "�")
    agree(page)
    page.get_by_role("radio").first.check()
    page.locator("[data-stratum]").select_option(index=1)
    draw(page)
    expect(page.locator("#told")).to_have_text(shown)
    expect(page.locator("#report")).to_contain_text(f"{shown}: {shown}")  # the stratum
    send(page)
    page.goto("/ledger")
    expect(page.locator(".cards h2")).to_have_text(shown)
    for path in (f"{site.path('evil')}/answer", "/ledger"):
        page.goto(path)
        assert page.locator("img[src=x], main script").count() == 0
        assert page.title().replace(HOSTILE, "").replace(shown, "") in ("Answer:  – deniable", "My ledger – deniable")
    watched.check(site.server.url)


def test_the_policy_of_both_pages_forbids_inline_and_remote_script(site):
    page, watched = site.open()
    for path in (f"{site.path('morning-drink')}/answer", "/ledger"):
        answer = page.goto(path)
        assert "script-src 'self';" in answer.headers["content-security-policy"]
        page.evaluate("""() => {
          for (const [name, value] of [["textContent", "document.title = 'hacked'"], ["src", "http://192.0.2.1/x.js"]]) {
            const script = document.createElement("script");
            script[name] = value;
            document.body.append(script);
          }
        }""")
        sent = page.evaluate("() => fetch('http://192.0.2.1/').then(() => 'sent', (error) => error.name)")
        assert sent == "TypeError"
        assert "hacked" not in page.title()
    assert len([text for text in watched.complaints if "Content Security Policy" in text]) >= 6


def test_without_script_it_says_why_nothing_can_be_sent(site):
    page, _ = opened(site, "morning-drink", java_script_enabled=False)
    expect(page.locator("noscript p")).to_be_visible()
    expect(page.locator("noscript p")).to_contain_text("needs JavaScript")
    expect(page.get_by_text("Full privacy statement")).to_be_visible()
    assert not page.get_by_role("button", name="I agree").is_visible()
    assert not page.get_by_text("One moment").is_visible()


def test_the_keyboard_alone_is_enough(site):
    page, watched = opened(site, "morning-drink")
    expect(page.get_by_role("button", name="I agree")).to_be_visible()

    def tab_to(name):
        for _ in range(40):
            page.keyboard.press("Tab")
            active = page.evaluate("[document.activeElement.textContent, document.activeElement.id, document.activeElement.type].join()")
            if name in active:
                return
        raise AssertionError(f"the keyboard does not reach {name}")

    tab_to("I agree")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Your answer")).to_be_focused()
    tab_to("radio")
    page.keyboard.press("ArrowDown")
    tab_to("stratum-0")
    page.keyboard.press("w")  # web
    tab_to("Continue")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Before it is sent")).to_be_focused()
    expect(page.locator("#told")).to_have_text("coffee")
    tab_to("Send")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Sent. Thank you.")).to_be_focused()
    tab_to("My ledger")
    page.keyboard.press("Enter")
    expect(page.locator("#spent")).to_have_text("2 of 10")
    watched.check(site.server.url)


def steps(page, site):
    """Every state of the new pages, one after the other, by name."""
    page.goto(f"{site.path('morning-drink')}/answer")
    expect(page.get_by_role("button", name="I agree")).to_be_visible()
    yield "survey-consent"
    agree(page)
    fill(page, "tea", platform="web")
    yield "survey-answer"
    draw(page)
    yield "survey-review"
    send(page)
    yield "survey-done"
    page.goto("/ledger")
    expect(page.locator("#spent")).to_have_text("2 of 10")
    yield "ledger"


@pytest.mark.parametrize("size", SIZES)
def test_every_step_fits_and_can_be_read_and_axe_finds_no_serious_fault(site, size):
    needed(AXE.exists(), "axe-core is not installed (npm install --prefix .bench axe-core)")
    page, _ = site.open(viewport=SIZES[size], bypass_csp=True)  # or else the policy would refuse axe itself
    for name in steps(page, site):
        for theme in in_both_themes(page, f"{name}-{size}"):
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, theme)
            assert page.evaluate(CONTRAST) == [], (name, theme)
            assert serious_faults(page) == [], (name, theme)


WEAK = """
name = "weak"
question = "Do you own a bicycle?"
owner = "the tests"
epsilon = 8.0
weak_privacy = true
lasts = "1 day"
minimum_batch = 10
[domain]
yes_no = true
"""


def test_what_nearly_gives_the_answer_away_is_called_that_in_words_and_color(site):
    published(site, WEAK)
    page, watched = opened(site, "weak")
    verdict = page.locator(".verdict.very-weak")
    expect(verdict).to_contain_text("This nearly gives your answer away")
    for theme in in_both_themes(page, "survey-weak"):
        assert page.evaluate(CONTRAST) == [], theme
        assert verdict.locator("strong").evaluate("(text) => getComputedStyle(text).color") != page.locator("h1").evaluate(
            "(text) => getComputedStyle(text).color"
        )
    agree(page)
    fill(page, "yes")
    draw(page)
    expect(page.locator("#report .verdict.very-weak")).to_contain_text("once in 2,982 times")
    chances = page.locator(".chances .chance").all_inner_texts()
    assert sorted(chances) == ["1 in 2,982", "all but 1 in 2,982"]
    told = page.locator("main").inner_text()
    assert "100.0 %" not in told
    assert "nobody can tell" not in told.lower()
    watched.check(site.server.url)
