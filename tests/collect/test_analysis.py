"""What analysts are told: the library's own estimates of exactly the selected reports, and nothing about too few."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

import deniable as dn
from deniable.collect.analysis import analyst
from deniable.collect.analysis.analyst import ReportSelection, TooFew, compare, estimate, task_status
from deniable.collect.collector import Collector
from deniable.collect.plain_answer import PlainAnswer
from deniable.collect.storage.store import Store
from deniable.contract.envelope import Envelope
from deniable.contract.spec import MECHANISMS
from deniable.core.run import ask
from deniable.errors import ParameterError, ProtocolError
from deniable.testing import ReplaySource
from tests.collect.crowd import HOUR, NOON, envelope, send, survey_task
from tests.collect.rows import rows_of

STRATA = (("platform", ("phone", "web")), ("age", ("young", "old")))
PAGES = dn.Categories("news", "mail", "search", "games")


class Clock:
    """A clock that stands still until it is moved."""

    now = float(NOON)

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def identity(monkeypatch):
    monkeypatch.setitem(MECHANISMS, PlainAnswer.mechanism, PlainAnswer)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def collector(tmp_path, clock):
    store = Store.open(tmp_path / "store")
    yield Collector(store, clock=clock)
    store.close()


def publish(collector, *specs, **rules):
    task = survey_task(collector.registry.key, *specs, **rules)
    collector.publish(task)
    return task


def report(collector, task, values, *, period=0, question=0, key=None, **labels):
    """A crowd's reports, made in bulk from a replayed stream and sent in the period's time; returned for the library to tally."""
    spec = task.survey.questions[question].spec
    stratum = task.stratum(labels)
    key = key or f"{period}/{question}/{stratum}"
    reports = spec.privatize(values, source=ReplaySource.from_key(key))
    collector.clock.now = max(collector.clock.now, task.start + period * task.period)
    first = envelope(task, values[0], period=period, question=question, stratum=stratum)
    ids = ReplaySource.from_key(f"ids of {key}")
    rows = [row.tobytes() for row in reports.rows()]
    assert send(collector, *(first._replace(id=b"".join(w.to_bytes(8, "big") for w in ids.words(2)), payload=row) for row in rows)) == {}
    return reports


def same(found, spec, *batches):
    """Whether an estimate is, bit for bit, the library's own of these reports."""
    expected = spec.estimate(sum(spec.tally(batch) for batch in batches))
    assert found.n == expected.n == sum(len(batch) for batch in batches)
    assert list(found.values) == list(expected.values)
    for column in ("counts", "stderr", "frequencies"):
        np.testing.assert_array_equal(getattr(found, column), getattr(expected, column))
    np.testing.assert_array_equal(found.interval(), expected.interval())


@pytest.mark.parametrize("spec", [dn.GRR(domain_size=5, epsilon=1.0), dn.OLH(domain_size=40, epsilon=1.0)], ids=lambda s: s.mechanism)
@pytest.mark.parametrize("sealed", [False, True])
def test_sums_over_periods_and_strata_are_the_librarys_estimates(collector, spec, sealed):
    task = publish(collector, spec, strata=STRATA)
    crowds = [(p, platform, age) for p in range(3) for platform in ("phone", "web") for age in ("young", "old")]
    sent = {}
    for i, (period, platform, age) in enumerate(crowds):
        values = np.arange(40 + 7 * i) % (i % 4 + 2)  # of another size and mixture each
        sent[period, platform, age] = report(collector, task, values, period=period, platform=platform, age=age)
    if sealed:
        for period in range(3):
            collector.seal(task.id, period)

    def batches(periods=range(3), platforms=("phone", "web"), ages=("young", "old")):
        return [batch for (p, platform, age), batch in sent.items() if p in periods and platform in platforms and age in ages]

    same(estimate(collector, task.id).estimates["q0"], spec, *batches())
    same(estimate(collector, task.id, ReportSelection((1,))).estimates["q0"], spec, *batches([1]))
    same(estimate(collector, task.id, ReportSelection((0, 2))).estimates["q0"], spec, *batches([0, 2]))
    phones = estimate(collector, task.id, ReportSelection(None, {"platform": "phone"}))
    same(phones.estimates["q0"], spec, *batches(platforms=["phone"]))
    some = estimate(collector, task.id, ReportSelection((0, 1), {"age": "old", "platform": "web"}))
    same(some.estimates["q0"], spec, *batches([0, 1], ["web"], ["old"]))
    assert some.provisional == (not sealed)


