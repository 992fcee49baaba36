"""A person and an analyst in Chromium, through the nginx configuration that is printed for operators, TLS included."""

from __future__ import annotations

from urllib.parse import urlsplit

from playwright.sync_api import expect

from tests.browser.answering import agree, draw, fill, opened, send
from tests.browser.conftest import DRINK, Site
from tests.nginx import nginx
from tests.system.conftest import Server


def test_a_survey_and_the_dashboard_go_through_it(browser, tmp_path):
    """With dozens of modules on one page: a limit for devices must not stop a browser."""
    with Server(tmp_path / "collector", "--behind-proxy") as server, nginx(tmp_path / "nginx", urlsplit(server.url).netloc) as (url, own):
        server.url, server.cafile = url, str(own)
        task = server.task(DRINK, server.token("admin"))
        site = Site(server, browser, {task.name: task}, server.token("analyst"))
        page, watched = opened(site, task.name, ignore_https_errors=True)
        agree(page)
        fill(page, platform="web")
        draw(page)
        send(page)
        watched.check(url)
        analyst, seen = site.open(ignore_https_errors=True)
        site.sign_in(analyst, site.path(task.name))
        expect(analyst.get_by_role("button", name="Sign out")).to_be_visible()
        seen.check(url)
        analyst.context.close()
        page.context.close()
