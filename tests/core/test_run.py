"""Protocols run in memory: one question, several questions, people split at random."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import deniable as dn
from deniable.contract.encoder import Attribute, Identity, encoder_from_json
from deniable.contract.protocol import protocol_from_json
from deniable.contract.question import Question
from deniable.core import run
from deniable.core.run import ask, draw_tickets
from deniable.errors import WireError
from deniable.testing import ReplaySource, law_of

DRINKS = dn.Categories("tea", "coffee", "water")
SURVEY = dn.Survey.of(
    drink=dn.GRR(domain=DRINKS, epsilon=1.0), age=dn.OUE(domain=dn.Integers(18, 99), epsilon=1.0), smoker=dn.RR(epsilon=0.5)
)
TWO_THIRDS = dn.Survey(
    (
        Question(name="a", spec=dn.RR(epsilon=1.0), share=Fraction(1, 2)),
        Question(name="b", spec=dn.RR(epsilon=1.0), share=Fraction(1, 6)),
    )
)
PEOPLE = 30_000
CROWD = {
    "drink": ["tea"] * 15_000 + ["coffee"] * 10_000 + ["water"] * 5000,
    "age": np.tile(np.arange(20, 50), PEOPLE // 30),
    "smoker": np.arange(PEOPLE) % 4 == 0,
}


def test_a_plain_survey_is_one_question_to_everyone():
    spec = dn.GRR(domain=DRINKS, epsilon=1.0)
    survey = dn.Survey((Question(name="drink", spec=spec),))
    result = survey.run(CROWD["drink"], source=ReplaySource.from_key("plain"))["drink"]
    direct = spec.estimate(spec.tally(spec.privatize(CROWD["drink"], source=ReplaySource.from_key("plain"))))
    assert result.counts.tolist() == direct.counts.tolist()


def test_each_person_answers_one_question():
    seen = []
    result = SURVEY.run(CROWD, source=ReplaySource.from_key("three"), progress=lambda done, total: seen.append((done, total)))
    assert sum(estimate.n for estimate in result.values()) == PEOPLE
    assert all(abs(estimate.n - 10_000) < 5 * (PEOPLE * 2 / 9) ** 0.5 for estimate in result.values())
    assert seen[-1] == (PEOPLE, PEOPLE)
    assert seen == sorted(seen)
    assert result["drink"].frequencies == pytest.approx([1 / 2, 1 / 3, 1 / 6], abs=5 * float(result["drink"].frequency_stderr.max()))
    assert result["smoker"].frequencies[1] == pytest.approx(1 / 4, abs=5 * float(result["smoker"].frequency_stderr[1]))
    assert abs(result["age"].counts[:2].sum()) < 8 * float(result["age"].stderr[0])  # nobody is 18 or 19


@pytest.mark.parametrize("table", [pl.DataFrame, pa.table], ids=["polars", "arrow"])
def test_tables_are_mappings_of_columns(table):
    crowd = table({"drink": CROWD["drink"], "age": CROWD["age"], "smoker": CROWD["smoker"]})
    result = SURVEY.run(crowd, source=ReplaySource.from_key("three"))
    assert result["drink"].counts.tolist() == SURVEY.run(CROWD, source=ReplaySource.from_key("three"))["drink"].counts.tolist()


def test_pandas_like_columns_are_taken_by_position():
    """A column whose labels are not its positions: one person must answer one question, whatever the labels say."""

    class Positions:
        def __init__(self, values):
            self.values = values

        def __getitem__(self, positions):
            return Positions(self.values[positions])

        def __array__(self, dtype=None, copy=None):
            return self.values

    class Labeled(Positions):
        @property
        def iloc(self):
            return Positions(self.values)

        def __len__(self):
            return len(self.values)

        def __getitem__(self, labels):
            raise KeyError("by label")

    result = dn.Survey.of(age=SURVEY.questions[1].spec).run({"age": Labeled(CROWD["age"])})
    assert result["age"].n == PEOPLE


def test_the_split_is_the_draw_that_a_device_makes():
    tickets = draw_tickets(TWO_THIRDS, 5000, ReplaySource.from_key("split"))
    source = ReplaySource.from_key("split")
    drawn = [TWO_THIRDS.ticket(source) for _ in range(5000)]
    assert drawn == tickets.tolist()
    names = Counter(getattr(TWO_THIRDS.question(ticket), "name", None) for ticket in drawn)
    tallies = ask(TWO_THIRDS, np.zeros(5000, dtype=int), tickets)
    assert {name: tally.n for name, tally in tallies.items()} == {"a": names["a"], "b": names["b"]}
    assert names[None] > 1000  # a third of the people are not asked


def test_shares_are_exact():
    law = law_of(lambda source: getattr(TWO_THIRDS.question(TWO_THIRDS.ticket(source)), "name", None))
    assert law == type(law)({"a": Fraction(1, 2), "b": Fraction(1, 6), None: Fraction(1, 3)})


def test_a_single_question_draws_nothing_to_be_chosen():
    assert (SURVEY.scale, SURVEY.open().edges(SURVEY.scale)) == (3, (0, 1, 2, 3))
    one = dn.Survey((Question(name="a", spec=dn.RR(epsilon=1.0)),))
    assert one.question(one.ticket(ReplaySource([]))).name == "a"


def test_encoder_and_spec_are_audited_jointly():
    """The law of the whole answer, choice of question included, still keeps epsilon between any two records."""
    survey = dn.Survey.of(drink=dn.GRR(domain=DRINKS, epsilon=1.0), smoker=dn.RR(epsilon=1.0))

    def answer(record, source):
        question = survey.question(survey.ticket(source))
        return question.name, question.answer(record, source)

    records = [{"drink": drink, "smoker": smoker} for drink in DRINKS.labels for smoker in (0, 1)]
    laws = [law_of(lambda source, record=record: answer(record, source)) for record in records]
    assert all(law.total == 1 for law in laws)
    worst = max(a.ratio(b) for a in laws for b in laws)
    assert worst == max(question.spec.ratio for question in survey.questions)


def test_a_survey_survives_json():
    assert protocol_from_json(SURVEY.canonical) == SURVEY
    for bad in (
        b"{}",
        SURVEY.canonical[:-1],
        SURVEY.canonical.replace(b"1/3", b"2/6"),
        SURVEY.canonical.replace(b"Attribute", b"Import"),
        SURVEY.canonical.replace(b"1/3", b"1/2"),
    ):
        with pytest.raises(WireError):
            protocol_from_json(bad)
    unnamed = SURVEY.canonical.replace(b'"name":"drink","share"', b'"name":7,"share"')
    assert unnamed != SURVEY.canonical
    with pytest.raises(WireError):
        protocol_from_json(unnamed)
    for encoder in (Identity(), Attribute("drink")):
        assert encoder_from_json(encoder.to_json()) == encoder


def test_guarantee_of_a_survey_is_its_largest_epsilon():
    assert SURVEY.guarantee.epsilon == 1.0
    assert "one question" in SURVEY.guarantee.statement()


def test_reports_that_are_tallied_together_are_those_of_all_chunks(monkeypatch):
    """Draws do not depend on how many are tallied at a time."""
    found = []
    for together in (1, 5000, 1 << 26):
        monkeypatch.setattr(run, "CHUNK", 1000)
        monkeypatch.setattr(run, "BYTES", together)
        tallies = ask(SURVEY, CROWD, source=ReplaySource.from_key("chunks"))
        found.append({name: tally.to_bytes() for name, tally in tallies.items()})
    assert found[0] == found[1] == found[2]


def test_everyone_is_asked_in_chunks(monkeypatch):
    monkeypatch.setattr(run, "CHUNK", 1000)
    seen = []
    tallies = ask(SURVEY, CROWD, progress=lambda done, total: seen.append(done))
    assert sum(tally.n for tally in tallies.values()) == PEOPLE
    assert len(seen) >= PEOPLE / 1000
    assert max(np.diff([0, *seen])) <= 1000
    for people in (999, 1000, 2000):
        assert ask(dn.Survey.of(smoker=dn.RR(epsilon=0.5)), {"smoker": [1] * people})["smoker"].n == people


def test_questions_about_open_domains_name_their_candidates():
    spec = dn.OLH(domain=dn.Text(16), epsilon=3.0)
    survey = dn.Survey((Question(name="word", spec=spec, candidates=["tea", "日本", "mate"]),))
    estimate = survey.run(["tea"] * 3000 + ["日本"] * 1000, source=ReplaySource.from_key("words"))["word"]
    assert list(estimate.values) == ["tea", "日本", "mate"]
    assert np.all(np.abs(estimate.counts - [3000, 1000, 0]) < 5 * estimate.stderr)
    assert protocol_from_json(survey.canonical) == survey
    stored = {name: dn.Tally.from_bytes(tally.to_bytes()) for name, tally in ask(survey, ["tea"] * 50).items()}
    assert list(survey.close(stored)["word"].values) == ["tea", "日本", "mate"]
    some = dn.Survey((Question(name="drink", spec=dn.GRR(domain=DRINKS, epsilon=1.0), candidates=["water", "tea"]),))
    assert list(some.run(CROWD["drink"])["drink"].values) == ["water", "tea"]


def test_an_empty_crowd_is_allowed():
    assert all(estimate.n == 0 for estimate in SURVEY.run({"drink": [], "age": [], "smoker": []}).values())
