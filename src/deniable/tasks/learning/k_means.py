"""k-means in rounds: each person reports once, privately, the nearest center and one bit about one coordinate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from math import inf, lcm, sqrt
from typing import Any, ClassVar

import numpy as np

from deniable.client.frequency import FrequencySpec
from deniable.contract.arguments import typed
from deniable.contract.clusters import MAGNITUDES, MOST_CLUSTERS, ClusterSide, Magnitude, check_centers
from deniable.contract.features import HALF, Features, check_clip
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon
from deniable.contract.protocol import Protocol, State
from deniable.contract.question import Question, Round
from deniable.contract.record import RESOLVED, STATE, UNWRITTEN, form_of, wire
from deniable.contract.work import Work, heaviest, together
from deniable.core.features import table_of
from deniable.core.law import Unknown
from deniable.core.postprocess import norm_sub
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.local.oracle_choice import frequency_oracle
from deniable.tasks.checks import check_whole
from deniable.tasks.feasible import check_feasible
from deniable.tasks.learning.clusters import BIASED, WHY, ClusterEstimate
from deniable.tasks.learning.sides import Sides, pooled

MEASURING = Fraction(1, 10)
"""The share of people who report how far out they are, if ``clip`` is not given."""
OUTSIDE = 0.05
"""The share of people who may be beyond the clipping bound."""
UNSURE = 0.2
"""The largest standard error of that share with which a bound is chosen."""
SEEN = 3.0
"""A center moves if its cluster's share is so many standard errors above nothing."""
Centers = tuple[tuple[int, ...], ...]


@typed
@dataclass(frozen=True, kw_only=True)
class KMeansState(State):
    """The centers as far as they have moved."""

    stage: int = 0
    """The number of finished rounds."""
    bound: int | None = field(default=None, metadata=wire(name="clip"))
    """How often the range is halved around its middle: as the settings say, or as people have answered; None before they have."""
    centers: Centers = ()
    """The centers as they are now, in steps from the middle of each range; none for those that the settings begin with."""


