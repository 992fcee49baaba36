"""Take the pictures in docs/images anew: the chart of ``deniable demo``, and its pages as a browser shows them (a minute or two).

Not part of ``make figures``: the demo draws its noise from the system, so that other pictures come out each time. Needs Chromium.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

IMAGES = Path(__file__).parents[2] / "docs" / "images"
DESKTOP, PHONE = {"width": 900, "height": 1000}, {"width": 390, "height": 844}
ANSWER = "cocoa"


def main() -> None:
    """Run the demo, look at it, and end it."""
    with TemporaryDirectory() as folder, _demo(Path(folder)) as demo, sync_playwright() as playwright:
        shutil.copyfile(Path(folder) / "demo.svg", IMAGES / "demo.svg")
        task = f"{demo['url']}/tasks/{demo['tasks'][0]['task']}"
        chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        _picture(browser, task, "dashboard-task", viewport=DESKTOP)
        _picture(browser, f"{demo['url']}/plan", "dashboard-plan", viewport=DESKTOP)
        _picture(browser, task, "dashboard-phone", viewport=PHONE, color_scheme="dark")
        _answering(browser.new_page(viewport=DESKTOP), f"{task}/answer")
        browser.close()


@contextmanager
def _demo(folder: Path) -> Iterator[dict[str, Any]]:
    """What the demo says of itself, while it serves."""
    command = [sys.executable, "-c", "from deniable.cli import main; main()"]
    options = ["demo", "--serve", "--no-shuffle", "--json", "--out", str(folder)]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:  # noqa: S603  # our own command
        lines = []
        while not lines or lines[-1] not in ("}\n", ""):  # the last line of what is printed, or the end of a demo that failed
            lines.append(process.stdout.readline())  # type: ignore[union-attr]  # a pipe
        yield json.loads("".join(lines))
        process.send_signal(signal.SIGINT)


def _picture(browser: Browser, address: str, name: str, **how: Any) -> None:
    page = browser.new_page(**how)
    page.goto(address)
    page.locator("[data-chart] svg").first.wait_for()
    page.screenshot(path=IMAGES / f"{name}.png")


def _answering(page: Page, address: str) -> None:
    """As far as the page that shows what would be sent."""
    page.goto(address)
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("radio", name=ANSWER).check()
    page.get_by_role("button", name="Continue").click()
    before = page.locator("section").filter(has=page.get_by_role("heading", name="Before it is sent"))
    before.screenshot(path=IMAGES / "dashboard-survey.png")


if __name__ == "__main__":
    main()
