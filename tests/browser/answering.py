"""What a person does on the survey page, step by step."""

from __future__ import annotations

from playwright.sync_api import expect


def published(site, toml):
    task = site.server.task(toml, site.server.token("admin"))
    site.tasks[task.name] = task
    return task


def opened(site, name, **context):
    page, watched = site.open(**context)
    page.goto(f"{site.path(name)}/answer")
    return page, watched


def agree(page):
    page.get_by_role("button", name="I agree").click()
    expect(page.get_by_role("heading", name="Your answer")).to_be_focused()


def fill(page, answer="tea", **strata):
    page.get_by_role("radio", name=answer).check()
    for name, label in strata.items():
        page.get_by_label(name).select_option(label)


def draw(page):
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Before it is sent")).to_be_focused()


def send(page):
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_role("heading", name="Sent. Thank you.")).to_be_focused()
