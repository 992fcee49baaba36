"""Permanent answers on a device: drawn once, kept for good, paid for once, and refused before anything is drawn."""

from __future__ import annotations

import dataclasses
import itertools
import shutil
import signal
import subprocess
import sys
from fractions import Fraction

import pytest

from deniable.client import LOLOHA, RAPPOR, DBitFlipPM, FileLedger, LongitudinalGRR, LongitudinalUnary, MemoryLedger, Reporter
from deniable.client.diary import PERSONAL, Diary
from deniable.client.longitudinal import Longitudinal
from deniable.collect.tasks.statement import privacy_statement
from deniable.contract.canonical import from_plain
from deniable.contract.question import Question
from deniable.contract.spec import MECHANISMS, spec_from_json
from deniable.contract.survey import Survey
from deniable.contract.wire import decode_report
from deniable.errors import BudgetExceeded, DomainError, ProtocolError
from deniable.testing import ReplaySource
from tests.client.fake import DAY, DRINKS, START, FakeCollector, drink_task
from tests.conftest import ROOT, vectors

GRR = LongitudinalGRR(domain=DRINKS, epsilon=2.0, first_epsilon=1.0)
SPECS = [
    GRR,
    LongitudinalUnary(domain=DRINKS, epsilon=2.0, first_epsilon=1.0),
    LOLOHA(domain=DRINKS, epsilon=2.0, first_epsilon=1.0),
    DBitFlipPM(domain=DRINKS, epsilon=2.0, bits=2),
    RAPPOR(domain=DRINKS, epsilon=2.0, first_epsilon=1.0, bits=16, cohorts=4),
]


def task_of(spec, **changes):
    question = Question(name="drink", spec=spec)
    parts = {"protocol": Survey((question,)).canonical, "epsilon": spec.epsilon, "answers": 1000, "end": START + 1000 * DAY}
    return drink_task(**parts | changes)


class Device:
    """A reporter that is asked once a day."""

    def __init__(self, ledger, spec=GRR, *, source=None, **changes):
        self.task, self.day = task_of(spec, **changes), -1
        self.collector, self.ledger = FakeCollector(self.task), ledger
        ledger.consent(self.task.id)
        self.source = source or ReplaySource.from_key("again")
        self.reporter = Reporter(
            self.collector, task=self.task.id, ledger=ledger, clock=lambda: START + self.day * DAY + 1.0, source=self.source
        )

    def report(self, value):
        self.day += 1
        return self.reporter.report(value)

    @property
    def kept(self):
        (found,) = self.ledger.kept(self.task.id).values()
        return found


@pytest.fixture(params=["memory", "file"])
def ledger(request, tmp_path):
    return MemoryLedger(lifetime_epsilon=8.0) if request.param == "memory" else FileLedger(tmp_path / "ledger", lifetime_epsilon=8.0)


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_a_value_is_paid_for_once(ledger, spec):
    """Tea, tea, coffee, tea: the first of each class costs epsilon, and nothing is ever drawn twice."""
    device = Device(ledger, spec)
    costs, answers = [], []
    for drink in ("tea", "tea", "coffee", "tea", "coffee"):
        costs.append(device.report(drink).epsilon)
        answers.append(device.kept)
    assert costs[0] == 2
    assert costs[1] == costs[3] == costs[4] == 0
    personal = answers[0].get(PERSONAL)
    if personal is not None:
        personal = decode_report(spec.personal_layout, personal)
    different = len({spec.class_of(DRINKS.key(drink), personal) for drink in ("tea", "coffee")})
    assert costs[2] == (2 if different == 2 else 0)
    assert ledger.spent() == 2 * different == spec.lifetime_epsilon(different)
    assert ledger.permanent_answers() == different
    for before, after in itertools.pairwise(answers):
        assert before.items() <= after.items()


def test_without_instantaneous_noise_every_report_is_the_permanent_answer(ledger):
    """The sharpest view of what is kept: dBitFlip sends its memo as it is, whatever words come next."""
    spec = DBitFlipPM(domain=DRINKS, epsilon=2.0, bits=2)
    device = Device(ledger, spec)
    for _ in range(20):
        device.report("tea")
    assert len({envelope.payload for envelope in device.collector.reports.values()}) == 1


def test_the_cap_is_checked_before_anything_is_drawn(ledger):
    """Four values fit into a lifetime of 8 at 2 each; there are three, so the cap is put at two."""
    ledger.lifetime_epsilon = Fraction(4)
    device = Device(ledger)
    for drink in ("tea", "coffee"):
        device.report(drink)
    before, words = device.kept, device.source.consumed
    with pytest.raises(BudgetExceeded, match="over a lifetime"):
        device.report("water")
    assert device.source.consumed == words
    assert device.kept == before
    assert len(ledger.entries()) == 2
    assert device.report("tea").epsilon == 0  # what was paid for stays free
    assert ledger.spent() == 4


def test_the_other_caps_hold_for_free_reports_too(ledger):
    device = Device(ledger, answers=2)
    device.report("tea")
    with pytest.raises(BudgetExceeded):  # once a day
        device.reporter.report("tea")
    device.report("tea")
    with pytest.raises(BudgetExceeded, match="ever"):
        device.report("tea")
    ledger.withdraw(device.task.id)
    with pytest.raises(BudgetExceeded, match="consent"):
        device.report("tea")


def test_whoever_withdraws_and_comes_back_keeps_the_same_answer(ledger):
    device = Device(ledger)
    device.report("tea")
    before = device.kept
    ledger.withdraw(device.task.id)
    ledger.consent(device.task.id)
    assert device.report("tea").epsilon == 0
    assert device.kept == before


