"""What every fit of a logistic model is told, checked and in its final form."""

from __future__ import annotations

from functools import partial
from typing import Any

from deniable.contract.domain import IndexRange
from deniable.contract.features import Features
from deniable.contract.gradient import check_label
from deniable.contract.probability import check_epsilon
from deniable.errors import ParameterError


def settle(fit: Any) -> None:
    """Check what every fit of a logistic model is told, and put it in its final form: epsilon, features, label, classes and step."""
    put, step = partial(object.__setattr__, fit), fit.step
    put("epsilon", check_epsilon(fit.epsilon))
    put("features", Features.of(fit.features))
    put("classes", IndexRange(2) if fit.classes is None else fit.classes)
    check_label(fit.features, fit.label, fit.classes)
    if isinstance(step, bool) or not isinstance(step, int | float) or not 0 < step <= 1000:
        raise ParameterError("step", step, allowed="a number above 0, at most 1000", fix="leave it out; 8 is usual")
    put("step", float(step))
