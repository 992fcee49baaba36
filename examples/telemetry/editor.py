"""A small editor that reports its theme, privately, and shows its user what it has sent: the part that an application adds.

It needs nothing but the base install: ``pip install .`` in a checkout, no dependencies.
"""

from __future__ import annotations

from pathlib import Path

from deniable.client import FileLedger, Reporter
from deniable.errors import BudgetExceeded

LIFETIME = 8.0
"""All that this program may ever tell about one user."""


class Editor:
    """An application with settings, and a ledger."""

    def __init__(self, folder: Path, collector: str, task: str, *, theme: str = "light") -> None:
        self.theme = theme
        self.task = task
        self.ledger = FileLedger(folder / "privacy-ledger", lifetime_epsilon=LIFETIME)
        self.reporter = Reporter(collector, task=task, ledger=self.ledger)

    def ask(self) -> str:
        """What the user reads before agreeing."""
        task = self.reporter.task
        return f"{task.owner} would like to know: {task.question}\n{task.statement}"

    def agree(self) -> None:
        """The user said yes."""
        self.ledger.consent(self.task)

    def start(self) -> str:
        """Once a day, when the editor starts: send what waited, then today's answer. One line for the log."""
        self.reporter.flush()
        try:
            receipt = self.reporter.report(self.theme)
        except BudgetExceeded as error:
            return f"nothing was sent: {error}"
        return "nothing is asked now" if receipt is None else f"the answer is {receipt.state}, epsilon {float(receipt.epsilon):g} was spent"

    def privacy_screen(self) -> str:
        """What the menu's entry "What did this program tell?" opens."""
        return self.ledger.statement()
