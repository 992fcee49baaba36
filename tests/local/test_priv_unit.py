"""PrivUnit: check values, the ratio that the proof rests on, support, bias and variance; and twins that must be rejected.

Statistical tests reject at alpha = 1e-6.
"""

from __future__ import annotations

from math import erfc, exp, sqrt

import numpy as np
import pytest
from scipy import special, stats

import deniable as dn
from deniable.contract.registry import FLOATING
from deniable.contract.spec import MECHANISMS, spec_from_json
from deniable.core.reports import Reports
from deniable.core.tally import Tally
from deniable.core.vector import vector_of_means
from deniable.errors import DomainError, MergeError, ParameterError, WireError
from deniable.kernels.directions import normal_quantile
from deniable.local.vector.caps import best_cap, gaussian_cap, sphere_cap
from deniable.local.vector.priv_unit import MIDDLE, RESOLUTION
from deniable.local.vector.sampling import noisy_points, words_of
from deniable.testing import ReplaySource

SIGMAS = 4.892
EPSILONS = (0.01, 1.0, 4.0, 12.0, 29.0)


def directions(count, dimension, key="directions"):
    words = np.array(ReplaySource.from_key(key).words(count * dimension), dtype=np.uint64).reshape(count, dimension)
    normal = special.ndtri(((words >> np.uint64(12)) + 0.5) * 2.0**-52)
    return normal / np.linalg.norm(normal, axis=1, keepdims=True)


# --- check values ---


@pytest.mark.parametrize(
    ("epsilon", "p", "gamma", "error"),
    [(1.0, 0.58933, 0.39746, 6.3300), (2.0, 0.67032, 0.78648, 1.61668), (4.0, 0.79095, 1.51564, 0.43532), (8.0, 0.90102, 2.74294, 0.13291)],
)
def test_check_values_of_the_gaussian_form(epsilon, p, gamma, error):
    spec = dn.PrivUnit(dimension=10, epsilon=epsilon)
    assert (spec.cap.p, spec.cap.gamma, spec.cap.m) == pytest.approx((p, gamma, gamma), abs=1e-5)
    assert spec.variance(n=1) / 10 == pytest.approx(error, abs=6e-5)


@pytest.mark.parametrize(("epsilon", "gamma", "square"), [(4.0, 0.047913, 435.603), (8.0, 0.086598, 133.347)])
def test_check_values_on_the_sphere(epsilon, gamma, square):
    """The bound for any mechanism; the Gaussian form is within 3 parts in a thousand at 1000 dimensions."""
    cap = best_cap(lambda p: sphere_cap(p, epsilon, 1000))
    assert (cap.gamma, cap.m) == pytest.approx((gamma, gamma), abs=1e-6)
    assert 1 / cap.m**2 == pytest.approx(square, rel=1e-5)
    ours = dn.PrivUnit(dimension=1000, epsilon=epsilon).variance(n=1) + 1  # E|V|^2 of vectors of length 1
    assert square < ours < 1.005 * square


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_two_densities_keep_epsilon(epsilon):
    """The factor by which the density inside exceeds that outside, from p and gamma alone, computed another way."""
    cap = dn.PrivUnit(dimension=3, epsilon=epsilon).cap
    inside, outside = cap.p / stats.norm.sf(cap.gamma), (1 - cap.p) / stats.norm.cdf(cap.gamma)
    assert epsilon - 1e-6 * max(epsilon, 0.1) < np.log(inside / outside) <= epsilon
    assert dn.PrivUnit(dimension=3, epsilon=epsilon).effective_epsilon <= epsilon


def test_half_spaces_are_the_cap_at_zero():
    """PrivHS (Duchi's mechanism on the sphere): p = e / (1 + e) leaves gamma = 0. Its check value, ten times PrivUnit's at epsilon 8."""
    cap = sphere_cap(exp(8.0) / (1 + exp(8.0)), 8.0, 1000)
    assert abs(cap.gamma) < 1e-9
    assert 1 / cap.m**2 == pytest.approx(1572.119259474455, rel=1e-5)


# --- what is sent ---


def test_normal_numbers_are_those_of_scipy():
    shares = np.concatenate([np.linspace(1e-6, 1 - 1e-6, 2001), 10.0 ** -np.arange(1, 300, 7), 1 - 10.0 ** -np.arange(1, 16)])
    assert [normal_quantile(share) for share in shares] == pytest.approx(special.ndtri(shares), rel=1e-14, abs=1e-17)


def test_the_component_along_the_vector_has_the_stated_density():
    """In bins by probability: above and below gamma, each part has the normal law's shape. A twin of another epsilon is rejected."""
    spec, n = dn.PrivUnit(dimension=4, epsilon=2.0), 200_000
    x = directions(1, 4)[0]
    sent = spec.privatize(np.repeat(x[None, :], n, axis=0), source=ReplaySource.from_key("density"))
    along = (sent.columns["point"].astype(float) - MIDDLE) / RESOLUTION @ x
    cap = spec.cap
    edges = stats.norm.ppf(np.concatenate([np.linspace(0, cap.q, 21), np.linspace(cap.q, 1, 11)[1:]]))
    observed = np.histogram(along, edges)[0]

    def p_value(claimed):
        expected = n * np.concatenate([np.full(20, (1 - claimed.p) / 20), np.full(10, claimed.p / 10)])
        return stats.chisquare(observed, expected).pvalue

    assert p_value(cap) > 1e-6
    assert p_value(gaussian_cap(cap.p * 1.02, 2.0)) < 1e-6


