"""What a session answers: exact sums under the noise, as much noise as one person can move them, and intervals that cover."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import polars as pl
import pytest
from scipy import stats

from deniable.central import Laplace, Session, side_by_side
from deniable.central.histogram import CentralHistogram
from deniable.central.mean import CentralMean
from deniable.central.quantiles import Ranking, utilities
from deniable.central.release import Release
from deniable.central.spread import Spread, pair_reach, sum_reaches
from deniable.contract.source import Source
from deniable.errors import MergeError, ParameterError
from deniable.testing import ReplaySource

PLUS, REPLACE = "add-remove", "replace"
SPENT = Release("r", "something", "Laplace", 1.0, PLUS)


class Silent(Source):
    """Words that are all 0: the noise is 0 then, and the exact answer comes out. Coins of choices are flipped as ever."""

    def __init__(self):
        self._coins = ReplaySource.from_key("coins")

    def word(self):
        return 0

    def below(self, count):
        return 0

    def bernoulli_ratio(self, numerator, denominator):
        return self._coins.bernoulli_ratio(numerator, denominator)


def silent(rows, neighbors, **options):
    table = pl.DataFrame(rows, schema={"x": pl.Float64, "kind": pl.String, "tags": pl.List(pl.String), "in": pl.Boolean}, orient="row")
    return Session(table, budget=30.0, neighbors=neighbors, source=Silent(), **options)


# --- sensitivity: all neighbors of all small tables, through the front door ---

ROWS = [
    (None, None, None, True),
    (-10.0, "a", ["a", "b"], True),
    (float("nan"), "b", ["a", "a"], True),
    (99.0, "b", [], True),
    (2.0, "c", ["b"], False),
]
QUESTIONS = {
    "count": lambda s, where: s.count(where=where, epsilon=1.0),
    "sum above 0": lambda s, where: s.sum("x", low=1, high=7, grid=1, where=where, epsilon=1.0),
    "sum around 0": lambda s, where: s.sum("x", low=-4, high=7, grid=0.5, where=where, epsilon=1.0),
    "mean": lambda s, where: s.mean("x", low=-4, high=8, grid=1, where=where, epsilon=1.0),
    "histogram": lambda s, where: s.histogram("kind", values=["a", "b", "c"], where=where, epsilon=1.0),
    "peeled counts": lambda s, where: s.top("tags", 2, values=["a", "b"], where=where, epsilon=1.0),
}


def moved(one, other):
    """The ln-ratio that the noise allows between two answers, at most: how far they are apart, in scales."""
    if isinstance(one, CentralMean):
        counts = abs(one.count - other.count) / one.count_noise.scale if one.count_noise else 0.0
        return abs(one.steps - other.steps) / one.noise.scale + counts
    if isinstance(one, CentralHistogram):
        counts, others = (dict(zip(each.values, each.released.tolist(), strict=True)) for each in (one, other))
        rows = abs(one.n - other.n) if one.summed == 1 else 0  # where the rows themselves are counted
        return (sum(abs(counts[value] - others[value]) for value in counts) + rows) / one.noise.scale
    return abs(one.steps - other.steps) / one.noise.scale


def worst(tables, neighbors, question, where, **options):
    """The largest ln-ratio between any two neighbors; the noise is the same for all of them."""
    answers = {table: QUESTIONS[question](silent([ROWS[i] for i in table], neighbors, **options), where) for table in tables}
    pairs = [
        (one, other)
        for one, other in product(tables, tables)
        if (len(other) == len(one) + 1 and any(tuple(sorted((*one, i))) == other for i in range(len(ROWS))))
        or (
            len(one) == len(other)
            and any(one[:k] + one[k + 1 :] == other[:m] + other[m + 1 :] for k in range(len(one)) for m in range(len(one)))
        )
    ]
    related = [(one, other) for one, other in pairs if (len(one) == len(other)) == (neighbors == REPLACE)]
    assert len({answer.noise.scale for answer in answers.values()}) == 1
    return max(moved(answers[one], answers[other]) for one, other in related)


SMALL = [table for size in range(3) for table in combinations_with_replacement(range(len(ROWS)), size)]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("neighbors", [PLUS, REPLACE])
@pytest.mark.parametrize("where", [None, {"in": True}], ids=["all", "some"])
def test_no_neighbor_moves_an_answer_further_than_its_noise_allows_and_one_moves_it_so_far(question, neighbors, where):
    """Epsilon is kept, and not wasted. Of the peeled counts' epsilon, half is for the choice."""
    found = worst(SMALL, neighbors, question, where)
    known = where is None and neighbors == REPLACE and question == "count"  # of all rows: nothing that is not public
    assert found == pytest.approx({"peeled counts": 0.5, "count": 0.0 if known else 1.0}.get(question, 1.0), rel=1e-9)


