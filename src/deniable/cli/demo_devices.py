"""The demo's crowd: thousands of devices in one process, each with its own ledger, all using the real client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from deniable.client.board import Board
from deniable.client.budget import exact
from deniable.client.file_ledger import FileLedger
from deniable.client.ledger import SENT, Ledger, MemoryLedger
from deniable.client.reporter import Receipt, Reporter
from deniable.client.transport import HTTPTransport
from deniable.contract.protocol import Progress
from deniable.errors import ProtocolError

CONNECTIONS = 32
"""How many devices send at once. The collector writes waiting reports together, so a few devices would mostly wait for the disk."""
DURABLE = 100
"""How many devices keep their ledger in a file."""

STEP = 50
"""How many answers move the progress bar: drawing it for each one would be slow."""


class Sent(NamedTuple):
    """What was sent according to the ledgers, without the overhead of HTTP."""

    reports: int
    bytes: int


class Devices:
    """The devices of a crowd, in the order of their answers."""

    def __init__(self, board: Board, pool: ThreadPoolExecutor, ledgers: Sequence[Ledger]) -> None:
        self._board, self._pool, self._ledgers = board, pool, ledgers

    def report(self, task: bytes, held: Sequence[Any], places: Sequence[int], progress: Progress) -> dict[int, Receipt]:
        """Let devices answer a task; return receipts by place, of those that had a question now."""

        def answer(place: int) -> tuple[int, Receipt | None]:
            return place, Reporter(self._board, task=task, ledger=self._ledgers[place]).report(held[place])

        receipts = {}
        for done, (place, receipt) in enumerate(self._pool.map(answer, places), 1):
            if done % STEP == 0 or done == len(places):
                progress(done, len(places))
            if receipt is not None:
                receipts[place] = receipt
        lost = [receipt for receipt in receipts.values() if receipt.state != SENT]
        if lost:
            raise ProtocolError("report", lost[0], allowed="accepted reports only", fix=f"see the log: {len(lost)} were refused")
        return receipts

    def refresh(self) -> None:
        """Let all devices see that another round is open."""
        self._board.refresh()

    def statement(self) -> str:
        """Return what the first device's ledger shows its owner, without the list of reports."""
        return self._ledgers[0].statement().partition("\n\n")[0]

    def sent(self) -> Sent:
        """Return what the ledgers recorded as sent."""
        sizes = [len(entry.report) for ledger in self._ledgers for entry in ledger.entries() if entry.state == SENT]
        return Sent(len(sizes), sum(sizes))


@contextmanager
def crowd(url: str, tasks: Sequence[bytes], people: int, folder: Path) -> Iterator[Devices]:
    """Yield devices whose owners agreed to the tasks, with a budget of exactly what these cost."""
    transport = HTTPTransport(url)
    board = Board(transport, keep_rounds=True)
    pool = ThreadPoolExecutor(CONNECTIONS)
    budget = sum((exact(task.epsilon) * task.answers for task in map(board.task, tasks)), Fraction(0))

    def ledger(place: int) -> Ledger:
        durable = place * DURABLE // people != (place - 1) * DURABLE // people  # spread evenly over the crowd
        made = FileLedger(folder / f"{place}.ledger", lifetime_epsilon=budget) if durable else MemoryLedger(lifetime_epsilon=budget)
        for task in tasks:
            made.consent(task)
        return made

    try:
        yield Devices(board, pool, list(pool.map(ledger, range(people))))
    finally:
        pool.shutdown(cancel_futures=True)
        board.close()
        transport.close()
