"""The demo's crowd: thousands of devices in one process, each with a ledger of its own, all with the client that ships."""

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
"""So many devices talk at once. The collector stores together what waits together, so few at a time would mostly wait for the disk."""
DURABLE = 100
"""So many devices keep their ledger in a file."""

STEP = 50
"""So many answers move the progress bar: drawing it for each one would be felt."""


class Sent(NamedTuple):
    """What the ledgers say went over the wire, HTTP's own bytes not counted."""

    reports: int
    bytes: int


class Devices:
    """The devices of a crowd; the one at a place holds the answers at that place."""

    def __init__(self, board: Board, pool: ThreadPoolExecutor, ledgers: Sequence[Ledger]) -> None:
        self._board, self._pool, self._ledgers = board, pool, ledgers

    def report(self, task: bytes, held: Sequence[Any], places: Sequence[int], progress: Progress) -> dict[int, Receipt]:
        """Have devices answer a task; receipts by place of those that were asked anything now."""

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
            raise ProtocolError("report", lost[0], allowed="reports that are all taken", fix=f"{len(lost)} were not; see the log")
        return receipts

    def refresh(self) -> None:
        """Let everyone see that another round is open."""
        self._board.refresh()

    def statement(self) -> str:
        """What the first device's ledger tells its owner, without the list of reports."""
        return self._ledgers[0].statement().partition("\n\n")[0]

    def sent(self) -> Sent:
        """Counted in the ledgers."""
        sizes = [len(entry.report) for ledger in self._ledgers for entry in ledger.entries() if entry.state == SENT]
        return Sent(len(sizes), sum(sizes))


@contextmanager
def crowd(url: str, tasks: Sequence[bytes], people: int, folder: Path) -> Iterator[Devices]:
    """Devices whose owners agreed to the tasks, with no more budget than these cost."""
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
