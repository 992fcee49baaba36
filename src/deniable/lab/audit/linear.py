"""The audit of linear questions with Laplace noise: the person who changes the answers most, and the resulting epsilon.

Answers A q to a series q, with Laplace noise of one scale on each, are exactly max ||A v||_1 / scale private, over all v that one person
can add: a number between 0 and 1 at every point. The maximum of a convex function is at a corner, v in {0, 1}^n, and is hard to find;
the person found gives a *lower* bound on epsilon, and so a proof that a claim below it is false. From signs s the best person is
v = 1[A^T s > 0], and from a person the best signs are s = sign(A v): each step only grows, so it is repeated until nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array

STARTS = 40


@dataclass(frozen=True)
class LinearAudit:
    """The person found, and how much they change the answers."""

    person: Array
    change: float

    def epsilon(self, scale: float) -> float:
        """Return the epsilon of answers with Laplace noise of this scale for that person: a lower bound for the mechanism."""
        if not scale > 0:
            raise ParameterError("scale", scale, allowed="a number above 0", fix="pass the scale of the noise on each answer")
        return self.change / scale


def worst_person(rows: Array, *, starts: int = STARTS, source: Source = SYSTEM) -> LinearAudit:
    """The person in {0, 1}^n with the largest change found, from all signs up and from some random ones; ``rows`` are the questions.

    >>> audit = worst_person(np.eye(5))
    >>> audit.change, audit.epsilon(scale=5.0)
    (5.0, 1.0)
    """
    rows = np.asarray(rows, dtype=float)
    if rows.ndim != 2 or not rows.size or not np.all(np.isfinite(rows)):
        raise ParameterError("rows", rows.shape, allowed="a matrix of finite numbers", fix="pass one row for each question")
    found = LinearAudit(np.zeros(rows.shape[1]), 0.0)
    for start in range(starts):
        bits = source.bernoulli_bits(1 << 63, len(rows)) if start else 0
        signs = np.array([-1.0 if bits >> place & 1 else 1.0 for place in range(len(rows))])
        while True:
            person = (rows.T @ signs > 0).astype(float)
            answers = rows @ person
            turned = np.where(answers >= 0, 1.0, -1.0)
            if np.array_equal(turned, signs):
                break
            signs = turned
        if (change := float(np.abs(answers).sum())) > found.change:
            found = LinearAudit(person, change)
    return found
