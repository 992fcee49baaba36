"""What experiments compare, and the first of them: frequency oracles.

A method builds its spec or protocol for a population, an epsilon and a number of people, runs it on a crowd with a replayed source, and
hands back the outcome. Methods are data: they travel to worker processes, so functions in them must be importable by name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import pi, sqrt
from typing import Any

import numpy as np

from deniable.client.frequency import FrequencySpec
from deniable.contract.arguments import fits, typed
from deniable.contract.protocol import Protocol
from deniable.contract.source import Source
from deniable.contract.spec import MECHANISMS
from deniable.core.values import keys_of
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.lab.metrics import check_k, most_frequent
from deniable.lab.outcome import Outcome
from deniable.lab.populations.base import Population
from deniable.local.oracle_choice import frequency_oracle, planned_variance

SUMS_TO_ONE = ("norm-sub", "norm-mul", "mle")
"""Post-processing that leaves a distribution."""


class Method(ABC):
    """One entry of an experiment."""

    label: str

    @abstractmethod
    def setup(self, population: Population, epsilon: float, n: int, repetition: int = 0) -> FrequencySpec | Protocol:
        """The spec or protocol for a population; ParameterError if it cannot do this.

        Public hash functions are drawn anew for each ``repetition``.
        """

    @abstractmethod
    def run(self, setup: Any, values: Any, source: Source) -> Outcome:
        """Ask a crowd by the spec or protocol that ``setup`` made."""

    @property
    @abstractmethod
    def gives(self) -> set[str]:
        """What measures may need that this method gives; see ``Metric.needs``."""

    @abstractmethod
    def identity(self) -> str:
        """All that the outcome depends on in addition to the setup, as text."""

    def expected(self, metric: str, outcome: Outcome, population: Population, epsilon: float, n: int) -> float | None:
        """What theory expects of a metric for this population, given the outcome; or None."""
        return outcome.predicted.get(metric)


def parameters_of(given: Any) -> tuple[tuple[str, Any], ...]:
    """A method's parameters as pairs in alphabetical order; ``given`` is a dict or such pairs."""
    pairs = tuple(given.items()) if isinstance(given, Mapping) else given
    if not fits(pairs, tuple[tuple[str, Any], ...]):
        raise ParameterError("parameters", given, allowed="a dict of parameters", fix='write, for example, {"hash_range": 8}')
    return tuple(sorted(dict(pairs).items()))


def label_of(name: str, parameters: tuple[tuple[str, Any], ...], postprocess: str | None = None) -> str:
    """The usual label of a method: its name, its ``parameters``, and how counts are made consistent (``postprocess``), if they are."""
    shown = [f"{key}={value}" for key, value in parameters] + ([postprocess] if postprocess else [])
    return f"{name}({', '.join(shown)})" if shown else name