@pytest.mark.parametrize("question", ["sum above 0", "sum around 0", "mean"])
def test_among_all_rows_of_a_complete_column_a_sum_moves_by_the_range_alone(question):
    whole = [table for table in SMALL if len(table) == 2 and not {0, 2} & set(table)]
    assert worst(whole, REPLACE, question, None, complete=["x"]) == pytest.approx(1.0, rel=1e-9)
    some = QUESTIONS[question](silent([ROWS[1]], REPLACE, complete=["x"]), {"in": True})
    every = QUESTIONS[question](silent([ROWS[1]], REPLACE, complete=["x"]), None)
    assert every.noise.scale <= some.noise.scale
    if question == "sum above 0":
        assert (every.noise.scale, some.noise.scale) == (6.0, 7.0)


@pytest.mark.parametrize("neighbors", [PLUS, REPLACE])
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 10)])
def test_one_person_moves_no_utility_further_than_stated(neighbors, q):
    """Also those of the limits, with their made-up people; and some person moves one so far."""
    tables = [np.array(held) for held in product(range(3), repeat=3)]
    stated = Ranking(1.0, 2, neighbors, False).selection(q).sensitivity
    found = Fraction(0)
    for one, other in product(tables, tables):
        change = other - one
        if neighbors == PLUS and sorted(change.tolist()) != [0, 0, 1]:
            continue
        if neighbors == REPLACE and sorted(change.tolist()) != [-1, 0, 1]:
            continue
        for pad, shift in ((0, 0), (4, -4), (4, 4)):
            held = [np.concatenate([[pad], each, [pad]]) if pad else each for each in (one, other)]
            pair = [utilities(each, q * int(raw.sum()) + pad + shift) for each, raw in zip(held, (one, other), strict=True)]
            found = max(found, *(abs(a - b) for a, b in zip(*pair, strict=True)))
    assert found == stated


# --- what the noise is added to, and which noise ---


def test_exact_answers_clip_round_and_leave_out_what_is_missing():
    rows = [(value, None, None, True) for value in (1.26, 1.24, -50.0, float("inf"), float("nan"), None)]
    session = silent(rows, PLUS)
    total = session.sum("x", low=-2, high=3, grid=0.1, epsilon=1.0)
    assert total.steps == 13 + 12 - 20 + 30
    assert total.value == pytest.approx(3.5)
    assert "nearest end" in total.biased
    assert "rounded to 0.1" in total.biased
    assert "without a value" in total.biased
    mean = session.mean("x", low=-2, high=3, grid=0.1, epsilon=1.0)
    assert (mean.count, mean.value) == (4, pytest.approx(3.5 / 4))
    big = Session({"u": np.array([2**64 - 1, 5], dtype=np.uint64), "b": [True, False]}, budget=9.0, neighbors=PLUS, source=Silent())
    assert big.sum("u", low=0, high=100, epsilon=1.0).value == 105
    assert big.sum("b", low=0, high=1, epsilon=1.0).value == 1
    assert big.sum("b", low=0, high=1, epsilon=1.0).biased.count("rounded") == 0
    assert big.quantiles("u", 0.5, low=0, high=10, steps=10, epsilon=1.0).n is None


def test_the_noise_is_the_mechanism_of_the_stated_epsilon():
    """Word for word: the session draws what the mechanism draws, in the same order, and nothing else."""
    people = {"age": [30] * 700 + [40] * 300, "drink": ["tea"] * 400 + ["water"] * 600}
    for neighbors, sensitivity in ((PLUS, 1), (REPLACE, 2)):
        session = Session(people, budget=9.0, neighbors=neighbors, source=ReplaySource.from_key("words"))
        same = ReplaySource.from_key("words")
        count = Laplace(epsilon=0.1, sensitivity=1, neighbors=neighbors).release(300, source=same)
        assert session.count(where={"age": 40}, epsilon=0.1).value == count
        counts = Laplace(epsilon=0.1, sensitivity=sensitivity, neighbors=neighbors).release(np.array([400, 600, 0]), source=same)
        assert session.histogram("drink", values=["tea", "water", "milk"], epsilon=0.1).released.tolist() == counts.tolist()
    twin = Laplace(epsilon=0.2, sensitivity=1, neighbors=PLUS).release(300, source=ReplaySource.from_key("words"))
    assert twin != count


