"""A small real estimate of every class and every law: where the laws of ``test_estimates.py`` get what they check.

A new class of estimates or a new law needs a maker here: a function that asks a small crowd, and a name for what it makes. A ``week`` says
which of two crowds is asked: people changed between them, so that the two can be compared.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import numpy as np

import deniable as dn
from deniable import shuffle
from deniable.central import BinaryTreeCounter, LocalGaussianHistogram, Session
from deniable.contract.subsets import Subsets
from deniable.contract.survey import Survey
from deniable.core.estimate import Estimate
from deniable.core.saved import estimate_from_json
from deniable.core.vector import vector_of_means
from deniable.local.longitudinal.counter_crowd import CounterCrowd
from deniable.local.longitudinal.crowd import Crowd
from deniable.multiparty.curators import Curators
from deniable.tasks import graphs, itemsets, learning, marginals, places, ranges, recommend, series, text
from deniable.testing import ReplaySource

Maker = Callable[[int, ReplaySource], Estimate]
MAKERS: dict[str, Maker] = {}
N = 1200
SQUARE = places.Grid(places.Box(0, 0, 3, 3, plane=True), 3, 3)
SHOP = dn.Categories("tea", "milk", "jam", "salt")
FEATURES = {"age": dn.Numbers(0, 100), "dose": dn.Numbers(0, 1)}
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@cache
def made(name: str, week: int = 0) -> Estimate:
    """What a maker makes of the first crowd, or of the second."""
    return MAKERS[name](week, ReplaySource.from_key(f"{name} {week}"))


def maker(function: Maker) -> Maker:
    """Register a maker by its name."""
    MAKERS[function.__name__.replace("_", " ").strip()] = function
    return function


def held(week: int, n: int = N) -> Any:
    """Who holds 0, 1, 2 and 3: the first is frequent, the last is rare, and in the second week the first two swap."""
    first = np.repeat([0, 1, 2, 3], [n * 10 // 20, n * 6 // 20, n * 3 // 20, n // 20])
    return first if week == 0 else np.where(first < 2, 1 - first, first)


def counted(spec: Any, values: Any, source: ReplaySource) -> Any:
    return spec.estimate(spec.tally(spec.privatize(values, source=source)))


# --- counts ---


@maker
def supports(week, source):
    return counted(
        dn.GRR(domain=dn.Categories("tea", "<b>", "a\nb", "é"), epsilon=2.0), np.array(["tea", "<b>", "a\nb", "é"])[held(week)], source
    )


@maker
def supports_of_few(week, source):
    return counted(dn.OUE(domain_size=4, epsilon=3.0), held(week, 40), source)


@maker
def supports_of_a_sketch(week, source):
    return counted(dn.CMS(domain_size=4, epsilon=3.0, hashes=8, width=16), held(week), source)


@maker
def supports_of_nobody(week, source):
    return counted(dn.GRR(domain_size=3, epsilon=1.0), [], source)


@maker
def scores(week, source):
    return counted(dn.HadamardResponse(domain_size=4, epsilon=1.0), held(week), source)


@maker
def regression(week, source):
    return counted(dn.BloomRR(domain_size=4, epsilon=3.0), held(week), source)


@maker
def decoded(week, source):
    return regression(week, source).decode()


@maker
def postprocessed(week, source):
    return scores(week, source).postprocess("norm-sub")


@maker
def largest_values(week, source):
    return counted(dn.GRR(domain_size=12, epsilon=4.0), held(week), source).top(3)


@maker
def search(week, source):
    return dn.heavy_hitters(held(week) * 50, domain=dn.Integers(0, 255), k=3, epsilon=4.0, source=source)


@maker
def curators_counts(week, source):
    return session(week, source).histogram("held", values=[0, 1, 2, 3], epsilon=1.0)


@maker
def local_gaussian(week, source):
    return LocalGaussianHistogram(domain_size=4, epsilon=2.0, delta=1e-6).run(held(week), source=source)


@maker
def shuffled_counts(week, source):
    return shuffle.PoissonHistogram(domain_size=4, epsilon=1.0, delta=1e-4, n=N).run(held(week), source=source)


# --- numbers ---


def session(week, source):
    return Session({"held": held(week)}, budget=9.0, neighbors="add-remove", source=source)


@maker
def mean(week, source):
    return counted(dn.Piecewise(low=0, high=3, epsilon=2.0), held(week), source)


@maker
def mean_of_times(week, source):
    spec = dn.Duchi(low=NOON, high=NOON + timedelta(hours=3), epsilon=2.0)
    return counted(spec, [NOON + timedelta(hours=int(hour)) for hour in held(week)], source)


@maker
def mean_of_nobody(week, source):
    return counted(dn.Duchi(low=0, high=1, epsilon=1.0), [], source)


@maker
def vector(week, source):
    people = np.zeros((N, 4))
    people[np.arange(N), held(week)] = 0.9
    return counted(dn.PrivUnit(dimension=4, epsilon=4.0), people, source)


@maker
def vector_of_a_survey(week, source):
    survey = Survey.of(east=dn.Hybrid(low=0, high=3, epsilon=2.0), north=dn.Hybrid(low=0, high=3, epsilon=2.0))
    return vector_of_means(survey.run({"east": held(week), "north": 3 - held(week)}, source=source))


@maker
def distribution_from_counts(week, source):
    return counted(dn.OUE(domain=dn.Numbers(0, 3, steps=3), epsilon=2.0), held(week), source).distribution()


@maker
def some_of_a_distribution(week, source):
    return distribution_from_counts(week, source).select([2, 0])


@maker
def distribution_of_times(week, source):
    spec = dn.SquareWave(low=NOON, high=NOON + timedelta(hours=3), epsilon=2.0, steps=6)
    return counted(spec, [NOON + timedelta(hours=int(hour)) for hour in held(week)], source)


@maker
def curators_count(week, source):
    return session(week, source).count(epsilon=1.0)


@maker
def curators_mean(week, source):
    return session(week, source).mean("held", low=0, high=3, epsilon=1.0)


@maker
def curators_quantiles(week, source):
    return session(week, source).quantiles("held", [0.25, 0.5, 0.9], low=0, high=3, steps=30, epsilon=4.0)


@maker
def counter(week, source):
    return BinaryTreeCounter(horizon=8, epsilon=1.0, sensitivity=1, neighbors="add-remove", source=source).run(
        [10, 12, 9, 0, 4, 8, 20, week]
    )


@maker
def sum_of_curators(week, source):
    return Curators(3).total(np.split(held(week).astype(float), 3), low=0, high=3, epsilon=1.0, source=source)


@maker
def mean_of_curators(week, source):
    return Curators(3).mean(np.split(held(week).astype(float), 3), low=0, high=3, epsilon=1.0, source=source)


@maker
def shuffled_sum(week, source):
    return shuffle.ShuffledRealSum(low=0, high=3, epsilon=1.0, delta=1e-4, n=N).run(held(week), source=source)


@maker
def sum_of_shares(week, source):
    return shuffle.SplitAndMixSum(low=0, high=3, epsilon=1.0, delta=1e-4, n=N).run(held(week), source=source)


# --- sets and tables ---


def baskets(week):
    return [["tea", "milk"], ["tea"], ["tea", "milk", "jam"], ["milk"] if week else []] * (N // 4)


@maker
def items(week, source):
    return itemsets.frequent_items(baskets(week), items=SHOP, k=3, epsilon=6.0, source=source)


@maker
def sets(week, source):
    return itemsets.SVSM(domain=Subsets(SHOP), k=3, epsilon=8.0).run(baskets(week), source=source).parts["counted"]


@maker
def rules(week, source):
    return itemsets.association_rules(itemsets.SVSM(domain=Subsets(SHOP), k=3, epsilon=8.0).run(baskets(week), source=source))


@maker
def table(week, source):
    rows = {"place": np.array(["bar", "inn", "spa", "inn"])[held(week)], "mood": np.where(held(week) == 0, "good", "bad")}
    return marginals.marginals(rows, columns={"place": ["bar", "inn", "spa"], "mood": ["good", "bad"]}, epsilon=4.0, source=source)


@maker
def marginal(week, source):
    return table(week, source)["place", "mood"]


@maker
def association(week, source):
    return marginal(week, source).association()


@maker
def shares_among(week, source):
    return marginal(week, source).given("place")


@maker
def reconstruction(week, source):
    return table(week, source).reconstruct("place", "mood", replicates=4, source=source)


@maker
def contrast(week, source):
    return shares_among(week, source).contrast(("bar", "good"), ("inn", "good"))


# --- lines, maps and graphs ---


@maker
def ranges_by_haar(week, source):
    return ranges.HaarHRR(domain=dn.Integers(0, 7), epsilon=3.0).run(held(week) * 2, source=source)


@maker
def ranges_of_a_tree(week, source):
    return ranges.AHEAD(domain=dn.Integers(0, 15), epsilon=3.0, people=N).run(held(week) * 4, source=source)


@maker
def some_ranges(week, source):
    return ranges_by_haar(week, source).ranges([(0, 1), (2, 7)])


@maker
def map_of_people(week, source):
    points = np.array([(0.5, 0.5), (1.5, 0.5), (2.5, 1.5), (2.5, 2.5)])[held(week)]
    return places.UniformGrid(grid=SQUARE, epsilon=3.0, people=N).run(points, source=source)


@maker
def map_of_a_tree(week, source):
    points = np.array([(0.5, 0.5), (1.5, 0.5), (2.5, 1.5), (2.5, 2.5)])[held(week)]
    square = places.Box(0, 0, 4, 4, plane=True)
    return places.QuadTree(box=square, depth=2, epsilon=3.0, people=N, adaptive=True).run(points, source=source)


@maker
def region(week, source):
    return map_of_people(week, source).count(places.Box(0, 0, 1.5, 2, plane=True))


@maker
def named_places(week, source):
    town = places.Taxonomy(["north/hill", "north/mill", "south/lake", "south/port"])
    stay = np.array(["north/hill", "north/mill", "south/lake", "south/port"])[held(week)]
    said, epsilons = np.where(np.arange(N) % 4 == 0, "everywhere", [place[:5] for place in stay]), np.full(N, 2.0)
    return places.PersonalPlaces.of(town, said, epsilons).run({"place": stay, "region": said, "epsilon": epsilons}, source=source)


@maker
def moves(week, source):
    walks = [[(0.5, 0.5), (1.5, 0.5)], [(0.5, 0.5), (0.5, 1.5)]]
    asked = places.Movement(grid=SQUARE, epsilon=4.0, longest=2, people=N)
    return asked.run(places.Tracks.of(SQUARE, [walks[week]] * (N // 2) + [walks[1]] * (N // 2)), source=source)


def ring(week, nodes=60):
    return graphs.Graph.of([(i, (i + 1 + week) % nodes) for i in range(nodes)], nodes=nodes)


@maker
def degrees(week, source):
    return graphs.Degrees(nodes=60, epsilon=2.0).run(ring(week), source=source)


@maker
def edges(week, source):
    return degrees(week, source).edges


@maker
def few_triangles(week, source):
    return graphs.Triangles(nodes=30, epsilon=1.0).run(ring(week, 30), source=source)


@maker
def synthetic_graph(week, source):
    return graphs.LDPGen(nodes=60, epsilon=4.0, groups=3).run(ring(week), source=source)


# --- periods and texts ---


@maker
def noisy_series(week, source):
    return series.LPA(points=12, epsilon=1.0).release(np.full(12, 50.0) + week, source=source)


@maker
def periods(week, source):
    spec = dn.LongitudinalGRR(domain_size=4, epsilon=4.0, first_epsilon=2.0)
    crowd = Crowd(spec, source=source)
    return series.repeated(spec, [spec.tally(crowd.report(held(day))) for day in (week, 0, 1)])


@maker
def change_between_periods(week, source):
    return periods(week, source).change(0, 2)


@maker
def periods_of_a_mean(week, source):
    spec = dn.OneBitMeanPM(low=0, high=10, epsilon=2.0)
    crowd = CounterCrowd(spec, source=source)
    return series.repeated(spec, [spec.tally(crowd.report([day + week] * N)) for day in range(3)])


def written(week):
    return list(np.array(["good morning", "good night", "night morning", "hello"])[held(week)])


@maker
def new_words(week, source):
    return text.NewWords(known=["good"], longest=7, k=2, epsilon=6.0, people=N).run(written(week), source=source)


@maker
def word_pairs(week, source):
    return text.WordPairs(vocabulary=["good", "morning", "night"], epsilon=4.0, people=N).run(written(week), source=source)


@maker
def topics(week, source):
    return word_pairs(week, source).topics(2, words=2)


@maker
def next_words(week, source):
    return text.Bigrams(vocabulary=["good", "morning", "night"], epsilon=4.0, people=N).run(written(week), source=source)


@maker
def words_after_one(week, source):
    return next_words(week, source).next_words("good")


# --- models ---


@maker
def clusters(week, source):
    people = {"age": 20.0 + 20 * held(week), "dose": held(week) % 2 * 0.9}
    return learning.KMeans(features=FEATURES, clusters=2, epsilon=8.0, rounds=2, people=N).run(people, source=source)


@maker
def linear_model(week, source):
    people = {"age": 20.0 + 20 * held(week), "dose": held(week) % 2 * 0.9, "ill": np.where(held(week) > 1, "yes", "no")}
    asked = learning.LogisticRegression(features=FEATURES, label="ill", classes=dn.Categories("no", "yes"), epsilon=8.0, rounds=2, people=N)
    return asked.run(people, source=source)


@maker
def recommender(week, source):
    rated = [{0: 5, 1: 2.5}, {1: 1 + week}, {}, {2: 4, 0: 4.5, 1: 3}] * 60
    return recommend.SampledFactorization(items=3, low=1, high=5, epsilon=8.0, rounds=2, people=240).run(rated, source=source)


@maker
def play(week, source):
    losses = [[0, 1], [1, 0], [0, week]] * 2
    return learning.WeightedMajority(experts=2, days=6, epsilon=1.0, delta=1e-6, neighbors="replace").run(losses, source=source)


# --- changes, and what was read ---


@maker
def change_of_counts(week, source):
    return made("supports", week).compare(made("supports", 1 - week))


@maker
def change_of_few(week, source):
    return made("supports of few", week).compare(made("supports of few", 1 - week))


@maker
def change_of_means(week, source):
    return made("mean", week).compare(made("mean", 1 - week))


@maker
def change_of_times(week, source):
    return made("mean of times", week).compare(made("mean of times", 1 - week))


@maker
def change_of_a_sum(week, source):
    return made("shuffled sum", week).compare(made("shuffled sum", 1 - week))


@maker
def read_from_json(week, source):
    return estimate_from_json(json.dumps(made("supports", week).to_json()))
