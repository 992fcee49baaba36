"""One small survey for each kind of result that has intervals: its limits at 95 %, and the truth that they should hold.

Where intervals cover the noise alone the crowd stays the same; where they cover sampling too, it is drawn anew each time. A case is a
function of a source and gives (low, high, truth), one number or many. ``CASES`` says which classes it measures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import deniable as dn
from deniable.central import BinaryTreeCounter, LocalGaussianHistogram, Session
from deniable.contract.subsets import Subsets
from deniable.contract.survey import Survey
from deniable.core.vector import vector_of_means
from deniable.local.longitudinal.counter_crowd import CounterCrowd
from deniable.local.longitudinal.crowd import Crowd
from deniable.multiparty.curators import Curators
from deniable.tasks.graphs import Degrees, Graph
from deniable.tasks.itemsets import SVIM, SVSM, association_rules, frequent_items
from deniable.tasks.marginals import marginals
from deniable.tasks.places import Box, Grid, Movement, PersonalPlaces, Taxonomy, Tracks, UniformGrid
from deniable.tasks.ranges import AHEAD, HaarHRR, Hierarchy
from deniable.tasks.ranges.estimate import QUANTILES
from deniable.tasks.series import LPA, repeated
from deniable.tasks.text import Bigrams, NewWords, Terms, WordPairs, trending
from deniable.testing import ReplaySource

Limits = tuple[Any, Any, Any]
Case = Callable[[ReplaySource], Limits]
CASES: dict[str, Case] = {}
"""By the full name of the law; after it, where several cases measure one law, of what."""
N = 4000
HELD = np.repeat([0, 1, 2, 3], [2000, 1200, 760, 40])
TRUTH = np.bincount(HELD, minlength=4)
SHARES = TRUTH / N
SITES = [HELD[:1000].astype(float), HELD[1000:2500].astype(float), HELD[2500:].astype(float)]
BASKETS = [["tea", "milk"], ["tea"], ["tea", "milk", "jam"], []] * (N // 4)
SHOP = dn.Categories("tea", "milk", "jam", "salt")


def case(*names: str) -> Callable[[Case], Case]:
    """Register a case for the classes that it measures."""

    def register(function: Case) -> Case:
        CASES.update(dict.fromkeys(names, function))
        return function

    return register


def drawn(source: ReplaySource, n: int = N, shares: Any = SHARES) -> Any:
    """A crowd of independent people who hold 0 to 3 with these shares."""
    words = np.array(source.words(n), dtype=np.uint64) >> np.uint64(11)
    return np.minimum(np.searchsorted(np.cumsum(shares), words / 2.0**53, side="right"), 3)


def estimated(spec: Any, values: Any, source: ReplaySource) -> Any:
    return spec.estimate(spec.tally(spec.privatize(values, source=source)))


# --- counts ---


@case("deniable.core.supports.Supports")
def supports(source: ReplaySource) -> Limits:
    return *estimated(dn.OUE(domain_size=4, epsilon=1.0), HELD, source).interval(), TRUTH


@case("deniable.core.scores.Scores")
def scores(source: ReplaySource) -> Limits:
    return *estimated(dn.HadamardResponse(domain_size=4, epsilon=1.0), HELD, source).interval(), TRUTH


@case("deniable.core.regression.Regression")
def regression(source: ReplaySource) -> Limits:
    return *estimated(dn.BloomRR(domain_size=4, epsilon=2.0), HELD, source).interval(), TRUTH


@case("deniable.core.count_change.CountChange")
def comparison(source: ReplaySource) -> Limits:
    spec, after = dn.GRR(domain_size=4, epsilon=2.0), np.array([0.3, 0.5, 0.19, 0.01])
    first, second = (estimated(spec, drawn(source, shares=shares), source) for shares in (SHARES, after))
    return *first.compare(second).interval(), after - SHARES


@case("deniable.central.local_gaussian.SubGaussianCounts")
def sub_gaussian(source: ReplaySource) -> Limits:
    return *LocalGaussianHistogram(domain_size=4, epsilon=1.0, delta=1e-6).run(HELD, source=source).interval(), TRUTH


@case("deniable.shuffle.poisson_histogram.PoissonCounts")
def dummies(source: ReplaySource) -> Limits:
    protocol = dn.shuffle.PoissonHistogram(domain_size=4, epsilon=1.0, delta=1e-6, n=N)
    return *protocol.estimate(protocol.privatize(HELD, source=source), people=N).interval(), TRUTH


@case("deniable.core.supports.Supports next to post-processed counts")
def postprocessed(source: ReplaySource) -> Limits:
    rows = estimated(dn.OUE(domain_size=4, epsilon=1.0), HELD, source).postprocess("norm-sub").rows()
    return rows["low"], rows["high"], TRUTH


# --- numbers ---


@case("deniable.core.average.Average")
def mean(source: ReplaySource) -> Limits:
    return *estimated(dn.Piecewise(low=0, high=3, epsilon=1.0), HELD, source).interval(), HELD.mean()


@case("deniable.core.average.AverageChange")
def mean_comparison(source: ReplaySource) -> Limits:
    spec, after = dn.Duchi(low=0, high=3, epsilon=1.0), np.array([0.3, 0.5, 0.19, 0.01])
    first, second = (estimated(spec, drawn(source, shares=shares), source) for shares in (SHARES, after))
    return *first.compare(second).interval(), (after - SHARES) @ np.arange(4)


@case("deniable.core.normal.Normal")
def vector(source: ReplaySource) -> Limits:
    survey = Survey.of(east=dn.Hybrid(low=0, high=3, epsilon=1.0), north=dn.Hybrid(low=0, high=3, epsilon=1.0))
    people = {"east": drawn(source), "north": 3 - drawn(source)}
    center = SHARES @ np.arange(4)
    return *vector_of_means(survey.run(people, source=source)).interval(), np.array([center, 3 - center])


@case("deniable.core.replicates.Replicates")
def histogram(source: ReplaySource) -> Limits:
    counted = estimated(dn.OUE(domain=dn.Numbers(0, 3, steps=3), epsilon=1.0), drawn(source), source)
    return *counted.distribution().resampled(source=source).interval(), np.cumsum(SHARES)


@case("deniable.core.replicates.Cumulative")
def wave(source: ReplaySource) -> Limits:
    """Cumulative shares of a crowd that is spread over the range; at a spike they hold in fewer runs, and the result says so."""
    people = np.round(40 + 20 * np.sin(np.arange(20_000)) + 10 * np.cos(np.arange(20_000) ** 2))
    found = estimated(dn.SquareWave(low=0, high=100, epsilon=2.0, steps=100), people, source).resampled(source=source)
    at = [20, 35, 50, 65]
    low, high = zip(*(found.cdf_interval(x) for x in at), strict=True)
    return np.array(low), np.array(high), np.array([(people <= x).mean() for x in at])


@case("deniable.core.replicates.SomeShares")
def some_of_a_wave(source: ReplaySource) -> Limits:
    """Two cumulative shares of a crowd that is spread over the range, the higher one first."""
    people = np.round(40 + 20 * np.sin(np.arange(20_000)) + 10 * np.cos(np.arange(20_000) ** 2))
    found = estimated(dn.SquareWave(low=0, high=100, epsilon=2.0, steps=100), people, source).resampled(source=source)
    return *found.select([65, 35]).interval(), np.array([(people <= x).mean() for x in (65, 35)])


# --- one curator ---


@case("deniable.central.number.LaplaceNumber", "deniable.central.number.LaplaceRatio")
def session_numbers(source: ReplaySource) -> Limits:
    session = Session({"held": HELD}, budget=5.0, neighbors="add-remove", source=source)
    found = [session.count(epsilon=0.1), session.sum("held", low=0, high=3, epsilon=0.1), session.mean("held", low=0, high=3, epsilon=0.2)]
    low, high = zip(*(each.interval() for each in found), strict=True)
    return np.array(low, float), np.array(high, float), np.array([N, HELD.sum(), HELD.mean()])


@case("deniable.core.law.Crossed")
def session_change(source: ReplaySource) -> Limits:
    before, after = (Session({"held": HELD[:size]}, budget=5.0, neighbors="add-remove", source=source) for size in (3000, N))
    return *before.count(epsilon=0.1).compare(after.count(epsilon=0.1)).interval(), N - 3000


@case("deniable.central.histogram.LaplaceCounts")
def session_histogram(source: ReplaySource) -> Limits:
    session = Session({"held": HELD}, budget=5.0, neighbors="add-remove", source=source)
    return *session.histogram("held", values=[0, 1, 2, 3], epsilon=0.1).interval(), TRUTH


@case("deniable.core.count_change.CountChange of released counts")
def session_histograms(source: ReplaySource) -> Limits:
    after = np.array([0.3, 0.5, 0.19, 0.01])
    sides = (
        Session({"held": drawn(source, shares=shares)}, budget=5.0, neighbors="add-remove", source=source) for shares in (SHARES, after)
    )
    first, second = (side.histogram("held", values=[0, 1, 2, 3], epsilon=0.5) for side in sides)
    return *first.compare(second).interval(), after - SHARES


@case("deniable.central.quantiles.ChosenQuantiles")
def session_quantiles(source: ReplaySource) -> Limits:
    session = Session({"held": np.arange(N) % 101}, budget=5.0, neighbors="add-remove", source=source)
    low, high = session.quantiles("held", [0.25, 0.5, 0.75], low=0, high=100, epsilon=1.0).interval()
    return np.array(low, float), np.array(high, float), np.quantile(np.arange(N) % 101, [0.25, 0.5, 0.75])


@case("deniable.central.binary_tree.TreeSums")
def count_series(source: ReplaySource) -> Limits:
    visits = BinaryTreeCounter(horizon=8, epsilon=1.0, sensitivity=1, neighbors="add-remove", source=source)
    return *visits.run([10, 12, 9, 0, 4, 8, 20, 1]).interval(), np.cumsum([10, 12, 9, 0, 4, 8, 20, 1])


@case("deniable.core.normal.Tailed")
def joint_sum(source: ReplaySource) -> Limits:
    return *Curators(3).total(SITES, low=0, high=3, epsilon=0.5, source=source).interval(), HELD.sum()


@case("deniable.multiparty.estimate.Quotient")
def joint_mean(source: ReplaySource) -> Limits:
    return *Curators(3).mean(SITES, low=0, high=3, epsilon=0.5, source=source).interval(), HELD.mean()


@case("deniable.shuffle.sums.CrowdSum")
def shuffled_sum(source: ReplaySource) -> Limits:
    protocol = dn.shuffle.ShuffledRealSum(low=0, high=3, epsilon=1.0, delta=1e-6, n=N)
    return *protocol.run(HELD, source=source).interval(), HELD.sum()


@case("deniable.shuffle.sums.PolyaSum")
def sum_of_shares(source: ReplaySource) -> Limits:
    protocol = dn.shuffle.SplitAndMixSum(low=0, high=3, epsilon=1.0, delta=1e-6, n=N)
    return *protocol.estimate(protocol.privatize(HELD, source=source)).interval(), HELD.sum()


# --- tasks ---


@case("deniable.core.supports.Supports of a search")
def heavy_hitters(source: ReplaySource) -> Limits:
    """Frequencies of the last group, for everyone: the group is a sample, and its own counts are not known here. So all hold one value."""
    found = dn.heavy_hitters(np.full(N, 9), domain=dn.Integers(0, 255), k=1, epsilon=2.0, source=source)
    return *found.interval(), np.full(len(found.values), found.n)


@case("deniable.tasks.itemsets.estimate.PaddedSupports")
def items(source: ReplaySource) -> Limits:
    found = SVIM(domain=Subsets(SHOP), k=3, epsilon=4.0).run(BASKETS, source=source)
    truth = {"tea": 0.75, "milk": 0.5, "jam": 0.25, "salt": 0.0}
    return *found.interval(), np.array([truth[value] * found.n for value in found.values])


@case("deniable.tasks.itemsets.estimate.PaddedSupports of one call")
def frequent(source: ReplaySource) -> Limits:
    found = frequent_items(BASKETS, items=SHOP, k=2, epsilon=4.0, source=source)
    return *found.interval(), np.array([{"tea": 0.75, "milk": 0.5}.get(value, 0.0) * found.n for value in found.values])


def holders(items: Any) -> float:
    """The true share of the baskets that hold all of these items."""
    return float(np.mean([set(items) <= set(basket) for basket in BASKETS[:4]]))


@case("deniable.tasks.itemsets.estimate.SetShares")
def itemsets(source: ReplaySource) -> Limits:
    found = SVSM(domain=Subsets(SHOP), k=3, epsilon=4.0).run(BASKETS, source=source).parts["counted"]
    return *found.interval(), np.array([holders(value) for value in found.values])


@case("deniable.tasks.itemsets.rules.Confidence")
def rules(source: ReplaySource) -> Limits:
    found = association_rules(SVSM(domain=Subsets(SHOP), k=3, epsilon=4.0).run(BASKETS, source=source))
    return *found.interval(), np.array([holders((*first, *second)) / max(holders(first), 1e-9) for first, second in found.values])


def survey(source: ReplaySource) -> Any:
    held = {"place": ["bar", "spa"] * (N // 2), "mood": ["good", "good", "bad", "good"] * (N // 4)}
    return marginals(held, columns={"place": ["bar", "inn", "spa"], "mood": ["good", "bad"]}, epsilon=3.0, source=source)


def bars(source: ReplaySource) -> Any:
    return survey(source)["place", "mood"]


@case("deniable.tasks.marginals.association.Cramer")
def associations(source: ReplaySource) -> Limits:
    """Cramér's V of one pair: half of the bars are bad, and no spa is."""
    rows = survey(source).rows()
    return rows["low"], rows["high"], np.full(1, 1 / np.sqrt(3))


