"""The reference tables of the prefix extending method, cell by cell, 1,000 runs each: ``make soak``, about ten minutes on two idle cores.

The reference values are means of 1,000 runs of other code, so a difference has the error of both means. Runs are replayed: what passes
once passes always, until the code changes what it draws.
"""

# ruff: noqa: S101  # tests assert; this folder is outside of tests/

from __future__ import annotations

import json
from dataclasses import replace
from math import hypot
from pathlib import Path

import numpy as np
import pytest

from deniable.lab.experiment import Experiment
from deniable.lab.experiments import pem_allocation, pem_distributions, rounds_tradeoff
from deniable.lab.methods import Method
from deniable.lab.populations import Population

TABLE = json.loads(Path(__file__).with_name("pem_table.json").read_text())
RUNS = 1000
FLOOR = 0.0005
"""Means are rounded to three digits, and where a score is almost always zero its standard error is not well known."""
CROWDS, SETTINGS = pem_distributions.CROWDS, pem_distributions.SETTINGS
RULES = TABLE["allocation"]["rules"]


def differs(experiment: Experiment, population: Population, method: Method, epsilon: float, expected: float, *, runs: int = RUNS) -> float:
    """By how many standard errors the mean of a cell differs from the reference."""
    small = replace(experiment, populations=[population], mechanisms=[method], epsilons=[epsilon], metrics=["ndcg"], repetitions=runs)
    scores = np.array([small.measure(cell)[0]["value"] for cell in small.cells])
    assert scores.size == runs
    error = max(float(scores.std(ddof=1)) / runs**0.5, FLOOR)
    return abs(float(scores.mean()) - expected) / hypot(error, error, FLOOR)


@pytest.mark.parametrize("epsilon", TABLE["epsilons"])
@pytest.mark.parametrize(("oracle", "groups"), SETTINGS)
@pytest.mark.parametrize("crowd", CROWDS)
def test_the_slides_experiment(crowd: str, oracle: str, groups: int, epsilon: float) -> None:
    expected = TABLE["mean_ndcg"][f"{crowd} {oracle} g={groups}"][TABLE["epsilons"].index(epsilon)]
    method = pem_distributions.slides_search(oracle, groups)
    assert differs(pem_distributions.EXPERIMENT, CROWDS[crowd], method, float(epsilon), expected) < 4


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("crowd", TABLE["allocation"]["mean_ndcg"])
def test_groups_of_different_sizes(crowd: str, rule: str) -> None:
    expected = TABLE["allocation"]["mean_ndcg"][crowd][RULES.index(rule)]
    method = next(method for method in pem_allocation.EXPERIMENT.mechanisms if method.label == rule)
    assert differs(pem_allocation.EXPERIMENT, CROWDS[crowd], method, 2.0, expected) < 4


@pytest.mark.parametrize("epsilon", TABLE["one_round"]["epsilons"])
def test_one_round_over_all_values(epsilon: float) -> None:
    """100 runs, as the reference; each is as long as a hundred of the others."""
    expected = TABLE["one_round"]["mean_ndcg"][TABLE["one_round"]["epsilons"].index(epsilon)]
    [method] = [method for method in rounds_tradeoff.EXPERIMENT.mechanisms if method.label.startswith("OUE, 1 round:")]
    assert differs(rounds_tradeoff.EXPERIMENT, CROWDS["Poisson(5)"], method, float(epsilon), expected, runs=100) < 4