def test_across_the_vector_there_is_plain_noise():
    """And independent of the component along it: all of the covariance, in standard deviations."""
    spec, n = dn.PrivUnit(dimension=6, epsilon=4.0), 100_000
    x = directions(1, 6)[0]
    sent = spec.privatize(np.repeat(x[None, :], n, axis=0), source=ReplaySource.from_key("across"))
    noisy = (sent.columns["point"].astype(float) - MIDDLE) / RESOLUTION
    basis = np.linalg.qr(np.column_stack([x, np.eye(6)[:, 1:]]))[0]
    turned = noisy @ (basis * np.sign(basis[:, 0] @ x))
    turned[:, 0] -= spec.cap.m
    covariance = turned.T @ turned / n - np.diag([spec.spread, *[1.0] * 5])
    assert np.abs(covariance).max() < SIGMAS * sqrt(3 / n)
    assert np.abs(turned.mean(axis=0)).max() < SIGMAS / sqrt(n)


def test_rare_words_give_no_other_support():
    """The extreme words, in every combination of coin and component: nothing infinite, nothing beyond the cap's side."""
    for epsilon in EPSILONS:
        spec = dn.PrivUnit(dimension=2, epsilon=epsilon)
        extreme = np.array([0, 2**64 - 1, 2**63, spec.thresholds["keep"] - 1, spec.thresholds["keep"]], dtype=np.uint64)
        grid = np.array(np.meshgrid(*[extreme] * words_of(spec))).reshape(words_of(spec), -1).T
        x = np.array([[1.0, 0.0]])
        points = noisy_points(spec, np.repeat(x, len(grid), axis=0), grid)
        along = (points[:, 0].astype(float) - MIDDLE) / RESOLUTION
        kept = grid[:, 0] < spec.thresholds["keep"]
        assert along[kept].min() >= spec.cap.gamma - 1 / RESOLUTION
        assert along[~kept].max() <= spec.cap.gamma + 1 / RESOLUTION
        assert np.abs(along).max() < 12  # 52 bits reach no further: far from the ends of the grid
        assert kept.any()
        assert not kept.all()


