"""A real browser in front of a real collector: Debian's Chromium through Playwright, and ``deniable serve`` in a process of its own."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, expect, sync_playwright

from deniable.contract.task import Task
from tests.browser.device import serving_client
from tests.collect.crowd import envelope
from tests.conftest import ROOT
from tests.services import needed
from tests.system.conftest import Server

OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run")
OPTIONS += ("--disable-background-networking", "--disable-component-update", "--disable-sync")
AXE = ROOT / ".bench" / "node_modules" / "axe-core" / "axe.min.js"
PATIENCE = 120_000
"""Milliseconds until a page that does not get where it should fails its test."""
DRINK = """
name = "morning-drink"
question = "What do you drink in the morning?"
owner = "the tests"
epsilon = 2.0
lasts = "3 days"
period = "1 day"
answers = 3
minimum_batch = 100
[domain]
categories = ["tea", "coffee", "water", "juice", "milk"]
[mechanism]
name = "GRR"
[strata]
platform = ["phone", "web"]
"""
HOSTILE = '"><script>document.title="hacked"</script><img src=x onerror=document.title="hacked">\u202e'
QUOTED = json.dumps(HOSTILE)  # a TOML string, too
EVIL = f"""
name = "evil"
question = {QUOTED}
owner = {QUOTED}
note = {QUOTED}
epsilon = 2.0
lasts = "2 days"
period = "1 day"
answers = 2
minimum_batch = 3
[domain]
categories = [{QUOTED}, "=HYPERLINK(1)", "datum.value", "{{{{7*7}}}}", "javascript:alert(1)"]
[mechanism]
name = "GRR"
[strata]
{QUOTED} = [{QUOTED}, "web"]
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for the tests of one file. Not for longer: while it is there, no other test could run an event loop in this thread."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    needed(path is not None, "Chromium is not installed (Debian and Ubuntu: apt-get install chromium)")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=list(OPTIONS))
        yield running
        running.close()


@dataclass
class Watched:
    """What a context asked for and complained about."""

    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def watch(self, context: BrowserContext) -> None:
        context.on("request", self._asked)
        context.on("console", self._said)
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):  # violations of the policy are errors, too
            self.complaints.append(message.text)

    def check(self, url: str) -> None:
        """Nothing was asked of anybody else, and nothing went wrong."""
        here = urlsplit(url)[:2]
        assert self.requests
        assert [address for address in self.requests if urlsplit(address)[:2] != here] == []
        assert self.complaints == []


@dataclass
class Site:
    """A collector with tasks, and a way to look at it."""

    server: Server
    browser: Browser
    tasks: dict[str, Task]
    token: str

    def report(self, name: str, values: list, *, stratum: int = 0) -> None:
        """Hand in a report for each of these values."""
        answer = self.server.send(*(envelope(self.tasks[name], value, stratum=stratum) for value in values))
        assert answer.status == 201, answer.body

    def path(self, name: str) -> str:
        return f"/tasks/{self.tasks[name].id.hex()}"

    def open(self, **context) -> tuple[Page, Watched]:
        """A page of a context of its own, and what that does. Closed with the browser."""
        made = self.browser.new_context(base_url=self.server.url, **context)
        made.set_default_timeout(PATIENCE)
        watched = Watched()
        watched.watch(made)
        return made.new_page(), watched

    def sign_in(self, page: Page, path: str = "/") -> None:
        page.goto(f"/sign-in?next={path}")
        page.get_by_label("Token").fill(self.token)
        page.get_by_role("main").get_by_role("button", name="Sign in").click()
        page.wait_for_url(re.compile(re.escape(path) + "$"))


@pytest.fixture
def site(browser: Browser, tmp_path: Path) -> Iterator[Site]:
    """A collector with a task that has reports, and one whose every text is an attack."""
    with Server(tmp_path / "collector") as server:
        admin = server.token("admin")
        tasks = {task.name: task for task in (server.task(toml, admin) for toml in (DRINK, EVIL))}
        found = Site(server, browser, tasks, server.token("analyst"))
        found.report("morning-drink", ["tea"] * 300 + ["coffee"] * 200 + ["water"] * 60 + ["juice"] * 40)
        found.report("morning-drink", ["tea"] * 100 + ["coffee"] * 250 + ["water"] * 20, stratum=1)
        found.report("evil", [HOSTILE] * 20 + ["datum.value"] * 10)
        yield found
        for context in list(browser.contexts):
            context.close()


@pytest.fixture(scope="module")
def client() -> Iterator[str]:
    """The address of a page with the client for devices."""
    with serving_client() as address:
        yield address


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A collector without tasks."""
    with Server(tmp_path / "collector") as running:
        yield running


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A profile of its own: nothing that another test kept is there."""
    made = browser.new_context()
    made.set_default_timeout(PATIENCE)
    yield made
    made.close()