@typed
@dataclass(frozen=True)
class Oracle(Method):
    """A frequency oracle by name, or "auto" for the one with the smallest predicted error.

    The domain is the population's unless the parameters say otherwise. Oracles with public hash functions draw new ones for each
    repetition (``salt``), since their estimates are unbiased over these. With ``k`` the largest counts are a list of the most frequent
    values, ties broken at random.

    >>> from deniable.lab.populations import Zipf
    >>> Oracle("OLH", {"hash_range": 8}).setup(Zipf(1.1, 64), 1.0, 1000)
    OLH(domain_size=64, epsilon=1.0, hash_range=8)
    """

    mechanism: str
    """The oracle's name."""
    parameters: Any = ()
    label: str = ""
    """The name in tables and charts; if left out, the oracle's."""
    postprocess: str | None = None
    """How counts are made consistent, if they are: "norm-sub" and so on."""
    k: int | None = None

    def __post_init__(self) -> None:
        known = sorted(name for name, cls in MECHANISMS.items() if issubclass(cls, FrequencySpec))
        if self.mechanism not in ("auto", *known):
            raise ParameterError("mechanism", self.mechanism, allowed=f"auto or one of {known}", fix="check the spelling")
        object.__setattr__(self, "parameters", parameters_of(self.parameters))
        allowed = [] if self.mechanism == "auto" else [field.name for field in fields(MECHANISMS[self.mechanism])]  # type: ignore[arg-type]  # specs are dataclasses
        for name, _ in self.parameters:
            if name not in allowed or name == "epsilon":
                names = [own for own in allowed if own != "epsilon"]
                raise ParameterError(
                    "parameters", name, allowed=f"some of {names} for {self.mechanism}", fix="leave out epsilon, which the grid sets"
                )
        if self.postprocess not in (None, "base-cut", "norm", *SUMS_TO_ONE):
            raise ParameterError(
                "postprocess", self.postprocess, allowed=f"base-cut, norm, {', '.join(SUMS_TO_ONE)}", fix="leave out postprocess"
            )
        if self.k is not None:
            check_k(self.k)
        if not self.label:
            object.__setattr__(self, "label", label_of(self.mechanism, self.parameters, self.postprocess))

    def setup(self, population: Population, epsilon: float, n: int, repetition: int = 0) -> FrequencySpec:
        options = dict(self.parameters)
        if not {"domain", "domain_size"} & set(options):
            options["domain"] = population.domain
        if self.mechanism == "auto":
            return frequency_oracle(epsilon=epsilon, n=n, **options).spec
        cls: Any = MECHANISMS[self.mechanism]
        if cls.shares_hashes:
            options.setdefault("salt", repetition)
        spec: FrequencySpec = cls(epsilon=epsilon, **options)
        return spec

    def run(self, setup: FrequencySpec, values: Any, source: Source) -> Outcome:
        truth = np.bincount(keys_of(setup.domain, values).astype(np.int64), minlength=setup.domain_size)
        estimate = setup.estimate(setup.tally(setup.privatize(values, source=source)))
        counts = estimate.counts if self.postprocess is None else estimate.postprocess(self.postprocess).counts
        found = None if self.k is None else most_frequent(estimate.values, counts, self.k, source)
        predicted = {} if self.postprocess is not None else expected_errors(setup, truth)
        return Outcome(estimate.values, truth, counts, self.k, found, predicted)

    @property
    def gives(self) -> set[str]:
        return {"counts"} | ({"list"} if self.k else set()) | ({"distribution", "numbers"} if self.postprocess in SUMS_TO_ONE else set())

    def identity(self) -> str:
        return repr((self.label, self.postprocess, self.k))


@typed
def expected_errors(spec: FrequencySpec, truth: Array) -> Mapping[str, float]:
    """What theory expects of a spec's unbiased estimate where these counts are the truth: ``mse`` exactly, ``tv`` for normal errors.

    The variance of a count is a straight line in its frequency, for every oracle. What sketches' collisions add is taken for this crowd,
    and what solving for overlapping filters costs (BloomRR) by a rule of thumb.

    >>> from deniable.client import OUE
    >>> {name: round(value, 4) for name, value in expected_errors(OUE(domain_size=4, epsilon=1.0), np.array([700, 200, 100, 0])).items()}
    {'mse': 3932.6944, 'tv': 0.1}
    """
    if truth.dtype.kind not in "iuf":
        raise ParameterError("truth", truth, allowed="an array of counts", fix="pass how many people hold each value")
    n = int(truth.sum())
    none, all_ = planned_variance(spec, n, 0.0), planned_variance(spec, n, 1.0)
    variance = none + (all_ - none) * truth / max(n, 1)
    pairs = truth.astype(float) * (truth - 1)  # planning takes the worst crowd
    variance += spec.shared_variance * (pairs.sum() - pairs - float(n) ** 2)
    if not np.isfinite(variance).all():
        return {}
    return {"mse": float(variance.mean()), "tv": float(np.sqrt(variance).sum() / (sqrt(2 * pi) * max(n, 1)))}
