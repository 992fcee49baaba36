"""Numbers of any size and lists of any shape: each is served or refused with a reason, and what is refused counts nothing."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from deniable.central import BinaryTreeCounter, ExponentialMechanism, Gaussian, Laplace, PermuteAndFlip, SparseVector, SquareRootCounter
from deniable.central.noisy_max import NoisyMax
from deniable.errors import DeniableError, DomainError, ParameterError
from deniable.tasks.learning import TreeExperts, WeightedMajority
from deniable.testing import ReplaySource

COMMON = {"neighbors": "add-remove"}
HUGE = 10**400
RAGGED = [[1, 2], [3]]
LONG = np.longdouble("2.5")
GAME = {"experts": 2, "days": 3, "epsilon": 1.0, "delta": 1e-6, "neighbors": "replace"}
RELEASES = [Laplace(epsilon=1.0, sensitivity=1, **COMMON), Gaussian(epsilon=1.0, delta=1e-6, sensitivity=1, entries=1, **COMMON)]
CHOICES = [kind(epsilon=1.0, sensitivity=1, **COMMON) for kind in (ExponentialMechanism, PermuteAndFlip, NoisyMax)]
MAKERS = {
    "Laplace": lambda **given: Laplace(**{"epsilon": 1.0, "sensitivity": 1} | COMMON | given),
    "Gaussian": lambda **given: Gaussian(**{"epsilon": 1.0, "delta": 1e-6, "sensitivity": 1} | COMMON | given),
    "exponential": lambda **given: ExponentialMechanism(**{"epsilon": 1.0, "sensitivity": 1} | COMMON | given),
    "noisy max": lambda **given: NoisyMax(**{"epsilon": 1.0, "sensitivity": 1} | COMMON | given),
    "sparse": lambda **given: SparseVector(**{"epsilon": 1.0, "answers": 1, "sensitivity": 1, "threshold": 0} | COMMON | given),
    "tree": lambda **given: BinaryTreeCounter(**{"horizon": 4, "epsilon": 1.0, "sensitivity": 1} | COMMON | given),
    "root": lambda **given: SquareRootCounter(**{"horizon": 4, "epsilon": 1.0, "delta": 1e-6, "sensitivity": 1} | COMMON | given),
    "majority": lambda **given: WeightedMajority(**GAME | given),
    "tree experts": lambda **given: TreeExperts(**GAME | given),
}
NUMBERS = [HUGE, Fraction(1, HUGE), Decimal("NaN"), Decimal("sNaN"), 1e-200, 1e200, True, "1"]


@pytest.mark.parametrize("release", RELEASES, ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("bad", [LONG, np.array([LONG]), RAGGED, HUGE, [HUGE, 0.5], Fraction(1, 2), object()])
def test_answers_that_cannot_be_released_are_refused(release, bad):
    with pytest.raises(DomainError, match="values"):
        release.release(bad)


@pytest.mark.parametrize("mechanism", CHOICES, ids=lambda mechanism: type(mechanism).__name__)
def test_utilities_of_any_size_are_told_apart_and_what_is_no_list_is_refused(mechanism):
    for utilities in ([0, HUGE], [0.5, Decimal("1e400")], np.array([2.5, 1000], dtype=np.longdouble), [np.longdouble(0), np.float32(1000)]):
        assert mechanism.choose(utilities, ReplaySource.from_key("size")) == 1
    for bad in (
        5,
        None,
        np.array(5),
        RAGGED,
        np.array([[1, 2]]),
        [1, np.longdouble("nan")],
        [1, Decimal("sNaN")],
        [1, Decimal("1e-999999999")],
    ):
        with pytest.raises(DomainError, match="utilities"):
            mechanism.choose(bad)
    assert mechanism.shortfall(10) < mechanism.shortfall(HUGE) < 1e5
    for bad in (0, 2.5, True):
        with pytest.raises(ParameterError, match="k: got"):
            mechanism.shortfall(bad)


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        *((name, "sensitivity", value) for name in list(MAKERS)[:5] for value in NUMBERS),
        *((name, "grid", value) for name in ("Laplace", "Gaussian", "noisy max", "sparse") for value in NUMBERS),
        *((name, "entries", HUGE) for name in ("Laplace", "Gaussian")),
        *(("Gaussian", "sigma", value) for value in [*NUMBERS, 1e-60, 1e-5]),
        *((name, "sensitivity", HUGE) for name in ("tree", "root")),
        ("sparse", "answers", HUGE),
        *((name, parameter, HUGE) for name in ("majority", "tree experts") for parameter in ("experts", "days")),
        ("tree experts", "resolution", HUGE),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_parameters_that_no_float_can_work_with_are_refused(name, parameter, value):
    with pytest.raises(ParameterError, match=parameter):
        MAKERS[name](**{parameter: value} | ({"epsilon": None} if parameter == "sigma" else {}))


@pytest.mark.parametrize("name", ["Laplace", "Gaussian", "noisy max", "sparse"])
@pytest.mark.parametrize(("sensitivity", "grid"), [(1e60, 1e-60), (1e-60, 1e60), (1e60, 1e60), (1e-60, 1e-60), (1, 1e60)])
def test_the_largest_and_smallest_units_work_or_are_refused(name, sensitivity, grid):
    served = None
    with suppress(DeniableError):
        made = MAKERS[name](sensitivity=sensitivity, grid=grid)
        served = {"noisy max": lambda: made.choose([0, 1]), "sparse": lambda: made.ask(0)}.get(name, lambda: made.release(0))()
    assert (served is None) == (
        sensitivity > grid or (name == "Laplace" and grid > 1) or (name == "Gaussian" and (sensitivity != grid or grid > 1))
    )


@pytest.mark.parametrize("rho", [5e-324, 1e-300])
def test_noise_that_is_too_wide_for_floats_is_refused(rho):
    for name in ("tree", "root"):
        with pytest.raises(ParameterError, match="scale"):
            MAKERS[name](epsilon=None, rho=rho, sensitivity=1 << 60)


def test_hardly_any_noise_has_a_price_all_the_same():
    made = MAKERS["Gaussian"](epsilon=None, sigma=1e-3)
    assert made.epsilon > 1e5
    assert (made.release(7), made.variance, made.reach()) == (7, 0.0, 0.0)


@pytest.mark.parametrize("name", ["tree", "root"])
def test_a_counter_refuses_a_bad_batch_before_it_counts(name):
    counter = MAKERS[name]()
    for bad in ([HUGE], [1, -HUGE], 5, None, np.array(5), RAGGED, np.array([[1]]), [LONG]):
        with pytest.raises(DomainError, match="value"):
            counter.run(bad)
    with pytest.raises(DomainError, match="value"):
        counter.add(HUGE)
    assert counter.steps == 0
    assert len(counter.run([1, 2]).point) == 2


@pytest.mark.parametrize("name", ["majority", "tree experts"])
@pytest.mark.parametrize("bad", [np.array([[0, 0.5]], dtype=np.longdouble), [[0, 1], [1]], [[0, HUGE]], [[0, HUGE], [0.5, 0]], 5])
def test_losses_that_are_no_table_are_refused(name, bad):
    with pytest.raises(DomainError, match="losses"):
        MAKERS[name]().run(bad)


def test_the_margin_is_for_a_number_of_questions():
    vector = MAKERS["sparse"]()
    assert vector.margin(1 << 40) > vector.margin(1)
    with pytest.raises(ParameterError, match="questions"):
        vector.margin(HUGE)
    assert vector.ask(np.longdouble("-1e4000")) is False