def test_known_answers_are_counted_exactly(collector):
    task = publish(collector, PlainAnswer(domain=dn.IndexRange(6)), strata=STRATA)
    report(collector, task, [0, 1, 1, 5], period=0, platform="phone", age="old")
    report(collector, task, [1, 2], period=0, platform="web", age="old")
    report(collector, task, [2, 2, 2], period=1, platform="web", age="young")
    counts = {
        (): [1, 3, 4, 0, 0, 1],
        (("platform", "web"),): [0, 1, 4, 0, 0, 0],
        (("age", "old"),): [1, 3, 1, 0, 0, 1],
        (("age", "old"), ("platform", "phone")): [1, 2, 0, 0, 0, 1],
    }
    for labels, expected in counts.items():
        found = estimate(collector, task.id, ReportSelection(None, dict(labels))).estimates["q0"]
        assert found.counts.tolist() == expected
        assert found.n == sum(expected)
        assert [limit.tolist() for limit in found.interval()] == [expected, expected]  # nothing is hidden, so nothing is uncertain


def test_a_period_that_is_sealed_while_an_analyst_reads_is_not_lost(collector, monkeypatch):
    task = publish(collector, PlainAnswer(domain=dn.IndexRange(4)))
    report(collector, task, [0, 1, 1, 3])
    read = collector.store.log.read_open

    def sealed_in_between(connection, bucket):
        monkeypatch.setattr(collector.store.log, "read_open", read)
        collector.seal(*bucket)
        return read(connection, bucket)

    monkeypatch.setattr(collector.store.log, "read_open", sealed_in_between)
    answer = estimate(collector, task.id)
    assert answer.estimates["q0"].counts.tolist() == [1, 2, 0, 1]
    assert not answer.provisional


# --- changes ---


def test_many_users_suddenly_changed_their_home_page(collector):
    """Days 0 and 1 are alike; on day 2 every sixth person has moved from news to games."""
    spec = dn.GRR(domain=PAGES, epsilon=2.0)
    task = publish(collector, spec, period=24 * HOUR, end=NOON + 7 * 24 * HOUR)
    usual, moved = np.repeat([0, 1, 2, 3], [600, 500, 400, 300]), np.repeat([0, 1, 2, 3], [300, 500, 400, 600])
    batches = [
        report(collector, task, [PAGES.labels[page] for page in pages], period=day) for day, pages in enumerate((usual, usual, moved))
    ]
    before, alike, after = (spec.estimate(spec.tally(batch)) for batch in batches)
    quiet = compare(collector, task.id, ReportSelection((0,)), ReportSelection((1,)))
    assert quiet.changed() == quiet.to_json()["changed"] == []
    np.testing.assert_array_equal(quiet.comparisons["q0"].adjusted, before.compare(alike).adjusted)
    alarm = compare(collector, task.id, ReportSelection((1,)), ReportSelection((2,)))
    assert alarm.changed() == [("q0", "news"), ("q0", "games")]
    expected = alike.compare(after)
    rows = rows_of(alarm.to_json()["answers"][0])
    low, high = expected.interval(0.95, simultaneous=True)
    for column, numbers in {"change": expected.difference, "low": low, "high": high, "p_adjusted": expected.adjusted}.items():
        assert [row[column] for row in rows] == numbers.tolist()
    assert alarm.to_json()["changed"] == [{"question": "q0", "value": "news"}, {"question": "q0", "value": "games"}]
    assert compare(collector, task.id, ReportSelection((0, 1)), ReportSelection((2,)), alpha=1e-9).changed() == alarm.changed()


def test_a_total_change_of_scores_is_seen(collector):
    """HadamardResponse at a large epsilon has no exact test, and too little noise for the normal one."""
    task = publish(collector, dn.HadamardResponse(domain_size=8, epsilon=6.0))
    for day in (0, 1):
        report(collector, task, np.full(2000, day), period=day)
    changes = compare(collector, task.id, ReportSelection((0,)), ReportSelection((1,)))
    assert changes.changed() == [("q0", 0), ("q0", 1)]
    rows = rows_of(changes.to_json()["answers"][0])
    assert [row["p_adjusted"] < 1e-6 for row in rows] == [True, True] + [False] * 6


