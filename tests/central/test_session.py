"""A session keeps its budget, its answers and its secrets: order of events, requests, and what errors may say."""

from __future__ import annotations

import gc
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from deniable.accounting import BudgetFilter, Pure, account
from deniable.accounting.budget import Cost
from deniable.accounting.journal import JournalError
from deniable.central import Session
from deniable.errors import BudgetExceeded, ParameterError, ProtocolError
from deniable.testing import ReplaySource
from tests.central.sessions import PEOPLE, Watched, opened

# --- the budget ---


def test_answers_until_the_budget_is_gone_and_refuses_before_drawing():
    source = Watched()
    session = opened(source=source)
    for i in range(10):
        session.count(epsilon=0.1, request=f"q{i}")
    assert session.spent == Cost(epsilon=Fraction(1))
    assert session.left == Cost()
    drawn = source.words_drawn
    with pytest.raises(BudgetExceeded, match="nothing was released"):
        session.count(epsilon=0.1, request="one more")
    with pytest.raises(BudgetExceeded):
        session.histogram("name", values=["Ann"], epsilon=0.001)
    assert source.words_drawn == drawn
    assert "nothing" in repr(session)
    assert len(session.book.requests()) == 10


@pytest.mark.parametrize("rule", ["basic", "zCDP"])
@pytest.mark.parametrize("neighbors", ["add-remove", "replace"])
def test_every_question_is_charged_at_most_its_epsilon_for_its_neighbors(rule, neighbors):
    session = opened(budget=20.0, delta=1e-6 if rule == "zCDP" else 0.0, rule=rule, neighbors=neighbors)
    ask = {
        "count": lambda: session.count(epsilon=0.3),
        "sum": lambda: session.sum("age", low=0, high=100, epsilon=0.3),
        "mean": lambda: session.mean("age", low=0, high=100, epsilon=0.3),
        "histogram": lambda: session.histogram("name", values=["Ann", "Eve"], epsilon=0.3),
        "quantiles": lambda: session.quantiles("age", [0.25, 0.5], low=0, high=100, epsilon=0.3),
        "peeled": lambda: session.top("tags", 2, values=["a", "b", "c"], epsilon=0.3),
    }
    for asked, question in ask.items():
        answer = question()
        booked = session.book.requests()[-1]
        release = answer.spec
        assert booked.event.relation == neighbors == release.neighbors
        assert booked.state == "sent"
        assert account(booked.event, delta=0.0).epsilon <= 0.3, asked
        assert release.request == booked.id
        assert answer.guarantee == release.guarantee
        assert answer.guarantee.epsilon == 0.3
    if rule == "basic":
        assert session.spent.epsilon == Fraction(18, 10)
    assert session.guarantee.epsilon == 20.0
    assert session.guarantee.model == "central"


def test_a_budget_may_be_given_as_a_filter_and_must_name_its_neighbors(tmp_path):
    book = BudgetFilter(tmp_path / "b.ledger", epsilon=0.5, neighbors="replace")
    session = Session(PEOPLE, budget=book)
    assert session.n == 5
    session.count(epsilon=0.5)
    with pytest.raises(BudgetExceeded):
        session.count(epsilon=0.1)
    with pytest.raises(ParameterError, match="neighbors"):
        Session(PEOPLE, budget=1.0)
    with pytest.raises(ParameterError, match="leave them out"):
        Session(PEOPLE, budget=book, neighbors="add-remove")


def test_a_temporary_ledger_goes_with_its_session():
    session = opened()
    session.count(epsilon=0.1)
    folder = session.book.path.parent
    assert {path.name for path in folder.iterdir()} == {"budget.ledger", "budget.ledger.answers"}
    del session
    gc.collect()
    assert not folder.exists()


# --- requests ---