def along(asked: Any, source: ReplaySource) -> Limits:
    """What a range estimate prints: cumulative shares at every value, and quantiles."""
    people = np.minimum(np.arange(N) % 40, np.arange(N) % 23)
    found = asked.run(people, source=source)
    rows, truth = found.rows(), np.bincount(people, minlength=64).cumsum() / N
    places = np.array([found.quantile_interval(q) for q in QUANTILES], dtype=float)
    quantiles = [int(np.argmax(truth >= q)) for q in QUANTILES]
    low, high = (np.concatenate([rows[side], places[:, end]]) for end, side in enumerate(("low", "high")))
    return low, high, np.concatenate([truth, quantiles])


@case("deniable.tasks.ranges.line.Along of Haar")
def haar(source: ReplaySource) -> Limits:
    return along(HaarHRR(domain=dn.Integers(0, 63), epsilon=2.0), source)


@case("deniable.tasks.ranges.line.Along")
def trees(source: ReplaySource) -> Limits:
    """A tree that is fixed, and one that grows where people are."""
    kinds = [along(kind(domain=dn.Integers(0, 63), epsilon=2.0, people=N), source) for kind in (Hierarchy, AHEAD)]
    low, high, truth = (np.concatenate(sides) for sides in zip(*kinds, strict=True))
    return low, high, truth