@pytest.mark.parametrize("neighbors", [PLUS, REPLACE])
@pytest.mark.parametrize("rows", [[], [ROWS[4]]], ids=["an empty table", "an empty selection"])
def test_of_nobody_every_question_has_an_answer_and_an_honest_interval(neighbors, rows):
    session, nobody = silent(rows, neighbors), {"in": True}
    assert session.count(where=nobody, epsilon=1.0).value == 0
    assert session.sum("x", low=0, high=9, where=nobody, epsilon=1.0).value == 0
    mean = session.mean("x", low=0, high=9, where=nobody, epsilon=1.0)
    assert mean.interval() == (0.0, 9.0)
    assert mean.stderr == 4.5
    shares = session.histogram("kind", values=["a", "b"], where=nobody, epsilon=1.0)
    assert shares.counts.tolist() == [0.0, 0.0]
    assert np.isfinite(shares.frequencies).all()
    low, high = session.quantiles("x", [0.25, 0.5], low=0, high=10, where=nobody, epsilon=1.0).interval()
    assert low == [0, 0]
    assert high == [10, 10]
    assert len(session.top("tags", 1, values=["a", "b"], where=nobody, epsilon=1.0).values) == 1
    everybody = session.histogram("kind", values=["a", "b"], epsilon=1.0)
    assert (everybody.interval(population=True)[0] == 0).all()
    assert everybody.compare(everybody).changed() == []


def test_top_finds_the_most_frequent_of_lists_and_of_single_values():
    rows = [(None, "abc"[i % 3 if i < 60 else 2], ["x", "y"] if i % 4 else ["y", "z"], True) for i in range(4000)]
    table = pl.DataFrame(rows, schema=["n", "kind", "tags", "in"], orient="row").drop("n")
    for rule, delta in (("basic", 0.0), ("zCDP", 1e-6)):
        for neighbors in (PLUS, REPLACE):
            session = Session(table, budget=8.0, delta=delta, rule=rule, neighbors=neighbors, source=ReplaySource.from_key(rule))
            peeled = session.top("tags", 2, values=["w", "x", "y", "z"], epsilon=1.0)
            assert peeled.values == ["y", "x"]
            assert np.abs(peeled.counts - [4000, 3000]).max() < 60
            assert abs(peeled.n - 4000) < 60
            assert session.top("kind", 1, values=["a", "b", "c"], epsilon=1.0).values == ["c"]


# --- intervals ---


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 4.0])
def test_the_reach_of_the_noise_is_exact(epsilon):
    noise = Laplace(epsilon=epsilon, sensitivity=1, neighbors=PLUS)
    spread = Spread(noise.scale)
    assert spread.variance == pytest.approx(noise.variance, rel=1e-9)
    for alpha in (0.5, 0.05, 1e-4):
        reach = int(spread.reach(alpha))
        inside = sum(float(noise.probability(k)[0]) for k in range(-reach, reach + 1))
        assert inside >= 1 - alpha - 1e-12
        assert inside - 2 * float(noise.probability(reach)[0]) < 1 - alpha or reach == 0  # one step less would not do


def test_the_reach_of_two_and_of_many_noises_is_on_the_safe_side_and_not_far():
    """Exact convolutions of the discrete laws against what is claimed."""
    grid = np.arange(-4000, 4001)
    laws = {scale: np.exp(-np.abs(grid) / scale) * np.tanh(0.5 / scale) for scale in (30.0, 29.999, 5.0)}
    for one, other in ((30.0, 29.999), (30.0, 5.0)):
        both = np.convolve(laws[one], laws[other], "same")
        for alpha in (0.05, 1e-3):
            reach = float(pair_reach(one, other, alpha)) + 1  # half a step each
            assert both[np.abs(grid) > reach].sum() <= alpha
            assert both[np.abs(grid) > reach - 6].sum() > alpha
    many = laws[5.0]
    for _ in range(9):
        many = np.convolve(many, laws[5.0], "same")
    reach = float(sum_reaches(Spread(5.0), 10, 0.05))
    assert many[np.abs(grid) > reach].sum() <= 0.05
    assert many[np.abs(grid) > reach / 2].sum() > 0.05


