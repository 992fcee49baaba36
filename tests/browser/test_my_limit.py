"""The lifetime limit is the person's: the collector may propose less than usual, and "my ledger" shows it and changes it."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.answering import agree, draw, fill, opened, published, send
from tests.browser.test_survey_page import COSTLY
from tests.system.conftest import Server


def set_limit(page, limit):
    page.goto("/ledger")
    page.get_by_label("Your limit").fill(limit)
    page.get_by_role("button", name="Change my limit").click()


def test_a_person_who_raises_the_limit_is_locked_out_no_more(site):
    published(site, COSTLY)
    page, watched = opened(site, "costly")
    agree(page)
    fill(page, "yes")
    draw(page)
    send(page)
    answer = f"{site.path('costly')}/answer"
    page.goto(answer)
    expect(page.get_by_role("heading", name="Privacy budget used up")).to_be_visible()
    expect(page.get_by_text("The limit is yours")).to_be_visible()
    set_limit(page, "12")
    expect(page.locator("#spent")).to_have_text("6 of 12")
    page.goto(answer)
    fill(page, "no")
    draw(page)
    send(page)
    expect(page.locator("#receipt")).to_contain_text("epsilon 12 of 12")
    set_limit(page, "3")  # less than was spent
    expect(page.locator("#spent")).to_have_text("12 of 3")
    page.get_by_text("Show the ledger as text").click()
    expect(page.locator("pre").last).to_contain_text("Spent: epsilon 12 of 3, 0 left.")
    page.goto(answer)
    expect(page.get_by_role("heading", name="Privacy budget used up")).to_be_visible()
    watched.check(site.server.url)


def test_what_is_no_limit_changes_nothing(site):
    page, _ = site.open()
    for wrong in ("", "0", "-1", "much", "Infinity"):
        set_limit(page, wrong)
        expect(page.locator("#trouble")).to_contain_text("Enter a number above 0")
        expect(page.locator("#spent")).to_have_text("0 of 10")


def test_a_collector_proposes_less_and_only_the_person_raises_it(context, tmp_path):
    server = Server(tmp_path / "collector")
    server.environment["DENIABLE_LIFETIME_EPSILON"] = "5"
    with server:
        page = context.new_page()
        page.goto(f"{server.url}/ledger")
        expect(page.locator("#spent")).to_have_text("0 of 5")

        def raised(route):
            answer = route.fetch()
            assert 'data-lifetime="5.0"' in answer.text()
            route.fulfill(response=answer, body=answer.text().replace('data-lifetime="5.0"', 'data-lifetime="10.0"'))

        page.route("**/ledger", raised)
        page.reload()
        expect(page.locator("#spent")).to_have_text("0 of 5")
        page.get_by_label("Your limit").fill("7.5")
        page.get_by_role("button", name="Change my limit").click()
        expect(page.locator("#spent")).to_have_text("0 of 7.5")
        page.reload()
        expect(page.locator("#spent")).to_have_text("0 of 7.5")


def test_a_collector_that_proposes_more_gets_the_usual_limit(context, site):
    page = context.new_page()
    page.route(
        "**/ledger",
        lambda route: route.fulfill(
            response=(answer := route.fetch()), body=answer.text().replace('data-lifetime="10.0"', 'data-lifetime="1000"')
        ),
    )
    page.goto(f"{site.server.url}/ledger")
    expect(page.locator("#spent")).to_have_text("0 of 10")


def test_the_page_says_where_another_ledger_begins(site):
    """A private window is one such place: what it is told is not known in the first."""
    first, _ = site.open()
    set_limit(first, "3")
    expect(first.locator("#spent")).to_have_text("0 of 3")
    about = "Another browser, a private window, and this survey embedded in another website each have a ledger and a limit of their own."
    expect(first.get_by_text(about)).to_be_visible()
    private, _ = site.open()
    private.goto("/ledger")
    expect(private.locator("#spent")).to_have_text("0 of 10")