@case("deniable.tasks.marginals.conditional.Conditional")
def conditional(source: ReplaySource) -> Limits:
    """Of the people in a bar and in a spa; where nobody was seen there is no share, and no interval."""
    found = bars(source).given("place")
    truth = {("bar", "good"): 0.5, ("bar", "bad"): 0.5, ("spa", "good"): 1.0, ("spa", "bad"): 0.0}
    known = [i for i, value in enumerate(found.values) if value in truth]
    low, high = (side[known] for side in found.interval())
    return low, high, np.array([truth[found.values[i]] for i in known])


@case("deniable.tasks.marginals.estimate.CellScores")
def marginal(source: ReplaySource) -> Limits:
    table = bars(source)
    truth = {("bar", "good"): N / 4, ("bar", "bad"): N / 4, ("spa", "good"): N / 2}
    low, high = (np.ravel(side) for side in table.interval())
    return low, high, np.array([truth.get(tuple(value), 0.0) for value in table.values])


@case("deniable.tasks.graphs.degree_estimate.DegreeCounts")
def degrees(source: ReplaySource) -> Limits:
    ring = Graph.of([(i, (i + 1) % 90) for i in range(90)], nodes=90)
    found = Degrees(nodes=90, epsilon=2.0).run(ring, source=source)
    return *found.interval(), np.where(np.arange(len(found.values)) == 2, 90, 0)


