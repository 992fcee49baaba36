"""Matrix factorization by private gradients: what is sent is bounded, what is learned beats the items' means, the noise is as stated."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from deniable.contract.protocol import protocol_from_json
from deniable.errors import DomainError, ParameterError, ProtocolError
from deniable.lab.ratings import RatingCrowd, RatingPrediction
from deniable.tasks.recommend import MatrixFactorization, Ratings
from deniable.tasks.recommend.recommender import item_gradients
from deniable.testing import ReplaySource

ITEMS = 12


def crowd(n, key="crowd"):
    return RatingCrowd(items=ITEMS, rated=10).draw(n, ReplaySource.from_key(key))


def fit(epsilon, **options):
    return MatrixFactorization(items=ITEMS, epsilon=epsilon, rated=20, **options)


def rmse_of_means(known, hidden):
    outcome = RatingPrediction("item means", "means").run(None, (known, hidden), None)
    return np.sqrt(np.mean((outcome.counts - outcome.truth) ** 2))


def test_hidden_ratings_are_foretold_better_than_by_the_items_means():
    known, hidden = crowd(12_000)
    plain, private = (fit(epsilon).run(known, source=ReplaySource.from_key("fit")).rmse(known, hidden) for epsilon in (None, 8.0))
    assert max(plain, private) < 0.95 * rmse_of_means(known, hidden)  # ten rounds limit both more than the noise does


def test_too_few_people_are_told_by_the_error():
    """A hundred people at epsilon 1: the stated error is wider than the scale, and so is the real one."""
    known, hidden = crowd(100)
    found = fit(1.0).run(known, source=ReplaySource.from_key("few"))
    assert np.median(found.prediction_stderr(known)) > 2
    assert found.rmse(known, hidden) > rmse_of_means(known, hidden)


def test_the_noise_of_one_round_is_as_stated():
    """One round, 40 times: the measured variance of all numbers over the stated one, five standard deviations of that ratio allowed.

    Who is in which group is chance as well. Rows no longer than 1 have a variance of at most 1 / 48 in each of 48 numbers, on average,
    next to the mechanism's 1 / m^2 = 0.133.
    """
    known, _ = crowd(600)
    fits = [fit(8.0, rounds=1).run(known, source=ReplaySource.from_key(f"noise {i}")) for i in range(40)]
    items = np.array([found.items for found in fits])
    noise = np.mean([found.noise for found in fits], axis=0)
    ratio = np.mean(items.var(axis=0, ddof=1) / noise)
    spread = 5 * np.sqrt(2 / (39 * items[0].size))
    assert 1 - spread < ratio < (1 + 1 / 48 / 0.133) * (1 + spread)


def test_popularity_is_estimated_without_bias():
    known, _ = crowd(20_000)
    protocol = fit(8.0)
    model = protocol.first_model()
    mean, noise = protocol._asked(model, known, ReplaySource.from_key("popular"))
    share = np.bincount(known.items, minlength=ITEMS) / len(known)
    assert np.all(np.abs(mean * np.sqrt(20) - share) < 5.5 * np.sqrt(20 * noise))
    assert np.sqrt(20 * noise.max()) < 0.03  # so that a wrong scale would be seen


@pytest.mark.parametrize("extreme", ["nothing", "all worst", "all best", "one"])
def test_no_gradient_is_longer_than_its_radius(extreme):
    rated = {"nothing": [], "one": [3]}.get(extreme, range(ITEMS))
    ratings = Ratings.of([0] * len(rated), list(rated), [1 if "worst" in extreme else 5] * len(rated), shape=(1, ITEMS), low=1, high=5)
    protocol = fit(4.0, radius=0.25)
    model = protocol.first_model()
    model = type(model)(1, model.items * 100, model.popularity, model.noise)
    (row,) = item_gradients(model.items, *ratings.dense(slice(0, 1)), 0.3, 0.25)
    assert np.linalg.norm(row) <= 0.25 * (1 + 1e-12)
    report = protocol.answer(model, ratings, ReplaySource.from_key(extreme))  # whoever rated nothing reports like everybody else
    assert len(protocol.gradient.encode(report)) == 2 * protocol.gradient.dimension


def test_a_device_that_does_not_shorten_is_refused():
    """The twin that would send more than its epsilon allows."""
    with pytest.raises(DomainError, match="at most 1 long"):
        fit(4.0).gradient.privatize(np.full((1, ITEMS * 4), 0.5))


@pytest.mark.parametrize("bad", [np.inf, np.nan, 1e308, 101.0])
@pytest.mark.parametrize("rated", [[7], [2, 3], []])
def test_a_model_that_nobody_fitted_is_refused_whoever_rated_what(bad, rated):
    """A collector that makes devices fail by what they rated would learn it from who stays silent."""
    ratings = Ratings.of([0] * len(rated), rated, [4] * len(rated), shape=(1, ITEMS), low=1, high=5)
    protocol = fit(4.0)
    start = protocol.first_model()
    items = start.items.copy()
    items[7, 0] = bad
    for model in (type(start)(1, items, *(start.popularity, start.noise)), type(start)(1, start.items[:7], start.popularity, start.noise)):
        with pytest.raises(ProtocolError, match="do not answer"):
            protocol.answer(model, ratings)


def test_one_device_and_many_send_the_same():
    known, _ = crowd(1)
    protocol, one, many = fit(4.0), ReplaySource.from_key("same"), ReplaySource.from_key("same")
    model = protocol.first_model()
    report = protocol.answer(model, known, one)
    (row,) = protocol.popularity.privatize(protocol._rows(model, known, slice(0, 1)), source=many).rows()
    assert protocol.popularity.encode(report) == row.tobytes()


def test_people_without_ratings_get_the_items_goodness():
    known, _ = crowd(500)
    found = fit(None).run(known)
    nobody = Ratings.of([], [], [], shape=(2, ITEMS), low=1, high=5)
    predicted = found.predict(nobody)
    assert np.allclose(predicted, np.clip(3 + 2 * found.items[:, 0], 1, 5))
    assert found.recommend(nobody, 3)[0].tolist() == np.argsort(-predicted[0], kind="stable")[:3].tolist()
    with pytest.raises(DomainError, match="one rating or more"):
        found.rmse(nobody, nobody)


def test_what_was_rated_is_not_recommended():
    known, _ = crowd(300)
    found = fit(None).run(known)
    best = found.recommend(known, ITEMS)
    for person in range(5):
        own = set(known.items[known.people == person].tolist())
        assert set(best[person].tolist()) - {-1} == set(range(ITEMS)) - own


def test_sparse_matrices_are_ratings_too():
    matrix = sparse.csr_array(np.array([[5, 0, 2], [0, 0, 0]]))
    ratings = Ratings.from_sparse(matrix, low=1, high=5)
    assert repr(ratings) == "2 ratings from 1 to 5, of 3 items, by 2 people"
    assert ratings.original(ratings.values).tolist() == [5, 2]


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (([0], [3], [6]), r"values\[0\].*ratings from 1 to 5"),
        (([0], [ITEMS], [3]), r"items\[0\].*numbers from 0 to 11"),
        (([4], [0], [3]), r"people\[0\].*numbers from 0 to 3"),
        (([0, 1, 0], [2, 2, 2], [3, 4, 4]), r"items\[2\].*one rating of an item"),
        (([0, 0], [2], [3, 4]), "one length"),
        (([0.5], [2], [3]), "numbers from 0 on"),
        (([0], [2], [float("nan")]), "ratings from 1 to 5"),
    ],
)
def test_bad_ratings_are_named(columns, words):
    with pytest.raises(DomainError, match=words):
        Ratings.of(*columns, shape=(4, ITEMS), low=1, high=5)


def test_what_is_written_is_read_back_and_runs_alike():
    protocol, (known, _), seen = fit(4.0, rounds=2, radius=2), crowd(200), []
    again = protocol_from_json(protocol.canonical)
    assert (again, again.guarantee, again.canonical) == (protocol, protocol.guarantee, protocol.canonical)
    found = protocol.run(known, source=ReplaySource.from_key("again"), progress=lambda *steps: seen.append(steps))
    assert found.point.tolist() == again.run(known, source=ReplaySource.from_key("again")).point.tolist()
    assert (found.guarantee, seen) == (protocol.guarantee, [(1, 3), (2, 3), (3, 3)])
    exact = fit(None)
    assert protocol_from_json(exact.canonical) == exact
    assert b"epsilon" not in exact.canonical


def test_no_round_asks_for_whole_gradients():
    protocol = fit(4.0)
    for refused in (protocol.open, lambda: protocol.close({})):
        with pytest.raises(ProtocolError, match="it needs devices with the analyst's packages"):
            refused()


def test_bad_parameters_are_named():
    for options, name in (({"rank": -1}, "rank"), ({"rounds": 0}, "rounds"), ({"radius": 0}, "radius"), ({"epsilon": -1.0}, "epsilon")):
        with pytest.raises(ParameterError, match=name):
            MatrixFactorization(**({"items": ITEMS, "epsilon": 1.0} | options))
    with pytest.raises(ParameterError, match="items x"):
        MatrixFactorization(items=10_000, epsilon=1.0)
    with pytest.raises(DomainError, match="Ratings of 12 items"):
        fit(1.0).run(np.eye(3))


def test_a_scale_too_wide_for_floats_is_refused():
    with pytest.raises(ParameterError, match="low: got"):
        Ratings.of([0], [0], [3], shape=(1, 2), low=-1.7e308, high=1.7e308)
