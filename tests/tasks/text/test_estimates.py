"""Estimates from texts: right on average and within their limits; words that are found, foretold, trending, and put into topics."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import stats

from deniable.core.frequency import FrequencyEstimate
from deniable.core.supports import Supports
from deniable.errors import MergeError, MissingExtra, ParameterError
from deniable.lab.texts import Sentences, Talk
from deniable.tasks.marginals.groups import Moments
from deniable.tasks.text import Bigrams, NewWords, NextWords, Terms, Texts, WordPairs, trending
from deniable.tasks.text.topics import factorize, topics_of
from deniable.testing import ReplaySource

KNOWN = ["i", "drink", "tea"]
CROWD = ["I drink yerba"] * 8000 + ["I drink tea"] * 9000 + ["boba boba yerba"] * 6000 + [""] * 1000
"""Of 24,000 people: yerba is 8/24 + 1/3 of 6/24, boba 2/3 of 6/24, and 10/24 have nothing new."""


def test_new_words_are_found_with_their_shares_of_peoples_words():
    asked = NewWords(known=KNOWN, longest=8, k=5, epsilon=4.0, people=len(CROWD))
    found = asked.run(CROWD, source=ReplaySource.from_key("new words"))
    assert found.values == ["yerba", "boba"]  # of those that were given back, the ones that are more than noise
    rows = found.rows()
    assert rows["value"][:2] == ["yerba", "boba"]
    for place, truth in enumerate([10 / 24, 4 / 24]):
        assert rows["low"][place] < truth < rows["high"][place]
        assert abs(rows["share"][place] - truth) < 5 * rows["stderr"][place]
    nothing = found.parts["nothing_new"]
    assert abs(nothing.point[0] - 10 / 24) < 5 * nothing.stderr[0]
    assert "yerba" in str(found.chart().altair.to_dict())


def test_a_crowd_without_anything_new_says_so():
    asked = NewWords(known=KNOWN, longest=4, k=2, epsilon=4.0, people=3000)
    found = asked.run(["I drink tea", "", "TEA!"] * 1000, source=ReplaySource.from_key("nothing"))
    assert found.values == []
    nothing = found.parts["nothing_new"]
    noise = nothing.law.counts.stderr[0] / nothing.n
    assert nothing.point[0] == pytest.approx(1.0, abs=5 * noise)
    nobody = asked.run([])
    assert nobody.values == []


def test_noise_is_not_taken_for_words():
    """30 crowds without anything new: any word is named in 1 of 20 at most; more than 10 of 30 happens once in 10^6. A twin that looks at
    each of the 20 words alone names some in nearly every crowd."""
    asked = NewWords(known=["tea"], longest=2, k=20, epsilon=4.0, people=400)
    runs = [asked.run([["tea"]] * 400, source=ReplaySource.from_key(f"none/{i}")) for i in range(30)]
    assert sum(bool(run.values) for run in runs) <= 10
    assert sum(bool((run.ranked.interval()[0][1:] > 0).any()) for run in runs) > 10  # the first is "nothing new"


def test_words_in_a_row_are_found():
    asked = NewWords(known=["good morning"], longest=10, k=2, epsilon=5.0, people=9000, ngram=2)
    found = asked.run(["good night", "good morning", "night"] * 3000, source=ReplaySource.from_key("in a row"))
    assert found.values == ["good night"]


@pytest.mark.parametrize("epsilon", [3.0, 5.0])
def test_limits_of_next_words_cover_the_truth_and_a_narrower_twin_does_not(epsilon):
    """40 crowds x 25 probabilities at 90 %, which depend on each other: the standard error of the coverage is 0.012.

    At epsilon 5 most of the error is that of the draws: limits that forget them cover 63 %.
    """
    population = Sentences(words=5, length=4)
    covered, narrow = [], []
    for run in range(40):
        source = ReplaySource.from_key(f"cover {run}")
        table = Bigrams(vocabulary=population.values, epsilon=epsilon, people=3000).run(population.draw(3000, source), source=source)
        for level, seen in ((0.9, covered), (0.7, narrow)):
            low, high = map(table.square, table.interval(level))
            seen.append(((low <= population.chain) & (population.chain <= high)).mean())
    assert 0.85 < np.mean(covered) < 0.96
    assert np.mean(narrow) < 0.8


@pytest.mark.parametrize("oracle", ["GRR", "SubsetSelection", "OUE"])
def test_limits_of_next_words_are_where_the_exact_law_says(oracle):
    """At each limit r the distance of x - r S from 0 is z standard errors, by the covariance of all pairs that tables of attributes use.

    A twin for which pairs are independent is 4 to 9 % off with GRR and SubsetSelection.
    """
    population, n = Sentences(words=3, length=4), 200_000
    source = ReplaySource.from_key("law")
    table = Bigrams(vocabulary=population.values, epsilon=1.0, people=n, oracle=oracle).run(population.draw(n, source), source=source)
    law, shares = Moments.of(table.parts["pairs"].spec), table.parts["pairs"].frequencies
    for limits in table.interval(0.95):
        for (first, second), r in np.ndenumerate(table.square(limits)):
            form = np.zeros(10)
            form[3 * first : 3 * first + 3] = -r
            form[3 * first + second] += 1
            error = np.sqrt(law.covariance(form[None, :], shares)[0, 0] / n)
            assert abs(form @ shares) / error == pytest.approx(stats.norm.isf(0.025), rel=0.02)


def test_a_pair_of_two_people_is_no_proof_for_all_limits_together():
    """Next to no noise: of 100 people who wrote the row's word, two went on alike. The chance of that, where it is as likely as the lower
    limit says, must be below the part of the 5 % that one of 400 limits has. The normal law would put it at 2 in 100."""
    words = [f"w{i}" for i in range(20)]
    spec = Bigrams(vocabulary=words, epsilon=20.0, people=300, oracle="GRR").spec
    supports = np.zeros(401, dtype=np.int64)
    supports[[0, 1, 400]] = 98, 2, 200
    law = Supports(300, supports, np.array(float(spec.p)), np.array(float(spec.q)))
    table = NextWords.of(words, FrequencyEstimate.of(spec, range(401), law))
    low, high = map(table.square, table.interval(0.95, simultaneous=True))
    assert stats.binom.sf(1, 100, low[0, 1]) < 0.05 / 400
    assert stats.binom.cdf(2, 100, high[0, 1]) < 0.05 / 400
    assert low[0, 0] > 0.5


def test_a_table_of_next_words_foretells_them():
    population = Sentences(words=8, length=5)
    source = ReplaySource.from_key("foretell")
    table = Bigrams(vocabulary=population.values, epsilon=4.0, people=40_000).run(population.draw(40_000, source), source=source)
    assert np.abs(table.matrix - population.chain).max() < 0.12
    assert table.matrix.sum(axis=1) == pytest.approx(np.ones(8))
    word = population.values[0]
    assert table.next_words(word, 1).values == [population.values[int(population.chain[0].argmax())]]
    following = table.next_words(word, 8)
    low, _ = following.interval(simultaneous=True)
    assert (low <= population.chain[0][[population.values.index(w) for w in following.values]]).all()
    written = table.continued(word, 20_000, source=source)
    places = np.array([population.values.index(each) for each in written])
    after = np.bincount(places[1:][places[:-1] == 0], minlength=8)
    assert np.abs(after / after.sum() - table.matrix[0]).max() < 5.5 * np.sqrt(0.25 / after.sum())


def test_pairs_weigh_people_and_not_pairs():
    """One person in two repeats one pair a hundred times, the others write another one once: both have one vote."""
    column = Texts(["a", "b"], np.tile([0] * 101 + [0, 1], 2000), np.append(np.arange(4000) // 2 * 103 + np.tile([0, 101], 2000), 206_000))
    table = Bigrams(vocabulary=["a", "b"], epsilon=4.0, people=4000).run(column, source=ReplaySource.from_key("votes"))
    assert table.shares[0].tolist() == pytest.approx([0.5, 0.5], abs=0.06)


def test_where_nothing_is_known_the_limits_say_so():
    asked = Bigrams(vocabulary=["a", "b"], epsilon=1.0, people=300)
    for texts in ([], ["", "unknown words"] * 150):
        table = asked.run(texts, source=ReplaySource.from_key("unknown"))
        low, high = map(table.square, table.interval(0.999999))
        assert (low.tolist(), high.tolist()) == ([[0.0, 0.0]] * 2, [[1.0, 1.0]] * 2)
        assert table.matrix.sum(axis=1) == pytest.approx(np.ones(2))
        assert repr(table)


def test_trends_name_what_changed_and_nothing_else():
    """60 terms, of which one rises and one falls. Over 60 null comparisons of 60 terms at 5 %, each names any term in at most 1 of 20."""
    words = [f"w{i}" for i in range(60)]
    asked, source = Terms(vocabulary=words, epsilon=3.0, people=6000), ReplaySource.from_key("trends")
    usual = Texts(words, np.arange(6000) % 60, np.arange(6001))
    codes = usual.codes.copy()
    codes[(np.arange(6000) % 60 == 7) | (np.arange(6000) % 60 == 8)] = 9
    codes[:600] = 9
    trends = trending(asked.run(usual, source=source), asked.run(Texts(words, codes, usual.offsets), source=source))
    assert trends.risen() == ["w9"]
    assert set(trends.fallen()) <= {"w7", "w8"}
    assert trends.cost == 6.0
    low, high = trends.interval(simultaneous=True)
    assert low[9] < (codes == 9).mean() - 1 / 60 < high[9]
    null = [trending(asked.run(usual, source=source), asked.run(usual, source=source)) for _ in range(60)]
    assert sum(bool(each.changed(0.05)) for each in null) <= 13  # binomial(60, 0.05): more happens once in 10^6
    assert sum((each.p_values <= 0.05).any() for each in null) > 13  # a twin that looks at each term alone
    with pytest.raises(MergeError, match="values"):
        trending(asked.run(usual), Terms(vocabulary=words[:5], epsilon=3.0).run(usual))


def test_topics_are_seen_where_n_allows_it_and_denied_where_it_does_not():
    population, source = Talk(words=12, topics=3), ReplaySource.from_key("topics")
    asked = WordPairs(vocabulary=population.values, epsilon=4.0, people=20_000)
    counts = asked.run(population.draw(20_000, source), source=source)
    assert counts.visible == 3
    topics = counts.topics(words=4)
    assert sorted(map(sorted, topics.values)) == sorted(sorted(population.values[i::3]) for i in range(3))
    for share, error in zip(topics.point, topics.stderr, strict=True):
        assert share > 0.15  # six pairs of 66 are 0.09 by chance
        assert 0 < error < 0.02
    assert "NOISE" not in topics.headline().upper()
    few = asked.run(population.draw(100, source), source=source)
    assert few.visible < 3
    assert "the others are noise" in few.topics(3).headline()
    with pytest.raises(ParameterError, match="k"):
        few.topics(13)


def test_the_error_of_a_checked_topic_is_as_large_as_it_is_said_to_be():
    """Three of six words, whose pairs are a sixth of all: 100 crowds, squared deviations over squared errors. These are at most a tenth too
    large, since pairs count as independent; errors that are a third too small are rejected."""
    asked, draws = WordPairs(vocabulary=[f"w{i}" for i in range(6)], epsilon=2.0, people=2000), np.random.default_rng(0)
    told = []
    for run in range(100):
        crowd = Texts(list(asked.vocabulary), draws.integers(0, 6, 4000), np.arange(2001) * 2)
        counts = asked.run(crowd, source=ReplaySource.from_key(f"checked/{run}"))
        found = topics_of(counts, np.array([[0.4, 0.3, 0.3, 0, 0, 0]]), words=3)
        told.append((found.point[0], found.stderr[0]))
    squares = sum(((share - 6 / 36) / error) ** 2 for share, error in told)
    assert stats.chi2.ppf(1e-6, 100) < squares < stats.chi2.isf(1e-6, 100)
    assert stats.chi2.sf(squares / 0.6**2, 100) < 1e-6


def test_noise_that_is_factorized_slowly_is_no_warning():
    noise = np.triu(np.maximum(np.random.default_rng(0).normal(size=(6, 6)), 0.0), 1)
    assert factorize(noise + noise.T, 1).sum() == pytest.approx(1.0)


def test_a_crowd_that_writes_nothing_has_no_topics(monkeypatch):
    counts = WordPairs(vocabulary=["a", "b", "c"], epsilon=2.0, people=2000).run([""] * 2000, source=ReplaySource.from_key("silent"))
    assert counts.visible == 0
    assert repr(counts.topics(2))
    assert WordPairs(vocabulary=["a", "b"], epsilon=2.0).run([]).visible == 0
    monkeypatch.setitem(sys.modules, "sklearn.decomposition", None)
    with pytest.raises(MissingExtra, match="lab"):
        counts.topics(2)
