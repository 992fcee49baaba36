"""The ledger in a file: crashes, other processes, damage, and what no file can know."""

from __future__ import annotations

import errno
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from fractions import Fraction

import pytest

from deniable.client import FileLedger, Reporter
from deniable.client.ledger import LedgerError
from deniable.errors import BudgetExceeded
from tests.client.fake import START, FakeCollector, drink_task
from tests.conftest import ROOT

TASK = drink_task()
MANY = drink_task(name="often", answers=1000, answers_per_period=1000)

CHILD = """
import os, signal, sys
from deniable.client import FileLedger, Reporter
from deniable.errors import BudgetExceeded
from tests.client.fake import FakeCollector, START
from tests.client.test_file_ledger import MANY, TASK

def die(place=0):
    os.kill(os.getpid(), signal.SIGKILL)

ledger = FileLedger(sys.argv[1], lifetime_epsilon=float(sys.argv[2]))
"""


def child(code: str, path, lifetime_epsilon: float = 8.0) -> subprocess.Popen:
    command = [sys.executable, "-c", CHILD + code, str(path), str(lifetime_epsilon)]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def reporter(ledger, collector, **parts) -> Reporter:
    return Reporter(collector, task=TASK.id, ledger=ledger, clock=lambda: START + 1.0, sleep=lambda _: None, **parts)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "what I told #1.ledger"  # a name that an address must quote


@pytest.fixture
def ledger(path):
    ledger = FileLedger(path, lifetime_epsilon=8.0)
    ledger.consent(TASK.id)
    ledger.consent(MANY.id)
    return ledger


def test_a_second_opening_finds_everything(ledger, path):
    ledger.spend(TASK, period=2, epsilon=0.1, when=START, make=lambda _: b"\0report")
    ledger.ticket(TASK.id, lambda: (1 << 32) - 1)
    again = FileLedger(path, lifetime_epsilon=8.0)
    assert again.entries() == ledger.entries()
    assert again.spent() == Fraction(1, 10)
    assert again.consented(TASK.id)
    assert again.ticket(TASK.id, lambda: 0) == (1 << 32) - 1


def test_the_file_is_for_its_owner_alone(ledger, path):
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    FileLedger(path, lifetime_epsilon=8.0)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_two_processes_never_spend_the_same_budget(ledger, path):
    """Both start at the same word and spend until they are refused: together exactly the lifetime's 20, not one more."""
    code = """
print("ready", flush=True)
sys.stdin.readline()
count = 0
try:
    while True:
        ledger.spend(MANY, period=0, epsilon=1.0, when=START, make=lambda _: bytes([count]))
        count += 1
except BudgetExceeded:
    print(count, flush=True)
"""
    children = [child(code, path, 20.0) for _ in range(2)]
    for process in children:
        assert process.stdout.readline() == "ready\n"
    for process in children:
        process.stdin.write("go\n")
        process.stdin.flush()
    counts = [int(process.communicate()[0]) for process in children]
    assert sum(counts) == 20
    assert len(ledger.entries()) == 20
    assert ledger.spent() == 20


def killed(code: str, path) -> None:
    process = child(code, path)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


REPORT = "Reporter(Network(TASK), task=TASK.id, ledger=ledger, clock=lambda: START + 1.0).report('tea')"


def test_killed_between_spending_and_sending(ledger, path):
    """The expense is there, the report waits, and what is sent later is what was recorded: nothing is randomized twice."""
    killed(f"class Network(FakeCollector):\n    def take(self, *parts): die()\n{REPORT}", path)
    (entry,) = ledger.entries()
    assert (entry.state, entry.epsilon) == ("pending", 1)
    collector = FakeCollector(TASK)
    later = reporter(ledger, collector)
    with pytest.raises(BudgetExceeded):
        later.report("tea")
    assert [receipt.state for receipt in later.flush()] == ["sent"]
    assert collector.bodies == [entry.report]
    assert later.flush() == []


def test_killed_after_sending_and_before_it_is_noted(ledger, path, tmp_path):
    """The collector has the report, the device does not know: it sends the same bytes again, which count once."""
    arrived = tmp_path / "arrived"
    keep = f"open({str(arrived)!r}, 'wb', buffering=0).write(body); die()"
    killed(f"class Network(FakeCollector):\n    def take(self, path, body, headers): {keep}\n{REPORT}", path)
    collector = FakeCollector(TASK)
    reporter(ledger, collector).flush()
    assert collector.bodies == [arrived.read_bytes()]


def test_killed_while_randomizing(ledger, path):
    killed("ledger.spend(TASK, period=0, epsilon=1.0, when=START, make=die)", path)
    assert ledger.entries() == []
    assert ledger.spent() == 0
    ledger.spend(TASK, period=0, epsilon=1.0, when=START, make=lambda _: b"report")


