"""The vectors of the mechanisms for numbers: words in, report out, for values on grid points, between them and at the ends.

Part of ``make_vectors``.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from deniable.client import DiscreteLaplace, Duchi, Hybrid, OneBitMean, Piecewise, SignRR, SquareWave
from deniable.client.numeric import NumericSpec
from deniable.contract.numbers import Numbers

YEAR = Numbers(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC))
ODD = Numbers(Fraction(-1, 3), Fraction(22, 7), steps=1000)
EXAMPLES: dict[str, list[tuple[NumericSpec, list[Any]]]] = {
    "OneBitMean": [
        (OneBitMean(low=0, high=1, steps=1, epsilon=1.0), [0, 1, 0.5, 0.1]),
        (OneBitMean(low=0, high=24, steps=3, epsilon=0.5), [0, 8, 12.5, 24]),
        (OneBitMean(low=-40, high=1e100, epsilon=2.0), [-40, 1e99, 3.141592653589793, 1e100]),
        (OneBitMean(low=0, high=100, clip=True, epsilon=1.0), [-1e308, 99.99999999999999, 50, 2**60]),
        (OneBitMean(domain=YEAR, epsilon=1.0), [datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 7, 2, 11, 59, 59, 999_999, tzinfo=UTC)]),
    ],
    "Duchi": [
        (Duchi(low=-1, high=1, steps=2, epsilon=1.0), [-1, 0, 1, -0.3]),
        (Duchi(domain=ODD, epsilon=4.0), [0, 0.1, 3.1, -0.25]),
        (Duchi(domain=Numbers(datetime(2026, 1, 1), datetime(2026, 1, 2)), epsilon=1.0), [datetime(2026, 1, 1, 17, 30, 0, 5)]),
    ],
    "SignRR": [
        (SignRR(epsilon=1.0), [-1, 1]),
        (SignRR(low=0, high=1, epsilon=0.1), [0, 1]),
        (SignRR(low=0.1, high=0.7, epsilon=3.0), [0.1, 0.7]),
    ],
    "Piecewise": [
        (Piecewise(low=0, high=1, steps=1, epsilon=1.0), [0, 1, 0.25]),
        (Piecewise(low=0, high=10, steps=5, epsilon=0.5), [0, 5, 9.99, 10]),
        (Piecewise(domain=ODD, epsilon=2.0, window=17), [0, 0.1, 3.1]),
        (Piecewise(low=-1, high=1, epsilon=4.0), [-1, -1e-9, 0.7, 1]),
        (Piecewise(low=0, high=255, steps=65535, clip=True, epsilon=8.0), [0, 128, 300.5]),
    ],
    "Hybrid": [
        (Hybrid(low=0, high=1, steps=4, epsilon=0.5), [0, 1, 0.3]),
        (Hybrid(low=0, high=10, steps=5, epsilon=1.0), [0, 5, 9.99, 10]),
        (Hybrid(domain=ODD, epsilon=2.0, window=17), [0, 0.1, 3.1]),
        (Hybrid(low=-1, high=1, epsilon=4.0), [-1, -1e-9, 0.7, 1]),
    ],
    "DiscreteLaplace": [
        (DiscreteLaplace(low=0, high=1, steps=1, epsilon=1.0), [0, 1, 0.25]),
        (DiscreteLaplace(low=-1, high=1, epsilon=1.0), [-1, -1e-9, 0.7, 1]),
        (DiscreteLaplace(low=0, high=10, steps=5, epsilon=20.0), [0, 5, 9.99, 10]),
        (DiscreteLaplace(low=0, high=1, epsilon=0.01), [0, 1]),
    ],
    "SquareWave": [
        (SquareWave(low=0, high=1, steps=1, epsilon=1.0), [0, 1, 0.25]),
        (SquareWave(low=0, high=10, steps=5, epsilon=0.5), [0, 5, 9.99, 10]),
        (SquareWave(low=0, high=120, epsilon=1.0), [0, 17, 42.5, 120]),
        (SquareWave(domain=ODD, epsilon=2.0, window=17), [0, 0.1, 3.1]),
        (SquareWave(low=0, high=255, steps=65535, clip=True, epsilon=8.0), [0, 128, 300.5]),
        (SquareWave(domain=YEAR, epsilon=4.0), [datetime(2026, 7, 2, 11, 59, 59, 999_999, tzinfo=UTC)]),
    ],
}


MAKERS: list[Callable[[float], NumericSpec]] = [
    lambda epsilon: OneBitMean(low=0, high=1, epsilon=epsilon),
    lambda epsilon: Duchi(domain=ODD, epsilon=epsilon),
    lambda epsilon: SignRR(epsilon=epsilon),
    lambda epsilon: Piecewise(low=-1, high=1, steps=7, epsilon=epsilon),
    lambda epsilon: Piecewise(domain=YEAR, epsilon=epsilon),
    lambda epsilon: Hybrid(low=-1, high=1, steps=7, epsilon=epsilon),
    lambda epsilon: Hybrid(domain=ODD, epsilon=epsilon),
    lambda epsilon: DiscreteLaplace(low=0, high=1, epsilon=epsilon),
    lambda epsilon: DiscreteLaplace(low=0, high=1, steps=100, epsilon=epsilon),
]


def bad_parameters() -> list[tuple[NumericSpec, dict[str, Any]]]:
    """What the parameters may not be."""
    lattices = [kind(low=0, high=1, steps=9, epsilon=1.0) for kind in (Piecewise, Hybrid)]
    wrong: list[Any] = [0, 10, -1, "3", "3.0", True]
    return [(spec, {"window": window}) for spec in lattices for window in wrong]


def bad_ranges() -> list[dict[str, Any]]:
    """Ranges that are none, or are spelled in another way."""
    day = {"low": "2026-01-01T00:00:00+00:00", "high": "2026-01-02T00:00:00+00:00"}
    changes: list[dict[str, Any]] = [
        {"low": 0}, {"low": "0.0"}, {"low": "2/4"}, {"low": "0/1"}, {"low": "+0"}, {"low": "-0"}, {"low": " 0"}, {"low": "0e0"},
        {"low": "1/0"}, {"low": "1/-3"}, {"low": "00"}, {"low": "nan"}, {"low": ""}, {"low": "2"}, {"low": "3"}, {"steps": 0},
        {"steps": 65_537}, {"steps": "7"}, {"steps": True}, {"steps": -7}, {"clip": False}, {"clip": 1}, {"clip": "true"}, {"unit": "m"},
        {"high": "1" + "0" * 200}, {"high": f"1/{2**501}"}, {"low": day["low"]}, day | {"low": "2026-01-01T00:00:00"},
        day | {"low": "2026-01-01T00:00:00Z"}, day | {"low": "2026-01-01T01:00:00+01:00"},
        day | {"low": "2026-01-01T00:00:00.000000+00:00"}, day | {"low": "2026-01-01T00:00:00.5+00:00"},
        day | {"low": "2026-01-01 00:00:00+00:00"}, day | {"low": "2026-02-31T00:00:00+00:00"},
        day | {"low": day["high"]}, day | {"low": "2026-01-01T24:00:00+00:00"}, day | {"low": "20260101T000000+0000"},
    ]  # fmt: skip
    return [{"kind": "numbers", "low": "0", "high": "2", "steps": 7, **change} for change in changes]
