"""How many people hold each item, or each set of items, with errors: from padded samples, and put together from several groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import Limits, check_level
from deniable.core.screening import ALPHA, Screening
from deniable.core.supports import SupportEstimate
from deniable.core.table import Table
from deniable.kernels.compiled import Array
from deniable.tasks.checks import check_whole

if TYPE_CHECKING:
    from deniable.core.chart import Chart


@dataclass(frozen=True, eq=False, repr=False)
class ItemEstimate(SupportEstimate):
    """Counts from padded samples: whoever holds an item reports on it with probability 1 / (length scale) on average.

    So a holder's report supports the item with q + (p - q) / (length scale) in place of the oracle's p, and counts, errors and intervals
    follow as for every pure protocol; that a device draws one of its items is part of the noise. They are exact where nobody holds more
    than ``length`` of the candidates. Whoever holds m > ``length`` counts as length / m of a holder. ``scale`` above 1 makes up for that on
    average over the items, and comes from an estimated histogram of lengths; its error, ``scale_stderr``, is a part of ``stderr``.

    Intervals do not rely on that average: one item's holders may have longer lists than another's, or longer ones than any that stand out
    of the noise. Without the scale, c holders are counted as some y with::

        y <= c <= y + M,    M = the sum over people with m > length candidates of 1 - length / m

    since each of them is a holder of the item or not. M / n is what ``overflow`` has estimated, by other people (``contract.sets``). So an
    interval goes from the lower limit of y at alpha / 2 to the upper limit of y at alpha / 4 plus that of M at alpha / 4, and covers at
    least 1 - alpha, whoever holds what. All items have the same M: intervals for all at once split alpha for y alone.

    Where only some people were asked (``sampled``), errors also cover that these are a sample of all. ``bound`` is about the noise alone.
    Counts of different items may add up to more than n.
    """

    length: int = field(kw_only=True)
    scale: float = field(default=1.0, kw_only=True)
    scale_stderr: float = field(default=0.0, kw_only=True)
    overflow: FrequencyEstimate | None = field(default=None, kw_only=True)
    """How many people's draws lie beyond the list, 0 or 1; None where that was not asked, or where no list can be cut."""
    sampled: bool = field(default=False, kw_only=True)
    """Whether the people who were asked about these items are some of all."""
    cost: float = field(kw_only=True)
    """What a report costs, sampling included; the oracle alone may be louder."""
    possible: tuple[int, int] | None = field(default=None, kw_only=True)
    """The shortest and the longest list that the noise leaves open, where the length is itself an estimate."""

    @property
    def epsilon(self) -> float:
        return self.cost

    def scaled(self, scale: float, stderr: float, overflow: FrequencyEstimate | None) -> ItemEstimate:
        """The same reports, with another scale, its standard error, and what is known about cut lists."""
        p = self.q + (self.p - self.q) * (self.scale / scale)
        return replace(self, p=p, scale=scale, scale_stderr=stderr, overflow=overflow)

    @property
    def unscaled(self) -> ItemEstimate:
        """What was counted, before anything made up for people whose lists are cut."""
        return self.scaled(1.0, 0.0, None)

    def variance(self, counts: Array, *, population: bool = False) -> Array:
        scaling = (np.asarray(counts) * self.scale_stderr / self.scale) ** 2  # counts are in proportion to the scale
        return np.asarray(super().variance(counts, population=population or self.sampled) + scaling)

    def limits(self, alpha: float, *, simultaneous: bool, population: bool) -> Limits:
        if self.overflow is None:
            return super().limits(alpha, simultaneous=simultaneous, population=population or self.sampled)
        seen, common = self.unscaled, alpha * self.family_size if simultaneous else alpha
        low, _ = seen.limits(alpha, simultaneous=simultaneous, population=population)
        _, high = seen.limits(alpha / 2, simultaneous=simultaneous, population=population)
        return low, high + self.n * most_missing(self.overflow, common / 4, far=simultaneous)

    @property
    def enough(self) -> float:
        """Never where lists may be cut: how far that moves a count follows no normal law."""
        return 0.0 if self.overflow is not None else super().enough

    def exact_test(self, other: FrequencyEstimate) -> Array | None:
        """None where lists may be cut: then equal shares need not lead to equal supports."""
        cut = self.overflow is not None or (isinstance(other, ItemEstimate) and other.overflow is not None)
        return None if cut else super().exact_test(other)

    def headline(self) -> str:
        together = f" for all {self.family_size:,} values together" if self.picked else ""
        padded = f"one of {self.length} each" + (f", scaled by {self.scale:.3g}" if self.scale != 1 else "")
        how = f"{self.n:,} reports, {self.spec.mechanism}, epsilon = {self.epsilon:.4g}, {padded}"
        return f"{how}; low and high: 95 %{together}, {self.covers}"

    @property
    def covers(self) -> str:
        """What intervals are about, in words."""
        parts = ["noise"] + ["sampling"] * self.sampled + ["cut lists"] * (self.overflow is not None)
        return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]])) if len(parts) > 1 else "noise only"


