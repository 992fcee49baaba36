"""The demo's collector does not outlive the demo."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

STARTER = """
import pathlib, sys
from deniable.cli.demo_collector import running_collector
folder = pathlib.Path(sys.argv[1])
with running_collector(folder, folder / "log") as collector:
    print(collector.process.pid, flush=True)
    sys.stdin.read()
"""
PATIENCE = 300


def test_a_demo_that_is_killed_takes_its_collector_along(tmp_path):
    """By a signal that it cannot see: nobody is left to say goodbye."""
    with subprocess.Popen([sys.executable, "-c", STARTER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as demo:
        collector = os.pidfd_open(int(demo.stdout.readline()))
        try:
            assert not select.select([collector], [], [], 0)[0]  # alive
            demo.send_signal(signal.SIGKILL)
            assert select.select([collector], [], [], PATIENCE)[0]  # gone
        finally:
            os.close(collector)
    assert '"stopped"' in (tmp_path / "log").read_text()