@case("deniable.core.normal.Tailed of a series")
def series(source: ReplaySource) -> Limits:
    return *LPA(points=12, epsilon=1.0).release(np.full(12, 500.0), source=source).interval(), np.full(12, 500.0)


@case("deniable.core.law.Joined")
def repeated_counts(source: ReplaySource) -> Limits:
    spec = dn.LongitudinalGRR(domain_size=4, epsilon=4.0, first_epsilon=2.0)
    crowd = Crowd(spec, source=source)
    return *repeated(spec, [spec.tally(crowd.report(HELD)) for _ in range(3)]).interval(), np.tile(TRUTH, 3)


@case("deniable.tasks.series.repeated.Together")
def repeated_averages(source: ReplaySource) -> Limits:
    """Averages over periods of people who keep their values, where the errors of all periods repeat, and changes of none."""
    spec = dn.LongitudinalGRR(domain_size=4, epsilon=2.0, first_epsilon=1.2)
    crowd = Crowd(spec, source=source)
    found = repeated(spec, [spec.tally(crowd.report(HELD)) for _ in range(3)], stay=1.0)
    low, high = (np.concatenate(sides) for sides in zip(found.average().interval(), found.change(0, 2).interval(), strict=True))
    return low, high, np.concatenate([TRUTH, np.zeros(4)])


@case("deniable.core.average.Average of counters")
def repeated_means(source: ReplaySource) -> Limits:
    spec = dn.OneBitMeanPM(low=0, high=10, epsilon=2.0)
    crowd = CounterCrowd(spec, source=source)
    found = repeated(spec, [spec.tally(crowd.report([day] * N)) for day in range(3)])
    low, high = (np.ravel(side) for side in found.interval())
    return low, high, np.arange(3)