@typed
@dataclass(frozen=True, kw_only=True)
class KMeans(Protocol):
    """Find ``clusters`` centers of people's ``features`` (a mapping of names to ranges) in rounds of nearest centers and means.

    People are split at random over rounds, and in each round over the coordinates. Each person reports which center is nearest, and with
    it one bit, drawn from one coordinate (``ClusterSide``), by a frequency oracle for all pairs. Unless ``clip`` is given, a tenth of the
    people first say how far from the middle they are, as a power of two; the bound leaves about 5 % of them outside, or nobody where so few
    cannot tell.

    Guarantee: epsilon-local for any two records of one person; everybody reports once, with the whole epsilon.

    Estimator: a center's coordinate is the difference of two counts over the size of the cluster. Errors are those of the last round, given
    its centers; they do not say whether rounds began well. A center whose cluster is not seen above noise starts again next to the largest
    one, nearer to it in each round; in the last round it stays, with an infinite error.

    Cost: one report about 2 x clusters values. The noise of a center is about the bound x sqrt(2 rounds features Var / n) / its share,
    with the oracle's variance Var for one person: few features, and clusters that are not small.

    >>> search = KMeans(features={"age": (0, 120), "income": (0, 1_000_000)}, clusters=3, epsilon=2.0, rounds=4)
    >>> search.open().questions[0].name, str(search.open().questions[0].share), str(search.open().questions[0].spec)
    ('magnitude', '1/10', 'GRR(domain_size=9, epsilon=2.0)')

    References: Xia, Hua, Tong, Zhong 2020 (clustering with local privacy, by rounds); Nguyên, Xiao, Yang, Hui, Shin, Shin 2016.
    """

    result: ClassVar[str] = "clusters"

    features: Any = field(metadata=wire(form=form_of(Features)))
    clusters: int
    epsilon: float
    rounds: int = 5
    clip: int | None = field(default=None, metadata=UNWRITTEN)
    """How often the range is halved around its middle; None to ask. It is written in the state."""
    start: Any = field(default=None, repr=False, compare=False, metadata=UNWRITTEN)
    """The first centers, in people's own numbers; if left out, points that are spread over the range."""
    people: int = 100_000
    measuring: bool = field(init=False, metadata=RESOLVED)
    """True if some people are asked how far out they are."""
    state: KMeansState = field(default=KMeansState(), repr=False, metadata=STATE)

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("epsilon", check_epsilon(self.epsilon))
        put("features", Features.of(self.features))
        for name, least, most in (("clusters", 1, MOST_CLUSTERS), ("rounds", 1, 1000), ("people", 1, 10**15)):
            check_whole(name, getattr(self, name), least, most)
        if self.clip is not None:
            check_clip(self.clip)
        put("measuring", self.clip is None)
        if self.state == KMeansState():
            put("state", KMeansState(bound=self.clip, centers=self._begun()))
        self._check_state()
        check_feasible(self, "clusters", fix="look for fewer clusters")

    def _check_state(self) -> None:
        stage, bound, centers = self.state.stage, self.state.bound, self.state.centers
        check_whole("stage", stage, 0, 10**15)
        if bound is not None:
            check_clip(bound)
        if not self.measuring and bound != self.clip:
            raise ParameterError("clip", self.clip, allowed=f"{bound}, as in the state", fix="leave out the state")
        if stage > self.rounds - (not self.measuring) or (bound is None) != (self.measuring and stage == 0):
            raise ParameterError("stage", stage, allowed="a round of this fit", fix="leave out the state")
        waiting = bound is None and centers == ()  # the first centers are spread over what clipping leaves
        if not waiting:
            check_centers(self.features, centers)
        if len(centers) != self.clusters and not waiting:
            raise ParameterError("centers", len(centers), allowed=f"{self.clusters} points", fix="pass one point for each cluster")

    def _begun(self) -> Centers:
        if self.start is None:
            return () if self.clip is None else spread_out(self.clusters, len(self.features), HALF >> self.clip)
        if not _points(self.start, len(self.features)):
            allowed = f"points of {len(self.features)} numbers"
            raise ParameterError("start", self.start, allowed=allowed, fix="pass one number for each feature")
        rows = [dict(zip(self.features.names, center, strict=True)) for center in self.start]
        return tuple(tuple(self.features.point(row)) for row in rows)

    @classmethod
    def from_fields(cls, **values: Any) -> KMeans:
        """The bound is written as part of the state, and is a setting unless people were asked for it."""
        asked = values.pop("measuring")
        return cls(**values, clip=None if asked else values["state"].bound)

    def work(self) -> Work:
        return heaviest([super().work(), together([self.spec.finishing(2 * self.clusters)] * len(self.features))])

    # --- asking ---

    @property
    def scale(self) -> int:
        return lcm(self._share.denominator, MEASURING.denominator if self.measuring else 1)

    @property
    def _share(self) -> Fraction:
        """The share of people of one question about centers."""
        return (1 - MEASURING * self.measuring) / (self.rounds * len(self.features))

    @cached_property
    def spec(self) -> FrequencySpec:
        """The oracle for nearest centers and bits."""
        return frequency_oracle(domain_size=2 * self.clusters, epsilon=self.epsilon, n=max(1, int(self.people * self._share))).spec

    @cached_property
    def _round(self) -> Round:
        if self.state.bound is None:
            spec = frequency_oracle(domain_size=MAGNITUDES, epsilon=self.epsilon, n=max(1, int(self.people * MEASURING))).spec
            return Round((Question(name="magnitude", spec=spec, encoder=Magnitude(self.features), share=MEASURING),))
        sides = (ClusterSide(self.features, self.state.centers, j, self.state.bound) for j in range(len(self.features)))
        pairs = zip(self.features.names, sides, strict=True)
        questions = tuple(Question(name=name, spec=self.spec, encoder=side, share=self._share) for name, side in pairs)
        before = MEASURING * self.measuring + (self.state.stage - self.measuring) * len(self.features) * self._share
        return Round(questions, Fraction(before))

    def open(self) -> Round:
        return self._round

    def read(self, values: Any) -> Any:
        """Return a checked table, from a mapping of columns or from an Arrow, Polars or pandas table; only declared columns are read."""
        return table_of(values, self.features)

    def close(self, tallies: Mapping[str, Any]) -> KMeans | ClusterEstimate:
        self._round.check_tallies(tallies)
        found = [question.spec.estimate(tallies[question.name]) for question in self._round.questions]
        if self.state.bound is None:
            clip = clipping(found[0].counts, found[0].stderr, found[0].n)
            centers = self.state.centers or spread_out(self.clusters, len(self.features), HALF >> clip)
            return self.learned(bound=clip, stage=1, centers=centers)
        return self._moved(found)

    def _moved(self, found: list[Any]) -> KMeans | ClusterEstimate:
        """Each center at the mean of its people, where the share stands out from noise."""
        k, limit = self.clusters, HALF >> (self.state.bound or 0)
        n = sum(each.n for each in found)
        sides = [Sides.of(each, k) for each in found]
        shares, spread, weights = pooled(np.array([side.shares for side in sides]), np.array([side.share_noise for side in sides]))
        seen = shares > SEEN * np.sqrt(spread)
        size = np.where(seen, shares, 1.0)
        means = limit * np.array([side.leans for side in sides]) / size
        noise, both = np.array([side.lean_noise for side in sides]), weights * np.array([side.both for side in sides])
        variance = np.maximum(limit**2 * noise + means**2 * np.where(seen, spread, 0.0) - 2 * limit * means * both, 0.0) / size**2
        moved = np.where(seen & np.isfinite(variance), np.clip(np.rint(means), -limit, limit), np.array(self.state.centers).T).astype(int)
        if self.state.stage + 1 < self.rounds + self.measuring:
            nearer = np.array(spread_out(k, len(found), limit >> (self.state.stage + 1 - self.measuring))).T
            beside = np.clip(moved[:, [np.argmax(shares)]] + nearer, -limit, limit)
            again = tuple(map(tuple, np.where(seen, moved, beside).T.tolist()))
            return self.learned(stage=self.state.stage + 1, centers=again if seen.any() else self.state.centers)
        centers: Centers = tuple(map(tuple, moved.T.tolist()))
        errors = np.where(seen, variance, inf).T
        law = Unknown(n, shares, WHY, np.sqrt(spread))
        clusters = ClusterEstimate.of(self.features, centers, errors, law=law, spec=self.spec, guarantee=self.guarantee)
        return replace(clusters, bias=BIASED if self.state.bound else None)

    @property
    def guarantee(self) -> Guarantee:
        unit = "one report, about the nearest center and one coordinate, or how far out one is"
        exposed = "that the person took part, in which round, and about which coordinate"
        return Guarantee(
            epsilon=self.epsilon, unit=unit, neighbors="any two records of one person, in all columns at once", exposed=exposed
        )