def test_strata_are_compared(collector):
    spec = dn.GRR(domain_size=3, epsilon=2.0)
    task = publish(collector, spec, strata=STRATA)
    for age in ("young", "old"):
        report(collector, task, np.repeat([0, 1, 2], [500, 300, 200]), platform="phone", age=age)
        report(collector, task, np.repeat([0, 1, 2], [300, 500, 200]), platform="web", age=age)

    def found(**labels):
        first, second = ({name: label[side] for name, label in labels.items()} for side in (0, 1))
        return compare(collector, task.id, ReportSelection(None, first), ReportSelection(None, second)).changed()

    assert found(platform=("phone", "web")) == [("q0", 0), ("q0", 1)]
    assert found(age=("young", "old")) == []
    assert found(platform=("phone", "web"), age=("old", "old")) == [("q0", 0), ("q0", 1)]


def test_the_chance_of_a_false_alarm_is_shared_among_the_questions(collector):
    """The same answers to the first question: clear enough at 0.05 if it is the only one, not if there are two."""
    book = PlainAnswer(domain=dn.IndexRange(2))
    verdicts = []
    for number in (1, 2):
        task = publish(collector, *[book] * number, name=f"questions-{number}")
        for question in range(number):
            report(collector, task, np.repeat([0, 1], [50, 50]), question=question, key=f"{number}/{question}/0")
            second = [50, 50] if question else [33, 67]
            report(collector, task, np.repeat([0, 1], second), question=question, period=1, key=f"{number}/{question}/1")
        changes = compare(collector, task.id, ReportSelection((0,)), ReportSelection((1,)))
        assert all(0.025 < p <= 0.05 for p in changes.comparisons["q0"].adjusted)
        verdicts.append(changes.changed())
    assert verdicts == [[("q0", 0), ("q0", 1)], []]


def test_what_cannot_be_compared_is_refused(collector):
    task = publish(collector, strata=STRATA)
    report(collector, task, [1, 2], platform="web", age="old")
    phone, web, old = ({"platform": "phone"}, {"platform": "web"}, {"age": "old"})
    for first, second in [(None, (0,)), ((0, 1), (1, 2)), (None, None)]:
        with pytest.raises(ParameterError, match="without common reports"):
            compare(collector, task.id, ReportSelection(first), ReportSelection(second))
    with pytest.raises(ParameterError, match="without common reports"):
        compare(collector, task.id, ReportSelection(None, web), ReportSelection(None, old))
    with pytest.raises(TooFew):  # they are apart, but nobody is in one of them
        compare(collector, task.id, ReportSelection(None, web), ReportSelection(None, phone))
    for alpha in (0.0, 1.0, 1e-30, float("nan")):
        with pytest.raises(ParameterError, match="alpha"):
            compare(collector, task.id, ReportSelection((0,)), ReportSelection((1,)), alpha=alpha)


# --- too few, not yet, not there ---


def test_below_the_minimum_batch_nothing_is_shown(collector):
    task = publish(collector, PlainAnswer(domain=dn.IndexRange(9)), minimum_batch=7)
    report(collector, task, [0, 1, 2, 3])
    report(collector, task, [0, 1], period=1)
    with pytest.raises(TooFew, match="7 or more") as refusal:
        estimate(collector, task.id)
    assert "4" not in str(refusal.value)
    assert "6" not in str(refusal.value)  # not even how many are missing
    with pytest.raises(TooFew):
        compare(collector, task.id, ReportSelection((0,)), ReportSelection((1,)))
    report(collector, task, [8], period=1, key="one more")
    assert estimate(collector, task.id).estimates["q0"].n == 7
    with pytest.raises(TooFew):
        estimate(collector, task.id, ReportSelection((0,)))


def test_a_question_that_few_answered_is_withheld_and_the_others_are_shown(collector):
    book = PlainAnswer(domain=dn.IndexRange(9))
    task = publish(collector, book, book, minimum_batch=3)
    for period in (0, 1):
        report(collector, task, [5, 5, 6], period=period)
        report(collector, task, [7, 7], question=1, period=period)
    answer = estimate(collector, task.id, ReportSelection((0,)))
    assert (list(answer.estimates), answer.withheld) == (["q0"], ("q1",))
    assert answer.to_json()["withheld"] == ["q1"]
    assert list(estimate(collector, task.id).estimates) == ["q0", "q1"]
    changes = compare(collector, task.id, ReportSelection((0,)), ReportSelection((1,)))
    assert (list(changes.comparisons), changes.withheld) == (["q0"], ("q1",))