def test_another_task_and_another_question_draw_for_themselves(ledger):
    first, second = Device(ledger), Device(ledger, name="evening-drink")
    assert (first.report("tea").epsilon, second.report("tea").epsilon) == (2, 2)
    spec = dataclasses.replace(GRR, first_epsilon=0.5)
    assert Diary(spec, "tea", "drink").name != Diary(GRR, "tea", "drink").name != Diary(GRR, "tea", "other").name


def test_what_cannot_be_made_is_not_kept(ledger):
    device = Device(ledger)
    with pytest.raises(DomainError):
        device.report("cocoa")
    diary = Diary(GRR, "tea", "drink")

    def make(_):
        diary.report(ReplaySource.from_key("lost"))
        raise DomainError("value", "cocoa", allowed="tea", fix="drink tea")

    with pytest.raises(DomainError):
        ledger.spend(device.task, period=0, epsilon=2.0, when=START, make=make, diary=diary)
    assert ledger.kept(device.task.id) in ({}, {diary.name: {}})
    assert device.report("tea").epsilon == 2


def test_the_statement_says_what_is_not_hidden(ledger):
    device = Device(ledger)
    device.report("tea")
    device.report("tea")
    text = ledger.statement()
    assert "Permanent answers kept: 1." in text
    assert "that and when an answer changed is not protected" in text
    assert "Spent: epsilon 2 of 8" in text


HISTORIES = [(name, case) for name in sorted(MECHANISMS) for case in vectors(name).get("histories", ())]


@pytest.mark.parametrize(("name", "case"), HISTORIES, ids=lambda x: x if isinstance(x, str) else x["spec"][14:60])
def test_histories_replay(name, case):
    """What every client must do with the same words: what is known, what is drawn and kept, and what is sent."""
    spec, kept, source = spec_from_json(case["spec"].encode()), {}, ReplaySource(int(word, 16) for word in case["words"])
    for step in case["steps"]:
        diary = Diary(spec, from_plain(step["value"]))
        diary.open(kept)
        assert diary.known == step["known"]
        assert spec.encode(diary.report(source)).hex() == step["report"]
        assert {key: value.hex() for key, value in diary.drawn.items()} == step["drawn"]
        kept |= diary.drawn
    assert source.consumed == len(case["words"])
    assert case["steps"][2]["known"]  # a value that comes back


def test_every_longitudinal_mechanism_has_histories():
    assert {name for name, _ in HISTORIES} == {name for name, cls in MECHANISMS.items() if issubclass(cls, Longitudinal)}


def test_a_diary_is_opened_first():
    with pytest.raises(ProtocolError, match="open"):
        Diary(GRR, "tea").report()


# --- the file ---

CHILD = """
import os, signal, sys
from deniable.client import FileLedger
from deniable.client.diary import Diary
from tests.client.fake import START
from tests.client.test_again import GRR, task_of

ledger, diary, place = FileLedger(sys.argv[1], lifetime_epsilon=8.0), Diary(GRR, "tea", "drink"), sys.argv[2]
task = task_of(GRR)
ledger.consent(task.id)

def make(_):
    report = GRR.encode(diary.report())
    if place == "drawn":
        os.kill(os.getpid(), signal.SIGKILL)
    return report

ledger.spend(task, period=0, epsilon=2.0, when=START, make=make, diary=diary)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(("place", "kept"), [("drawn", 0), ("recorded", 1)])
def test_killed_before_and_after_the_answer_is_kept(tmp_path, place, kept):
    """Before the commit nothing was sent and nothing is kept; after it the answer and its cost are there together."""
    command = [sys.executable, "-c", CHILD, str(tmp_path / "ledger"), place]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -signal.SIGKILL
    ledger = FileLedger(tmp_path / "ledger", lifetime_epsilon=8.0)
    assert (ledger.permanent_answers(), len(ledger.entries()), ledger.spent()) == (kept, kept, 2 * kept)
    device = Device(ledger)
    device.day = 0
    assert device.report("tea").epsilon == 2 - 2 * kept


def test_a_restart_changes_nothing_and_a_lost_file_is_a_reset(tmp_path):
    """Fresh words after the restart: a permanent answer that were drawn again would differ, for some of forty devices."""
    restarted = lost = 0
    for number in range(40):
        path = tmp_path / str(number)
        device = Device(FileLedger(path, lifetime_epsilon=8.0), source=ReplaySource.from_key(f"first {number}"))
        device.report("tea")
        first = device.kept
        again = Device(FileLedger(path, lifetime_epsilon=8.0), source=ReplaySource.from_key(f"second {number}"))
        again.day = 5
        assert again.report("tea").epsilon == 0
        restarted += again.kept != first
        path.unlink()
        fresh = Device(FileLedger(path, lifetime_epsilon=8.0), source=ReplaySource.from_key(f"third {number}"))
        assert fresh.report("tea").epsilon == 2  # the new ledger cannot know; the docs say so
        lost += fresh.kept != first
    assert restarted == 0
    assert lost > 0


def test_an_old_copy_put_back_draws_again(tmp_path):
    path = tmp_path / "ledger"
    device = Device(FileLedger(path, lifetime_epsilon=8.0))
    shutil.copy(path, tmp_path / "backup")
    device.report("tea")
    shutil.copy(tmp_path / "backup", path)
    assert device.report("tea").epsilon == 2
    assert device.ledger.spent() == 2


def test_the_task_s_statement_says_what_a_lifetime_costs():
    task = task_of(GRR)
    text = privacy_statement(task, task.survey.guarantee)
    assert "one answer that never changes costs epsilon = 2. If it changes, k permanent answers cost k times as much" in text
    assert "that and when the value changed" in text
    assert "epsilon = 2,000" not in text