@case("deniable.tasks.places.flows.Shares")
def flows(source: ReplaySource) -> Limits:
    square = Grid(Box(0, 0, 3, 3, plane=True), 3, 3)
    found = Movement(grid=square, epsilon=3.0, longest=2, people=N).run(Tracks.of(square, [[(0.5, 0.5), (1.5, 0.5)]] * N), source=source)
    return *found.interval(), np.array([float(move == (0, 1)) for move in found.values])


@case("deniable.tasks.places.cells.Cells")
def places(source: ReplaySource) -> Limits:
    points = [(0.5, 0.5)] * 3000 + [(2.5, 1.5)] * 1000
    found = UniformGrid(grid=Grid(Box(0, 0, 3, 3, plane=True), 3, 3), epsilon=2.0, people=N).run(points, source=source)
    truth = np.zeros(9)
    truth[0], truth[5] = 3000, 1000
    return *found.interval(), truth


@case("deniable.tasks.enclosed.Enclosed")
def region(source: ReplaySource) -> Limits:
    points = [(0.5, 0.5)] * 3000 + [(2.5, 1.5)] * 1000
    found = UniformGrid(grid=Grid(Box(0, 0, 3, 3, plane=True), 3, 3), epsilon=2.0, people=N).run(points, source=source)
    return *found.count(Box(0, 0, 2, 2, plane=True)).interval(), 3000


@case("deniable.tasks.places.named.Groups")
def named_places(source: ReplaySource) -> Limits:
    town = Taxonomy(["north/hill", "north/mill", "south/lake", "south/port"])
    held = np.repeat(["north/hill", "north/mill", "south/lake"], [2000, 1200, 800])
    regions, epsilons = np.where(np.arange(N) % 4 == 0, "everywhere", [place[:5] for place in held]), np.full(N, 1.0)
    crowd = {"place": held, "region": regions, "epsilon": epsilons}
    found = PersonalPlaces.of(town, regions, epsilons).run(crowd, source=source)
    return *found.interval(), np.array([2000, 1200, 800, 0])


# --- texts ---


@case("deniable.tasks.text.laws.DrawnShares of new words")
def new_words(source: ReplaySource) -> Limits:
    texts = [["one", "tea"][value % 2] for value in drawn(source)]
    found = NewWords(known=["tea"], longest=3, k=1, epsilon=4.0, people=N).run([[text] for text in texts], source=source)
    return *found.interval(), np.full(len(found.values), SHARES[0] + SHARES[2])


@case("deniable.tasks.text.laws.DrawnShares")
def pairs(source: ReplaySource) -> Limits:
    texts = [["good morning", "good night", "night morning", "hello"][value] for value in drawn(source)]
    found = WordPairs(vocabulary=["good", "morning", "night"], epsilon=3.0, people=N).run(texts, source=source)
    return *found.interval(), SHARES[:3]


@case("deniable.tasks.text.laws.Following")
def next_words(source: ReplaySource) -> Limits:
    texts = [["good morning", "good night", "good good", "hello"][value] for value in drawn(source)]
    found = Bigrams(vocabulary=["good", "morning", "night"], epsilon=3.0, people=N).run(texts, source=source)
    low, high = map(found.square, found.interval())
    after = SHARES[:3].sum()
    return low[0], high[0], np.array([SHARES[2], SHARES[0], SHARES[1]]) / after


@case("deniable.tasks.text.laws.Following of one word")
def following(source: ReplaySource) -> Limits:
    """All words after one together: the limits hold if the farthest of them does."""
    texts = [["good morning", "good night", "good good", "hello"][value] for value in drawn(source)]
    found = Bigrams(vocabulary=["good", "morning", "night"], epsilon=3.0, people=N).run(texts, source=source).next_words("good")
    shares = dict(zip(["morning", "night", "good"], SHARES[:3] / SHARES[:3].sum(), strict=True))
    truth = np.array([shares[word] for word in found.values])
    low, high = found.interval(simultaneous=True)
    return np.max(low - truth), np.min(high - truth), 0.0


@case("deniable.core.count_change.CountChange of terms")
def trends(source: ReplaySource) -> Limits:
    words, after = ["goal", "rain", "vote", "none"], np.array([0.3, 0.5, 0.19, 0.01])
    asking = Terms(vocabulary=words[:3], epsilon=2.0, people=N)
    weeks = [asking.run([[words[value]] for value in drawn(source, shares=shares)], source=source) for shares in (SHARES, after)]
    low, high = trending(*weeks).interval(simultaneous=True)
    return low[:3], high[:3], (after - SHARES)[:3]