def test_the_same_request_gets_the_same_answer_free_also_after_a_restart(tmp_path):
    path = tmp_path / "people.ledger"
    first = opened(ledger=path).mean("age", low=0, high=100, epsilon=0.4, request="ages")
    again = opened(ledger=path, source=Watched(lambda: pytest.fail("drew noise again")))
    second = again.mean("age", low=0, high=100, epsilon=0.4, request="ages")
    assert (second.value, second.interval()) == (first.value, first.interval())
    assert again.spent.epsilon == Fraction(2, 5)
    with pytest.raises(ProtocolError, match="take a new id"):
        again.mean("age", low=0, high=90, epsilon=0.4, request="ages")
    with pytest.raises(ProtocolError):
        again.count(epsilon=0.4, request="ages")
    for bad in ("", 7, "x" * 201):
        with pytest.raises(ParameterError, match="request"):
            again.count(epsilon=0.1, request=bad)
    assert again.spent.epsilon == Fraction(2, 5)


def test_a_question_without_an_id_is_its_own_id():
    session = opened()
    one = session.count(where={"smokes": True}, epsilon=0.1)
    for same in ({"smokes": True}, {"smokes": True}):
        assert session.count(where=same, epsilon=0.1).spec.request == one.spec.request
    assert session.spent.epsilon == Fraction(1, 10)
    asked = {one.spec.request}
    for other in ({"smokes": False}, {"smokes": 1 == 1, "age": 34}, pl.col("age") > 30, pl.col("age") > 31, None):
        asked.add(session.count(where=other, epsilon=0.1).spec.request)
    asked.add(session.count(where={"smokes": True}, epsilon=0.11).spec.request)
    assert len(asked) == 7
    session.top("name", 1, values=["Ann", "Ben"], epsilon=0.1)
    before = session.spent
    session.histogram("name", values=["Ann", "Ben"], epsilon=0.1)  # the question behind top
    assert session.spent == before


def test_what_the_keeper_declares_is_part_of_the_question(tmp_path):
    """An answer with a count, kept, is none to a question that needs no count."""
    path, table = tmp_path / "people.ledger", PEOPLE.with_columns(age=pl.col("age").fill_null(40))
    wide = {"low": 0, "high": 100, "epsilon": 0.1}
    first = opened(table, ledger=path, neighbors="replace").mean("age", **wide)
    second = opened(table, ledger=path, neighbors="replace", complete=["age"]).mean("age", **wide)
    assert first.law.count_scale is not None
    assert second.law.count_scale is None
    assert second.law.count == 5
    assert first.spec.request != second.spec.request


def test_a_crash_while_drawing_costs_once_and_shows_one_answer(tmp_path):
    path = tmp_path / "people.ledger"

    def crash():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        opened(ledger=path, source=Watched(crash)).count(epsilon=0.4, request="q")
    assert BudgetFilter(path, epsilon=1.0, neighbors="add-remove").requests()[0].state == "reserved"
    session = opened(ledger=path)
    assert session.count(epsilon=0.4, request="q").value == session.count(epsilon=0.4, request="q").value
    assert session.spent.epsilon == Fraction(2, 5)


def test_of_two_that_draw_for_one_request_the_first_that_is_kept_is_shown(tmp_path):
    """The second process answers the request while the first is drawing its noise: the first one's draw is never seen."""
    path, shown = tmp_path / "people.ledger", []
    other = opened(ledger=path, source=ReplaySource.from_key("another"))
    wide = {"low": 0, "high": 10**6, "epsilon": 0.1, "request": "q"}
    slow = opened(ledger=path, source=Watched(lambda: shown.append(other.sum("age", **wide).value)))
    alone = opened(source=Watched()).sum("age", **wide).value
    assert slow.sum("age", **wide).value == shown[0] != alone
    assert slow.spent.epsilon == Fraction(1, 10)


def test_damaged_answers_stop_the_session(tmp_path):
    path = tmp_path / "people.ledger"
    opened(ledger=path).count(epsilon=0.1)
    answers = tmp_path / "people.ledger.answers"
    answers.write_bytes(answers.read_bytes().replace(b'"released":[', b'"released":[1'))
    with pytest.raises(JournalError):
        opened(ledger=path)
    answers.write_bytes(path.read_bytes())
    with pytest.raises(JournalError, match="another ledger"):
        opened(ledger=path)


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_a_ledger_under_another_name_draws_nothing_again(tmp_path, link):
    """By a symbolic link it is the same session; a hard link has no answers beside it, and is refused."""
    path, other = tmp_path / "people.ledger", tmp_path / "elsewhere"
    first = opened(ledger=path, budget=0.1).count(epsilon=0.1).value
    getattr(other, link)(path)
    watched = Watched(lambda: pytest.fail("drew noise again"))
    if link == "symlink_to":
        assert opened(ledger=other, budget=0.1, source=watched).count(epsilon=0.1).value == first
    else:
        with pytest.raises(JournalError, match="would get new noise"):
            opened(ledger=other, budget=0.1, source=watched)