def clipping(counts: Array, stderr: Array, n: int) -> int:
    """How often the range can be halved so that 5 % of people at most are beyond it, by a noisy histogram of magnitudes.

    Never where the share beyond errs by more than 20 %: a bound that is drawn by noise may leave everyone outside.

    >>> clipping(np.array([1.0, 2, 40, 50, 7, 0, 0, -3, 3]), np.full(9, 5.0), 100), clipping(np.array([0.0] * 8 + [9]), np.full(9, 3.0), 9)
    (2, 0)
    """
    if not n:
        return 0
    beyond = np.cumsum(norm_sub(np.asarray(counts, dtype=float) / n, 1.0))
    error = np.sqrt(np.cumsum(np.square(stderr))) / n
    return int(np.sum((beyond <= OUTSIDE) & (error <= UNSURE), where=np.arange(beyond.size) < MAGNITUDES - 1))


def _points(start: object, dimension: int) -> bool:
    """Whether these are rows of so many things, which features read as numbers later."""
    try:
        return all(len(center) == dimension for center in start)  # type: ignore[attr-defined]  # that is what is tried
    except TypeError:  # nothing that has rows
        return False


def spread_out(clusters: int, dimension: int, limit: int) -> Centers:
    """Points that lie apart from each other, half way out: the same for everyone, without any draw."""
    turns = np.outer(np.arange(1, clusters + 1), np.sqrt(np.arange(2, dimension + 2) + 0.5))
    return tuple(map(tuple, np.rint(0.5 * sqrt(2) * limit * np.cos(2 * np.pi * turns)).astype(int).tolist()))
