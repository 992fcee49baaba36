"""False reports in a crowd: a share of the reports is false to lift a few values, and the experiment measures by how much.

========  ===========================================================================================================================
crafted   the maximal gain attack (Cao, Jia, Gong 2021): every false report supports as many targets as it can
searched  the same for local hashing, by attackers who draw ``tries`` seeds and keep the best: one, if seeds are assigned (``seeds``)
hidden    the same for unary encoding, with the number of set bits that an honest report would have had
lying     respondents claim to hold a target, and randomize that honestly: no test of reports can see it
========  ===========================================================================================================================

With a share b of false reports, r targets that honest people hold with frequency f, and reports that support k of the targets, the
estimated frequencies of the targets rise together by b ((k - r q) / (p - q) - f). For GRR k = 1, for the others k = r::

    GRR        b (1 - f) + b (d - r) / (e^epsilon - 1)
    OUE        b (2 r - f) + 2 b r / (e^epsilon - 1)
    OLH        b (r (e^epsilon + g - 1) / (e^epsilon - 1) - f)          OUE's for g = e^epsilon + 1, which is rounded
    lying      b (1 - f)

OLH's is reached: a device chooses its own hash function, and some put all targets on one symbol. Where it cannot, k is what ``seeds`` says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from deniable.client.frequency import FrequencySpec
from deniable.client.grr import GRR
from deniable.client.olh import OLH
from deniable.client.unary import UnaryEncoding
from deniable.contract.arguments import typed
from deniable.contract.source import Source
from deniable.core.reports import Reports
from deniable.core.values import keys_of
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.lab.methods import Method, Oracle
from deniable.lab.outcome import Outcome
from deniable.lab.populations.base import Population
from deniable.lab.seeds import craft_searched, draw_words
from deniable.tasks.checks import MOST_DRAWN, check_whole
from deniable.tasks.plan import most_gain

KINDS = ("crafted", "searched", "hidden", "lying")
TRIES = 4096
"""How many hash functions an attacker tries."""
TOGETHER = 1 << 12
"""False reports made at a time."""


@typed
@dataclass(frozen=True)
class Attack(Method):
    """A frequency oracle under attack: a share of all reports (``liars``) are false and lift the last values of the domain.

    >>> from deniable.lab.populations import Zipf
    >>> from deniable.testing import ReplaySource
    >>> attack, crowd = Attack("OUE", "crafted", liars=0.05, targets=10), Zipf(1.5, 102)
    >>> spec, source = attack.setup(crowd, 1.0, 20_000), ReplaySource.from_key("docs")
    >>> outcome = attack.run(spec, crowd.draw(20_000, source), source)
    >>> round(outcome.gain, 2), round(outcome.predicted["gain"], 2)  # of frequencies that add up to 0.004
    (1.58, 1.58)
    """

    mechanism: str
    """The oracle's name."""
    kind: str = "crafted"
    """The kind of false reports: see ``craft``."""
    liars: float = 0.05
    targets: int = 10
    """How many values are lifted."""
    postprocess: str | None = None
    """How counts are made consistent, if they are: as in ``Oracle``."""
    label: str = ""
    """The name in tables and charts; if left out, what was asked for."""
    tries: int = 1
    """How many hash functions an attacker tries to find the best."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ParameterError("kind", self.kind, allowed=f"one of {KINDS}", fix="try crafted, the strongest attack")
        if not 0 < self.liars < 1:
            raise ParameterError("liars", self.liars, allowed="a share between 0 and 1", fix="try 0.05, one report in twenty")
        if not self.label:
            told = f"{self.mechanism}, {self.kind}" + (f" in {self.tries}" if self.tries > 1 else "")
            told += f", {self.postprocess}" if self.postprocess else ""
            object.__setattr__(self, "label", told)

    @property
    def oracle(self) -> Oracle:
        """The mechanism without the attack."""
        return Oracle(self.mechanism, postprocess=self.postprocess)

    def setup(self, population: Population, epsilon: float, n: int, repetition: int = 0) -> FrequencySpec:
        spec = self.oracle.setup(population, epsilon, n, repetition)
        if type(self.targets) is not int or not 1 <= self.targets < spec.domain_size:
            allowed = f"an integer from 1 to {spec.domain_size - 1}"
            raise ParameterError("targets", self.targets, allowed=allowed, fix="pass the number of values to lift")
        return spec

    def run(self, setup: FrequencySpec, values: Any, source: Source) -> Outcome:
        keys = keys_of(setup.domain, values).astype(np.int64)
        n, count = keys.size, round(self.liars * keys.size)
        truth = np.bincount(keys, minlength=setup.domain_size)
        targets = np.arange(setup.domain_size - self.targets, setup.domain_size)
        lies = np.diff(np.arange(n + 1) * count // n) == 1  # evenly among the crowd, whatever its order
        made_up = craft(setup, self.kind, targets, count, source, tries=self.tries)
        honest = setup.privatize(np.asarray(values)[~lies], source=source)
        estimate = setup.estimate(setup.tally(honest) + setup.tally(made_up))
        counts = estimate.counts if self.postprocess is None else estimate.postprocess(self.postprocess).counts
        held = float(truth[targets].sum() / n)
        gain = count / n * (1 - held) if self.kind == "lying" else most_gain(setup, targets=self.targets, liars=count / n, held=held)
        predicted = {} if self.postprocess or self.kind == "searched" else {"gain": gain}  # a search gains what the targets' pattern allows
        return Outcome(estimate.values, truth, counts, predicted=predicted, targets=targets)

    @property
    def gives(self) -> set[str]:
        return {"counts", "targets"}

    def identity(self) -> str:
        identity = repr((self.label, self.mechanism, self.kind, self.liars, self.targets, self.postprocess))
        return identity if self.tries == 1 else f"{identity} {self.tries}"


@typed
def craft(spec: FrequencySpec, kind: str, targets: Array, count: int, source: Source, *, tries: int = 1) -> Reports:
    """Return ``count`` false reports to a spec that lift the values with the keys ``targets``.

    The ``kind`` is one of the four above; with "searched" an attacker keeps the best of ``tries`` hash functions.
    """
    check_whole("count", count, 0, MOST_DRAWN)
    if targets.ndim != 1 or targets.dtype.kind not in "iu" or not targets.size:
        raise ParameterError("targets", targets, allowed="an array of the keys of values", fix="pass an array of integers")
    if kind == "lying":
        claimed = [spec.domain.value(int(key)) for key in targets]
        return spec.privatize([claimed[i % len(claimed)] for i in range(count)], source=source)
    attack = next((ATTACKS[cls, kind] for cls in type(spec).__mro__ if (cls, kind) in ATTACKS), None)
    if attack is None:
        known = sorted(f"{each} on {cls.__name__}" for cls, each in ATTACKS)
        raise ParameterError(
            "kind",
            kind,
            allowed=f"an attack on {spec.mechanism}",
            fix=f"use lying, which works on every mechanism, or one of {', '.join(known)}",
        )
    return attack(spec, targets, count, source, tries)


Crafting = Callable[[Any, Array, int, Source, int], Reports]
ATTACKS: dict[tuple[type, str], Crafting] = {}
"""Attacks by the mechanism, or family, whose reports they make up, and by their kind: each is about the reports of that one."""


def _attack_on(mechanism: type, *kinds: str) -> Callable[[Crafting], Crafting]:
    """Decorator: the decorated function makes up the reports of ``mechanism``, and of what derives from it, for attacks of these kinds."""

    def register(craft: Crafting) -> Crafting:
        ATTACKS.update({(mechanism, kind): craft for kind in kinds})
        return craft

    return register


@_attack_on(GRR, "crafted")
def _only_targets(spec: GRR, targets: Array, count: int, source: Source, tries: int) -> Reports:
    made_up = Reports.empty(spec, count)
    made_up.columns["symbol"][:] = np.resize(targets, count)
    return made_up


@_attack_on(UnaryEncoding, "crafted", "searched")
def _only_bits(spec: UnaryEncoding, targets: Array, count: int, source: Source, tries: int) -> Reports:
    return _bits_set(spec, targets, count, lambda size: np.zeros((size, spec.domain_size), bool))


@_attack_on(UnaryEncoding, "hidden")
def _among_bits(spec: UnaryEncoding, targets: Array, count: int, source: Source, tries: int) -> Reports:
    return _bits_set(spec, targets, count, lambda size: _with_room(spec, targets, size, source))


def _bits_set(spec: UnaryEncoding, targets: Array, count: int, others: Callable[[int], Array]) -> Reports:
    made_up = Reports.empty(spec, count)
    for start in range(0, count, TOGETHER):
        part = made_up.columns["bits"][start : start + TOGETHER]
        bits = others(len(part))
        bits[:, targets] = True
        part[:] = np.packbits(bits, axis=1, bitorder="little")
    return made_up


@_attack_on(OLH, "searched")
def _best_seeds(spec: OLH, targets: Array, count: int, source: Source, tries: int) -> Reports:
    return craft_searched(spec, targets, count, source, tries)


def _with_room(spec: UnaryEncoding, targets: Array, count: int, source: Source) -> Array:
    """Honest reports' bits, in which as many others are cleared at random as targets will be set: the popcount stays what it was."""
    honest = spec.privatize([spec.domain.value(int(targets[0]))] * count, source=source)
    bits = np.unpackbits(honest.columns["bits"], axis=1, count=spec.domain_size, bitorder="little").astype(bool)
    lacking = targets.size - bits[:, targets].sum(axis=1)
    order = draw_words(bits.size, source).reshape(bits.shape) >> np.uint64(1)
    order[~bits] = order[:, targets] = np.uint64(1 << 63)  # neither what is not set nor a target is cleared
    first = np.argpartition(order, targets.size - 1, axis=1)[:, : targets.size]
    first = np.take_along_axis(first, np.argsort(np.take_along_axis(order, first, axis=1), axis=1), axis=1)
    kept = np.take_along_axis(bits, first, axis=1) & (np.arange(targets.size) >= lacking[:, None])
    np.put_along_axis(bits, first, kept, axis=1)
    return bits