def test_answers_that_are_lost_or_of_another_ledger_stop_the_session(tmp_path):
    path, answers = tmp_path / "people.ledger", tmp_path / "people.ledger.answers"
    session = opened(ledger=path, source=Watched())
    session.count(epsilon=0.1, request="q")
    other = opened(ledger=tmp_path / "other")
    other.count(epsilon=0.1)
    for lost in (answers.unlink, lambda: answers.write_bytes((tmp_path / "other.answers").read_bytes())):
        lost()
        with pytest.raises(JournalError, match="would get new noise"):
            opened(ledger=path)
    with pytest.raises(JournalError):  # and answers are not taken over by a ledger that has none
        opened(ledger=_beside(tmp_path / "new", answers))
    with pytest.raises(ProtocolError, match="not drawn again"):  # a session that is open already, too
        session.count(epsilon=0.1, request="q")
    assert session.spent.epsilon == Fraction(1, 10)


def _beside(ledger, answers):
    ledger.with_name(ledger.name + ".answers").write_bytes(answers.read_bytes())
    return ledger


@pytest.mark.parametrize("sent", [True, False])
def test_what_somebody_else_reserved_in_the_ledger_is_not_answered_for_free(tmp_path, sent):
    book = BudgetFilter(tmp_path / "shared", epsilon=0.2, neighbors="add-remove")
    book.reserve("r1", Pure(epsilon=0.2, neighbors="add-remove"))
    if sent:
        book.sending("r1")
    with pytest.raises(ProtocolError, match="not drawn again"):
        Session(PEOPLE, budget=book, source=Watched(lambda: pytest.fail("drew"))).count(epsilon=0.2, request="r1")


@pytest.mark.parametrize(("neighbors", "versions"), [("replace", (None, None)), ("replace", ("1", "2")), ("add-remove", ("1", "2"))])
def test_an_answer_about_an_older_table_is_not_given_for_a_newer_one(tmp_path, neighbors, versions):
    """One budget for all versions. Under "replace" the public number of rows tells tables apart by itself, and divides its own sum."""
    old, new = {"age": [40] * 1000}, {"age": [40] * 4000}
    options = {"ledger": tmp_path / "people.ledger", "budget": 9.0, "neighbors": neighbors, "complete": ["age"]}
    wide = {"low": 0, "high": 100, "epsilon": 1.0}
    first, second = (opened(table, version=version, **options) for table, version in zip((old, new), versions, strict=True))
    before, after = first.mean("age", **wide, request="q"), second.mean("age", **wide)
    with pytest.raises(ProtocolError, match="take a new id"):
        second.mean("age", **wide, request="q")
    assert abs(before.value - 40) < 2
    assert abs(after.value - 40) < 2
    assert before.value == first.mean("age", **wide, request="q").value
    assert second.spent.epsilon == 2
    for bad in ("", 2):
        with pytest.raises(ParameterError, match="version"):
            opened(version=bad)


# --- what nobody may learn ---

