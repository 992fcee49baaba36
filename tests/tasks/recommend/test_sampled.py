"""Matrix factorization by rounds: devices and crowds work out the same, what is learned beats the items' means, and everybody answers."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import deniable as dn
from deniable.contract.probability import exp_below
from deniable.contract.protocol import protocol_from_json
from deniable.contract.question import Question
from deniable.contract.ratings import ONE, HeldRating, Rated, RatingGradient
from deniable.contract.task import OpenedRound
from deniable.core.ratings import own_numbers, ratings_of
from deniable.core.run import ask
from deniable.errors import DomainError, ParameterError, ProtocolError, WireError
from deniable.tasks.recommend import Ratings, SampledFactorization
from deniable.tasks.recommend.recommender import own_factors
from deniable.testing import ReplaySource, law_of
from tests.client.fake import Device, FakeCollector, rounds_task
from tests.tasks.recommend.test_factorization import crowd, rmse_of_means

FILMS = Rated(6, dn.Numbers(1, 5, steps=2 * ONE))
DRAWS = np.random.default_rng(5)
PEOPLE = [
    {int(item): float(DRAWS.integers(2, 11)) / 2 for item in DRAWS.choice(6, DRAWS.integers(0, 7), replace=False)} for _ in range(120)
]
STEEP = tuple(tuple(map(int, row)) for row in DRAWS.integers(-8192, 8193, (6, 4)))
GENTLE = tuple(tuple(map(int, row)) for row in DRAWS.integers(-1024, 1025, (6, 3)))


def fit(**options):
    return SampledFactorization(**{"items": 6, "low": 1, "high": 5, "epsilon": 4.0, "rounds": 2, "people": 600} | options)


# --- what a device works out ---


@pytest.mark.parametrize("model", [STEEP, GENTLE], ids=["steep", "gentle"])
@pytest.mark.parametrize("clip", [0, 3])
def test_a_device_works_out_what_the_crowd_does(model, clip):
    for item in (0, 5):
        for encoder in (HeldRating(FILMS, item), *(RatingGradient(FILMS, item, model, k, clip) for k in range(len(model[0])))):
            assert np.asarray(encoder.column(PEOPLE)).tolist() == [encoder.encode(held, None) for held in PEOPLE]


def test_own_numbers_are_those_of_ridge_regression():
    rated, scaled = ratings_of(FILMS, PEOPLE).dense(slice(0, len(PEOPLE)))
    own, errors = own_numbers(np.array(GENTLE), rated, np.rint(scaled * ONE).astype(int))
    exact = own_factors(np.array(GENTLE) / ONE, rated, scaled, 0.3)
    assert np.abs(own / ONE - exact).max() < 0.005  # integers are rounded down, and sweeps come to an end
    assert (errors[~rated] == 0).all()


@pytest.mark.parametrize("held", [7, [5, 4], {6: 1}, {0: 5.5}, {-1: 3}, {True: 3}, {0: "5"}, {0: 1, "0": 1}, {"00": 1}, {0: None}])
def test_what_is_no_rating_is_refused_wherever_it_comes(held):
    with pytest.raises(DomainError, match="a mapping of items, from 0 to 5"):
        FILMS.points(held)
    with pytest.raises(DomainError, match=r"values\[1\]"):
        fit().run([{}, held])


MAPS = pa.map_(pa.int64(), pa.float64())


@pytest.mark.parametrize(
    "column",
    [
        pa.array(PEOPLE, MAPS),
        pa.chunked_array([pa.array(PEOPLE[:50], MAPS), pa.array(PEOPLE[50:], MAPS)]),
        pa.array([None, *PEOPLE], MAPS)[1:],
        pl.from_arrow(pa.table({"held": pa.array(PEOPLE, MAPS)}))["held"],
    ],
    ids=["Arrow", "chunks", "a slice", "Polars"],
)
def test_a_column_of_maps_holds_what_a_list_of_mappings_holds(column):
    read, listed = ratings_of(FILMS, column), ratings_of(FILMS, PEOPLE)
    assert all(np.array_equal(getattr(read, name), getattr(listed, name)) for name in ("starts", "items", "values"))


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array([{}, {6: 1}], MAPS), r"values\[1\].*from 0 to 5"),
        (pa.array([{}, {-1: 3}], MAPS), r"values\[1\].*from 0 to 5"),
        (pa.array([{}, {0: 5.5}], MAPS), r"values\[1\].*a mapping of items"),
        (pa.array([{}, {0: float("nan")}], MAPS), r"values\[1\].*a mapping of items"),
        (pa.array([{}, {0: None}], MAPS), r"values\[1\].*a mapping of items"),
        (pa.array([[], [(2, 1.0), (0, 2.0), (2, 3.0)]], MAPS), r"values\[1\].*a mapping of items"),
        (pa.array([{}, None], MAPS), r"values\[1\]: got None.*an empty map"),
        (pa.array([{}, {"0": 1.0}], pa.map_(pa.string(), pa.float64())), "map each person's items to ratings"),
        (pa.array([{}, {0: True}], pa.map_(pa.int64(), pa.bool_())), "map each person's items to ratings"),
        (pa.array([1.0, 2.0]), "map each person's items to ratings"),
    ],
    ids=["item", "below 0", "rating", "NaN", "no rating", "twice", "no answer", "names", "yes", "numbers"],
)
def test_what_is_no_rating_is_refused_in_a_column(column, words):
    with pytest.raises(DomainError, match=words):
        fit().run(column)


# --- rounds ---


def test_hidden_ratings_are_foretold_better_than_by_the_items_means():
    known, hidden = crowd(40_000)
    found = fit(items=12, rounds=10, epsilon=8.0, people=40_000).run(known, source=ReplaySource.from_key("sampled"))
    assert found.rmse(known, hidden) < 0.97 * rmse_of_means(known, hidden)


def test_too_few_people_are_told_by_the_error():
    known, _ = crowd(100)
    found = fit(items=12, epsilon=1.0, people=100).run(known, source=ReplaySource.from_key("few"))
    assert np.median(found.prediction_stderr(known)) > 2


def test_one_step_is_unbiased_with_the_stated_error():
    """One round, 30 times: the moved numbers less the exact step, over their errors; errors that are a third too small are rejected."""
    state = protocol_from_json(fit(rounds=1, clip=0, epsilon=8.0).canonical)
    state = state.learned(stage=1, popularity=(0.5,) * 6)
    people = PEOPLE * 5
    questions = [question.encoder for question in state.open().questions]
    exact = np.array([np.asarray(encoder.column(people)).mean() / (1 << 26) for encoder in questions]).reshape(6, 2)
    start, z = np.array(state.state.model) / ONE, []
    for run in range(30):
        tickets = ReplaySource.from_key(f"tickets {run}")
        found = state.close(ask(state, people, np.array([12 + tickets.below(12) for _ in people]), source=tickets))
        z.append((found.items - start - 4.0 * exact) / np.sqrt(found.noise))
    z = np.array(z)
    assert np.abs(z.mean(axis=0)).max() < 5.6 / np.sqrt(30)
    assert 0.5 < (z**2).mean() < 1.4


def test_a_crowd_is_ratings_or_what_each_person_holds():
    rows = [(person, item, rating) for person, held in enumerate(PEOPLE) for item, rating in held.items()]
    columns = Ratings.of(*zip(*rows, strict=True), shape=(len(PEOPLE), 6), low=1, high=5)
    one, other = (fit().run(given, source=ReplaySource.from_key("crowd")) for given in (columns, PEOPLE))
    assert one.items.tolist() == other.items.tolist()
    assert (one.n, one.guarantee) == (len(PEOPLE), fit().guarantee)
    for wrong in (Ratings.of([], [], [], shape=(2, 5), low=1, high=5), Ratings.of([], [], [], shape=(2, 6), low=0, high=5), 7):
        with pytest.raises(DomainError):
            fit().run(wrong)
    nobody = fit().run([])
    assert nobody.n == 0
    assert np.isinf(nobody.stderr).all()


def test_every_state_is_written_and_read():
    state = fit()
    while isinstance(state, SampledFactorization):
        again = protocol_from_json(state.canonical)
        assert (again, again.open()) == (state, state.open())
        assert (again.scale, again.guarantee) == (36, state.guarantee)
        state = state.close(ask(state, PEOPLE, source=ReplaySource.from_key("walk")))
    content = json.loads(fit().canonical)
    wrong = [{"model": [[0, 0]] * 5}, {"model": [[0, 9000]] * 6}, {"popularity": ["0.0"] * 6}, {"noise": [["-1.0", "0.0"]] * 6}]
    for change in (*wrong, {"stage": 3}):
        with pytest.raises(WireError):
            protocol_from_json(json.dumps(content | change, sort_keys=True, separators=(",", ":")).encode())


@pytest.mark.parametrize(
    ("settings", "parameter"),
    [
        ({"items": 1}, "items"),
        ({"items": 300}, "items"),
        ({"rank": -1}, "rank"),
        ({"rank": 17}, "rank"),
        ({"rounds": 0}, "rounds"),
        ({"low": 5}, "low, high"),
        ({"clip": 9}, "clip"),
        ({"epsilon": 0.0}, "epsilon"),
    ],
)
def test_settings_that_nobody_can_answer_are_refused(settings, parameter):
    with pytest.raises(ParameterError) as caught:
        fit(**settings)
    assert caught.value.parameter == parameter


# --- on a device ---


def device(question, value):
    """What a device that agreed to ``fit()`` does with a question, whatever the collector opened."""
    task = rounds_task(protocol=fit().canonical, epsilon=4.0)
    collector = FakeCollector(task)
    asked = replace(fit().open(), questions=(replace(question, share=fit().open().questions[0].share * 18),))
    collector.rounds[task.id.hex()] = OpenedRound(task=task.id, number=0, scale=1, round=asked, state=bytes(32))
    return Device(collector, task, source=ReplaySource.from_key("device")).report(value)


def asked_later():
    return fit().learned(stage=1).open().questions[3]


HELD = [{}, {1: 5}, {0: 1, 5: 4.5}, dict.fromkeys(range(6), 3)]


def test_everybody_answers_whatever_they_rated():
    for question in (fit().open().questions[0], asked_later()):
        assert {device(question, held).state for held in HELD} == {"sent"}


def test_a_device_refuses_what_singles_out_or_costs_more_whatever_it_holds():
    """Twins: another scale, a mechanism without room for a large gradient, and more epsilon than people agreed to."""
    question = asked_later()
    narrow = replace(question.encoder, domain=Rated(6, dn.Numbers(1, 4, steps=2 * ONE)))
    small, dear = dn.Duchi(low=-1000, high=1000, epsilon=4.0), replace(question.spec, epsilon=4.5)
    for twin in (replace(question, encoder=narrow), replace(question, spec=small), replace(question, spec=dear)):
        for held in HELD:
            with pytest.raises(ProtocolError, match="do not answer it"):
                device(twin, held)


def test_the_law_of_a_report_keeps_epsilon_for_any_two_sets_of_ratings():
    """Exactly, encoder and mechanism together: whether an item was rated, and a coarse gradient."""
    spec = dn.Duchi(low=-(1 << 26), high=1 << 26, steps=2, epsilon=1.0)
    coarse = Question(name="gradient", spec=spec, encoder=RatingGradient(FILMS, 0, STEEP, 1))
    for question in (fit(epsilon=1.0).open().questions[0], coarse):
        laws = [law_of(partial(question.answer, held)) for held in (*HELD, *PEOPLE[:12])]
        worst = max(one.ratio(other) for one in laws for other in laws)
        assert 1 < worst <= exp_below(1.0)
