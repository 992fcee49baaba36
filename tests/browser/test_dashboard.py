"""The dashboard in Chromium: charts under the policy, numbers that move, texts that do nothing, and no fault that keeps anyone out."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import AXE, HOSTILE
from tests.browser.looks import CONTRAST, SIZES, in_both_themes, serious_faults
from tests.services import needed

COMPARE = "compare?stratum_first=platform:phone&stratum_second=platform:web"


def wait_for_charts(page):
    """Until every chart is drawn."""
    places = page.locator("[data-chart]")
    for i in range(places.count()):
        expect(places.nth(i).locator("svg").first).to_be_visible()


def pages_of(site):
    """Every page, by name."""
    drink = site.path("morning-drink")
    charted = {"task": drink, "compare": f"{drink}/{COMPARE}", "plan": "/plan"}
    return charted | {"tasks": "/", "answer": f"{drink}/answer", "ledger": "/ledger", "log": "/log", "sign-in": "/sign-in"}


@pytest.fixture
def signed_in(site):
    page, watched = site.open()
    site.sign_in(page)
    yield page
    watched.check(site.server.url)


def test_every_page_draws_its_charts_under_the_policy_and_asks_nobody_else(site, signed_in):
    for name, path in pages_of(site).items():
        answer = signed_in.goto(path)
        assert "script-src 'self';" in answer.headers["content-security-policy"]
        wait_for_charts(signed_in)
        assert signed_in.locator("[data-chart] svg").count() == {"task": 1, "compare": 1, "plan": 1}.get(name, 0)
    bars = "[data-chart] .mark-rect.role-mark path"
    signed_in.goto(site.path("morning-drink"))
    wait_for_charts(signed_in)
    assert signed_in.locator(bars).count() == 5


def test_the_estimate_moves_while_reports_arrive(site, signed_in):
    signed_in.goto(site.path("morning-drink"))
    wait_for_charts(signed_in)
    count, value = signed_in.locator("[data-live=n-0]"), signed_in.locator("[data-live=value-0]")
    expect(count).to_have_text("970")
    before = signed_in.locator("[data-chart] svg").inner_html()
    signed_in.evaluate("window.same = true")
    site.report("morning-drink", ["milk"] * 3000)
    expect(count).to_have_text("3,970")
    expect(value).to_have_text("milk")
    expect(signed_in.locator("tbody th").first).to_have_text("milk")
    expect(signed_in.locator("[data-chart] svg")).to_be_visible()
    assert signed_in.locator("[data-chart] svg").inner_html() != before
    assert signed_in.evaluate("window.same")  # the page was not loaded again
    signed_in.get_by_role("button", name="Pause updates").press("Enter")
    expect(signed_in.get_by_role("button", name="Resume updates")).to_be_focused()
    site.report("morning-drink", ["milk"] * 10)
    signed_in.get_by_role("button", name="Resume updates").press("Space")
    expect(count).to_have_text("3,980")


def test_a_page_that_shows_nothing_yet_shows_the_estimate_once_there_are_enough_reports(site, signed_in):
    site.server.ahead(86_400 + 60)
    period = f"{site.path('morning-drink')}?period=1"
    signed_in.goto(period)
    expect(signed_in.get_by_text("Fewer than 100 reports")).to_be_visible()
    task = site.tasks["morning-drink"]
    from tests.collect.crowd import envelope

    assert site.server.send(*(envelope(task, "tea", period=1) for _ in range(200))).status == 201
    expect(signed_in.locator("[data-live=n-0]")).to_have_text("200")


def test_hostile_texts_do_nothing(site, signed_in):
    for path in ("/", site.path("evil"), f"{site.path('evil')}/compare", "/log"):
        signed_in.goto(path)
        wait_for_charts(signed_in)
        assert "hacked" not in signed_in.title().replace(HOSTILE.rstrip("\u202e"), "").replace("�", "")
        assert signed_in.locator("img[src=x]").count() == 0
        assert signed_in.locator("main script").count() == 0
    signed_in.goto(site.path("evil"))
    wait_for_charts(signed_in)
    labels = signed_in.locator("[data-chart] svg .role-axis-label text").all_text_contents()
    assert "{{7*7}}" in labels
    assert "datum.value" in labels
    site.report("evil", [HOSTILE] * 50)  # through the script, too
    expect(signed_in.locator("[data-live=n-0]")).to_have_text("80")
    assert signed_in.locator("main script, main img").count() == 0


def test_the_policy_stops_what_would_get_past_the_escaping(site):
    """Were there a way in, it would lead nowhere."""
    page, watched = site.open()
    page.goto("/")
    page.evaluate("""() => {
      const script = document.createElement("script");
      script.textContent = "document.title = 'hacked'";
      document.body.append(script);
      const image = document.createElement("img");
      image.src = "http://192.0.2.1/x.png";
      document.body.append(image);
      setTimeout(() => {
        try { window.evaluated = Function("return 'hacked'")(); } catch (error) { window.evaluated = error.name; }
      });
    }""")
    evaluated = page.wait_for_function("() => window.evaluated").json_value()
    sent = page.evaluate("() => fetch('http://192.0.2.1/').then(() => 'sent', (error) => error.name)")
    assert (page.title(), evaluated, sent) == ("Tasks – deniable", "EvalError", "TypeError")
    refused = [text for text in watched.complaints if "Content Security Policy" in text]
    assert len(refused) >= 3
    page.context.close()


def test_the_planner_follows_its_sliders(site, signed_in):
    signed_in.goto("/plan")
    wait_for_charts(signed_in)
    share = signed_in.locator("[data-live=share]")
    before = share.text_content()
    slider = signed_in.get_by_role("slider", name="Number of respondents")
    slider.focus()
    for _ in range(5):
        signed_in.keyboard.press("PageUp")
    expect(share).not_to_have_text(before)
    number = signed_in.get_by_role("spinbutton", name="Number of respondents").input_value()
    assert int(number) > 100_000
    expect(signed_in).to_have_url(re.compile(rf"n={number}&"))
    after = share.text_content()
    signed_in.reload()  # the address says it all
    assert share.text_content() == after
    signed_in.get_by_role("spinbutton", name="Number of possible values").fill("2")
    expect(signed_in.get_by_role("rowheader", name="RR", exact=True)).to_be_visible()


def test_without_script_everything_is_there(site):
    page, watched = site.open(java_script_enabled=False)
    site.sign_in(page)
    for name, path in pages_of(site).items():
        page.goto(path)
        pictures = page.locator("figure img")
        assert pictures.count() == {"task": 1, "compare": 1, "plan": 1}.get(name, 0)
        for i in range(pictures.count()):
            expect(pictures.nth(i)).to_be_visible()
            assert pictures.nth(i).bounding_box()["height"] > 50  # it was drawn
    page.goto(site.path("morning-drink"))
    page.get_by_label("platform").select_option("web")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("[data-live=n-0]")).to_have_text("370")
    page.goto("/plan")
    page.get_by_label("Number of respondents").fill("5000")
    page.get_by_role("button", name="Compute").click()
    assert "n=5000" in page.url
    page.get_by_role("button", name="Sign out").click()
    page.goto(site.path("morning-drink"))
    assert page.locator("[data-live=n-0]").count() == 0
    watched.check(site.server.url)


def test_the_keyboard_reaches_everything_and_shows_where_it_is(site, signed_in):
    signed_in.goto(site.path("morning-drink"))
    wait_for_charts(signed_in)
    reached = []
    for _ in range(25):
        signed_in.keyboard.press("Tab")
        reached.append(signed_in.evaluate("document.activeElement.textContent.trim().slice(0, 20)"))
        width = signed_in.evaluate("getComputedStyle(document.activeElement).outlineWidth")
        assert width == "3px" or reached[-1] == signed_in.evaluate("document.body.textContent.trim().slice(0, 20)")
    assert reached[0] == "Skip to the content"
    assert {"Tasks", "Planner", "Show", "Pause updates"} <= set(reached)


@pytest.mark.parametrize("size", SIZES)
def test_every_page_fits_and_can_be_read_and_axe_finds_no_serious_fault(site, size):
    needed(AXE.exists(), "axe-core is not installed (npm install --prefix .bench axe-core)")
    page, watched = site.open(viewport=SIZES[size], bypass_csp=True)  # or else the policy would refuse axe itself
    site.sign_in(page)
    for name, path in (pages_of(site) | {"evil": site.path("evil")}).items():
        page.goto(path)
        wait_for_charts(page)
        for theme in in_both_themes(page, f"{name}-{size}"):
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, theme)
            assert page.evaluate(CONTRAST) == [], (name, theme)
            if size == "desktop":  # what else it looks at is the same on a phone
                assert serious_faults(page) == [], (name, theme)
    watched.check(site.server.url)
