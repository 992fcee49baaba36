"""What is nearly certain is not printed as certain."""

from __future__ import annotations

import re
from math import nextafter

import deniable as dn
from deniable.contract.readable import below, confidence


def test_a_guess_that_is_nearly_certain_is_not_printed_as_one():
    """Randomized response at epsilon 8 is guessed right with probability 0.99966; it was printed as 1."""
    shown = repr(dn.plan(domain_size=2, epsilon=8.0, n=1000, oracles=["GRR"]))
    assert re.search(r" 99\.97 % ", shown)


def test_no_level_below_one_is_printed_as_a_hundred_percent():
    assert [confidence(1 - 10**-power) for power in (1, 2, 4, 6, 9)] == ["90 %", "99 %", "99.99 %", "99.9999 %", "99.9999999 %"]
    assert float(below(nextafter(1.0, 0.0), 1, 3)) < 1
