"""Every mistake with numbers gets the right error, whose message says what was wrong, what came, what is allowed and how to fix it."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pytest

import deniable as dn
from deniable.contract.spec import spec_from_json
from deniable.core.tally import Tally
from deniable.errors import DomainError, MergeError, ParameterError, WireError

AGE = dn.Hybrid(low=0, high=120, epsilon=1.0)
BIT = dn.OneBitMean(low=0, high=1, epsilon=1.0)
TALLY = BIT.tally(BIT.privatize([0.5] * 9))

MISTAKES = {
    # the range
    "no range": (lambda: dn.OneBitMean(epsilon=1.0), ParameterError, ["low, high", "None", "low=0, high=100"]),
    "half a range": (lambda: dn.Duchi(low=0, epsilon=1.0), ParameterError, ["low, high", "(0, None)"]),
    "range reversed": (lambda: dn.Piecewise(low=5, high=5, epsilon=1.0), ParameterError, ["low, high", "(5, 5)", "low < high"]),
    "range infinite": (lambda: dn.Numbers(0, float("inf")), ParameterError, ["low, high", "inf", "finite"]),
    "range of text": (lambda: dn.Numbers("0", "1"), ParameterError, ["low, high", "('0', '1')"]),
    "range of mixed kinds": (lambda: dn.Numbers(0, datetime(2026, 1, 1)), ParameterError, ["low, high", "datetime"]),
    "range of mixed zones": (
        lambda: dn.Numbers(datetime(2026, 1, 1), datetime(2027, 1, 1, tzinfo=UTC)),
        ParameterError,
        ["low, high", "time zone"],
    ),
    "no steps": (lambda: dn.Numbers(0, 1, steps=0), ParameterError, ["steps", "got 0", "from 1 to 65536"]),
    "too many steps": (lambda: dn.Numbers(0, 1, steps=10**6), ParameterError, ["steps", "1000000", "leave it out"]),
    "clip is no truth": (lambda: dn.Numbers(0, 1, clip="yes"), ParameterError, ["clip", "'yes'", "nearest end"]),
    "domain is none": (lambda: dn.Hybrid(domain=(0, 1), epsilon=1.0), ParameterError, ["domain", "(0, 1)", "Numbers"]),
    "domain counts": (lambda: dn.Hybrid(domain=dn.IndexRange(9), epsilon=1.0), ParameterError, ["domain", "IndexRange", "Numbers"]),
    "domain contradicts": (
        lambda: dn.Duchi(domain=dn.Numbers(0, 1), high=2, epsilon=1.0),
        ParameterError,
        ["high", "got 2", "as in domain"],
    ),
    # the mechanism
    "epsilon zero": (lambda: dn.Hybrid(low=0, high=1, epsilon=0), ParameterError, ["epsilon", "got 0", "above 0"]),
    "epsilon beyond a fine grid": (lambda: dn.OneBitMean(low=0, high=1, epsilon=25), ParameterError, ["epsilon", "25", "smaller"]),
    "window zero": (lambda: dn.Piecewise(low=0, high=1, window=0, epsilon=1.0), ParameterError, ["window", "got 0", "leave it out"]),
    "window too wide": (lambda: dn.Hybrid(low=0, high=1, steps=9, window=10, epsilon=1.0), ParameterError, ["window", "10", "from 1 to 9"]),
    "signs on a grid": (lambda: dn.SignRR(low=0, high=1, steps=3, epsilon=1.0), ParameterError, ["steps", "got 3", "Duchi"]),
    "Laplace on a grid too fine": (
        lambda: dn.DiscreteLaplace(low=0, high=1, steps=32_768, epsilon=1.0),
        ParameterError,
        ["steps", "32768", "at most 1337", "16 bits"],
    ),
    "Laplace at a tiny epsilon": (
        lambda: dn.DiscreteLaplace(low=0, high=1, epsilon=1e-4),
        ParameterError,
        ["epsilon", "0.0001", "OneBitMean"],
    ),
    "law too large": (lambda: dn.Hybrid(low=0, high=1, steps=65_536, epsilon=1.0).law(0), ParameterError, ["steps", "different reports"]),
    "law with a seed": (lambda: BIT.law(0, seed=(1, 2)), ParameterError, ["seed", "leave it out"]),
    "variance of nobody": (lambda: BIT.variance(n=0), ParameterError, ["n: got 0", "from 1 on"]),
    # values
    "too old": (lambda: AGE.randomize(121), DomainError, ["value: got 121", "from 0 to 120", "nothing was counted"]),
    "too old in a column": (lambda: AGE.privatize([30, 121]), DomainError, ["values[1]: got 121", "from 0 to 120"]),
    "not a number": (lambda: AGE.randomize(float("nan")), DomainError, ["value: got nan", "finite numbers"]),
    "text": (lambda: AGE.randomize("42"), DomainError, ["value: got '42'", "finite numbers"]),
    "a truth": (lambda: AGE.randomize(True), DomainError, ["value: got True", "finite numbers"]),
    "a huge decimal": (lambda: AGE.randomize(Decimal("1e9999999")), DomainError, ["value", "9999999", "from 0 to 120"]),
    "a sign between": (lambda: dn.SignRR(epsilon=1.0).randomize(0), DomainError, ["value: got 0", "-1 or 1", "Duchi"]),
    "a time for a number": (lambda: AGE.randomize(datetime(2026, 1, 1)), DomainError, ["value", "datetime", "finite numbers"]),
    "a time without a zone": (
        lambda: dn.Duchi(domain=dn.Numbers(datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)), epsilon=1.0).randomize(
            datetime(2026, 5, 1)
        ),
        DomainError,
        ["value", "with a time zone"],
    ),
    "one number for a column": (lambda: AGE.privatize(42), DomainError, ["values", "'int'", "column"]),
    "a table for a column": (lambda: AGE.privatize(np.zeros((3, 2))), DomainError, ["values", "shape (3, 2)", "one value per person"]),
    # reports, tallies, estimates
    "a report that is none": (lambda: BIT.encode(2), WireError, ["bit", "got 2", "randomize"]),
    "candidates": (lambda: BIT.tally([1], candidates=[0.5]), ParameterError, ["candidates", "counts no values", "leave them out"]),
    "estimate of reports": (lambda: BIT.estimate([1, 0]), ParameterError, ["tally", "'list'", "oracle.tally(reports)"]),
    "another spec's tally": (lambda: AGE.estimate(TALLY), MergeError, ["spec.mechanism", "OneBitMean", "Hybrid"]),
    "a made-up tally": (lambda: AGE.estimate(Tally(AGE, 3, np.array([9, 2, 0, 0]))), MergeError, ["counters", "discard"]),
    "compared with nothing": (lambda: BIT.estimate(TALLY).compare(None), ParameterError, ["other", "None", "same kind, mean"]),
    "level in percent": (lambda: BIT.estimate(TALLY).interval(95), ParameterError, ["level", "95", "between 0 and 1"]),
    "bound by another name": (lambda: BIT.estimate(TALLY).bound(0.9, "normal"), ParameterError, ["method", "'normal'", "bernstein"]),
    "choice for nobody": (lambda: dn.mean_oracle(low=0, high=1, epsilon=1.0, n=0), ParameterError, ["n: got 0", "from 1"]),
    "choice without a range": (lambda: dn.mean_oracle(epsilon=1.0), ParameterError, ["low, high", "None"]),
    # what travels
    "steeper than epsilon": (
        lambda: spec_from_json(BIT.canonical.replace(str(BIT.step).encode(), str(BIT.step + 2).encode())),
        WireError,
        ["thresholds", str(BIT.step), "publish the spec again"],
    ),
    "a range in another spelling": (
        lambda: spec_from_json(BIT.canonical.replace(b'"high":"1"', b'"high":"2/2"')),
        WireError,
        ["domain", "2/2", "canonical"],
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_message_helps(name):
    mistake, kind, told = MISTAKES[name]
    with pytest.raises(kind) as error:
        mistake()
    assert all(part in str(error.value) for part in told), str(error.value)