def test_an_answer_is_provisional_while_reports_may_still_come(collector, clock):
    task = publish(collector)
    report(collector, task, [1], period=0)
    report(collector, task, [2], period=1)
    first, both, later = ReportSelection((0,)), ReportSelection((0, 1)), ReportSelection((0, 5))
    assert all(estimate(collector, task.id, chosen).provisional for chosen in (first, both, later, ReportSelection()))
    collector.seal(task.id, 0)
    assert not estimate(collector, task.id, first).provisional
    assert estimate(collector, task.id, both).provisional
    assert compare(collector, task.id, first, ReportSelection((1,))).provisional
    collector.seal(task.id, 1)
    assert not estimate(collector, task.id, both).provisional
    assert not estimate(collector, task.id).provisional
    assert estimate(collector, task.id, later).provisional  # nothing has come yet, but it will
    clock.now = NOON + 6 * HOUR + task.late
    assert not estimate(collector, task.id, later).provisional  # nothing came


@pytest.mark.parametrize("closed", ["by an admin", "by time"])
def test_an_answer_of_a_closed_task_is_final_though_a_period_is_not_counted_yet(collector, clock, monkeypatch, closed):
    task = publish(collector)
    report(collector, task, [1], period=0)
    assert estimate(collector, task.id).provisional
    if closed == "by time":
        clock.now = task.end + task.late
    else:
        monkeypatch.setattr(collector, "close_period", lambda *_, **__: False)
        collector.close_task(task.id)
    assert [stored.state for stored in collector.store.buckets(task.id)] == ["open"]
    assert not estimate(collector, task.id).provisional
    assert not estimate(collector, task.id, ReportSelection((0,))).provisional


@pytest.mark.parametrize(
    ("selection", "named"),
    [
        (ReportSelection((24,)), r"0 to 23, from 2027-01-15T08:00Z to 2027-01-16T08:00Z"),
        (ReportSelection((0, -1)), r"0 to 23"),
        (ReportSelection(()), "one period or more"),
        (ReportSelection(None, {"plattform": "web"}), r"\['platform', 'age'\]"),
        (ReportSelection(None, {"platform": "tv"}), r"\['phone', 'web'\]"),
    ],
)
def test_a_wrong_selection_is_told_what_there_is(collector, selection, named):
    task = publish(collector, strata=STRATA)
    report(collector, task, [1, 2], platform="web", age="old")
    with pytest.raises(ParameterError, match=named):
        estimate(collector, task.id, selection)
    with pytest.raises(ParameterError, match=named):
        compare(collector, task.id, ReportSelection((0,)), selection)


# --- rounds ---


def test_a_search_has_its_result_when_its_last_round_is_closed(collector):
    """The reports of each round go through the collector; the result is the protocol's own of the same reports, bit for bit."""
    search = dn.PEM(bits=8, k=3, epsilon=3.0, groups=2, people=400)
    base = survey_task(collector.registry.key, dn.RR(epsilon=3.0))
    task = replace(base, name="search", protocol=search.canonical, rounds=True, period=0, answers=1, minimum_batch=50)
    collector.publish(task)
    values = np.repeat([200, 201, 7, 90], [160, 120, 80, 40])
    state, number = search, 0
    while isinstance(state, dn.PEM):
        with pytest.raises(ProtocolError, match=rf"round {number} is open'"):
            estimate(collector, task.id)
        (question,) = state.open().questions
        source = ReplaySource.from_key(f"round {number}")
        reports = question.spec.privatize(question.encoder.encode_many(values[number::2], source), source=source)
        rows = [row.tobytes() for row in reports.rows()]
        ids = [number.to_bytes(2, "big") + i.to_bytes(14, "big") for i in range(len(rows))]
        pairs = zip(ids, rows, strict=True)
        assert send(collector, *(Envelope(task.id, number, 0, 0, report_id, row) for report_id, row in pairs)) == {}
        with pytest.raises(ProtocolError, match=rf"round {number} is open'"):
            estimate(collector, task.id)
        candidates = question.candidates if question.spec.candidates_at_tally else None
        state = state.close({question.name: question.spec.tally(reports, candidates=candidates)})
        collector.advance(task.id)
        number += 1
    assert number == 2
    found = estimate(collector, task.id)
    name, expected = search.result, state
    assert list(found.estimates) == [name]
    assert list(found.estimates[name].values) == list(expected.values)
    np.testing.assert_array_equal(found.estimates[name].counts, expected.counts)
    np.testing.assert_array_equal(found.estimates[name].interval(), expected.interval())
    assert not found.provisional
    assert "all 3" not in found.to_json()["answers"][0]["estimate"]["headline"]  # those that were found are some of many more
    for selection in (ReportSelection((1,)), ReportSelection(None, {"platform": "web"})):
        with pytest.raises(ParameterError, match="all rounds"):
            estimate(collector, task.id, selection)
    with pytest.raises(ParameterError, match="one round"):
        compare(collector, task.id, ReportSelection((0,)), ReportSelection((1,)))


