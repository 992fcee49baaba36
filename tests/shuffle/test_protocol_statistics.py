"""Protocols on crowds: unbiased, with the error that they state, covered by their intervals; and mutants that must be caught.

Tests are at alpha = 1e-6. **Power**: with 300 crowds, a bias of 0.4 standard errors of one crowd is found with probability above 0.97, and
so is a variance that is off by two thirds.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import inf, sqrt

import numpy as np
import pytest
from scipy import stats

import deniable as dn
from deniable.contract.mixing import SHUFFLE
from deniable.contract.protocol import MemoryProtocol, protocol_from_json
from deniable.errors import ProtocolError, WireError
from deniable.shuffle import protocol as protocols
from deniable.testing import ReplaySource

SIGMAS, CROWDS, N = 4.892, 300, 400
PROMISE = {"epsilon": 1.0, "delta": 1e-4, "n": N}
PLACES = np.linspace(-1, 1, N)
"""In a range from -1 to 3: not around its middle, where noise does not pull."""
CASES = {  # the protocol, what people hold, the true count or sum, how it is read, whether the stated variance is exact
    "binary sum": (dn.shuffle.ShuffledBinarySum(**PROMISE), np.arange(N) % 3 == 0, 134, lambda e: e.counts[1], True),
    "histogram": (dn.shuffle.ShuffledHistogram(domain_size=4, **PROMISE), np.arange(N) % 8 // 3, 150, lambda e: e.counts[0], True),
    "real sum": (dn.shuffle.ShuffledRealSum(low=-1, high=3, **PROMISE), PLACES, PLACES.sum(), lambda e: e.value, False),
    "dummies": (dn.shuffle.PoissonHistogram(domain_size=4, **PROMISE), np.arange(N) % 8 // 3, 150, lambda e: e.counts[0], True),
    "split and mix": (dn.shuffle.SplitAndMixSum(low=-1, high=3, **PROMISE), PLACES, PLACES.sum(), lambda e: e.value, False),
}


def said(protocol, values, source):
    """What people send, before anyone estimates: of a single message in their order, of several in a random one."""
    if protocol.needs:
        return protocol.privatize(values, source=source)
    return [asked(protocol).answer(value, source) for value in values.tolist()]


def asked(protocol):
    (question,) = protocol.open().questions
    return question


def estimated(protocol, messages, people=N):
    """What messages say: of a single one each by its tally, of several by the protocol itself."""
    if protocol.needs:
        return protocol.estimate(messages, people=people)
    return protocol.close({asked(protocol).name: asked(protocol).spec.tally(list(messages))})


@cache
def runs(name):
    protocol, values, _, read, _ = CASES[name]
    source = ReplaySource.from_key(f"crowds {name}")
    estimates = [protocol.run(values, source=source) for _ in range(CROWDS)]
    position = {"binary sum": 1, "histogram": 0, "dummies": 0}.get(name)
    limits = [e.interval(0.95) for e in estimates]
    errors = [e.stderr if position is None else e.stderr[position] for e in estimates]
    if position is not None:
        limits = [(low[position], high[position]) for low, high in limits]
    return np.array([read(e) for e in estimates], dtype=float), np.array(errors, dtype=float), np.array(limits, dtype=float)


@pytest.mark.parametrize("name", CASES)
def test_unbiased_with_the_stated_error(name):
    truth, exact = CASES[name][2], CASES[name][4]
    found, errors, _ = runs(name)
    assert abs(found.mean() - truth) < SIGMAS * sqrt((errors**2).mean() / CROWDS)
    ratio = ((found - truth) ** 2).sum() / (errors**2).mean()
    kurtosis = 3.0 if name == "split and mix" else 0.0  # in excess: Laplace noise
    slack = SIGMAS * sqrt((2 + kurtosis) * CROWDS)
    assert ratio < CROWDS + slack
    assert not exact or ratio > CROWDS - slack


@pytest.mark.parametrize("name", CASES)
def test_intervals_cover(name):
    truth = CASES[name][2]
    low, high = runs(name)[2].T
    assert ((low <= truth) & (truth <= high)).sum() >= stats.binom.ppf(1e-6, CROWDS, 0.95)
    assert (high - low).mean() < 7 * runs(name)[1].mean()  # an interval that says nothing covers, too


@pytest.mark.parametrize("name", CASES)
def test_a_forgotten_shift_is_caught(name):
    """The plain count or sum of the messages: what the CS208 notes' estimator leaves out."""
    protocol, values, truth, _, _ = CASES[name]
    source = ReplaySource.from_key("forgotten")
    found = []
    for _ in range(60):
        sent = np.array(said(protocol, values, source))
        if name == "split and mix":
            found.append(int(sent.sum()) * float(protocol.domain.width) / protocol.steps)  # not modulo anything, nor shifted
        elif name == "real sum":
            found.append(sent.sum() * 4 / protocol.steps - N)
        else:
            found.append(int((sent == {"binary sum": 1}.get(name, 0)).sum()))
    spread = sqrt(protocol.variance() / 60)
    assert abs(np.mean(found) - truth) > SIGMAS * spread


