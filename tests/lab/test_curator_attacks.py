"""Each attack works on a curator without a plan, and fails on a session: at the bound that epsilon promises, and with an evil twin."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from deniable.central import Laplace, Session, share_of
from deniable.errors import BudgetExceeded, ParameterError
from deniable.lab.curator_attacks import (
    Auditor,
    clinic,
    differencing,
    draw_groups,
    exact_counts,
    guess_by_counting,
    link,
    most_correct,
    reconstruct,
    rounded_counts,
    session_counts,
    unravel,
)
from deniable.testing import ReplaySource

ALPHA = 1e-6
RUNS = 60


def too_often(hits: int, runs: int, bound: float) -> bool:
    """Whether so many hits in independent runs refute that each comes with at most this probability."""
    return bool(stats.binom.sf(hits - 1, runs, bound) < ALPHA)


def opened(table, budget, key, neighbors="replace"):
    return Session(table, budget=budget, neighbors=neighbors, source=ReplaySource.from_key(key))


def people(n, key):
    source = ReplaySource.from_key(key)
    return pl.DataFrame({"person": range(n), "ill": [source.below(2) == 1 for _ in range(n)]})


# --- differencing ---


def hits_by_differencing(curator):
    """In how many runs, each on a table and a curator of its own, the target's bit is guessed."""
    coin, hits = ReplaySource.from_key("differencing"), 0
    for run in range(RUNS):
        table = people(40, "crowd").with_columns(ill=pl.Series([coin.below(2) == 1] + [i % 3 == 0 for i in range(39)]))
        hits += (differencing(curator(table, run), {"person": 0}, {"ill": True}) > 0.5) == table["ill"][0]
    return hits


def nearly_exact(table, key):
    """The evil twin: noise for epsilon = 10 in each answer, however many are asked for."""
    ask, noise = exact_counts(table), Laplace(epsilon=10.0, sensitivity=1, neighbors="replace")
    source = ReplaySource.from_key(f"twin {key}")
    return lambda where: noise.release(ask(where), source=source)


def test_differencing_finds_everyone_by_exact_counts():
    table = people(40, "crowd")
    found = [differencing(exact_counts(table), {"person": i}, {"ill": True}) for i in range(40)]
    assert found == table["ill"].cast(int).to_list()


def test_differencing_fails_on_a_session():
    """At most 73 % right at epsilon 1. Power: the twin is right in every run, and is rejected."""
    hits = hits_by_differencing(lambda table, run: session_counts(opened(table, 1.0, f"differencing {run}"), 0.5))
    assert not too_often(hits, RUNS, most_correct(1.0))
    assert hits > 0.3 * RUNS  # noise, and no silence
    assert too_often(hits_by_differencing(nearly_exact), RUNS, most_correct(1.0))


# --- linkage ---


def test_linkage_names_most_people_of_an_anonymous_table_without_a_mistake():
    register, table = clinic(1000, ReplaySource.from_key("clinic"))
    named = link(table, register)
    truth = dict(zip(register["name"], table["ill"], strict=True))
    assert named.height > 800
    assert all(truth[row["name"]] == row["ill"] for row in named.iter_rows(named=True))
    assert link(table, register, ["sex"]).height == 0  # a coarse key finds nobody


def test_linkage_fails_on_a_session():
    """A hundred people with a hundredth of epsilon each: as good as coins. All answers together tell less than 2.72 : 1 about anyone."""
    register, table = clinic(1000, ReplaySource.from_key("clinic"))
    targets = link(table, register).head(100)

    def hits(ask):
        return sum(guess_by_counting(ask, row, {"ill": True}) == row["ill"] for row in targets.iter_rows(named=True))

    assert hits(exact_counts(table)) == 100
    assert not too_often(hits(session_counts(opened(table, 1.0, "linkage"), 0.01)), 100, most_correct(0.01))
    assert too_often(hits(nearly_exact(table, "linkage")), 100, most_correct(0.01))


# --- the auditor ---


def test_an_auditors_refusals_give_everybody_away_though_no_answer_does():
    for key in range(20):
        bits = people(14, f"audited {key}")["ill"].to_numpy()
        auditor = Auditor(bits)
        answers = [auditor.count([i, i + 1]) for i in range(13)]
        assert set(answers) <= {1, None}  # what is answered is the same for everyone
        assert np.array_equal(unravel(Auditor(bits).count, 14, bool(bits[0])), bits)
    with pytest.raises(ParameterError):
        Auditor([True] * 19)


def test_a_session_refuses_by_the_budget_alone():
    """Two tables, the same questions: refused at the same one. And the same attack, on its answers, is not right too often."""
    hits, runs = 0, 30
    for run in range(runs):
        table = people(14, f"audited {run}")
        session = opened(table, 1.0, f"audit {run}")
        ask = session_counts(session, share_of(1.0, 13))
        found = unravel(lambda pair, ask=ask: ask({"person": list(pair), "ill": True}), 14, bool(table["ill"][0]))
        hits += found[7] == table["ill"][7]  # one person in each run: runs are independent, people are not
    assert not too_often(int(hits), runs, most_correct(1.0))
    refused = []
    for bits in ([True] * 6, [False] * 6):
        session = opened(pl.DataFrame({"person": range(6), "ill": bits}), 0.35, "refusals")
        for pair in range(3):
            session.count(where={"person": [pair, pair + 1], "ill": True}, epsilon=0.1)
        with pytest.raises(BudgetExceeded) as refusal:
            session.count(where={"person": [3, 4], "ill": True}, epsilon=0.1)
        refused.append(str(refusal.value))
    assert len(set(refused)) == 1


# --- reconstruction ---

SIZE, ASKED = 32, 128


def rebuilt(ask, groups):
    return reconstruct(groups, np.array([ask({"person": np.flatnonzero(group).tolist(), "ill": True}) for group in groups]))


def test_reconstruction_needs_only_rounded_counts_and_fails_on_a_session():
    """Exact and rounded counts give the table away; a budget of 1 for all of them does not, and the twin does."""
    table = people(SIZE, "reconstructed")
    truth = table["ill"].to_numpy()
    groups = draw_groups(ASKED, SIZE, ReplaySource.from_key("groups"))
    assert np.array_equal(rebuilt(exact_counts(table), groups), truth)
    assert np.mean(rebuilt(rounded_counts(table), groups) == truth) >= 0.9
    session = opened(table, 1.0, "reconstruction")
    assert np.mean(rebuilt(session_counts(session, 1 / ASKED), groups) == truth) <= most_correct(1.0)
    assert np.mean(rebuilt(nearly_exact(table, "reconstruction"), groups) == truth) >= 0.9
