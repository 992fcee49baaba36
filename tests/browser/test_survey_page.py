"""A person answers in Chromium, against a real collector: agree, answer, look at the report, send it, and find it in the ledger."""

from __future__ import annotations

import re
import subprocess
import sys
from math import exp
from pathlib import Path

import pytest
from playwright.sync_api import expect

from deniable.client.ledger import MemoryLedger
from deniable.client.reporter import Reporter
from tests.browser.answering import agree, draw, fill, opened, published, send
from tests.browser.conftest import DRINK

WORDS = """
name = "word"
question = "Which word did you search for?"
owner = "the tests"
epsilon = 4.0
lasts = "1 day"
people = 1000
minimum_batch = 10
[domain]
text = 6
[search]
protocol = "PEM"
k = 4
"""
STEPS = """
name = "steps"
question = "How many steps did you walk?"
owner = "the tests"
epsilon = 2.0
lasts = "1 day"
minimum_batch = 10
[domain]
integers = [0, 99999]
[mechanism]
name = "OLH"
"""
TRIES = 60
"""A search asks a tenth of the people or more in its first round: so many devices are all left out once in five hundred times a million."""
BITS = DRINK.replace('"morning-drink"', '"several-drinks"').replace('"GRR"', '"OUE"').replace("answers = 3", "answers = 1")
COSTLY = """
name = "costly"
question = "Do you own a bicycle?"
owner = "the tests"
epsilon = 6.0
weak_privacy = true
lasts = "1 hour"
period = "5 minutes"
answers = 3
answers_per_period = 3
minimum_batch = 10
[domain]
yes_no = true
"""


def stop_requests(page):
    """From here on, whatever is asked of the network fails, and is noted."""
    asked = []
    page.route("**/*", lambda route: (asked.append(route.request.url), route.abort()))
    return asked


def test_whoever_answers_sees_the_estimate_move(site):
    """Many by the Python client, one by the page; an analyst who looks meanwhile sees one more."""
    analyst, _ = site.open()
    site.sign_in(analyst)
    analyst.goto(site.path("morning-drink"))
    count = analyst.locator("[data-live=n-0]")
    expect(count).to_have_text("970")
    ledger = MemoryLedger(lifetime_epsilon=2.0)
    ledger.consent(site.tasks["morning-drink"].id)
    with Reporter(site.server.url, task=site.tasks["morning-drink"].id, ledger=ledger, strata={"platform": "web"}) as device:
        assert device.report("milk").state == "sent"
    expect(count).to_have_text("971")
    page, watched = opened(site, "morning-drink")
    agree(page)
    fill(page, "tea", platform="phone")
    draw(page)
    expect(count).to_have_text("971")  # nothing has left the browser
    assert not [url for url in watched.requests if url.endswith("/v1/reports")]
    expect(page.locator("#told")).to_have_text("tea")
    send(page)
    expect(count).to_have_text("972")
    assert len([url for url in watched.requests if url.endswith("/v1/reports")]) == 1
    expect(page.locator("#receipt")).to_contain_text("epsilon 2 of 10")
    page.get_by_role("link", name="See the results").click()
    expect(page).to_have_url(re.compile(re.escape(site.path("morning-drink")) + "$"))
    watched.check(site.server.url)


def test_what_is_shown_is_what_is_sent_and_its_chances_are_the_laws(site):
    page, watched = opened(site, "morning-drink")
    bodies = []
    page.on("request", lambda request: bodies.append(request.post_data_buffer) if request.method == "POST" else None)
    agree(page)
    fill(page, "coffee", platform="web")
    draw(page)
    page.get_by_text("65 bytes").click()
    shown = bytes.fromhex(page.locator("#report pre").inner_text().replace(" ", ""))
    leaving = page.locator("#leaving").inner_text().removeprefix("the answer: ")
    chances = {row.locator("bdi").inner_text(): row.locator(".chance").inner_text() for row in page.locator(".chances tbody tr").all()}
    keep = exp(2) / (exp(2) + 4)
    spec = site.tasks["morning-drink"].survey.questions[0].spec
    drinks = ["tea", "coffee", "water", "juice", "milk"]
    assert {name: float(text.removesuffix(" %")) for name, text in chances.items()} == pytest.approx(
        {name: round(100 * (keep if name == leaving else (1 - keep) / 4), 1) for name in drinks}
    )
    assert float(spec.law("coffee")[drinks.index(leaving)]) == pytest.approx(float(chances["coffee"].removesuffix(" %")) / 100, abs=5e-4)
    expect(page.locator("#verdict")).to_contain_text("7.39 times as likely")
    expect(page.locator("tr.own")).to_have_count(1)
    expect(page.locator("tr.own")).to_contain_text("coffee")
    send(page)
    assert bodies == [shown]
    assert shown[-1] == drinks.index(leaving)
    watched.check(site.server.url)