def test_an_old_copy_put_back_spends_again(ledger, path, tmp_path):
    """What a device cannot notice. The person's real cost is 2 here, and the restored ledger says 1; the docs say so as well."""
    shutil.copy(path, tmp_path / "backup")
    collector = FakeCollector(TASK)
    reporter(ledger, collector).report("tea")
    with pytest.raises(BudgetExceeded):
        reporter(ledger, collector).report("tea")
    shutil.copy(tmp_path / "backup", path)
    reporter(ledger, collector).report("tea")
    assert len(collector.reports) == 2
    assert ledger.spent() == 1
    assert "restores an old copy" in ledger.statement()


def test_dropped_reports_leave_the_file(ledger, path):
    ledger.spend(TASK, period=0, epsilon=1.0, when=START, make=lambda _: b"a report to be dropped" * 500)  # some pages
    assert b"a report to be dropped" in path.read_bytes()
    ledger.withdraw(TASK.id)
    assert b"a report to be dropped" not in path.read_bytes()


def test_a_busy_ledger_refuses_instead_of_guessing(ledger, path):
    impatient = FileLedger(path, lifetime_epsilon=8.0, timeout=0.01)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match=r"locked\); nothing was sent"):
        impatient.spend(TASK, period=0, epsilon=1.0, when=START, make=lambda _: b"report")
    holder.close()
    assert ledger.entries() == []


def test_a_ledger_that_vanished_is_not_started_afresh(ledger, path):
    path.unlink()
    with pytest.raises(LedgerError):
        ledger.spend(TASK, period=0, epsilon=1.0, when=START, make=lambda _: b"report")
    assert not path.exists()


@pytest.mark.parametrize("place", ["no such folder/ledger", "a file/ledger", "a folder"])
def test_a_place_where_no_file_can_be_names_itself_and_the_fix(tmp_path, place):
    (tmp_path / "a file").touch()
    (tmp_path / "a folder").mkdir(mode=0o755)
    with pytest.raises(LedgerError, match="create the folder first, or name a file") as caught:
        FileLedger(tmp_path / place, lifetime_epsilon=8.0)
    assert str(tmp_path / place) in str(caught.value)
    assert stat.S_IMODE((tmp_path / "a folder").stat().st_mode) == 0o755


def test_a_folder_that_may_not_be_written(tmp_path, monkeypatch):
    """Root may write everywhere, so the system's answer is put in its place."""

    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("deniable.client.file_ledger.os.open", refuse)
    with pytest.raises(LedgerError, match=r"create the folder first.*Permission denied"):
        FileLedger(tmp_path / "ledger", lifetime_epsilon=8.0)


def test_a_damaged_ledger_stops_all_spending(ledger, path):
    damaged = bytearray(path.read_bytes())
    damaged[:100] = b"?" * 100
    path.write_bytes(damaged)
    for attempt in (ledger.spent, lambda: FileLedger(path, lifetime_epsilon=8.0)):
        with pytest.raises(LedgerError, match="Do not delete it"):
            attempt()


def test_a_file_of_the_first_version_is_brought_up_to_date_and_loses_nothing(ledger, path):
    ledger.spend(TASK, period=0, epsilon=1.0, when=START, make=lambda _: b"report")
    other = sqlite3.connect(path)
    other.execute("DROP TABLE kept")
    other.execute("DROP TABLE diary")
    other.execute("PRAGMA user_version = 1")
    other.close()
    again = FileLedger(path, lifetime_epsilon=8.0)
    assert again.remember(TASK.id, "tokens", lambda: b"drawn") == b"drawn"
    assert FileLedger(path, lifetime_epsilon=8.0).entries() == ledger.entries() != []


def test_a_golden_file_of_version_2_stays_readable(path):
    """Written by the release before permanent answers were kept: two reports, one of them sent, a ticket, a token and a consent."""
    shutil.copy(ROOT / "tests" / "data" / "ledger-2.sqlite", path)
    ledger = FileLedger(path, lifetime_epsilon=8.0)
    assert [(entry.report, entry.state) for entry in ledger.entries()] == [(b"first report", "sent"), (b"second report", "pending")]
    assert ledger.spent() == Fraction(3, 10)
    assert (ledger.ticket(TASK.id, lambda: 0), ledger.recall(TASK.id, "tokens")) == (7, b"\0kept")
    assert ledger.consented(TASK.id)
    assert (ledger.kept(TASK.id), ledger.permanent_answers()) == ({}, 0)


@pytest.mark.parametrize("change", ["PRAGMA user_version = 4", "PRAGMA user_version = 0", "PRAGMA application_id = 7"])
def test_another_version_and_another_program_s_file_are_left_alone(ledger, path, change):
    other = sqlite3.connect(path)
    other.execute(change)
    other.close()
    with pytest.raises(LedgerError, match="a ledger of version 3"):
        FileLedger(path, lifetime_epsilon=8.0)
