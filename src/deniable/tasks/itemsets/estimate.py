"""Estimates of how many people hold each item or set of items, with errors, from padded samples and from several groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy

from deniable.contract.guarantee import Guarantee
from deniable.core.estimate import PeopleEstimate
from deniable.core.frequency import FrequencyEstimate
from deniable.core.interval import Limits
from deniable.core.law import CountLaw, Law
from deniable.core.supports import Supports
from deniable.kernels.compiled import Array


@dataclass(frozen=True, eq=False)
class PaddedSupports(Supports):
    """Counts from padded samples: a person who holds an item reports it with probability 1 / (length scale) on average.

    So a holder's report supports the item with q + (p - q) / (length scale) in place of the oracle's p, and counts, errors and intervals
    follow as for every pure protocol; that a device draws one of its items is part of the noise. They are exact where nobody holds more
    than ``length`` of the candidates. A person who holds m > ``length`` counts as length / m of a holder. ``scale`` above 1 makes up for
    that on average over the items, and comes from an estimated histogram of lengths; its error, ``scale_stderr``, is a part of ``stderr``.

    Intervals do not rely on that average: one item's holders may have longer lists than another's, or longer ones than any that stand out
    of the noise. Without the scale, c holders are counted as some y with::

        y <= c <= y + M,    M = the sum over people with m > length candidates of 1 - length / m

    since each of them is a holder of the item or not. M / n is what ``overflow`` has estimated, by other people (``contract.sets``). So an
    interval goes from the lower limit of y at alpha / 2 to the upper limit of y at alpha / 4 plus that of M at alpha / 4, and covers at
    least 1 - alpha, no matter who holds what. All items have the same M: intervals for all at once split alpha for y alone.

    Where only some people were asked (``sampled``), errors also cover that these are a sample of all. ``bounds`` are about the noise alone.
    Counts of different items may add up to more than n.
    """

    length: int = field(kw_only=True)
    scale: float = field(default=1.0, kw_only=True)
    scale_stderr: float = field(default=0.0, kw_only=True)
    overflow: CountLaw | None = field(default=None, kw_only=True)
    """How many people's draws lie beyond the list, 0 or 1; None where that was not asked, or where no list can be cut."""
    sampled: bool = field(default=False, kw_only=True)
    """Whether the people who were asked about these items are some of all."""

    def scaled(self, scale: float, stderr: float, overflow: CountLaw | None) -> PaddedSupports:
        """Return the law of the same reports with another scale, its standard error, and what is known about cut lists."""
        p = self.q + (self.p - self.q) * (self.scale / scale)
        return replace(self, p=p, scale=scale, scale_stderr=stderr, overflow=overflow)

    @property
    def unscaled(self) -> PaddedSupports:
        """The counts before the correction for people whose lists are cut."""
        return self.scaled(1.0, 0.0, None)

    @property
    def covers(self) -> str:
        """What intervals cover, in words."""
        parts = ["noise"] + ["sampling"] * self.sampled + ["cut lists"] * (self.overflow is not None)
        return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]])) if len(parts) > 1 else "noise only"

    def variance(self, at: Array, *, population: bool = False) -> Array:
        scaling = (np.asarray(at) * self.scale_stderr / self.scale) ** 2  # counts are in proportion to the scale
        return np.asarray(super().variance(at, population=population or self.sampled) + scaling)

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        if self.overflow is None:
            return super().limits(alpha, family=family, population=population or self.sampled)
        seen, common = self.unscaled, alpha * max(family, 1)
        low, _ = seen.limits(alpha, family=family, population=population)
        _, high = seen.limits(alpha / 2, family=family, population=population)
        return low, high + self.n * most_missing(self.overflow, common / 4, far=family > 0)

    @property
    def enough(self) -> float:
        """Never where lists may be cut: how far that moves a count follows no normal law."""
        return 0.0 if self.overflow is not None else super().enough

    def exact_test(self, other: CountLaw) -> Array | None:
        """None where lists may be cut: then equal shares need not lead to equal supports."""
        cut = self.overflow is not None or (isinstance(other, PaddedSupports) and other.overflow is not None)
        return None if cut else super().exact_test(other)


def most_missing(overflow: CountLaw, alpha: Any, *, far: bool = False) -> Array:
    """Return the largest share of people that a count may miss because lists are cut: upper limits that fail with probability alpha each.

    ``far`` says that alpha may be very small.
    """
    if not overflow.n:
        return np.ones(np.size(alpha))
    _, high = overflow.select(np.array([1])).limits(2 * alpha, family=int(far), population=True)
    return np.asarray(np.clip(high / overflow.n, 0.0, 1.0))


def item_estimate(spec: Any, values: Sequence[Any], law: PaddedSupports, guarantee: Guarantee) -> FrequencyEstimate:
    """Return the estimate of items from padded samples; the ``guarantee`` includes the sampling, behind which the oracle may be louder."""
    padded = f"one of {law.length} each" + (f", scaled by {law.scale:.3g}" if law.scale != 1 else "")
    about = f"{law.n:,} reports, {spec.mechanism}, epsilon = {guarantee.epsilon:.4g}, {padded}"
    return FrequencyEstimate.of(spec, values, law, about=about, guarantee=guarantee, covers=law.covers)


