"""How many files a report crosses from a device to the dashboard: whoever reads the code follows it through all of them."""

from __future__ import annotations

import subprocess
import sys

from tests.conftest import ROOT

MOST = 115


def test_the_walk_of_a_report_does_not_grow():
    done = subprocess.run([sys.executable, "scripts/checks/walk.py", "--list"], cwd=ROOT, capture_output=True, text=True, check=True)
    *_, last = done.stdout.splitlines()
    assert "client/reporter.py: answered\n" in done.stdout
    assert "collect/collector.py: closed\n" in done.stdout
    assert "collect/dashboard/task_pages.py: shown\n" in done.stdout
    assert int(last.split(" ")[0]) <= MOST
