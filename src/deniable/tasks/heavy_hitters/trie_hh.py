"""TrieHH: sampling and a threshold instead of noise. Central, not local: the party that samples sees true prefixes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial
from math import ceil, factorial
from typing import Any, ClassVar

import numpy as np
import scipy

from deniable.contract.arguments import typed
from deniable.contract.codes import value_of
from deniable.contract.domain import Domain
from deniable.contract.encoder import Prefix
from deniable.contract.form import HEXADECIMALS
from deniable.contract.guarantee import Guarantee
from deniable.contract.probability import check_epsilon, exp_below, floor_threshold
from deniable.contract.protocol import MemoryProtocol, Progress, State
from deniable.contract.record import INSTEAD, STATE, wire
from deniable.contract.source import ONE, Source
from deniable.core.run import crowd_size, take
from deniable.core.stream import serve_everyone
from deniable.core.table import Table
from deniable.errors import ParameterError, ProtocolError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole
from deniable.tasks.heavy_hitters.prefixes import RESULT, settle_domain

VOTES = "votes"
"""The name of what a level is closed with."""


@dataclass(frozen=True, eq=False, repr=False)
class Trie(Table):
    """The values found, in the order of their codes, without estimates: the guarantee covers neither votes nor a ranking."""

    search: TrieHH
    """The search, at its last level."""
    values: list[Any]

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the search."""
        return self.search.guarantee

    @property
    def ranked(self) -> Trie:
        """The same values: none of them is noise, since each has true votes."""
        return self

    def rows(self) -> dict[str, Any]:
        return {"value": self.values}

    def headline(self) -> str:
        search = self.search
        found = f"{len(self.values):,} values, TrieHH, epsilon = {search.epsilon:.4g}, delta = {search.delta:.4g}, central model"
        return f"{found}; each had at least {search.theta} votes at every level; counts are not shown, since votes are not private"

    def order(self) -> Array:
        return np.arange(len(self.values))


@typed
@dataclass(frozen=True, kw_only=True)
class TrieHHState(State):
    """The trie as far as it has grown."""

    stage: int = 0
    """How many levels are over."""
    prefixes: tuple[int, ...] = field(default=(0,), metadata=wire(form=HEXADECIMALS))
    """The trie's last level; at first the empty prefix."""


