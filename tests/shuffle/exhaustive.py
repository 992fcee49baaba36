"""The truth for a few people, in fractions: every data set, every histogram of reports."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import comb


def histogram_law(rows, values):
    """The law of the multiset of reports of people who hold these values; rows are laws over the outputs 0, 1, .."""
    law = {(0,) * len(rows[0]): Fraction(1)}
    for value in values:
        grown: dict[tuple[int, ...], Fraction] = Counter()
        for counts, weight in law.items():
            for output, p in enumerate(rows[value]):
                grown[(*counts[:output], counts[output] + 1, *counts[output + 1 :])] += weight * p
        law = grown
    return law


def divergence(one, other, power):
    """The hockey-stick divergence at e^epsilon = power."""
    return sum((max(weight - power * other.get(key, Fraction(0)), Fraction(0)) for key, weight in one.items()), Fraction(0))


def true_delta(rows, n, power):
    """The largest divergence over all pairs of the victim's values, both orders, and all values of the others."""
    worst = Fraction(0)
    for others in combinations_with_replacement(range(len(rows)), n - 1):
        laws = [histogram_law(rows, (value, *others)) for value in range(len(rows))]
        worst = max(worst, *(divergence(a, b, power) for a, b in product(laws, laws) if a is not b))
    return worst


def blanket_delta(rows, n, power):
    """The blanket bound as its definition says, by enumerating who sends what from the blanket."""
    blanket = [min(row[y] for row in rows) for y in range(len(rows[0]))]
    worst = Fraction(0)
    for one, other in product(rows, rows):
        gains = [(a - power * b) / w for a, b, w in zip(one, other, blanket, strict=True)]
        total = Fraction(0)
        for reports in product(range(-1, len(blanket)), repeat=n):  # -1: not from the blanket
            weight, value = Fraction(1), Fraction(0)
            for y in reports:
                weight *= blanket[y] if y >= 0 else 1 - sum(blanket)
                value += gains[y] if y >= 0 else 0
            total += weight * max(value, Fraction(0))
        worst = max(worst, total / n)
    return worst


def clone_delta(e0, n, power):
    """The clone bound with e^epsilon0 = e0, by its definition: every number of clones, every split of them."""
    alpha = Fraction(e0, e0 + 1)
    total = Fraction(0)
    for c in range(n):
        here = comb(n - 1, c) * Fraction(1, e0) ** c * (1 - Fraction(1, e0)) ** (n - 1 - c)
        sides = [Fraction(comb(c, a), 2**c) if 0 <= a <= c else Fraction(0) for a in range(-1, c + 2)]
        for a in range(c + 2):
            p = alpha * sides[a] + (1 - alpha) * sides[a + 1]
            q = (1 - alpha) * sides[a] + alpha * sides[a + 1]
            total += here * max(p - power * q, Fraction(0))
    return total


def randomized_response(k, e0):
    """Rows of k-ary randomized response with e^epsilon0 = e0."""
    q = Fraction(1, e0 + k - 1)
    return [[e0 * q if y == x else q for y in range(k)] for x in range(k)]


def rows_of(spec):
    """The exact rows of a spec."""
    laws = [spec.law(spec.domain.value(key)) for key in range(spec.domain_size)]
    reports = sorted({report for law in laws for report in law})
    return [[law[report] for report in reports] for law in laws]
