"""Mechanisms that count answers, whatever their reports look like: domain, privacy, randomizing, the exact law.

In a linear protocol each report gives every value a score, and the scores of all reports add up to the estimated counts. ``pure`` adds
those where a report supports some values and not others.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar, Self

from deniable.client.exact import LARGEST_LAW, ExactSpec
from deniable.contract.domain import Domain, IndexRange
from deniable.contract.law import OutputLaw
from deniable.contract.probability import check_epsilon, check_resolution
from deniable.contract.source import ONE, SYSTEM, Source
from deniable.errors import ParameterError

if TYPE_CHECKING:
    from deniable.core.frequency import FrequencyEstimate
    from deniable.core.reports import Reports
    from deniable.core.tally import Tally


@dataclass(frozen=True, kw_only=True, repr=False)
class FrequencySpec(ExactSpec):
    """A mechanism that counts how many people hold each value of a domain.

    Give either ``domain_size`` (values are 0..domain_size - 1) or ``domain``.
    """

    domain_size: int = field(default=None, metadata={"travels": False})  # type: ignore[assignment]  # resolved at once, below
    domain: Domain = None  # type: ignore[assignment]  # resolved at once, below
    epsilon: float

    default_size: ClassVar[int | None] = None
    largest_domain: ClassVar[int] = 1 << 64
    needs_listed_domain: ClassVar[bool] = True
    lists_pairs: ClassVar[bool] = True
    preference: ClassVar[int | None] = None
    """Where "auto" may choose this oracle: its place among those with about the same error, the lowest first."""
    shares_hashes: ClassVar[bool] = False
    """Whether people share hash functions, so that their reports err together."""
    small: ClassVar[Mapping[str, int]] = {}
    """Parameters with few enough reports to enumerate, where the usual ones have too many; the code is the same."""
    small_size: ClassVar[int] = 4
    """A number of values for which all reports can be enumerated, with these parameters."""
    small_epsilon: ClassVar[float] = 1.0
    """An epsilon for which they can."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_epsilon(self.epsilon))
        if self.domain is None:
            size = self.default_size if self.domain_size is None else self.domain_size
            object.__setattr__(self, "domain", IndexRange(size))  # None is refused there
        elif not isinstance(self.domain, Domain):
            raise ParameterError("domain", self.domain, allowed="a Domain", fix='write domain=Categories("red", "green")')
        if self.domain_size not in (None, self.domain.size):
            raise ParameterError("domain_size", self.domain_size, allowed=f"{self.domain.size}, as in domain", fix="leave it out")
        object.__setattr__(self, "domain_size", self.domain.size)
        if self.needs_listed_domain and not (self.domain.listed and self.domain_size <= self.largest_domain):
            raise ParameterError(
                "domain",
                self.domain,
                allowed=f"a listed domain of at most {self.largest_domain} values for {self.mechanism}",
                fix="use GRR for more than two values" if self.largest_domain == 2 else "use OLH, which takes any domain",
            )
        self.resolve()
        check_resolution(self.epsilon, self.effective_epsilon, tight=self.tight)

    def __repr__(self) -> str:
        shown = f"domain_size={self.domain_size}" if isinstance(self.domain, IndexRange) else f"domain={self.domain!r}"
        shown_fields = [
            f for f in fields(self) if f.name not in ("domain_size", "domain", "epsilon") and getattr(self, f.name) != f.default
        ]
        own = [f"{f.name}={getattr(self, f.name)!r}" for f in shown_fields]
        return f"{type(self).__name__}({', '.join([shown, f'epsilon={self.epsilon!r}', *own])})"

    if TYPE_CHECKING:  # what the bulk half returns, for editors and type checkers

        def privatize(self, values: Any, *, source: Source | None = None) -> Reports: ...
        def tally(self, reports: Any, *, candidates: Any = None) -> Tally: ...
        def estimate(self, tally: Tally, *, candidates: Any = None) -> FrequencyEstimate: ...

    # --- what each mechanism provides, on keys ---

    @abstractmethod
    def perturb(self, key: int, source: Source) -> Any:
        """Return the report of someone whose value has this key."""

    @abstractmethod
    def output_law(self, key: int, seed: tuple[int, ...]) -> OutputLaw[Any]:
        """Return the exact law of ``perturb`` for a key, given the seed."""

    @abstractmethod
    def evidence(self, report: Any, key: int) -> int:
        """Return what a report shows about the value with this key, in a few classes; audits by sampling count them."""

    @abstractmethod
    def variance(self, n: int, f: float = 0.0) -> float:
        """Return the variance of an estimated count among n reports, for a value held by a fraction f of their senders."""

    @property
    @abstractmethod
    def influence(self) -> float:
        """How far one report, true or made up, can move one count."""

    @property
    def most_supported(self) -> int:
        """How many values one report can speak for at most."""
        return self.domain_size

    # --- what planners, auditors and defenders ask; a mechanism that knows better says so ---

    @property
    def device_words(self) -> int:
        """Random words behind one report: one for each number in it, 7.3 for each 64 noisy bits.

        >>> from deniable.client import GRR, OLH, OUE
        >>> [oracle(domain_size=1000, epsilon=1.0).device_words for oracle in (GRR, OUE, OLH)]
        [1, 115, 3]
        """
        return sum(-(-73 * column.count // 640) if column.packed else column.count for column in self.layout)

    def tally_steps(self, n: int, values: int) -> int:
        """Return the steps, of about a nanosecond, to count n reports for so many values: add each one up, or compare it."""
        if self.candidates_at_tally:
            return n * -(-values // 8)  # eight at a time
        return n * sum(-(-column.count // 16) if column.packed else column.count for column in self.layout)  # sixteen bits at a time

    @property
    def shared_variance(self) -> float:
        """The variance of a frequency that no number of people averages out, if all others hold one value: that of shared collisions."""
        return 0.0

    def planned_variance(self, n: int, f: float, values: int) -> float:
        """Return the variance of a count to plan with: n people, so many values, and a fraction f that holds this one."""
        return self.variance(n, f) + self.shared_variance * n * n

    def worst_variance(self, n: int, values: int) -> float:
        """Return the same for a value that nobody holds, whatever the others hold."""
        return self.planned_variance(n, 0.0, values)

    def most_score(self, values: int) -> float:
        """Return what one report, made up, can add to the counts of so many values together."""
        return min(values, self.most_supported) * self.influence

    @property
    def pair_covariances(self) -> tuple[float, float]:
        """How one report's scores of two values vary together: if its sender holds neither, and if one of them.

        Where a report speaks for a fixed number of values, scores correlate negatively, and sums that it fixes do not err at all. Where a
        mechanism does not say, both are as negative as they can be, the first for all pairs alike: that makes differences err most.

        >>> from deniable.client import GRR, OUE
        >>> OUE(domain_size=9, epsilon=1.0).pair_covariances, round(GRR(domain_size=4, epsilon=1.0).pair_covariances[0], 4)
        ((0.0, 0.0), -0.3387)
        """
        return self.least_covariance, -sqrt(self.variance(1, 1.0) * self.variance(1, 0.0))

    @property
    def least_covariance(self) -> float:
        """The most negative covariance that the scores of all pairs of values can have alike."""
        return -self.variance(1, 0.0) / (self.domain_size - 1)

    # --- what follows ---

    @classmethod
    def example(cls, epsilon: float | None = None, size: int | None = None) -> Self:
        """Return a spec, by default with few values and few possible reports; the code is the same.

        >>> from deniable.client import OUE
        >>> OUE.example()
        OUE(domain_size=4, epsilon=1.0)
        """
        made: Any = cls
        size = cls.default_size or cls.small_size if size is None else size
        spec: Self = made(epsilon=cls.small_epsilon if epsilon is None else epsilon, domain_size=size, **cls.small)
        return spec

    def event(self, report: Any, keys: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.evidence(report, key) for key in keys)

    def counters(self, values: int) -> int:
        """Return how many counters a tally about so many values has: one for each of them, or one for each of the domain."""
        return values if self.candidates_at_tally else self.domain_size

    def randomize(self, value: Any, source: Source = SYSTEM) -> Any:
        """Return one person's report."""
        return self.perturb(self.domain.key(value), source)

    def law(self, value: Any, *, seed: tuple[int, ...] = ()) -> OutputLaw[Any]:
        """Return the exact output law for a value, as Fractions; for mechanisms with a seed, given that seed."""
        if self.outputs > LARGEST_LAW:
            raise ParameterError("domain_size", self.domain_size, allowed=f"at most {LARGEST_LAW} different reports", fix="shrink it")
        if len(seed) != self.seed_words or not all(type(word) is int and 0 <= word < ONE for word in seed):
            raise ParameterError("seed", seed, allowed=f"{self.seed_words} words for {self!r}", fix="pass the seed of one report")
        return self.output_law(self.domain.key(value), tuple(seed))

    @property
    def best_guess(self) -> float:
        """How often an observer's best guess from one report is right, at most, if every value is equally likely.

        No epsilon-local mechanism allows more than this: e^epsilon / (e^epsilon + d - 1).
        """
        return float(self.ratio / (self.ratio + self.domain_size - 1))


class LinearProtocol(FrequencySpec):
    """A mechanism whose estimate of a count is a sum over the reports."""

    averaged: ClassVar[bool] = True
    """True if ``variance`` is an average over the values; False if all have it (of a coin with unequal sides, the last one)."""

    @abstractmethod
    def score(self, report: Any, key: int) -> Fraction:
        """Return what one report adds to the count of the value with this key, exactly; expected 1 for a holder, 0 for others."""


def check_crowd(n: object, f: object) -> None:
    """Raise unless ``n`` is a number of people and ``f`` a share of them."""
    if not (isinstance(n, int | float) and isinstance(f, int | float) and n >= 0 and 0 <= f <= 1):
        raise ParameterError(
            "n, f",
            (n, f),
            allowed="n from 0 on, f from 0 to 1",
            fix="pass the number of people, and the share of them that holds the value",
        )