REPEATED = 250


def covered(people, wider):
    """How often the interval of a mean covers; ``wider`` is how much more noise is drawn than is stated."""
    true_steps, ends = round(312.37 * people), (0.0, 2.0)  # distances to the middle, 1, in steps of 0.001
    truth = 1 + true_steps / (1000 * people)  # on no lattice that divides the range
    sums = Laplace(epsilon=0.5 / wider, sensitivity=1000, neighbors=PLUS)
    counts = Laplace(epsilon=0.5 / wider, sensitivity=1, neighbors=PLUS)
    source = ReplaySource.from_key(f"mean of {people}")
    z, y = sums.noise.draws(REPEATED, source), counts.noise.draws(REPEATED, source)
    hits = 0
    for k in range(REPEATED):
        estimate = CentralMean(SPENT, None, None, ends, true_steps + int(z[k]), Spread(2000.0, 0.001), people + int(y[k]), Spread(2.0))
        low, high = estimate.interval(0.95)
        assert low <= estimate.value <= high
        assert people == 3 or 2 < (high - low) / estimate.stderr < 6
        hits += low <= truth <= high
    return hits


@pytest.mark.parametrize("people", [3, 1000, 20_000, 10**6])
def test_the_interval_of_a_mean_covers_whatever_the_count(people):
    """Falsely rejected with probability 1e-6; twice the noise is covered about 80 % of the time: rejected with power above 0.999."""
    assert stats.binom.cdf(covered(people, 1), REPEATED, 0.95) > 1e-6
    if people == 1000:
        assert stats.binom.cdf(covered(people, 2.0), REPEATED, 0.95) < 1e-6


@pytest.mark.parametrize("scale", [1e-3, 0.3, 100.0])
@pytest.mark.parametrize(("ends", "steps", "count"), [((1e9, 1e9 + 1), 12_345_678, 10**9), ((0.0, 1.0), 0, 7), ((0.0, 1.0), 10**9, 10)])
def test_the_interval_of_a_mean_of_a_public_number_is_that_of_its_sum(scale, ends, steps, count):
    """Also where there is hardly any noise; and at the end of the range where the sum fits none within."""
    noise = Spread(scale, 1e-3)
    mean = CentralMean(SPENT, count, None, ends, steps, noise, count, None)
    for alpha in (0.05, 1e-9):
        reach = np.array([-1, 1]) * noise.reach(alpha)
        exact = np.clip((steps * 1e-3 + reach) / count, -0.5, 0.5) + sum(ends) / 2
        assert mean.limits(alpha) == pytest.approx(tuple(exact), rel=1e-15, abs=1e-9)


@pytest.mark.parametrize("held", [[0, 0, 0, 0, 0, 0], [3, 0, 1, 0, 0, 2], [0, 20, 0, 300, 0, 20], [9, 8, 7, 6, 5, 4]], ids=str)
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 10)])
def test_the_limits_of_a_quantile_cover_by_the_exact_law(held, q):
    """The probability of a limit on the wrong side, from the mechanism's law; without the shift it would be too large."""
    ranking, level, people = Ranking(0.2, 5, PLUS, True), 0.9, np.array(held)
    n, selection = int(people.sum()), ranking.selection(q)
    true = int(np.argmax(np.cumsum(people) >= q * n))
    chosen = ranking.choose(people, q, level, ReplaySource.from_key("limits"))
    assert chosen[0] <= 5
    shift = int(np.ceil(ranking.missed(q, 0.95) + 1e-6))
    padded = np.concatenate([[shift], people, [shift]])
    for toward in (-1, 1):
        law = [float(each.high) for each in selection.law(utilities(padded, q * n + shift + toward * shift))]
        places = np.clip(np.arange(-1, 7), 0, 5)
        assert sum(p for p, place in zip(law, places, strict=True) if toward * (place - true) < 0) <= 0.05
    if held[0] == 9:
        bare = [float(each.low) for each in selection.law(utilities(people, q * n))]
        assert max(sum(bare[:true]), sum(bare[true + 1 :])) > 0.05