def most_missing(overflow: FrequencyEstimate, alpha: Any, *, far: bool = False) -> Array:
    """The largest share of people that a count may miss because lists are cut: upper limits that fail with probability alpha each.

    ``far`` says that alpha may be very small.
    """
    if not overflow.n:
        return np.ones(np.size(alpha))
    _, high = overflow.select([1]).limits(2 * alpha, simultaneous=far, population=True)
    return np.asarray(np.clip(high / overflow.n, 0.0, 1.0))


@dataclass(frozen=True, eq=False, repr=False)
class SetEstimate(Table):
    """Shares of people who hold each set, with errors, from groups of different sizes that answered different questions.

    ``n`` is how many people were asked about each set. Intervals are normal, exclude 0 only by an exact test, and allow for cut lists as
    those of ``ItemEstimate`` do: from the shares that were ``seen``, up to what their ``overflows`` may miss. Estimates may be negative.
    """

    values: Sequence[Any]
    frequencies: Array
    """The estimated share of people who hold each set."""
    frequency_stderr: Array
    """The standard error of each share."""
    n: Array
    epsilon: float
    family_size: int = 0
    """How many sets simultaneous statements are about."""
    covers: str = "noise only"
    """What intervals are about, in words."""
    seen: Array = None  # type: ignore[assignment]  # resolved below
    """The shares before anything made up for cut lists; ``frequencies`` if left out."""
    seen_stderr: Array = None  # type: ignore[assignment]  # resolved below
    """Their standard errors."""
    chances: Array = None  # type: ignore[assignment]  # resolved below
    """The probability of as many supports of each set if nobody holds it; 0 where that is not known, and the normal law decides alone."""
    overflows: tuple[FrequencyEstimate | None, ...] = ()
    """For each set, how many people's draws lie beyond the list; None where no list can be cut."""
    screening: Screening | None = None
    """What a search tested, and dropped, before it named these sets; None where all that were counted are here."""

    def __post_init__(self) -> None:
        put = partial(object.__setattr__, self)
        put("family_size", self.family_size or len(self.values))
        put("overflows", self.overflows or (None,) * len(self.values))
        if self.seen is None:
            put("seen", self.frequencies)
            put("seen_stderr", self.frequency_stderr)
        if self.chances is None:
            put("chances", np.zeros(len(self.values)))

    @classmethod
    def of(cls, *parts: ItemEstimate) -> SetEstimate:
        """The estimates of several groups, ``parts``, in one table, the largest frequency first."""
        plain = [part.unscaled for part in parts]
        joined = cls(
            values=[value for part in parts for value in part.values],
            frequencies=np.concatenate([part.frequencies for part in parts]),
            frequency_stderr=np.concatenate([part.frequency_stderr for part in parts]),
            n=np.repeat([part.n for part in parts], [len(part.values) for part in parts]),
            epsilon=max(part.epsilon for part in parts),
            family_size=sum(part.family_size for part in parts),
            covers=max((part.covers for part in parts), key=len),
            seen=np.concatenate([part.frequencies for part in plain]),
            seen_stderr=np.concatenate([part.frequency_stderr for part in plain]),
            chances=np.concatenate([stats.binom.sf(part.supports - 1, part.n, part.q) for part in parts]),
            overflows=tuple(part.overflow for part in parts for _ in part.values),
        )
        return joined.select(joined.order())

    @property
    def cut(self) -> Array:
        """For each set, whether lists were cut where it was counted."""
        return np.array([overflow is not None for overflow in self.overflows], dtype=bool)

    def missing(self, alpha: float) -> Array:
        """The most that each share may miss because lists are cut; each of these limits fails with probability alpha."""
        groups = {id(overflow): overflow for overflow in self.overflows if overflow is not None}  # one for thousands of sets
        known = {each: most_missing(overflow, alpha).item() for each, overflow in groups.items()}
        return np.array([known.get(id(overflow), 0.0) for overflow in self.overflows])

    def interval(self, level: float = 0.95, *, simultaneous: bool = False) -> Limits:
        """Limits (low, high) for each share, of what ``covers`` says, for all sets at once where asked (Bonferroni)."""
        check_level("level", level)
        alpha = 1 - level
        each = alpha / (self.family_size if simultaneous else 1)
        groups = max(len({id(overflow) for overflow in self.overflows}), 1) if simultaneous else 1
        reach = stats.norm.isf(each / np.where(self.cut, 4, 2)) * self.seen_stderr + self.missing(alpha / 4 / groups)
        low = self.seen - stats.norm.isf(each / 2) * self.seen_stderr
        # Supports by chance are skewed where they are few: 0 is excluded only where their exact law allows it.
        return np.where(self.chances > each / 2, np.minimum(low, 0.0), low), self.seen + reach

    def select(self, positions: Any) -> SetEstimate:
        """The estimate for some of the sets, by position."""
        at = np.asarray(positions, dtype=np.int64)
        picked = {name: getattr(self, name)[at] for name in ("frequencies", "frequency_stderr", "n", "seen", "seen_stderr", "chances")}
        overflows = tuple(self.overflows[i] for i in at)
        return replace(self, values=[self.values[i] for i in at], overflows=overflows, **picked)

    def significant(self, alpha: float = ALPHA) -> Array:
        """Whether each set stands out of the noise; the chance that any is marked that nobody holds is alpha at most (Bonferroni)."""
        low, _ = self.interval(1 - alpha, simultaneous=True)
        return np.asarray(low > 0)

    def found(self, k: int, *, share: Fraction) -> SetEstimate:
        """What a search names of its candidates: of the k largest shares those that are significant among all; see ``ranked``.

        ``share`` is that of the people in the smallest group of the search.
        """
        ranked, dropped = self.top(k), int((~self.significant()).sum())
        quiet = int(np.argmin(self.seen_stderr))
        noise = float(self.seen_stderr[quiet]) ** 2 * int(self.n[quiet])
        tested = Screening(ranked, len(self.values), dropped, int(self.n.min()), share, noise)
        return replace(ranked.select(np.flatnonzero(ranked.significant())), screening=tested)

    @property
    def ranked(self) -> SetEstimate:
        """The largest shares of a search in their order, significant or not; of any other estimate, all sets."""
        return self if self.screening is None else self.screening.ranked

    def top(self, k: int = 10) -> SetEstimate:
        """The k largest shares, the largest first."""
        check_whole("k", k, 1, fix="ask for at least one set")
        return self.select(self.order()[:k])

    def rows(self) -> dict[str, Any]:
        low, high = self.interval(0.95, simultaneous=len(self.values) < self.family_size)
        shown = [", ".join(map(str, value)) for value in self.values]
        rows = {"value": shown, "frequency": self.frequencies, "stderr": self.frequency_stderr, "low": low, "high": high, "asked": self.n}
        marked = len(self.values) < self.family_size and self.screening is None  # a search names no others
        return rows | {"significant": self.significant()} if marked else rows

    def headline(self) -> str:
        picked = len(self.values) < self.family_size
        together = f" for all {self.family_size:,} sets together" if picked else ""
        return f"shares of people who hold each set, epsilon = {self.epsilon:.4g}; low and high: 95 %{together}, {self.covers}"

    def order(self) -> Array:
        return np.argsort(-self.frequencies, kind="stable")

    def notes(self) -> list[str]:
        return [] if self.screening is None else [self.screening.told(len(self.values))]

    def chart(self, k: int = 20) -> Chart:
        """The k largest shares with their 95 % intervals."""
        from deniable.core.chart import bar_chart

        best, together = self.top(k), k < self.family_size
        low, high = best.interval(0.95, simultaneous=together)
        labels = best.rows()["value"]
        return bar_chart(labels, best.frequencies, low, high, title=self.headline(), together=together, axis="share of people")