def test_bits_are_told_as_marked_answers_and_open_answers_are_compared_with_another(site):
    published(site, BITS)
    page, _ = opened(site, "several-drinks")
    agree(page)
    fill(page, "tea", platform="web")
    draw(page)
    marked = page.locator("#leaving").inner_text()
    assert re.fullmatch(r"these answers are marked: (none of the 5|(tea|coffee|water|juice|milk)(, (coffee|water|juice|milk))*)", marked)
    lines = page.locator(".chances tbody tr")
    weights = {row.locator("bdi").inner_text(): row.locator(".chance").inner_text() for row in lines.all()}
    assert all(weights[a] == weights[b] for a in weights for b in weights if (a in marked) == (b in marked))


def test_an_answer_among_many_is_compared_with_any_other(site):
    published(site, STEPS)
    page, watched = opened(site, "steps")
    agree(page)
    box = page.get_by_role("spinbutton", name="Your answer")
    box.fill("100000")
    page.get_by_role("button", name="Continue").click()  # more than the task takes: the field stops it
    assert box.evaluate("(box) => box.validity.rangeOverflow")
    box.fill("7000")
    draw(page)
    expect(page.locator("#leaving")).to_contain_text("a seed drawn at random and symbol")
    expect(page.locator(".chances tbody tr")).to_have_count(1)
    for number, other in enumerate(("8000", "12"), 2):
        page.get_by_label("Another answer").fill(other)
        page.get_by_role("button", name="Compare").click()
        expect(page.locator(".chances tbody tr")).to_have_count(number)
    expect(page.locator("#verdict")).to_contain_text("for this one the factor is")
    send(page)
    watched.check(site.server.url)


def test_a_round_asks_some_and_tells_the_others_so(site):
    published(site, WORDS)
    seen = set()
    for _ in range(TRIES):
        page, watched = opened(site, "word")
        agree(page)
        page.get_by_role("textbox", name="Your answer").fill("rain")
        page.get_by_role("button", name="Continue").click()
        expect(page.locator("#review, #done").locator("visible=true")).to_be_visible()
        seen.add(page.locator("main").get_attribute("data-step"))
        if page.locator("#review").is_visible():
            expect(page.locator("#leaving")).to_contain_text("a hint about a part of your answer")
            page.get_by_label("Another answer").fill("snow")
            page.get_by_role("button", name="Compare").click()
            expect(page.locator(".chances tbody tr")).to_have_count(2)
        else:
            expect(page.locator("#receipt")).to_contain_text("nothing was spent")
        watched.check(site.server.url)
        page.context.close()
        if len(seen) == 2:
            return
    raise AssertionError(f"every device was told the same: {seen}")


def test_what_is_not_sent_stays_paid_for_and_is_drawn_once(site):
    published(site, BITS)
    page, watched = opened(site, "several-drinks")
    agree(page)
    fill(page, platform="web")
    draw(page)
    leaving = page.locator("#leaving").inner_text()
    page.reload()  # whoever hopes for a better draw gets the same one
    expect(page.locator("#leaving")).to_have_text(leaving)
    expect(page.locator("#told")).to_contain_text("not stored")
    page.get_by_role("button", name="Don't send").click()
    expect(page.get_by_role("heading", name="Not sent")).to_be_focused()
    expect(page.locator("#receipt")).to_contain_text("epsilon 2 of 10")
    page.reload()
    expect(page.get_by_role("heading", name="You have already answered")).to_be_visible()
    expect(page.locator("#receipt")).to_contain_text("still counts against your privacy budget")
    assert not [url for url in watched.requests if url.endswith("/v1/reports")]
    watched.check(site.server.url)


