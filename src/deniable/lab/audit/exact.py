"""The exact audit: every branch of the shipping randomizer, in rational arithmetic, without a single sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial, singledispatch
from itertools import combinations, product
from math import lcm
from typing import Any

from deniable.client.exact import ExactSpec
from deniable.client.frequency import FrequencySpec, LinearProtocol
from deniable.client.hashed import HashedProtocol
from deniable.client.mean import MeanSpec
from deniable.client.numeric import NumericSpec
from deniable.contract.arguments import typed
from deniable.contract.domain import Domain, Text
from deniable.contract.enumeration import law_of
from deniable.contract.hashing import HashFamily
from deniable.contract.law import OutputLaw
from deniable.contract.probability import TIGHTNESS, exp_below, log_above
from deniable.errors import ParameterError
from deniable.lab.audit.numeric import mean_checks, numeric_laws

Tables = dict[tuple[int, ...], dict[Any, OutputLaw[Any]]]
"""Each value's law, for each seed."""
LARGEST_ENUMERATION = 1 << 16
SEEDS = (0, 1, 0x9E3779B97F4A7C15, 0xD1B54A32D192ED03, (1 << 64) - 1)


@dataclass(frozen=True)
class Check:
    """One check of an audit."""

    name: str
    """Its name: "privacy", "unbiased" and so on."""
    passed: bool
    """True if it passed."""
    detail: str
    """What it compared, in a few words."""


@dataclass(frozen=True)
class Audit:
    """The result of an audit. ``epsilon`` is the real epsilon of the code, None if it is unbounded."""

    claimed: float
    """The epsilon that the spec claims."""
    epsilon: float | None
    checks: tuple[Check, ...]
    """All checks."""

    def __str__(self) -> str:
        real = "infinite" if self.epsilon is None else repr(self.epsilon)
        lines = [f"{'passed' if check.passed else 'FAILED'}  {check.name:<10}  {check.detail}" for check in self.checks]
        return "\n".join([*lines, f"claimed epsilon {self.claimed:g}, real epsilon {real}"])

    @property
    def passed(self) -> bool:
        """True if every check passed."""
        return all(check.passed for check in self.checks)

    @property
    def failures(self) -> list[str]:
        """The names of the checks that failed."""
        return [check.name for check in self.checks if not check.passed]


@typed
def exact_audit(spec: ExactSpec) -> Audit:
    """Enumerate all outcomes of ``spec.randomize`` and compare their exact probabilities with everything that the spec claims.

    >>> from deniable.client import GRR
    >>> audit = exact_audit(GRR(domain_size=3, epsilon=1.0))
    >>> audit.passed, audit.epsilon, [check.name for check in audit.checks]
    (True, 1.0, ['total', 'support', 'privacy', 'tight', 'law', 'unbiased', 'variance'])
    """
    tables = enumerated(spec)
    worst = worst_ratio([list(laws.values()) for laws in tables.values()])
    epsilon = None if worst is None else log_above(worst)
    totals = {law.total for laws in tables.values() for law in laws.values()}
    honest = all(law == spec.law(v, seed=seed) for seed, laws in tables.items() for v, law in laws.items())
    claimed = spec.report_claim
    private = worst is not None and worst <= exp_below(claimed)
    stated = epsilon is not None and epsilon <= spec.report_epsilon <= claimed
    checks = [
        Check("total", totals == {Fraction(1)}, "all probabilities sum to exactly 1"),
        Check("support", worst is not None, f"each report is possible for all of {len(next(iter(tables.values()))):,} inputs"),
        Check("privacy", private and stated, f"worst ratio {_shown(worst)} <= e^{claimed:g} = {float(exp_below(claimed)):.12g}"),
        Check("tight", epsilon is None or epsilon >= spec.report_epsilon - TIGHTNESS, "the spec uses all the epsilon that it claims"),
        Check("law", honest, "the enumerated probabilities equal the stated ones exactly"),
    ]
    return Audit(claimed, epsilon, (*checks, *estimator_checks(spec, tables)))