@pytest.mark.parametrize(("dimension", "epsilon"), [(2, 1.0), (30, 4.0), (257, 8.0)])
def test_unbiased_with_the_stated_variance(dimension, epsilon):
    """Vectors inside the ball, on it and at its center. A twin with 0.9 of the noise's variance is rejected."""
    n, groups = 200, -(-20_000 // dimension)
    spec = dn.PrivUnit(dimension=dimension, epsilon=epsilon, radius=3.0)
    people = 3 * directions(n, dimension) * (np.arange(n) % 3 / 2)[:, None]
    sent = spec.privatize(np.tile(people, (groups, 1)), source=ReplaySource.from_key("honest")).columns["point"]
    found = [spec.estimate(spec.tally(Reports(spec, n, {"point": part}))) for part in np.split(sent, groups)]
    z, cells = np.array([(estimate.point - people.mean(axis=0)) / estimate.stderr for estimate in found]), groups * dimension
    assert np.abs(z.mean(axis=0)).max() * sqrt(groups) < SIGMAS + 1
    assert abs((z**2).mean() - 1) < SIGMAS * sqrt(2 / cells)
    assert abs((0.9 * z**2).mean() - 1) > SIGMAS * sqrt(2 / cells)


def test_a_bolder_twin_is_rejected():
    """An epsilon 5 % larger lengthens the estimate by 4 %; the test sees 1 %."""
    spec, bolder = (dn.PrivUnit(dimension=8, epsilon=e) for e in (4.0, 4.2))
    x, n = directions(1, 8)[0], 200_000
    people = np.repeat(x[None, :], n, axis=0)
    z = []
    for shipped in (spec, bolder):
        sent = shipped.privatize(people, source=ReplaySource.from_key("bolder")).columns["point"]
        found = spec.estimate(spec.tally(Reports(spec, n, {"point": sent})))
        z.append((found.point @ x - 1) / found.stderr[0])
    assert abs(z[0]) < SIGMAS < z[1]


# --- the manner of the family ---


def test_scalar_and_bulk_agree_word_by_word():
    spec = dn.PrivUnit(dimension=40, epsilon=3.0)
    people = 0.7 * directions(2000, 40)
    source, bulk = (ReplaySource.from_key("both") for _ in range(2))
    reports = spec.privatize(people, source=bulk)
    one_by_one = [spec.randomize(person, source) for person in people[:60]]
    assert [reports[i] for i in range(60)] == one_by_one
    assert bulk.consumed == 2000 * words_of(spec)
    assert spec.tally(one_by_one) + spec.tally(Reports.from_rows(spec, reports.rows()[60:].tobytes())) == spec.tally(reports)


def test_specs_reports_and_tallies_travel():
    spec = dn.PrivUnit(dimension=5, epsilon=1.0, radius=2)
    assert spec_from_json(spec.canonical) == spec
    assert set(FLOATING) == {"PrivUnit", "ProjUnit"}
    assert not set(FLOATING) & set(MECHANISMS)  # no device without the analyst's packages is asked for it
    reports = spec.privatize(np.zeros((9, 5)))
    tally = spec.tally(reports)
    assert Reports.from_bytes(reports.to_bytes()) == reports
    assert Tally.from_bytes(tally.to_bytes()) == tally
    assert repr(spec) == "PrivUnit(dimension=5, radius=2.0, epsilon=1.0)"
    with pytest.raises(WireError):
        spec_from_json(spec.canonical.replace(b'"radius":"2.0"', b'"radius":"2.00"'))
    with pytest.raises(MergeError, match="dimension"):
        spec.estimate(dn.PrivUnit(dimension=6, epsilon=1.0).tally([]))


def test_the_promise_says_that_it_is_floating_point():
    spec = dn.PrivUnit(dimension=5, epsilon=1.0)
    assert "floating point" in spec.guarantee.certificate
    with pytest.raises(ParameterError, match="exact law"):
        spec.law(np.zeros(5))


def test_the_estimate_is_one_of_the_family():
    spec = dn.PrivUnit(dimension=30, epsilon=8.0)
    people = np.zeros((5000, 30))
    people[:, 7] = 0.5
    found = spec.estimate(spec.tally(spec.privatize(people, source=ReplaySource.from_key("family"))))
    low, high = found.interval(0.95, simultaneous=True)
    assert np.all((low <= people[0]) & (people[0] <= high))
    assert np.linalg.norm(found.stderr) == pytest.approx(sqrt(30 / 5000) / spec.cap.m, rel=1e-4)
    assert found.to_polars()["value"].to_list() == list(range(30))
    assert repr(found).splitlines()[2].startswith("7 ")
    nobody = spec.estimate(spec.tally(spec.privatize([])))
    assert nobody.n == 0
    assert np.isinf(nobody.stderr).all()


@pytest.mark.parametrize(
    "bad", [[[1.0, 1.0]], [[np.nan, 0.0]], [[np.inf, 0.0]], [[0.1]], [0.1, 0.2], [["a", "b"]], [[True, False]], [[1e200, 0]], "ab"]
)
def test_bad_vectors_are_refused(bad):
    spec = dn.PrivUnit(dimension=2, epsilon=1.0)
    with pytest.raises(DomainError):
        spec.privatize(bad)
    with pytest.raises(DomainError):
        spec.randomize(bad[0])


@pytest.mark.parametrize(
    "bad", [{"dimension": 1}, {"dimension": 2.0}, {"radius": 0}, {"radius": float("nan")}, {"epsilon": 0}, {"epsilon": 31}]
)
def test_bad_parameters_are_refused(bad):
    with pytest.raises(ParameterError, match=next(iter(bad))):
        dn.PrivUnit(**{"dimension": 3, "epsilon": 1.0, **bad})


def test_a_vector_of_length_one_may_be_longer_by_rounding():
    spec = dn.PrivUnit(dimension=3, epsilon=1.0)
    assert len(spec.privatize([[1 / sqrt(3) + 1e-12] * 3])) == 1
    assert spec.cap.q == pytest.approx(erfc(-spec.cap.gamma / sqrt(2)) / 2)
    assert exp(spec.effective_epsilon) <= exp(1.0)


# --- vectors by asking for single coordinates ---


def test_a_vector_from_a_survey_of_its_coordinates():
    """400 crowds of 2000 with four coordinates: unbiased, and the stated error; a twin with 1.4 times the variance is rejected."""
    survey = dn.Survey.of(**{f"x{i}": dn.Hybrid(low=-1, high=1, epsilon=2.0) for i in range(4)})
    people = np.clip(1.5 * directions(2000, 4, "survey") + 0.2, -1, 1)
    columns = {f"x{i}": people[:, i] for i in range(4)}
    found = [vector_of_means(survey.run(columns, source=ReplaySource.from_key(f"run {run}"))) for run in range(400)]
    assert {estimate.n for estimate in found} == {2000}
    z = np.array([(estimate.point - people.mean(axis=0)) / estimate.stderr for estimate in found])
    assert np.abs(z.mean(axis=0)).max() * 20 < SIGMAS
    # Each crowd is asked once for each coordinate, without replacement: its error is at most that of a sample, and at least the noise's.
    assert 0.75 < (z**2).mean() < 1 + SIGMAS * sqrt(2 / z.size)
    assert (1.4 * z**2).mean() > 1 + SIGMAS * sqrt(2 / z.size)
    assert found[0].to_polars()["value"].to_list() == ["x0", "x1", "x2", "x3"]
    assert "noise and sampling" in repr(found[0])
    with pytest.raises(ParameterError, match="means"):
        vector_of_means({})
