"""Protocols for ranges: exact privacy, exact expectations, errors that are true, states that resume, and crowds at the edge."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.client.answerable import takes_all
from deniable.contract.law import OutputLaw
from deniable.contract.probability import exp_below
from deniable.contract.protocol import Protocol, protocol_from_json
from deniable.core.run import ask, draw_tickets
from deniable.errors import MergeError, ParameterError, WireError
from deniable.tasks.enclosed import reach
from deniable.tasks.ranges.ahead import AHEAD
from deniable.tasks.ranges.haar import HaarHRR
from deniable.tasks.ranges.hierarchy import Hierarchy
from deniable.testing import ReplaySource, law_of

SIZE = 13
LINE = dn.IndexRange(SIZE)
ALPHA = 1e-6
RUNS = 80
WAYS = {
    "flat": lambda epsilon: Hierarchy(domain=LINE, epsilon=epsilon, branching=SIZE),
    "tree": lambda epsilon: Hierarchy(domain=LINE, epsilon=epsilon, branching=3, people=2000),
    "tree of GRR": lambda epsilon: Hierarchy(domain=LINE, epsilon=epsilon, branching=4, oracle="GRR"),
    "Haar": lambda epsilon: HaarHRR(domain=LINE, epsilon=epsilon),
    "AHEAD": lambda epsilon: AHEAD(domain=LINE, epsilon=epsilon, branching=4, people=2000),
}
SHARES = np.exp(-((np.arange(SIZE) - 4) ** 2) / 6) + 0.02
CROWD = np.repeat(np.arange(SIZE), np.floor(2000 * SHARES / SHARES.sum()).astype(int))
each_way = pytest.mark.parametrize("way", WAYS)


def told(protocol, values, source=None):
    return protocol.run(values, source=source)


def whole_answer(protocol, value):
    """The law of ticket, encoder and mechanism together."""

    def tell(source):
        question = protocol.question(protocol.ticket(source))
        return None if question is None else (question.name, question.answer(value, source))

    return law_of(tell)


@pytest.mark.parametrize(
    "protocol",
    [
        Hierarchy(domain=dn.IndexRange(4), epsilon=1.0, branching=2),
        Hierarchy(domain=dn.Integers(-1, 3), epsilon=1.0, branching=3, oracle="OUE"),
        HaarHRR(domain=dn.IndexRange(5), epsilon=1.0),
        AHEAD(domain=dn.Categories("low", "middle", "high"), epsilon=1.0, branching=2),
    ],
    ids=lambda protocol: f"{protocol.kind}-{protocol.domain.size}",
)
def test_the_whole_answer_keeps_epsilon_exactly(protocol):
    values = [protocol.domain.value(key) for key in range(protocol.domain.size)]
    laws = [whole_answer(protocol, value) for value in values]
    assert all(law.total == 1 for law in laws)
    worst = max(a.ratio(b) for a in laws for b in laws)
    assert worst == max(question.spec.ratio for question in protocol.open().questions)
    assert worst <= exp_below(1.0)
    assert protocol.guarantee.epsilon == 1.0


def test_the_twin_that_tells_every_level_is_rejected():
    """Everybody reports on every level with the whole epsilon: two levels are worth two epsilons, exactly."""
    protocol = Hierarchy(domain=dn.IndexRange(4), epsilon=1.0, branching=2, oracle="GRR")
    questions = protocol.open().questions
    laws = [law_of(lambda source, value=value: tuple(question.answer(value, source) for question in questions)) for value in range(4)]
    worst = max(a.ratio(b) for a in laws for b in laws)
    assert worst > exp_below(1.99)
    assert worst == questions[0].spec.ratio * questions[1].spec.ratio
    assert isinstance(laws[0], OutputLaw)


@pytest.mark.parametrize("way", ["flat", "tree", "Haar"])
def test_without_noise_and_with_everyone_on_every_level_the_answer_is_the_truth(way):
    protocol = WAYS[way](16.0)  # a wrong answer in nine million
    tallies = {
        question.name: question.spec.tally(
            question.spec.privatize(question.encoder.encode_many(CROWD, None), source=ReplaySource.from_key(question.name))
        )
        for question in protocol.open().questions
    }
    found = protocol.close(tallies)
    assert CROWD.size * found.frequencies == pytest.approx(np.bincount(CROWD, minlength=SIZE), abs=0.1)
    assert found.mean == pytest.approx(CROWD.mean(), abs=1e-3)
    assert found.quantile(0.5) == np.sort(CROWD)[CROWD.size // 2]


def deviations(way, epsilon):
    """How many standard errors three sums were off, run by run, and the sums for everyone like the crowd."""
    protocol, found = WAYS[way](epsilon), []
    truth = np.array([np.isin(CROWD, range(low, high + 1)).sum() for low, high in ((0, 3), (4, 4), (2, 11))])
    for run in range(RUNS):
        told_now = told(protocol, CROWD, ReplaySource.from_key(f"{way}/{epsilon}/{run}")).ranges([(0, 3), (4, 4), (2, 11)])
        found.append((told_now.counts - truth) / told_now.stderr)
    return np.array(found)


@pytest.mark.parametrize(("way", "epsilon"), [("flat", 1.0), ("tree", 4.0), ("tree of GRR", 1.0), ("Haar", 1.0)])
def test_errors_are_true_and_answers_unbiased(way, epsilon):
    """The squares of 80 deviations are chi-squared, for each range; a twin that tells half of its error is rejected, and so is a bias.

    Power: the twin's squares are 4 times as large, where 1.9 times is rejected; a bias of one standard error is rejected, as is 0.6.
    """
    found = deviations(way, epsilon)
    for squares, mean in zip((found**2).sum(axis=0), found.mean(axis=0), strict=True):
        assert ALPHA / 2 < stats.chi2.sf(squares, RUNS) < 1 - ALPHA / 2
        assert abs(mean) * RUNS**0.5 < stats.norm.isf(ALPHA / 2)
        assert stats.chi2.sf(squares * 2**2, RUNS) < ALPHA
        assert abs(mean + 1) * RUNS**0.5 > stats.norm.isf(ALPHA / 2)


def test_adaptive_errors_cover_that_people_are_spread_unevenly():
    """Within cells that were not cut the answer is biased; the error counts it, so that intervals cover. Binomial at alpha, power below."""
    found = np.abs(deviations("AHEAD", 1.0)) <= 1.96
    for covered in found.sum(axis=0):
        assert stats.binom.cdf(covered, RUNS, 0.95) > ALPHA
        assert stats.binom.cdf(covered * 0.75, RUNS, 0.95) < ALPHA  # a twin that covers three in four


def test_intervals_hold_where_a_range_goes_through_a_cell_that_nobody_cut():
    """60 of 200 people are at one value of 64, in a cell of 16 that is often left whole. More than 15 of 24 intervals hold, or it is by
    chance of 1e-6; the twin, an even spread with its error, holds in few. The cumulative share and the mean hold as well."""
    values, holds = np.repeat([5, 63], [60, 140]), np.zeros(4, dtype=int)
    for run in range(24):
        found = told(AHEAD(domain=dn.Integers(0, 63), epsilon=1.0, people=200), values, ReplaySource.from_key(f"lump/{run}"))
        at_five = found.ranges([(5, 5)])
        twin = at_five.counts + reach(0.05, normal=found.line.normal, grown=True) * at_five.stderr * np.array([-1, 1])
        limits = (at_five.interval(0.95), found.cdf_interval(5), found.mean_interval(), twin)
        holds += [bool(low <= truth <= high) for (low, high), truth in zip(limits, (60, 0.3, values.mean(), 60), strict=True)]
    assert holds[3] <= 15 < holds[:3].min()


def test_quantiles_lie_in_their_intervals_which_cover():
    """Sixty runs on a skewed crowd. Where noise crosses a share first is too early: a twin that inverts unordered limits is rejected."""
    values, line = np.floor(64 * (np.arange(4000) / 4000) ** 6).astype(int), dn.IndexRange(128)
    protocol = Hierarchy(domain=line, epsilon=1.0, branching=4, people=4000)
    place, covered, twin = int(np.sort(values)[int(0.98 * 4000) - 1]), 0, 0
    for run in range(60):
        found = told(protocol, values, ReplaySource.from_key(f"quantiles/{run}"))
        low, high = found.quantile_interval(0.98)
        assert low <= found.quantile(0.98) <= high
        covered += low <= place <= high
        limits = found.cdf_interval(list(range(128)))
        first, last = (
            int(np.argmax(np.append(limit[:-1], 1.0) >= 0.98)) for limit in (np.minimum.accumulate(limits[1][::-1])[::-1], limits[0])
        )
        twin += first <= place <= last
    assert stats.binom.cdf(covered, 60, 0.95) > ALPHA
    assert stats.binom.cdf(twin, 60, 0.95) < ALPHA


def run_by_hand(protocol, values, key):
    """Round by round, every state and tally written and read again."""
    source = ReplaySource.from_key(key)
    state, rounds = protocol, []
    tickets = draw_tickets(protocol, len(values), source)
    while isinstance(state, Protocol):
        state = protocol_from_json(state.canonical)
        rounds.append(state)
        state = state.close(ask(state, values, tickets, source=source))
    return rounds, state


@each_way
def test_a_protocol_resumes_from_its_json(way):
    protocol = WAYS[way](2.0)
    rounds, found = run_by_hand(protocol, CROWD, "resume")
    direct = told(protocol, CROWD, ReplaySource.from_key("resume"))
    assert found.line.shares.tolist() == direct.line.shares.tolist()
    assert found.line.groups == direct.line.groups
    assert sum(found.line.groups) == CROWD.size
    assert len(rounds) == (1 if way != "AHEAD" else len(found.line.groups))
    assert all(takes_all(question, protocol.domain) for state in rounds for question in state.open().questions)


def test_the_adaptive_tree_grows_where_people_are_and_stops_where_nobody_is():
    line = dn.IndexRange(256)
    rounds, found = run_by_hand(AHEAD(domain=line, epsilon=2.0, people=40_000), [77] * 40_000, "one place")
    assert [state.open().first for state in rounds] == [Fraction(i, 4) for i in range(4)]
    assert set(found.line.starts.tolist()) >= {64, 76, 77, 78, 79, 80, 128, 192}
    assert found.line.starts.size < 40
    assert found.quantile_interval(0.5)[0] <= 77 <= found.quantile_interval(0.5)[1]
    noisy, even = run_by_hand(AHEAD(domain=line, epsilon=0.1, people=2000), np.arange(2000) % 256, "everywhere")
    assert len(noisy) == 2  # nothing stands out of the noise: everybody who is left is asked at once, and no more is cut
    assert noisy[-1].open().questions[0].share == Fraction(3, 4)
    assert even.line.starts.tolist() == [0, 64, 128, 192]
    assert even.cdf(31) == pytest.approx(even.line.shares[0] / 2) or even.cdf(31) in (0.0, 1.0)


def test_damaged_states_are_refused():
    state = AHEAD(domain=LINE, epsilon=2.0, branching=4, people=2000)
    state = state.close(ask(state, CROWD, draw_tickets(state, CROWD.size)))
    canonical = state.canonical
    tally = state.state.told[0].tally.hex().encode()
    for old, new in (
        (b'"widths":[4,1]', b'"widths":[1]'),
        (b'"widths":[4,1]', b'"widths":[4,0]'),
        (b'"widths":[4,1]', b'"widths":[]'),
        (b'"widths":[4,1]', b'"widths":"41"'),
        (b'"told":[{"cells":[0,4,8,12]', b'"told":[{"cells":[0,4,8]'),
        (tally, tally[:-2]),
        (tally, b""),
        (b'"epsilon":"2.0"', b'"epsilon":"0.0"'),
        (b'"oracle":"auto"', b'"oracle":"CMS"'),
        (b'"people":2000', b'"people":-1'),
    ):
        assert old in canonical
        with pytest.raises(WireError):
            protocol_from_json(canonical.replace(old, new))
    with pytest.raises(ParameterError, match="parents"):
        state.learned(cells=(0,))  # cells that are not cut further, but joined
    with pytest.raises(WireError):
        protocol_from_json(WAYS["tree"](1.0).canonical.replace(b'"widths":[9,3,1]', b'"widths":[9,3]'))
    other = WAYS["tree"](1.5)
    with pytest.raises(MergeError):
        WAYS["tree"](1.0).close(ask(other, CROWD, draw_tickets(other, CROWD.size)))
