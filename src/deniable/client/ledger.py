"""The privacy ledger: what a device has reported, to whom and at what cost, and the rules that stop it from reporting more.

**Consent first**: nothing is spent on a task that the person did not agree to. **Spend, then send**: one atomic step checks the caps,
randomizes, and records the expense together with the very bytes to send. A crash after it can lose a report; it cannot repeat one under
fresh noise, and a retry sends the recorded bytes again. Epsilons are added as the decimals that they are written as, exactly.

There are two: ``MemoryLedger`` here, for simulations and for apps that keep nothing, and ``FileLedger``. Neither can notice that it was
replaced by an older copy of itself: a person who restores an old profile can spend again what that profile does not show.

For questions that are answered again and again (``client.longitudinal``) the same step looks up the permanent answer first. If there is
one, it was paid for, and the report costs nothing. If not, it is drawn after the caps were checked, and kept with the report. Permanent
answers stay when the person withdraws: a person who agrees again must not draw new ones. Losing the ledger loses them: a documented reset.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from typing import NamedTuple

from deniable.client.budget import Account, allow, decimal, exact, read_id
from deniable.client.diary import PERSONAL, Diary
from deniable.contract.arguments import typed
from deniable.contract.readable import factor_up
from deniable.contract.task import Task
from deniable.errors import DeniableError, ParameterError

PENDING, SENT, REFUSED = "pending", "sent", "refused"
WITHDRAWN = "withdrawn"
"""The code of a report that was dropped because the person withdrew."""


_AGAIN = (
    "Permanent answers kept: {}. Reports drawn from one that was paid for cost nothing more. For them, the line above is only about other\n"
    "true answers with which the same reports would share a permanent answer: that and when an answer changed is not protected, nor that\n"
    "it came back. Where different answers share a permanent answer, whether a change shows depends on the answers.\n"
)


class LedgerError(DeniableError):
    """The ledger cannot be read or written; nothing was sent."""


class Entry(NamedTuple):
    """One expense, for the person to read: the question, the time by the device's own clock, the cost, and what was sent.

    ``report`` is the whole envelope in bytes, or the seal around it in a task of shuffle trust. ``state`` is pending, sent or refused;
    ``code`` is the reason for a refusal. What was refused stays spent: somebody may have seen the report before it was refused.
    """

    number: int
    task: bytes
    name: str
    question: str
    period: int
    epsilon: Fraction
    when: int
    report: bytes
    state: str = PENDING
    code: str = ""

    def __str__(self) -> str:
        when = datetime.fromtimestamp(self.when, UTC).strftime("%Y-%m-%d %H:%M UTC")
        state = f"{self.state} ({self.code})" if self.code else self.state
        return (
            f"{when}  {self.name}: {self.question}\n"
            f"    period {self.period}, epsilon {decimal(self.epsilon)}, {state}\n"
            f"    {self.report.hex() or 'nothing is kept'}"
        )


class Ledger(ABC):
    """What a device has spent and may still spend. Every method is one step: atomic, and durable where the ledger is.

    ``lifetime_epsilon`` is the privacy budget: all that may ever be spent, over all tasks. The person sets it: show it in the app, and pass
    what they chose. If more was spent already, nothing more is. A ``task`` is named by its id: 32 bytes, or 64 hexadecimal digits.
    """

    def __init__(self, *, lifetime_epsilon: float | str | Fraction) -> None:
        self.lifetime_epsilon = exact(lifetime_epsilon)
        if self.lifetime_epsilon <= 0:
            raise ParameterError("lifetime_epsilon", lifetime_epsilon, allowed="a finite number above 0", fix="try 8.0")

    @abstractmethod
    def consent(self, task: bytes | str) -> None:
        """Record that the person agreed to a task. After a withdrawal it may be given again; what was spent stays spent."""

    @abstractmethod
    def withdraw(self, task: bytes | str) -> None:
        """Record that the person no longer agrees: reports not yet sent are dropped, further ones refused."""

    @abstractmethod
    def consented(self, task: bytes | str) -> bool:
        """Return whether the person agreed to a task and did not withdraw."""

    @abstractmethod
    def ticket(self, task: bytes | str, draw: Callable[[], int]) -> int:
        """Return the device's ticket in a task: from ``draw()`` when first asked for, and the same ever after."""

    @abstractmethod
    def remember(self, task: bytes | str, name: str, draw: Callable[[], bytes]) -> bytes:
        """Return what a device keeps for a task under a name: from ``draw()`` when first asked for, and the same ever after."""

    @abstractmethod
    def recall(self, task: bytes | str, name: str) -> bytes | None:
        """Return what ``remember`` keeps for a task under a name; None if nothing was drawn."""

    @abstractmethod
    def spend(
        self, task: Task, *, period: int, epsilon: float, when: float, make: Callable[[int], bytes], diary: Diary | None = None
    ) -> Entry:
        """Check the caps, make the report and record both; BudgetExceeded, with nothing made, if a cap forbids it.

        ``period`` is the task's, and ``when`` the device's own time in seconds since 1970.
        ``make`` is called once, after all checks, with the number of answers that the task had before; if it raises, nothing was spent.
        A ``diary`` is opened before the checks with what is kept for its question, and what ``make`` draws in it is kept with the report.
        """

    @abstractmethod
    def kept(self, task: bytes | str) -> dict[str, dict[str, bytes]]:
        """Return what a device keeps for a task's longitudinal questions: by the diary's name, permanent answers by class."""

    @abstractmethod
    def permanent_answers(self) -> int:
        """Return how many permanent answers are kept, over all tasks."""

    @abstractmethod
    def settle(self, number: int, state: str, code: str = "") -> Entry:
        """Record what became of the report with this number: its state and, if it was refused, the code that says why.

        A report that was sent stays sent, whatever the answer to a later resend.
        """

    @abstractmethod
    def entries(self) -> list[Entry]:
        """Return every expense, the oldest first."""

    def pending(self, task: bytes | str) -> list[Entry]:
        """Return a task's reports that wait to be sent, the oldest first."""
        wanted = read_id(task)
        return [entry for entry in self.entries() if entry.task == wanted and entry.state == PENDING]

    def spent(self) -> Fraction:
        """Return the sum of all epsilons so far, over all tasks."""
        return sum((entry.epsilon for entry in self.entries()), Fraction(0))

    def statement(self) -> str:
        """Return what this device has reported so far and how much that reveals, in plain words; ``vectors/budget.json`` holds them."""
        entries = self.entries()
        spent = sum((entry.epsilon for entry in entries), Fraction(0))
        left = decimal(max(self.lifetime_epsilon - spent, Fraction(0)))
        head = (
            f"Randomized answers so far: {len(entries)}. Spent: epsilon {decimal(spent)} of {decimal(self.lifetime_epsilon)}, {left} left."
        )
        if not entries:
            return f"{head}\nNothing has been told."
        again = self.permanent_answers()
        worth = factor_up(float(spent)) if spent < 14 else "a million or more"
        return (
            f"{head}\nNo true answers make all these reports together more than {worth} times as likely as other true answers would.\n"
            f"{_AGAIN.format(again) if again else ''}"
            "Not protected: that this device took part, when, and the group labels that a task asks for. Whoever restores an old copy of\n"
            "this ledger forgets what was spent since, and can spend it again.\n\n" + "\n".join(map(str, entries))
        )


