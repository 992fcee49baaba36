"""How strong a promise is: by the exact law of all answers, the same words in both languages, and certainty for nothing that is not."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from itertools import product
from math import exp, inf, prod

import pytest

import deniable as dn
from deniable.contract.guarantee import Guarantee
from deniable.contract.task import Task
from deniable.contract.verdict import LIMITS, PATTERN, Verdict, verdicts
from tests.collect.crowd import survey_task
from tests.conftest import vectors


def test_numbers_and_tasks_get_the_verdicts_of_the_vectors():
    for case in vectors("verdicts")["numbers"]:
        verdict = Verdict(case["epsilon"], case["delta"])
        assert (verdict.level, str(verdict)) == (case["level"], case["text"])
    for case in vectors("verdicts")["tasks"]:
        assert [str(verdict) for verdict in verdicts(Task.from_json(case["task"].encode()))] == [said["text"] for said in case["said"]]


@pytest.mark.parametrize(
    ("epsilon", "level"),
    [(1.0, "strong"), (1.001, "moderate"), (3.0, "moderate"), (3.001, "weak"), (6.0, "weak"), (6.001, "very weak"), (inf, "none")],
)
def test_levels_reach_up_to_one_three_and_six(epsilon, level):
    assert Verdict(epsilon).level == level
    assert ("nearly gives your answer away" in str(Verdict(epsilon))) == (level == "very weak")


def test_no_number_is_rounded_to_certainty_or_in_favor_of_the_promise():
    for thousandths in range(1, 16_000, 7):
        epsilon = thousandths / 1000
        said = Verdict(epsilon).guess
        assert "100 times in 100" not in said
        wrong = 1 / (1 + exp(epsilon))
        if often := re.search(r"(\d+) times in 100", said):
            assert 1 - wrong <= int(often[1]) / 100 < 1 - wrong + 0.01
        elif once := re.search(r"once in ([\d,]+) times", said):
            assert 1 / int(once[1].replace(",", "")) <= wrong < 1 / (int(once[1].replace(",", "")) - 1)
        else:
            assert wrong < 1e-6


@pytest.mark.parametrize(("epsilon", "answers"), [(1.0, 1), (0.7, 3), (2.0, 2)])
def test_the_guess_is_what_the_law_of_all_answers_allows(epsilon, answers):
    """For every series of reports the posterior of two answers stays below it, and one series reaches it (by the last word of 64 bits)."""
    spec = dn.GRR(domain_size=3, epsilon=epsilon)
    laws = [spec.law(value) for value in range(3)]
    best = Fraction(0)
    for reports in product(range(3), repeat=answers):
        chances = [prod((law[report] for report in reports), start=Fraction(1)) for law in laws]
        best = max(best, *(a / (a + b) for a in chances for b in chances))
    bound = 1 - 1 / (1 + exp(answers * epsilon))
    assert bound - 1e-9 < best <= bound + 1e-15
    assert re.search(r"(\d+) times in 100", Verdict(answers * epsilon).guess)[1] == str(-int(-100 * bound // 1))


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.01), (1.0, 0.2), (0.1, 1e-3)])
def test_delta_counts_as_the_worst_mechanism_that_it_allows(epsilon, delta):
    """With probability delta it gives the answer away, else it is randomized response: the best guess is right exactly so often."""
    right = delta + (1 - delta) * exp(epsilon) / (1 + exp(epsilon))
    said = int(re.search(r"(\d+) times in 100", Verdict(epsilon, delta).guess)[1])
    assert right <= said / 100 < right + 0.01
    assert exp(Verdict(epsilon, delta).strength) == pytest.approx(right / (1 - right), rel=1e-3)


@pytest.mark.parametrize("said", [Verdict(800.0), Verdict(5000.0), Verdict(1.0, 1.0), Verdict(inf)])
def test_no_epsilon_is_too_large_for_words(said):
    assert said.level in {"very weak", "none"}
    assert str(said)


def test_one_question_that_reuses_noise_is_enough_to_say_what_is_not_covered():
    """The other question's fresh noise costs as much whether answers change or not; histories of another pattern can still tell more."""
    again = dn.LongitudinalGRR(domain_size=2, epsilon=3.0, first_epsilon=2.99)
    laws = again.history_law((1, 0)), again.history_law((1, 1))
    worst = max(laws[0][reports] / laws[1][reports] for reports in laws[1])
    assert worst > exp(6)
    said = verdicts(survey_task(bytes(32), again, dn.GRR(domain_size=2, epsilon=3.0), answers=2))
    assert [verdict.epsilon for verdict in said] == [6.0, 6.0]
    assert [verdict.beyond for verdict in said] == ["", PATTERN]
    assert said[0].when.startswith("If your answer stays the same")


def test_guarantees_say_it_for_each_line_of_trust():
    kept = dn.LongitudinalGRR(domain_size=5, epsilon=1.0).guarantee.statement()
    assert "If your answer stays the same: strong privacy." in kept
    alone = Guarantee(epsilon=8.0).statement()
    assert "Very weak privacy. This nearly gives your answer away: someone" in alone
    mixed = Guarantee(epsilon=0.5, delta=1e-6, model="shuffle", people=1000, local_epsilon=8.0).statement().split("\n")
    assert mixed[1].startswith("If the shuffler is honest: strong privacy.")
    assert mixed[2].startswith("If shuffler and collector work together: very weak privacy")
    bare = Guarantee(epsilon=0.5, delta=1e-6, model="shuffle", people=1000, local_epsilon=inf)
    assert [verdict.level for verdict in bare.verdicts] == ["strong", "none"]
    near = Guarantee(epsilon=1.0, neighbors="two lists that differ in one entry").statement()
    assert "Compared: two lists that differ in one entry." in near


def test_every_level_has_a_case_in_the_vectors():
    shown = {case["level"] for case in vectors("verdicts")["numbers"]}
    assert shown == {*LIMITS, "none"}
    lines = [len(case["said"]) for case in vectors("verdicts")["tasks"]]
    assert {1, 2} == set(lines)
    assert "100.0 %" not in json.dumps(vectors("verdicts"))
