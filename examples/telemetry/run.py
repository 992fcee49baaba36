"""An application with private telemetry: a collector, one editor whose user looks at the ledger, and 1,999 more that only report.

.venv/bin/python examples/telemetry/run.py
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent)]

from editor import Editor
from local_collector import Collector, collector

from deniable.client import MemoryLedger, Reporter
from deniable.client.board import Board
from deniable.client.transport import HTTPTransport

OTHERS = 1_999
SHARES = {"light": 50, "dark": 40, "high contrast": 10}


def main() -> None:
    """One user's day, then what the makers see."""
    with tempfile.TemporaryDirectory() as folder, collector(Path(__file__).parent / "task.toml") as server:
        editor = Editor(Path(folder), server.url, server.task, theme="high contrast")
        print("-- before the user agreed:", editor.start(), sep="\n")
        print("\n-- what the user reads:", editor.ask(), sep="\n")
        editor.agree()
        print("\n-- the editor starts, and starts again on the same day:", editor.start(), editor.start(), sep="\n")
        print("\n-- the ledger's screen:", editor.privacy_screen(), sep="\n")
        themes = random.choices(list(SHARES), SHARES.values(), k=OTHERS)  # made-up users; their noise is not from here
        report(server, themes)
        server.ask("task", "seal", server.task, "0")  # the day is over, for the example
        print(f"\n-- what the makers see, of {Counter(themes) + Counter(['high contrast'])!r}:")
        print(server.ask("estimate", server.task))


def report(server: Collector, themes: list[str]) -> None:
    """Everybody else's editor: the same client, in one process."""
    transport = HTTPTransport(server.url)
    board = Board(transport)

    def one(theme: str) -> str:
        ledger = MemoryLedger(lifetime_epsilon=8.0)
        ledger.consent(bytes.fromhex(server.task))
        receipt = Reporter(board, task=server.task, ledger=ledger).report(theme)
        return receipt.state if receipt else "not asked"

    with ThreadPoolExecutor(16) as pool:
        print(f"\n-- {OTHERS:,} others report: {dict(Counter(pool.map(one, themes)))}")
    board.close()
    transport.close()


if __name__ == "__main__":
    main()