@pytest.mark.parametrize("name", CASES)
def test_scalar_messages_are_estimated_like_bulk_ones(name):
    protocol, values, truth, read, _ = CASES[name]
    source = ReplaySource.from_key(f"scalar {name}")
    each = protocol.messages if protocol.needs else lambda value, source: (asked(protocol).answer(value, source),)
    sent = [message for value in values.tolist() for message in each(value, source)]
    assert all(type(message) is int for message in sent)
    bulk = np.median([read(protocol.run(values, source=source)) for _ in range(5)])
    one = read(estimated(protocol, sent))
    spread = sqrt(protocol.variance() * 2)
    tails = 14 if name == "split and mix" else SIGMAS  # e^-14 is one in a million
    assert abs(one - truth) < tails * spread
    assert abs(bulk - truth) < tails * spread


# --- the order ---


def first_half(privatize):
    """How many ones are in the first half if the second half of the people hold them: hypergeometric under a shuffle."""
    return np.array([int((privatize()[: N // 2] == 1).sum()) for _ in range(40)])


def order_z(protocol):
    values = np.repeat([0, 1], N // 2)
    counts = first_half(lambda: protocol.privatize(values))
    return abs(counts.mean() - N / 4) / sqrt(N / 16 / counts.size), counts


def test_the_order_of_messages_says_nothing(monkeypatch):
    protocol = dn.shuffle.PoissonHistogram(domain_size=2, epsilon=4.0, delta=1e-2, n=N)  # a handful of dummies in all
    z, counts = order_z(protocol)
    assert z < SIGMAS
    assert counts.std() > 1  # sqrt(N / 16) = 5
    monkeypatch.setattr(protocols, "permutation", lambda size, source: np.arange(size))
    assert order_z(protocol)[0] > 10 * SIGMAS  # the identity


def test_a_fixed_permutation_is_caught(monkeypatch):
    """Who sent which is then the same in every batch: two batches agree in their order."""
    protocol = dn.shuffle.PoissonHistogram(domain_size=4, epsilon=4.0, delta=0.9, n=N)
    values = np.arange(N) % 4

    def agreement():
        one, other = (protocol.privatize(values, source=ReplaySource.from_key(f"order {key}")) for key in "bc")
        assert one.size == other.size == N  # nobody sent a dummy
        return stats.chi2_contingency(np.histogram2d(one, other, bins=4)[0]).pvalue

    assert agreement() > 1e-6
    fixed = np.random.default_rng(7).permutation(N)
    monkeypatch.setattr(protocols, "permutation", lambda size, source: fixed)
    assert agreement() < 1e-6


# --- mistakes ---

BINARY, DUMMIES, SHARES = CASES["binary sum"][0], CASES["dummies"][0], CASES["split and mix"][0]
MISTAKES = {
    "too few people": (lambda: BINARY.run([1] * (N - 1)), ["people", "399", "n = 400", "calibrate for n=399"]),
    "too few messages": (lambda: estimated(BINARY, [1] * (N - 1)), ["people", "399", "n = 400"]),
    "no message": (lambda: DUMMIES.estimate([4] * N, people=N), ["messages[0]", "got 4", "from 0 to 3"]),
    "a negative message": (lambda: DUMMIES.estimate([0] * N + [-1]), [f"messages[{N}]", "-1"]),
    "floats": (lambda: SHARES.estimate([0.5] * N), ["messages", "integers"]),
    "a value that is none": (lambda: DUMMIES.privatize([4] * N), ["values[0]", "4"]),
    "out of range": (lambda: SHARES.privatize([5.0] * N), ["values[0]", "5.0"]),
    "a share is missing": (lambda: SHARES.estimate(SHARES.privatize(PLACES)[1:]), ["messages", "pass every share"]),
    "too many people": (lambda: SHARES.estimate(np.zeros(5 * N * SHARES.shares, dtype=int)), ["messages", "1600 people"]),
    "fewer people than messages need": (lambda: DUMMIES.estimate([0] * N, people=N - 1), ["people", "399"]),
    "messages are missing": (lambda: DUMMIES.estimate([0] * (N - 1), people=N), ["people", "to the number of messages, 399"]),
    "nobody counted": (lambda: DUMMIES.estimate(DUMMIES.privatize([0] * 5 * N)), ["people", "None", "number of people"]),
    "hardly any privacy": (lambda: dn.shuffle.ShuffledBinarySum(epsilon=20.0, delta=1e-6, n=9), ["epsilon", "20.0", "below 20"]),
    "too much privacy": (
        lambda: dn.shuffle.PoissonHistogram(domain_size=4, epsilon=1e-3, delta=1e-9, n=9),
        ["epsilon", "0.001", "promise less"],
    ),
    "nobody": (lambda: dn.shuffle.ShuffledBinarySum(epsilon=1.0, delta=1e-6, n=0), ["n", "got 0", "distinct people"]),
    "no delta": (lambda: dn.shuffle.PoissonHistogram(domain_size=4, epsilon=1.0, delta=0, n=9), ["delta", "1e-6"]),
    "no epsilon": (lambda: dn.shuffle.SplitAndMixSum(low=0, high=1, epsilon=0.0, delta=1e-6, n=9), ["epsilon", "0.0"]),
    "a domain without end": (lambda: dn.shuffle.ShuffledHistogram(domain=dn.Text(9), **PROMISE), ["domain", "listed"]),
    "no domain": (lambda: dn.shuffle.PoissonHistogram(**PROMISE), ["size", "None"]),
    "two domains": (lambda: dn.shuffle.ShuffledHistogram(domain_size=3, domain=dn.IndexRange(4), **PROMISE), ["domain", "given once"]),
    "a range upside down": (lambda: dn.shuffle.ShuffledRealSum(low=1, high=0, **PROMISE), ["low, high"]),
    "no steps": (lambda: dn.shuffle.ShuffledRealSum(low=0, high=1, steps=0, **PROMISE), ["steps", "got 0"]),
    "too fine a grid": (lambda: dn.shuffle.SplitAndMixSum(low=0, high=1, epsilon=1e-6, delta=1e-6, n=9), ["steps", "epsilon"]),
    "more dummies than people can send": (
        lambda: dn.shuffle.PoissonHistogram(domain_size=10**7, epsilon=1.0, delta=1e-6, n=10),
        ["domain_size", "hash to fewer bins"],
    ),
    "out of reach": (
        lambda: dn.shuffle.SplitAndMixSum(low=0, high=1, epsilon=1.0, delta=1e-30, n=2),
        ["delta", "64 shares"],
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_told(mistake):
    act, words = MISTAKES[mistake]
    with pytest.raises(dn.errors.DeniableError) as refusal:
        act()
    for word in words:
        assert word in str(refusal.value)


def test_more_people_than_promised_are_welcome():
    """Colluders among them are not counted in n; noise that honest people add is there all the same."""
    for protocol in (BINARY, DUMMIES):
        values = np.arange(3 * N) % 2
        estimate = protocol.run(values, source=ReplaySource.from_key("more"))
        assert estimate.n == 3 * N
        assert abs(estimate.counts[1] - 1.5 * N) < SIGMAS * estimate.stderr[1]
    twice = SHARES.run(np.tile(PLACES, 2), source=ReplaySource.from_key("twice"))
    assert twice.stderr == pytest.approx(sqrt(2 * SHARES.variance()))
    assert abs(twice.value - 2 * PLACES.sum()) < 14 * twice.stderr


def test_both_epsilons_are_told():
    for name, (protocol, *_) in CASES.items():
        promise = protocol.guarantee
        assert (promise.epsilon, promise.delta, promise.people, promise.model) == (1.0, 1e-4, N, "shuffle")
        assert (promise.local_epsilon == inf) == (name in ("dummies", "split and mix"))
        assert "400 honest, distinct people" in promise.statement()
        assert "epsilon = 1" in repr(protocol.run(CASES[name][1]))
        assert pickle.loads(pickle.dumps(protocol)) == protocol
        assert protocol == replace(protocol)
    assert dn.shuffle.ShuffledBinarySum(**PROMISE).canonical != dn.shuffle.ShuffledBinarySum(**PROMISE | {"n": 401}).canonical


# --- as protocols ---


@pytest.mark.parametrize("name", CASES)
def test_one_message_is_a_round_and_several_run_in_memory(name):
    protocol, values, *_ = CASES[name]
    several = name in ("dummies", "split and mix")
    assert isinstance(protocol, MemoryProtocol) == bool(protocol.needs) == several
    assert protocol.trust == protocol.guarantee.model == SHUFFLE
    if several:
        with pytest.raises(ProtocolError, match="it needs several messages from each person"):
            protocol.open()
        seen = []
        found = protocol.run(values, source=ReplaySource.from_key("run"), progress=lambda *steps: seen.append(steps))
        assert seen == [(1, 2), (2, 2)]
        alike = protocol.privatize(values, source=ReplaySource.from_key("run"))
        assert found.point.tolist() == protocol.estimate(alike, people=N).point.tolist()
        return
    question = asked(protocol)
    assert (question.name, question.spec.epsilon) == (protocol.result, protocol.guarantee.local_epsilon)
    found = protocol.run(values, source=ReplaySource.from_key("run"))
    alike = estimated(protocol, said(protocol, values, ReplaySource.from_key("run")))
    assert (found.point.tolist(), found.guarantee) == (alike.point.tolist(), protocol.guarantee)


def test_a_batch_of_too_few_is_not_estimated_whoever_tallied_it():
    """The twin that trusts whoever closes the round: a promise for 400 people, and 399 reports."""
    for name in ("binary sum", "histogram", "real sum"):
        protocol, values, *_ = CASES[name]
        few = asked(protocol).spec.tally(said(protocol, values[1:], ReplaySource.from_key("few")))
        with pytest.raises(dn.errors.ParameterError, match="people: got 399"):
            protocol.close({asked(protocol).name: few})


@pytest.mark.parametrize("end", [b'"1/0"', b'"2/6"', b'"+1"', b'"1e0"', b'"nan"', b'"1/3.0"', b'"\xd9\xa1"', b"true", b"null"])
def test_a_range_has_one_spelling(end):
    for made in (dn.shuffle.ShuffledRealSum, dn.shuffle.SplitAndMixSum):
        written = made(low=Fraction(1, 3), high=7.5, steps=3, **PROMISE).canonical
        again = protocol_from_json(written)
        assert (again.low, again.high, again.canonical) == (Fraction(1, 3), 7.5, written)
        with pytest.raises(WireError):
            protocol_from_json(written.replace(b'"1/3"', end))