@singledispatch
def enumerated(spec: ExactSpec) -> Tables:
    """Return the enumerated laws by value, for each seed; a family of mechanisms registers how its values are listed."""
    raise ParameterError("spec", spec, allowed="a mechanism that counts values, or one for numbers", fix="use the empirical audit")


@enumerated.register
def _(spec: NumericSpec) -> Tables:
    return {(): numeric_laws(spec)}


@enumerated.register
def _(spec: FrequencySpec) -> Tables:
    """A seed is public and independent of the value: each is a mechanism of its own."""
    values = audit_inputs(spec.domain)
    if spec.needs_listed_domain and len(values) < spec.domain_size:  # others hash: a report depends on the symbol alone
        raise ParameterError("domain_size", spec.domain_size, allowed="at most 256 values, all of them audited", fix="audit a small domain")
    if spec.ways * len(values) > LARGEST_ENUMERATION:
        raise ParameterError(
            "domain_size",
            spec.domain_size,
            allowed=f"few enough reports to enumerate ({spec.ways} ways x {len(values)} inputs; limit {LARGEST_ENUMERATION})",
            fix="audit a small domain, which runs the same code, or use the empirical audit",
        )
    seeds = [tuple(SEEDS[(i + k) % len(SEEDS)] for k in range(spec.seed_words)) for i in range(len(SEEDS) if spec.seed_words else 1)]
    return {seed: {v: law_of(partial(spec.randomize, v), seed=seed) for v in values} for seed in seeds}


def worst_ratio(tables: list[list[OutputLaw[Hashable]]]) -> Fraction | None:
    """The largest factor between two laws of a table, for any report; None where one of them cannot make it."""
    worst = Fraction(1)
    for laws in tables:
        for report in set().union(*laws):
            weights = [law[report] for law in laws]
            if not min(weights):
                return None
            worst = max(worst, max(weights) / min(weights))
    return worst


@singledispatch
def estimator_checks(spec: ExactSpec, tables: Tables) -> list[Check]:
    """Check the estimator against the enumerated laws; a family with another kind of estimator registers what must hold of it."""
    return []


@estimator_checks.register
def _(spec: MeanSpec, tables: Tables) -> list[Check]:
    unbiased, stated = mean_checks(spec, tables[()])
    return [
        Check("unbiased", unbiased, "the expectation of a score is exactly the value, between grid points too"),
        Check("variance", stated, f"exactly as stated, at most {spec.variance(n=1):.6g} for each report"),
    ]


@estimator_checks.register
def _(spec: LinearProtocol, tables: Tables) -> list[Check]:
    """One report's score for a value must be 1 on average if its sender holds the value, 0 if not, with the stated variance."""
    laws, moments = tables[()], {}
    whole_laws = {held: _in_whole_numbers(law) for held, law in laws.items()}
    reports = set().union(*laws.values())
    for asked in laws:
        key = spec.domain.key(asked)
        scores, unit = _in_whole_numbers({report: spec.score(report, key) for report in reports})
        usual = Counter(scores.values()).most_common(1)[0][0]  # most reports of many mechanisms have one score: only the others are walked
        rest = [(report, score - usual, score**2 - usual**2) for report, score in scores.items() if score != usual]
        for held, (weights, parts) in whole_laws.items():
            total = sum(weights.values())
            mean = Fraction(usual * total + sum(weights.get(report, 0) * more for report, more, _ in rest), parts * unit)
            square = Fraction(usual**2 * total + sum(weights.get(report, 0) * more for report, _, more in rest), parts * unit**2)
            moments[held, asked] = mean, square - mean**2
    unbiased = all(mean == (held == asked) for (held, asked), (mean, _) in moments.items())
    # The stated variance is an average over the values, where they differ. For unequal coins it is that of the last value, "yes".
    asked_about = list(laws) if spec.averaged else list(laws)[-1:]
    spreads: dict[bool, list[Fraction]] = {True: [], False: []}
    for (held, asked), (_, spread) in moments.items():
        if asked in asked_about:
            spreads[held == asked].append(spread)
    stated = all(
        abs(float(sum(found) / len(found)) / spec.variance(n=1, f=float(holder)) - 1) < 1e-9  # floats, as variance() is
        for holder, found in spreads.items()
    )
    return [
        Check("unbiased", unbiased, "the estimator's expectation is exactly the truth"),
        Check("variance", stated, f"{spec.variance(n=1):.6g} for each report from others, {spec.variance(n=1, f=1.0):.6g} from a holder"),
    ]