@dataclass(frozen=True, eq=False, kw_only=True)
class SetShares(Law):
    """Shares of people who hold each set, from groups of different sizes that answered different questions.

    Limits are normal, exclude 0 only by an exact test, and allow for cut lists as those of ``PaddedSupports`` do: from the shares that
    were ``seen``, up to what the ``overflows`` may miss.
    """

    n: Array
    """How many people were asked about each set."""
    shares: Array
    errors: Array
    """The standard error of each share."""
    seen: Array
    """The shares before anything made up for cut lists."""
    seen_errors: Array
    """Their standard errors."""
    chances: Array
    """The probability of as many supports of each set if nobody holds it; 0 where that is not known, and the normal law decides alone."""
    overflows: tuple[CountLaw, ...] = ()
    """How many people's draws lie beyond the list, for each group whose lists may be cut."""
    groups: Array
    """Which of the ``overflows`` each set has; -1 where no list can be cut."""
    sampled: bool = False
    """Whether errors also cover that the people who were asked are some of all."""

    @property
    def point(self) -> Array:
        return self.shares

    def variance(self, at: Array, *, population: bool = False) -> Array:
        return np.asarray(self.errors**2 + (self._drawn(at) if population else 0.0))

    @property
    def unheld(self) -> tuple[int, float]:
        quiet = int(np.argmin(self.seen_errors))
        return int(self.n.min()), float(self.seen_errors[quiet]) ** 2 * int(self.n[quiet])

    def _drawn(self, at: Array) -> Any:
        """The variance of drawing the people, where it is not in the errors."""
        return 0.0 if self.sampled else np.clip(at, 0, 1) * (1 - np.clip(at, 0, 1)) / np.maximum(self.n, 1)

    @property
    def cut(self) -> Array:
        """For each set, whether lists were cut where it was counted."""
        return self.groups >= 0

    def missing(self, alpha: Any) -> Array:
        """Return the most that each share may miss because lists are cut; each of these limits fails with probability alpha."""
        found = np.zeros(self.groups.shape)
        for group, overflow in enumerate(self.overflows):  # one for thousands of sets
            inside = self.groups == group
            if inside.any():
                found[inside] = np.broadcast_to(most_missing(overflow, alpha), self.groups.shape)[inside]
        return found

    def seen_error(self, *, population: bool) -> Array:
        """Return the standard errors of the shares that were seen."""
        return np.asarray(np.sqrt(self.seen_errors**2 + self._drawn(self.seen)) if population else self.seen_errors)

    def limits(self, alpha: Any, *, family: int = 0, population: bool = False) -> Limits:
        error = self.seen_error(population=population)
        several = max(np.unique(self.groups).size, len(self.overflows), 1) if family > 1 else 1  # also where only some sets are left
        more = self.missing(alpha * max(family, 1) / 4 / several)
        reach = scipy.stats.norm.isf(alpha / np.where(self.cut, 4, 2)) * error + more
        low = self.seen - scipy.stats.norm.isf(alpha / 2) * error
        # Supports by chance are skewed where they are few: 0 is excluded only where their exact law allows it.
        return np.where(self.chances > alpha / 2, np.minimum(low, 0.0), low), self.seen + reach

    def select(self, positions: Array) -> SetShares:
        names = ("n", "shares", "errors", "seen", "seen_errors", "chances", "groups")
        return replace(self, **{name: getattr(self, name)[positions] for name in names})


def set_estimate(
    values: Sequence[Any], shares: Array, errors: Array, n: Array, guarantee: Guarantee, *, covers: str = "noise only", **law: Any
) -> PeopleEstimate:
    """The share of people who hold each set of items, with standard errors, where ``n`` people were asked about each.

    Estimates may be negative. ``law`` is about cut lists.
    """
    whole = {"seen": shares, "seen_errors": errors, "chances": np.zeros(len(shares)), "groups": np.full(len(shares), -1)} | law
    return PeopleEstimate(
        values=values,
        law=SetShares(n=n, shares=shares, errors=errors, **whole),
        about=f"shares of people who hold each set, epsilon = {guarantee.epsilon:.4g}",
        guarantee=guarantee,
        covers=covers,
        quantity="frequency",
        kind="itemsets",
        falling=True,
        in_shares=True,
        details={"asked": n},
    )


def joined_sets(parts: Sequence[FrequencyEstimate], guarantee: Guarantee) -> PeopleEstimate:
    """The estimates of several groups, ``parts``, in one table, the largest frequency first."""
    laws: list[PaddedSupports] = [part.law for part in parts]  # type: ignore[misc]  # of padded samples
    plain = [law.unscaled for law in laws]
    overflows = tuple(law.overflow for law in laws if law.overflow is not None)
    groups = [-1 if law.overflow is None else next(i for i, each in enumerate(overflows) if each is law.overflow) for law in laws]
    sizes = [len(part.values) for part in parts]
    whole = set_estimate(
        [value for part in parts for value in part.values],
        np.concatenate([part.frequencies for part in parts]),
        np.concatenate([part.frequency_stderr for part in parts]),
        np.repeat([law.n for law in laws], sizes),
        guarantee,
        covers=max((part.covers for part in parts), key=len),
        seen=np.concatenate([law.point / max(law.n, 1) for law in plain]),
        seen_errors=np.concatenate([law.stderr / max(law.n, 1) for law in plain]),
        chances=np.concatenate([scipy.stats.binom.sf(law.supports - 1, law.n, law.q) for law in laws]),
        overflows=overflows,
        groups=np.repeat(groups, sizes),
        sampled=all(law.sampled for law in laws),
    )
    return whole.select(whole.order())