@typed
class MemoryLedger(Ledger):
    """A ledger that ends with the process. Safe to share between threads.

    >>> ledger = MemoryLedger(lifetime_epsilon=8.0)
    >>> ledger
    <MemoryLedger: spent epsilon 0 of 8>
    >>> print(ledger.statement())
    Randomized answers so far: 0. Spent: epsilon 0 of 8, 8 left.
    Nothing has been told.
    """

    def __init__(self, *, lifetime_epsilon: float | str | Fraction) -> None:
        super().__init__(lifetime_epsilon=lifetime_epsilon)
        self._entries: list[Entry] = []
        self._consents: set[bytes] = set()
        self._tickets: dict[bytes, int] = {}
        self._kept: dict[tuple[bytes, str], bytes] = {}
        self._diaries: dict[tuple[bytes, str], dict[str, bytes]] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<MemoryLedger: spent epsilon {decimal(self.spent())} of {decimal(self.lifetime_epsilon)}>"

    def consent(self, task: bytes | str) -> None:
        with self._lock:
            self._consents.add(read_id(task))

    def withdraw(self, task: bytes | str) -> None:
        withdrawn = read_id(task)
        with self._lock:
            self._consents.discard(withdrawn)
            for i, entry in enumerate(self._entries):
                if entry.task == withdrawn and entry.state == PENDING:
                    self._entries[i] = entry._replace(report=b"", state=REFUSED, code=WITHDRAWN)

    def consented(self, task: bytes | str) -> bool:
        return read_id(task) in self._consents

    def ticket(self, task: bytes | str, draw: Callable[[], int]) -> int:
        holder = read_id(task)
        with self._lock:
            if holder not in self._tickets:
                self._tickets[holder] = draw()
            return self._tickets[holder]

    def remember(self, task: bytes | str, name: str, draw: Callable[[], bytes]) -> bytes:
        key = read_id(task), name
        with self._lock:
            if key not in self._kept:
                self._kept[key] = draw()
            return self._kept[key]

    def recall(self, task: bytes | str, name: str) -> bytes | None:
        return self._kept.get((read_id(task), name))

    def kept(self, task: bytes | str) -> dict[str, dict[str, bytes]]:
        wanted = read_id(task)
        with self._lock:
            return {name: dict(answers) for (holder, name), answers in self._diaries.items() if holder == wanted}

    def permanent_answers(self) -> int:
        with self._lock:
            return sum(len(answers) - (PERSONAL in answers) for answers in self._diaries.values())

    def spend(
        self, task: Task, *, period: int, epsilon: float, when: float, make: Callable[[int], bytes], diary: Diary | None = None
    ) -> Entry:
        with self._lock:
            if diary:
                diary.open(self._diaries.get((task.id, diary.name), {}))
            periods = [entry.period for entry in self._entries if entry.task == task.id]
            spent = sum((entry.epsilon for entry in self._entries), Fraction(0))
            account = Account(task.id in self._consents, max(periods, default=None), periods.count(period), len(periods), spent)
            cost = allow(task, period, epsilon, account, self.lifetime_epsilon, paid=diary is not None and diary.known)
            entry = Entry(len(self._entries) + 1, task.id, task.name, task.question, period, cost, int(when), make(len(periods)))
            self._entries.append(entry)
            if diary:
                self._diaries.setdefault((task.id, diary.name), {}).update(diary.drawn)
            return entry

    def settle(self, number: int, state: str, code: str = "") -> Entry:
        with self._lock:
            entry = self._entries[number - 1]
            if entry.state != SENT:
                entry = self._entries[number - 1] = entry._replace(state=state, code=code)
            return entry

    def entries(self) -> list[Entry]:
        with self._lock:
            return list(self._entries)
