"""The example's page of plain HTML, served and answered as its README says."""

from __future__ import annotations

import signal
import subprocess
import sys

from tests.conftest import ROOT


def test_a_page_of_plain_html_answers(context):
    command = [sys.executable, ROOT / "examples" / "survey" / "run.py", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().split()[-1]
            page = context.new_page()
            page.goto(address)
            page.get_by_role("button", name="cocoa").click()
            page.get_by_text("Your randomized answer is sent.").wait_for()
            assert "Randomized answers so far: 1." in page.locator("#ledger").inner_text()
            page.get_by_role("button", name="tea").click()  # the task asks once
            page.get_by_text("answers: got 2").wait_for()
        finally:
            process.send_signal(signal.SIGINT)