def test_a_search_that_was_closed_early_has_no_result(collector):
    search = dn.PEM(bits=8, k=3, epsilon=3.0, groups=2, people=400)
    base = survey_task(collector.registry.key, dn.RR(epsilon=3.0))
    task = replace(base, name="search", protocol=search.canonical, rounds=True, period=0, answers=1)
    collector.publish(task)
    collector.seal(task.id, 0)
    collector.close_task(task.id)
    with pytest.raises(ProtocolError, match="closed in round 0"):
        estimate(collector, task.id)


def test_few_people_in_the_last_round_are_too_few(collector):
    search = dn.PEM(bits=8, k=3, epsilon=3.0, groups=1, people=400)
    base = survey_task(collector.registry.key, dn.RR(epsilon=3.0))
    task = replace(base, name="search", protocol=search.canonical, rounds=True, period=0, answers=1)
    collector.publish(task)
    collector.advance(task.id, force=True)
    assert search.close(ask(search, np.zeros(0, dtype=np.int64)))  # the protocol would say something about nobody
    with pytest.raises(TooFew):
        estimate(collector, task.id)


# --- status ---


def test_status_counts_reports_once_open_or_sealed(collector, clock):
    task = publish(collector, strata=STRATA, minimum_batch=50, retention=1)
    report(collector, task, [1, 2, 3], platform="web", age="old", key="first")
    report(collector, task, [4, 5], platform="phone", age="old", key="second")
    report(collector, task, [1, 2, 3], platform="web", age="old", key="first")  # all of them again
    report(collector, task, [6], period=1, platform="web", age="old")
    status = task_status(collector, task.id)
    assert {status["state"], status["name"], status["question"]} == {"open", task.name, task.question}
    assert status["current"] == 1
    opened = {"period": 0, "label": "2027-01-15T08:00Z/2027-01-15T09:00Z", "state": "open", "reports": 5, "repeated": 0}
    assert status["periods"][0] == opened
    collector.seal(task.id, 0)
    first, second = task_status(collector, task.id)["periods"]
    assert first == opened | {"state": "sealed", "repeated": 3}
    assert (second["state"], second["reports"]) == ("open", 1)
    clock.now = NOON + HOUR + 86_400
    collector.tend()
    assert [period["state"] for period in task_status(collector, task.id)["periods"]] == ["dropped", "sealed"]
    collector.close_task(task.id)
    assert (task_status(collector, task.id)["state"], task_status(collector, task.id)["current"]) == ("closed", None)


def test_status_of_a_search_counts_rounds(collector):
    search = dn.PEM(bits=8, k=3, epsilon=3.0, groups=2, people=400)
    base = survey_task(collector.registry.key, dn.RR(epsilon=3.0))
    task = replace(base, name="search", protocol=search.canonical, rounds=True, period=0, answers=1)
    collector.publish(task)
    assert (task_status(collector, task.id)["current"], task_status(collector, task.id)["periods"]) == (0, [])
    collector.advance(task.id, force=True)
    status = task_status(collector, task.id)
    assert status["current"] == 1
    assert [(period["label"], period["state"]) for period in status["periods"]] == [("round 0", "sealed")]


def test_heavy_comparisons_wait_for_their_turn_as_estimates_do(collector, monkeypatch):
    task = survey_task(collector.registry.key, dn.RR(epsilon=3.0))
    collector.publish(task)
    waiting, inside = [], []

    @contextmanager
    def turn(_):
        waiting.append("taken")
        yield
        waiting.append("left")

    monkeypatch.setattr(analyst, "_turn", turn)
    monkeypatch.setattr(analyst, "survey_estimates", lambda *_: inside.append(waiting[-1]) or {})
    with pytest.raises(TooFew):
        compare(collector, task.id, ReportSelection(periods=(0,)), ReportSelection(periods=(1,)))
    assert inside == ["taken", "taken"]
