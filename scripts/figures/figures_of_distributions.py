"""The figures of distributions and of vectors: how far estimates are from the truth. Streams are fixed, so that they come out again."""

from __future__ import annotations

import numpy as np
from figure_frame import Entry, Recipe, framed, lines_and_points
from scipy import stats

import deniable as dn
from deniable.core.chart import Chart
from deniable.kernels.compiled import Array
from deniable.local.vector.caps import best_cap, sphere_cap
from deniable.testing import ReplaySource

PEOPLE, REPETITIONS, STEPS, COARSE = 100_000, 8, 255, 31
EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
DIMENSION = 100
METHODS = ("EMS", "EM", f"OUE, {COARSE + 1} points")
BESIDE = ("PrivUnit", "bound", "one coordinate each, Hybrid")


def square_wave() -> Chart:
    """Distances from a known distribution, all of them measured."""
    people = stats.beta.ppf((np.arange(PEOPLE) + 0.5) / PEOPLE, 5, 2)
    found = [distance(method, epsilon, people) for method in METHODS for epsilon in EPSILONS]
    subtitle = f"{PEOPLE:,} people, Beta(5, 2); measured, {REPETITIONS} runs"
    drawn = lines_and_points(found, found, "epsilon", None, size=50)
    return framed(drawn, "SquareWave: mean difference of the cumulative shares", subtitle, width=420, height=280)


def priv_unit() -> Chart:
    """Distances from the mean of unit vectors, by theory and measured."""
    theory = [expected(name, epsilon) for name in BESIDE for epsilon in EPSILONS]
    drawn = lines_and_points(theory, [measured(epsilon) for epsilon in EPSILONS], "epsilon", None, size=50)
    title = f"PrivUnit: distance from the mean of {DIMENSION} dimensions"
    return framed(drawn, title, f"{PEOPLE:,} unit vectors; lines: theory, points: measured, one run", width=420, height=280)


def distance(method: str, epsilon: float, people: Array) -> Entry:
    """The mean difference of the cumulative shares from the truth, over a range of length 1."""
    gaps = []
    for i in range(REPETITIONS):
        source = ReplaySource.from_key(f"{method} {epsilon} {i}")
        if method.startswith("OUE"):
            oracle = dn.OUE(domain=dn.Numbers(0, 1, steps=COARSE), epsilon=epsilon)
            shares = oracle.estimate(oracle.tally(oracle.privatize(people, source=source))).distribution().frequencies
            steps = COARSE
        else:
            wave = dn.SquareWave(low=0, high=1, steps=STEPS, epsilon=epsilon)
            shares = wave.estimate(wave.tally(wave.privatize(people, source=source))).using(method.lower()).frequencies
            steps = STEPS
        truth = np.searchsorted(people, (np.arange(steps + 1) + 0.5) / steps) / PEOPLE
        gaps.append(np.abs(np.cumsum(shares) - truth).mean())
    return {"name": method, "epsilon": epsilon, "error": float(np.mean(gaps))}


def expected(name: str, epsilon: float) -> Entry:
    """The expected distance, by theory."""
    if name == "PrivUnit":
        square = dn.PrivUnit(dimension=DIMENSION, epsilon=epsilon).variance(n=PEOPLE)
    elif name == "bound":
        square = (best_cap(lambda p: sphere_cap(p, epsilon, DIMENSION)).m ** -2 - 1) / PEOPLE
    else:  # of unit vectors in random directions, each coordinate asked of one in so many people
        square = DIMENSION**2 * (dn.Hybrid(low=-1, high=1, epsilon=epsilon).variance(n=1, value=0) + 1 / DIMENSION) / PEOPLE
    return {"name": name, "epsilon": epsilon, "error": square**0.5}


def measured(epsilon: float) -> Entry:
    """What comes out of PrivUnit."""
    spec = dn.PrivUnit(dimension=DIMENSION, epsilon=epsilon)
    people = np.zeros((PEOPLE, DIMENSION))
    people[np.arange(PEOPLE), np.arange(PEOPLE) % DIMENSION] = 1.0
    found = spec.estimate(spec.tally(spec.privatize(people, source=ReplaySource.from_key(f"vectors {epsilon}"))))
    return {"name": "PrivUnit", "epsilon": epsilon, "error": float(np.linalg.norm(found.point - people.mean(axis=0)))}


FIGURES: dict[str, Recipe] = {"square-wave": square_wave, "priv-unit": priv_unit}