def test_two_tabs_cannot_spend_twice(site):
    published(site, BITS)
    first, watched = opened(site, "several-drinks")
    agree(first)
    second = first.context.new_page()
    second.goto(f"{site.path('several-drinks')}/answer")
    for page in (first, second):
        fill(page, platform="web")
    both = "document.getElementById('draw').click()"  # neither waits for the other
    second.evaluate(both)
    first.evaluate(both)
    for page in (first, second):
        expect(page.locator("#leaving")).to_be_visible()
    assert first.locator("#leaving").inner_text() == second.locator("#leaving").inner_text()  # the one that was drawn
    trouble = [page.locator("#trouble").inner_text() for page in (first, second)]
    assert sorted(bool(text) for text in trouble) == [False, True]
    assert "Nothing was drawn" in "".join(trouble)
    send(first)
    second.get_by_role("button", name="Don't send").click()  # too late, and it says so
    expect(second.get_by_role("heading", name="Sent. Thank you.")).to_be_visible()
    first.goto("/ledger")
    expect(first.locator("#spent")).to_have_text("2 of 10")
    expect(first.locator(".told li")).to_have_count(1)
    assert len([url for url in watched.requests if url.endswith("/v1/reports")]) == 1


def test_a_browser_that_has_told_enough_tells_no_more(site):
    published(site, COSTLY)
    page, watched = opened(site, "costly")
    agree(page)
    fill(page, "yes")
    draw(page)
    send(page)
    page.goto(f"{site.path('costly')}/answer")
    expect(page.get_by_role("heading", name="Privacy budget used up")).to_be_visible()
    expect(page.locator("#receipt")).to_contain_text("epsilon 6 of 10")
    watched.check(site.server.url)


def test_a_collector_that_is_away_loses_nothing(site):
    page, _ = opened(site, "morning-drink")
    agree(page)
    fill(page, platform="web")
    draw(page)
    page.route("**/v1/reports", lambda route: route.abort())
    page.clock.install()
    page.get_by_role("button", name="Send", exact=True).click()
    page.clock.run_for(300_000)  # however long the client tries
    expect(page.locator("#trouble")).to_contain_text("did not answer")
    page.unroute("**/v1/reports")
    page.clock.resume()
    send(page)
    site.sign_in(page)
    page.goto(site.path("morning-drink"))
    expect(page.locator("[data-live=n-0]")).to_have_text("971")


def test_the_ledger_needs_no_network(site):
    page, watched = opened(site, "morning-drink")
    page.goto("/ledger")
    expect(page.get_by_text("You have not answered anything yet.")).to_be_visible()
    page.goto(f"{site.path('morning-drink')}/answer")
    agree(page)
    fill(page, platform="web")
    draw(page)
    page.goto("/ledger")
    expect(page.locator("#spent")).to_be_visible()  # everything is loaded
    asked = stop_requests(page)
    expect(page.locator(".told li")).to_contain_text("drawn, not sent")
    page.get_by_role("button", name="Withdraw").press("Enter")
    expect(page.get_by_role("button", name="Agree again")).to_be_focused()
    expect(page.locator(".told li")).to_contain_text("dropped, never sent")
    expect(page.locator("#spent")).to_have_text("2 of 10")
    page.get_by_text("Show the ledger as text").click()
    expect(page.locator("pre").last).to_contain_text("Spent: epsilon 2 of 10, 8 left.")
    page.get_by_role("button", name="Agree again").click()
    expect(page.get_by_role("button", name="Withdraw")).to_be_visible()
    assert [url for url in asked if not url.endswith("/icon.svg")] == []  # which the browser fetches when it likes to
    watched.check(site.server.url)


@pytest.mark.parametrize("admission", ["secret", "token"])
def test_a_code_or_a_secret_is_needed_where_the_task_asks_for_one(site, tmp_path, admission):
    """With a wrong one nothing is counted; with the right one the report is."""
    cheap = COSTLY.replace("epsilon = 6.0", "epsilon = 1.0").replace("answers = 3", "answers = 2")
    task = published(site, f'admission = "{admission}"\n{cheap}')
    written = tmp_path / "admission"
    command = [str(Path(sys.executable).parent / "deniable"), "enrol", task.name, "--store", site.server.store, "--out", str(written)]
    subprocess.run(command, check=True, capture_output=True)
    page, watched = opened(site, task.name)
    agree(page)
    fill(page, "yes")
    right = written.read_text().strip()
    page.get_by_label("that you were given").fill(right[:-1] + ("0" if right[-1] == "1" else "1"))
    page.get_by_role("button", name="Continue").click()
    if admission == "secret":  # only the collector can tell
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.get_by_role("heading", name="Refused")).to_be_visible()
        expect(page.locator("#receipt")).to_contain_text("bad_token")
        page.reload()
        fill(page, "yes")
    else:
        expect(page.locator("#trouble")).to_contain_text("a code of this task that is still good")
    page.get_by_label("that you were given").fill(right)
    draw(page)
    send(page)
    if admission == "token":
        watched.complaints[:] = [text for text in watched.complaints if "status of 4" not in text]  # the refusal, noted by the browser
    watched.check(site.server.url)