def _in_whole_numbers(fractions: Mapping[Any, Fraction]) -> tuple[dict[Any, int], int]:
    """Numerators over one denominator, and that: sums of thousands are as exact this way, and ten times as quick."""
    denominator = lcm(*(fraction.denominator for fraction in fractions.values()))
    return {key: fraction.numerator * (denominator // fraction.denominator) for key, fraction in fractions.items()}, denominator


@estimator_checks.register
def _(spec: HashedProtocol, tables: Tables) -> list[Check]:
    """A hashed report is unbiased over the family: it supports its own symbol with p under every function, and others by collision."""
    own: set[Fraction] = set()
    apart: set[Fraction] = set()
    for laws in tables.values():
        for held, law in laws.items():
            for function, reports in _by_function(law).items():
                total = sum(reports.values(), Fraction(0))
                for asked in laws:
                    key = spec.domain.key(asked)
                    support = sum((weight for report, weight in reports.items() if spec.supports(report, key)), Fraction(0)) / total
                    same = spec.symbol(function, key) == spec.symbol(function, spec.domain.key(held))
                    (own if same else apart).add(support)
    tiny = reduced(spec.family)
    enumerated = collisions(tiny, (0, 1, 2, 15 & (1 << tiny.key_bits) - 1)) == {tiny.collision}
    collision = spec.family.collision
    unbiased = own == {spec.p} and {collision * spec.p + (1 - collision) * support for support in apart} == {spec.q}
    return [
        Check("unbiased", unbiased, "over the family the estimator's expectation is exactly the truth"),
        Check("collisions", enumerated, f"two values collide as stated: every seed of {tiny.word_bits}-bit words enumerated"),
    ]


def _by_function(law: OutputLaw[Any]) -> dict[Any, dict[Any, Fraction]]:
    """The law taken apart by the hash function that a report names first."""
    parts: dict[Any, dict[Any, Fraction]] = {}
    for report, weight in law.items():
        parts.setdefault(report[0], {})[report] = weight
    return parts


def audit_inputs(domain: Domain) -> list[Any]:
    """Every value of a small domain; the first, the last and some between of a large one."""
    if not domain.listed:
        return ["", "a", "b", "z"] if isinstance(domain, Text) else [b"", b"a", b"b", b"\xff"]
    keys = range(domain.size) if domain.size <= 256 else sorted({0, 1, 2, domain.size // 2, domain.size - 2, domain.size - 1})
    return [domain.value(key) for key in keys]


def _shown(ratio: Fraction | None) -> str:
    return "infinite" if ratio is None else f"{float(ratio):.12g}"


def reduced(family: HashFamily) -> HashFamily:
    """The same family on words short enough to enumerate: 2^16 seeds of two words, or 2^12 of three."""
    word_bits = 8 if family.seed_words == 2 else 4
    key_bits = 4 if family.seed_words == 2 or family.key_bits > family.half else 2  # short keys are half a word
    return HashFamily(key_bits=key_bits, range=min(family.range, 1 << word_bits // 2), shared=family.shared, word_bits=word_bits)


def collisions(family: HashFamily, keys: tuple[int, ...]) -> set[Fraction]:
    """The shares of all seeds under which two of the keys get the same symbol; one share if the family is uniform.

    >>> tiny = reduced(HashFamily(key_bits=64, range=3))
    >>> collisions(tiny, (0, 1, 7, 15)) == {tiny.collision}
    True
    """
    seeds = list(product(range(1 << family.word_bits), repeat=family.seed_words))
    same = dict.fromkeys(combinations(keys, 2), 0)
    for seed in seeds:
        symbols = {key: family.symbol(seed, key) for key in keys}
        for x, y in same:
            same[x, y] += symbols[x] == symbols[y]
    return {Fraction(count, len(seeds)) for count in same.values()}