@_attack_on(OLH, "crafted")
def _on_one_symbol(spec: OLH, targets: Array, count: int, source: Source, tries: int) -> Reports:
    """Reports under a hash function that puts all targets, and as few other values as possible, on one symbol.

    Multipliers of every size are tried: small ones keep neighbors together. The low halves of both words have no influence on the
    symbols then, and make every seed another one.
    """
    if spec.seed_words != 2:
        raise ParameterError("spec", repr(spec), allowed="keys of up to 32 bits", fix="attack a smaller domain")
    high = np.uint64(0xFFFFFFFF00000000)
    steps = draw_words(TRIES, source) >> (np.arange(TRIES) % 32).astype(np.uint64) & high
    starts = draw_words(TRIES, source) & high
    keys = np.arange(spec.domain_size, dtype=np.uint64)
    best, fewest, symbol = 0, spec.domain_size + 1, 0
    for i in range(TRIES):
        symbols = ((steps[i] * keys + starts[i]) >> np.uint64(32)) * np.uint64(spec.hash_range) >> np.uint64(32)
        hit = symbols == symbols[targets[0]]
        if hit[targets].all() and hit.sum() < fewest:
            best, fewest, symbol = i, int(hit.sum()), int(symbols[targets[0]])
    made_up = Reports.empty(spec, count)
    made_up.columns["seed"][:, 0] = steps[best] if fewest <= spec.domain_size else 0  # zero puts everything on one symbol
    made_up.columns["seed"][:, 1] = starts[best] | draw_words(count, source) & ~high
    made_up.columns["symbol"][:] = symbol if fewest <= spec.domain_size else int(starts[best] >> np.uint64(32)) * spec.hash_range >> 32
    return made_up