OTHERS = PEOPLE.clear()
MISTAKES = [
    lambda session: session.count(where=pl.col("name") > 3, epsilon=0.1),
    lambda session: session.count(where=pl.col("name").cast(pl.Int64) == 1, epsilon=0.1),
    lambda session: session.sum("name", low=0, high=1, epsilon=0.1),
    lambda session: session.sum("tags", low=0, high=1, epsilon=0.1),
    lambda session: session.sum("age", low=5, high=1, epsilon=0.1),
    lambda session: session.sum("age", low=0, high=float("inf"), epsilon=0.1),
    lambda session: session.sum("weight", low=0, high=1, grid=1e-12, epsilon=0.1),
    lambda session: session.sum("weight", low=-1e308, high=1e308, epsilon=0.1),
    lambda session: session.sum("weight", low=0, high=1e-320, epsilon=0.1),
    lambda session: session.mean("weight", low=0, high=np.longdouble(1), epsilon=0.1),
    lambda session: session.quantiles("age", 0.5, low=10**400, high=1e308, epsilon=0.1),
    lambda session: session.histogram("age", values=["34"], epsilon=0.1),
    lambda session: session.histogram("age", values=[34, 34], epsilon=0.1),
    lambda session: session.histogram("weight", values=[61.5], epsilon=0.1),
    lambda session: session.histogram("tags", values=["a"], epsilon=0.1),
    lambda session: session.histogram("smokes", values=[0, 1], epsilon=0.1),
    lambda session: session.histogram("age", values=[34, True], epsilon=0.1),
    lambda session: session.histogram("name", values=[["Ann"]], epsilon=0.1),
    lambda session: session.histogram("name", values=["Ann", None], epsilon=0.1),
    lambda session: session.histogram("name", values=["\ud800"], epsilon=0.1),
    lambda session: session.top("tags", 1, values=["a", None], epsilon=0.1),
    lambda session: session.count(epsilon=0.1, request="\ud800"),
    lambda session: session.top("name", 3, values=["Ann", "Ben"], epsilon=0.1),
    lambda session: session.quantiles("age", 0.5, low=0, high=100, steps=0, epsilon=0.1),
    lambda session: session.quantiles("age", [0.5, 0.5], low=0, high=100, epsilon=0.1),
    lambda session: session.quantiles("age", 50, low=0, high=100, epsilon=0.1),
    lambda session: session.count(epsilon=0.0),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=range(len(MISTAKES)))
def test_what_an_error_says_does_not_depend_on_the_rows(mistake):
    told = []
    for table in (PEOPLE, OTHERS, pl.concat([PEOPLE] * 3)):
        session = opened(table)
        with pytest.raises(ParameterError) as caught:
            mistake(session)
        told.append((str(caught.value), repr(session)))
        assert not session.book.requests()
    assert len(set(told)) == 1


def test_the_number_of_rows_is_public_only_under_replace():
    hidden, known = opened(), opened(neighbors="replace")
    assert (hidden.n, known.n) == (None, 5)
    assert hidden.count(epsilon=0.1).n is None
    assert not hidden.histogram("name", values=["Ann"], epsilon=0.1).law.public
    assert known.histogram("name", values=["Ann"], epsilon=0.1).law.public
    assert not known.histogram("name", values=["Ann"], where={"smokes": True}, epsilon=0.1).law.public  # how many smoke is private
    assert repr(hidden) == repr(opened(PEOPLE[:2])).replace("1>", "0.8>")


def test_tables_come_in_several_forms_and_completeness_is_checked():
    columns = {"age": np.array([1, 2, 3]), "city": ["a", "b", "a"]}
    coded = pl.DataFrame(columns).with_columns(pl.col("city").cast(pl.Categorical))
    for data in (columns, pa.table(columns), pa.table(columns).to_batches()[0], coded):
        session = opened(data, complete=["age", "city"])
        assert session.schema == {"age": pl.Int64, "city": pl.String}
        assert session.histogram("city", values=["a", "b"], epsilon=0.5).values == ["a", "b"]
    for lacking in ("name", "weight", "nobody"):
        with pytest.raises(ParameterError, match="complete"):
            opened(complete=[lacking])
    with pytest.raises(ParameterError, match="complete"):
        opened(columns, complete="age")
    opaque = [pl.Series([{1}], dtype=pl.Object), [None], pl.Series([[None]]), pl.Series([{"a": None}])]
    for bad in ([1, 2], PEOPLE.lazy(), {}, {"a": [1], "b": [1, 2]}, {"a": [1, "x"]}, *({"a": column} for column in opaque)):
        with pytest.raises(ParameterError, match="data"):
            opened(bad)