@typed
@dataclass(frozen=True, kw_only=True)
class TrieHH(MemoryProtocol):
    """Find values that many people hold, level by level, with true votes of a few people drawn at random.

    At each of ``levels`` levels everybody is drawn with a small probability, anew. Those who are drawn and whose prefix of the level before
    is in the trie vote for their longer prefix; prefixes with at least theta votes are added, the others forgotten.

    Guarantee: (epsilon, delta) in the **central** model, for any two values of one person; not local. With theta = min{t >= 5 :
    (t - 3) / (t - 2) t! >= 1 / delta} and the probability (1 - e^(-epsilon / levels)) / theta. It covers the trie, after every level, and
    nothing else: the votes themselves are not private, so no counts come out, and nothing says which value is the most frequent.

    Everybody is drawn independently of the others, so votes for different prefixes are independent. With x = epsilon / levels and the
    probability p, one person changes the law of a level by a factor of at most (1 + theta (1 - p) / (c - theta + 1)) / (1 - p) if c others
    share the prefix. That is below e^x from some c on; delta bounds the chance that a prefix of fewer people is ever added, and what is
    not added is followed no more. The paper draws a batch of exactly n p people instead, where everyone who is drawn takes another's
    place. For small crowds that breaks the promise: with a batch of theta people, all of one mind but for one, the trie is empty if that
    one is drawn, and never empty if that one agrees (delta = 2.3e-12, epsilon = 1, 10 levels, n = 2,365: in truth delta = 0.006).

    Estimator: none; ``chance`` is the probability that a value is found.

    Cost: one true prefix of those who are drawn, at every level. Fewer levels draw more people and find more; with more of them, the party
    that counts sees less of rare values.

    >>> from deniable.contract.domain import Text
    >>> from deniable.testing import ReplaySource
    >>> search = TrieHH(epsilon=1.0, delta=2.3e-12, domain=Text(10))
    >>> search.levels, search.theta, round(float(search.probability), 7), round(search.chance(5000), 3)
    (10, 15, 0.0063442, 0.997)
    >>> words = ["tea"] * 60_000 + ["mate"] * 40_000 + [str(i) for i in range(900)]
    >>> TrieHH(domain=Text(4), epsilon=2.0, delta=1e-9).run(words, source=ReplaySource.from_key("docs")).values
    ['mate', 'tea']

    References: Zhu, Kairouz, McMahan, Sun, Li 2020.
    """

    needs: ClassVar[str] = "true votes instead of randomized reports"
    trust: ClassVar[str] = "central"
    result: ClassVar[str] = RESULT
    domain: Domain = None  # type: ignore[assignment]  # resolved below
    bits: int = field(default=None, metadata=INSTEAD)  # type: ignore[assignment]  # resolved with the domain
    """The length of the values, if they are plain numbers: instead of ``domain``."""
    epsilon: float
    delta: float
    levels: int = None  # type: ignore[assignment]  # resolved below
    state: TrieHHState = field(default=TrieHHState(), repr=False, metadata=STATE)

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("epsilon", check_epsilon(self.epsilon))
        if not isinstance(self.delta, float) or not 0 < self.delta < 1:
            raise ParameterError("delta", self.delta, allowed="a float above 0, below 1", fix="choose a delta far below 1 / people")
        put("delta", float(self.delta))
        settle_domain(self)
        if self.levels is None:
            put("levels", ceil(self.bits / 8))
        check_whole("levels", self.levels, 1, self.bits, fix="leave out levels to get one per byte")
        stage, prefixes = self.state.stage, self.state.prefixes
        check_whole("stage", stage, 0, self.levels - 1, fix="start at 0")
        if stage:
            Prefix(self.domain, self.lengths[stage - 1], prefixes)  # its checks are ours
        elif prefixes != (0,):
            raise ParameterError("prefixes", prefixes, allowed="the empty prefix at first", fix="leave out prefixes")

    @property
    def lengths(self) -> tuple[int, ...]:
        """The length of the prefixes at each level, in bits."""
        return tuple(self.bits * i // self.levels for i in range(1, self.levels + 1))

    @cached_property
    def theta(self) -> int:
        """The number of votes that a prefix needs."""
        theta = 5
        while (theta - 3) * factorial(theta) * Fraction(self.delta) < theta - 2:
            theta += 1
        return theta

    @cached_property
    def threshold(self) -> int:
        """The probability of being drawn, over 2^64. Rounded down: drawing fewer only adds privacy."""
        return floor_threshold((1 - 1 / exp_below(self.epsilon, Fraction(1, self.levels))) / self.theta)

    @property
    def probability(self) -> Fraction:
        """The probability of being drawn at a level."""
        return Fraction(self.threshold, ONE)

    def chance(self, count: int) -> float:
        """Return a lower bound on the probability that a value that so many people hold is found."""
        return float(scipy.stats.binom.sf(self.theta - 1, count, float(self.probability)) ** self.levels)

    # --- voting: no question can be put to a device, since its answer would be the truth ---

    def vote(self, values: Any, source: Source | None = None) -> Counter[int]:
        """True votes for prefixes of the current level. Secret: only what ``close`` makes of them is private."""
        length, before = self.lengths[self.state.stage], (0, *self.lengths)[self.state.stage]
        drawn = np.zeros(crowd_size(values), dtype=bool)

        def draw(part: slice, words: Array) -> tuple[int, int]:
            served = min(part.stop - part.start, words.size)
            drawn[part.start : part.start + served] = words[:served] < np.uint64(self.threshold)
            return served, served

        inputs = Prefix(self.domain, length).encode_many(values, None)  # everyone's value is checked before anyone is drawn
        serve_everyone(drawn.size, draw, source)
        chosen = take(inputs, np.flatnonzero(drawn))
        codes = [int.from_bytes(code, "big") if isinstance(code, bytes) else int(code) for code in chosen]
        known = set(self.state.prefixes)
        return Counter(code for code in codes if code >> length - before in known)

    def close(self, tallies: Mapping[str, Any]) -> TrieHH | Trie:
        if set(tallies) != {VOTES}:
            raise ProtocolError("tallies", sorted(tallies), allowed=f"one of {VOTES!r}", fix="pass close what vote returned")
        grown = tuple(sorted(code for code, count in tallies[VOTES].items() if count >= self.theta))
        if grown and self.state.stage + 1 < self.levels:
            return self.learned(stage=self.state.stage + 1, prefixes=grown)
        return Trie(self, [value_of(self.domain, code) for code in grown])

    def run(self, values: Any, *, source: Source | None = None, progress: Progress | None = None) -> Trie:
        state: TrieHH | Trie = self
        while isinstance(state, TrieHH):
            state = state.close({VOTES: state.vote(values, source)})
            if progress is not None:
                progress(crowd_size(values), crowd_size(values))
        return state

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(
            epsilon=self.epsilon,
            delta=self.delta,
            model=self.trust,
            unit="the trie of one search, all levels together",
            honest="the party that samples and counts the votes",
            certificate="theorem",
        )