# --- estimates are of the family ---


def histogram(counts, scale=2.0, rows=None):
    return CentralHistogram.of(SPENT, ["a", "b", "c"], counts, Spread(scale), rows=rows)


@pytest.mark.parametrize("rows", [None, 1000])
def test_histograms_compare_select_and_show_themselves(rows):
    one, other = histogram([500, 300, 200], rows=rows), histogram([300, 500, 200], rows=rows)
    assert one.compare(other).changed(0.01) == ["a", "b"]
    assert one.compare(one).changed(0.2) == []
    assert one.compare(one).p_values.min() > 0.9
    low, high = one.compare(other).interval(0.95)
    assert (low <= one.compare(other).difference).all()
    assert (one.compare(other).difference <= high).all()
    top = one.top(2)
    assert top.values == ["a", "b"]
    assert top.interval()[1][0] == one.interval()[1][0]
    assert top.interval(simultaneous=True)[1][0] > one.interval()[1][0]
    wide = one.interval(population=True)
    assert (wide[0] < one.interval()[0]).all()
    assert (wide[1] > one.interval()[1]).all()
    assert one.postprocess("norm-sub").counts.sum() == pytest.approx(one.n)
    assert one.to_arrow().column_names == ["value", "count", "stderr", "low", "high", "frequency"]
    assert one.chart().altair.to_dict()
    assert side_by_side(one.values, plain=[500, 300, 200], central=one).altair.to_dict()
    for wrong in (lambda: one.postprocess("mle"), lambda: top.postprocess("norm"), one.distribution, lambda: one.compare(3)):
        with pytest.raises(ParameterError):
            wrong()
    with pytest.raises(MergeError):
        one.compare(one.top(2))
    with pytest.raises(ParameterError):
        side_by_side(["a"], plain=[1, 2])


def test_the_sampling_intervals_of_a_histogram_cover():
    """Rows drawn from a law, noise on top, n private: at least 95 %, rejected otherwise at 1e-6; half the width is rejected."""
    source, hits, narrow = ReplaySource.from_key("sampled rows"), 0, 0
    noise = Laplace(epsilon=0.5, sensitivity=1, neighbors=PLUS)
    words = np.array([source.below(1000) for _ in range(300 * 200)]).reshape(300, 200)
    for row, z in zip(words, noise.noise.draws(300, source), strict=True):
        count = int((row < 300).sum()) + int(z)
        estimate = CentralHistogram.of(SPENT, ["a"], [count], Spread(noise.scale), rows=None)
        low, high = (float(limit[0]) for limit in estimate.interval(0.95, population=True))
        hits += low <= 60 <= high
        narrow += abs(60 - count) <= (high - low) / 6
    assert stats.binom.cdf(hits, 300, 0.95) > 1e-6
    assert stats.binom.cdf(narrow, 300, 0.95) < 1e-6


def test_numbers_compare_and_show_themselves():
    session = Session({"x": list(range(2000))}, budget=9.0, neighbors=PLUS, source=ReplaySource.from_key("numbers"))
    below = session.count(where=pl.col("x") < 500, epsilon=0.5)
    above = session.count(where=pl.col("x") >= 500, epsilon=0.5)
    change = below.compare(above)
    assert change.changed(0.001)
    assert not below.compare(session.count(where=pl.col("x") < 501, epsilon=0.5)).changed(0.01)
    assert change.interval()[0] < change.difference < change.interval()[1]
    mean = session.mean("x", low=0, high=2000, epsilon=0.5)
    assert mean.interval()[0] < 999.5 < mean.interval()[1]
    with pytest.raises(MergeError):
        below.compare(mean)
    found = session.quantiles("x", [0.25, 0.5], low=0, high=2000, steps=200, epsilon=2.0)
    assert found.quantile(0.5) == found.values[1]
    for wrong in (lambda: found.quantile(0.4), lambda: found.interval(0.99)):
        with pytest.raises(ParameterError):
            wrong()
    for answer in (below, mean, change, found):
        assert answer.to_polars().height >= 1
        assert repr(answer)
    for answer in (below, mean, found):
        assert answer.chart().altair.to_dict()
