"""Columns with one value, tables of nobody, groups of nobody, bad input, other libraries' tables; and guesses from known marginals."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import deniable as dn
from deniable.contract.survey import Survey
from deniable.contract.task import OpenedRound
from deniable.core.saved import estimate_from_json
from deniable.errors import DomainError, ParameterError
from deniable.tasks.marginals import Marginals, marginals
from deniable.tasks.marginals.columns import Columns
from deniable.testing import ReplaySource
from tests.client.fake import Device, FakeCollector, drink_task, rounds_task
from tests.tasks.marginals.tables import MIXED, margin, rows_of, shares_of, told

FEW = {"place": ["bar", "inn"], "mood": ["good", "bad"], "country": ["Norway"]}
TABLE = {"place": ["bar", "inn"] * 50, "mood": ["good", "bad"] * 50, "country": ["Norway"] * 100}


def test_a_column_with_one_value_is_known_and_never_asked_about():
    survey = Marginals(columns=FEW, epsilon=2.0)
    assert [question.name for question in survey.open().questions] == ["place x mood"]
    found = survey.run(TABLE, source=ReplaySource.from_key("norway"))
    abroad = found["country", "place"]
    assert abroad.values == [("Norway", "bar"), ("Norway", "inn")]
    assert abroad.counts == pytest.approx(found["place"].counts)
    assert abroad.stderr == pytest.approx(found["place"].stderr)
    alone = found["country"]
    assert (alone.counts.tolist(), alone.stderr.tolist(), alone.values) == ([100.0], [0.0], [("Norway",)])
    assert np.isnan(abroad.association().value)
    with pytest.raises(ParameterError, match="at least one column with two or more values"):
        Marginals(columns={"country": ["Norway"]}, epsilon=1.0)
    for wrong in (TABLE | {"country": ["Norway"] * 99 + ["Peru"]}, TABLE | {"country": ["Norway"] * 99}):
        with pytest.raises(DomainError):
            survey.run(wrong)


@pytest.mark.parametrize("method", ["split", "fourier", "views", "direct"])
def test_nobody_and_a_group_of_nobody(method):
    empty = marginals({name: [] for name in MIXED}, columns=MIXED, epsilon=1.0, method=method)
    found = empty["place", "mood"]
    assert (found.n, found.counts.tolist(), found.stderr.tolist()) == (0, [0.0] * 6, [0.0] * 6)
    assert found.association().p_value == 1.0
    assert "0 people" in repr(empty)
    few = marginals({name: column[:1] for name, column in rows_of(MIXED, shares_of(MIXED, "one"), 9).items()}, columns=MIXED, epsilon=1.0,
                    method=method, source=ReplaySource.from_key("one"))  # fmt: skip
    found = few["place", "mood"]
    assert few.n == 1
    low, high = found.interval(0.95)
    assert np.all(low <= found.counts)
    assert np.all(found.counts <= high)
    unknown = [names for names in few.sets if np.isinf(few[names].stderr).all()]
    assert bool(unknown) == (method != "direct")  # of what nobody was asked about nothing is known
    if unknown:
        assert few[unknown[0]].association().interval(0.95) == (0.0, 1.0)


@pytest.mark.parametrize("rounds", [True, False], ids=["rounds", "survey"])
def test_devices_answer_the_questions_as_a_round_and_as_a_survey(rounds):
    survey = Marginals(columns={"place": ["bar", "inn"], "mood": ["good", "bad"], "new": ["yes", "no"]}, epsilon=8.0, method="split")
    record = {"place": "inn", "mood": "bad", "new": "no"}
    protocol = survey if rounds else Survey(survey.open().questions)
    task = (rounds_task if rounds else drink_task)(protocol=protocol.canonical, epsilon=8.0)
    collector, source = FakeCollector(task), ReplaySource.from_key("survey")
    collector.rounds[task.id.hex()] = OpenedRound(task=task.id, number=0, scale=survey.scale, round=survey.open(), state=bytes(32))
    assert all(Device(collector, task, source=source).report(record).state == "sent" for _ in range(60))
    asked = dict.fromkeys(range(3), ())
    for sent in collector.reports.values():
        asked[sent.question] += (sent.payload,)
    tallies = {q.name: q.spec.tally([q.spec.decode(payload) for payload in asked[i]]) for i, q in enumerate(survey.open().questions)}
    found = survey.close(tallies)
    assert found.n == 60
    assert [found[pair].top(1).values for pair in (("place", "mood"), ("mood", "new"))] == [[("inn", "bad")], [("bad", "no")]]


def test_every_kind_of_table_is_read_alike():
    table = rows_of(MIXED, shares_of(MIXED, "kinds"), 400)
    kinds = (table, pa.table(table), pl.DataFrame(table), pa.table(table).to_pandas(), {n: np.array(c) for n, c in table.items()})
    found = [marginals(kind, columns=MIXED, epsilon=1.0, source=ReplaySource.from_key("kinds")) for kind in kinds]
    for other in found[1:]:
        assert other["place", "age"].counts.tolist() == found[0]["place", "age"].counts.tolist()
    shown = found[0]["place", "stars"]
    assert shown.to_arrow().column_names[:3] == ["place", "stars", "count"]
    assert shown.to_arrow()["stars"].to_pylist()[:6] == [1, 2, 3, 4, 5, 1]
    assert shown.to_polars().height == 15
    assert shown.chart().altair.to_dict()["title"]["text"].startswith("place x stars: 400 people")
    assert shown.postprocess("norm-sub").counts.sum() == pytest.approx(400)
    assert found[0].remarks[0] in repr(found[0])


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"mood": ["good"] * 99 + ["great"]}, "column 'mood', values[99]"),
        ({"mood": ["good"] * 99 + [None]}, "column 'mood', values[99]"),
        ({"mood": ["good"] * 99}, "values"),
        ({"mood": [1] * 100}, "column 'mood', values[0]"),
    ],
)
def test_bad_values_are_refused_and_named(wrong, where):
    with pytest.raises(DomainError) as refusal:
        Marginals(columns=FEW, epsilon=1.0).run(TABLE | wrong)
    assert refusal.value.parameter.startswith(where)


def test_bad_settings_are_refused():
    for wrong in (
        {"columns": {}},
        {"columns": {"a": []}},
        {"columns": {"a": "xy"}},
        {"columns": {"a": dn.Text(5)}},
        {"columns": {"a": dn.Numbers(0, 100)}},  # 32,701 points: declare steps
        {"k": 0},
        {"k": 4},
        {"sets": [("place", "taste")]},
        {"sets": [("place", "place")]},
        {"method": "best"},
        {"views": [("place", "mood")]},
        {"method": "views", "views": [("place", "taste")]},
        {"people": 0},
        {"epsilon": 0.0},
    ):
        with pytest.raises(ParameterError):
            Marginals(**{"columns": FEW, "epsilon": 1.0} | wrong)
    with pytest.raises(DomainError):
        Marginals(columns=FEW, epsilon=1.0).run({"place": ["bar"]})
    assert Columns.from_json(Columns.of(MIXED | FEW).to_json()) == Columns.of(MIXED | FEW)


def test_a_guess_is_exact_where_nothing_is_hidden_and_says_what_it_rests_on():
    """A chain a - b - c: given b, a and c have nothing to do with each other, and the pairs tell everything."""
    columns = {name: ["x", "y", "z"] for name in "abc"}
    first, second = np.array([[7, 2, 1], [1, 6, 3], [2, 2, 6]]) / 10, np.array([[1, 1, 8], [4, 3, 3], [5, 4, 1]]) / 10
    middle = np.array([0.5, 0.3, 0.2])
    whole = np.einsum("b,ba,bc->abc", middle, first, second).ravel()
    survey = Marginals(columns=columns, epsilon=1.0, method="views", views=[("a", "b"), ("b", "c")], sets=[("a", "b"), ("b", "c")])
    found = told(survey, columns, whole, 10**12)
    with pytest.raises(ParameterError, match="reconstruct"):
        found["a", "c"]
    guess = found.reconstruct("a", "b", "c", replicates=4, source=ReplaySource.from_key("guess"))
    assert guess.frequencies == pytest.approx(whole, abs=1e-6)
    assert guess.about.endswith("max-entropy from a x b, b x c")
    assert guess.stderr.max() < 1e-4
    squares = found.reconstruct("a", "b", "c", method="least-squares", replicates=4, source=ReplaySource.from_key("squares"))
    for names in (("a", "b"), ("b", "c")):
        assert margin(columns, squares.frequencies, names) == pytest.approx(margin(columns, whole, names), abs=1e-9)
    assert np.sum(squares.frequencies**2) < np.sum(whole**2)  # the smallest sum of squares with these marginals
    for wrong in ({"method": "magic"}, {"replicates": 1}):
        with pytest.raises(ParameterError):
            found.reconstruct("a", "c", **wrong)


def test_the_error_of_a_guess_is_that_of_noise():
    """Thirty runs of 4,000 people at epsilon 2: the spread of the guesses is what resampling says, to a factor of two."""
    columns = {name: ["x", "y"] for name in "abc"}
    whole = np.array([0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.2])
    table, survey = pa.table(rows_of(columns, whole, 4000)), Marginals(columns=columns, epsilon=2.0, people=4000)
    source = ReplaySource.from_key("spread")
    guesses = [survey.run(table, source=source).reconstruct("a", "b", "c", replicates=20, source=source) for _ in range(30)]
    for guess in guesses:
        assert guess.frequencies.min() >= 0
        assert guess.frequencies.sum() == pytest.approx(1)
    ratio = np.mean([guess.stderr for guess in guesses]) / np.std([guess.frequencies for guess in guesses], axis=0, ddof=1).mean()
    assert 0.5 < ratio < 2


def test_a_table_without_pairs_is_saved_and_read_back():
    alone = marginals({"a": ["x", "y"] * 50}, columns={"a": ["x", "y"]}, epsilon=2.0, k=1, source=ReplaySource.from_key("alone"))
    assert (alone.values, list(alone.parts), repr(estimate_from_json(alone.to_json()))) == ([], ["a"], repr(alone))


def test_a_column_may_have_the_name_of_a_number():
    columns = {"count": ["x", "y"], "low": ["x", "y"]}
    table = {"count": ["x", "y", "y", "y"] * 200, "low": ["x", "x", "y", "y"] * 200}
    found = marginals(table, columns=columns, epsilon=4.0, source=ReplaySource.from_key("names"))["count", "low"]
    assert found.to_arrow().column_names[:4] == ["count (value)", "low (value)", "count", "stderr"]
    assert found.to_arrow()["count (value)"].to_pylist() == ["x", "x", "y", "y"]
    assert "svg" in found.chart()._repr_svg_()
