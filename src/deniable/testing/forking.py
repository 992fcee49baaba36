"""A source that takes every branch: the exact law of shipping code, without a single sample.

Each draw either follows a script and multiplies the branch's weight by the exact probability of the scripted outcome, or,
past the end of the script, stops the run and says how many outcomes the draw has. Walking all scripts enumerates the law.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import TypeVar

from deniable.contract.arguments import typed
from deniable.contract.law import Law
from deniable.contract.source import ONE, Source
from deniable.errors import ProtocolError

Report = TypeVar("Report", bound=Hashable)


class Undecided(Exception):  # noqa: N818  # a signal between the source and the walk, not an error
    """A draw past the end of the script, with so many ``outcomes``."""

    def __init__(self, outcomes: int) -> None:
        super().__init__(outcomes)
        self.outcomes = outcomes


@typed
class ForkingSource(Source):
    """The primitives of a source with scripted outcomes: ``script`` has one for each draw.

    ``seed`` answers ``words``, whose 2^64 outcomes cannot be walked.
    """

    def __init__(self, script: tuple[int, ...], seed: tuple[int, ...] = ()) -> None:
        self._script = iter(script)
        self._seed = iter(seed)
        self.weight = Fraction(1)

    def word(self) -> int:
        word = next(self._seed, None)
        if word is None:
            raise ProtocolError("source", "a raw word", allowed="bernoulli, below, pick, bernoulli_bits", fix="pass a seed to the audit")
        return word

    def bernoulli(self, threshold: int) -> bool:
        outcome = self.outcome(2)
        self.weight *= Fraction(threshold if outcome else ONE - threshold, ONE)
        return bool(outcome)

    def bernoulli_ratio(self, numerator: int, denominator: int) -> bool:
        outcome = self.outcome(2)
        self.weight *= Fraction(numerator if outcome else denominator - numerator, denominator)
        return bool(outcome)

    def pick(self, cumulative: Sequence[int]) -> int:
        outcome = self.outcome(len(cumulative) + 1)
        edges = (0, *cumulative, ONE)
        self.weight *= Fraction(edges[outcome + 1] - edges[outcome], ONE)
        return outcome

    def below(self, count: int) -> int:
        outcome = self.outcome(count)
        self.weight /= count
        return outcome

    def bernoulli_bits(self, threshold: int, count: int, lanes: int = 64) -> int:
        bits = 0
        for lane in range(count):
            bits |= self.bernoulli(threshold) << lane
        return bits

    def outcome(self, outcomes: int) -> int:
        """The scripted outcome of a draw, or the signal that the script ends here."""
        outcome = next(self._script, None)
        if outcome is None:
            raise Undecided(outcomes)
        return outcome


@typed
def law_of(randomize: Callable[[Source], Report], *, seed: tuple[int, ...] = (), fork: type[ForkingSource] = ForkingSource) -> Law[Report]:
    """The exact output law of ``randomize``, by walking every branch of its draws.

    ``seed`` is what the source answers where raw words are drawn, and ``fork`` the kind of source that walks.

    >>> law_of(lambda source: source.below(3) + source.bernoulli(ONE // 4))
    Law({3: Fraction(1, 12), 2: Fraction(1, 3), 1: Fraction(1, 3), 0: Fraction(1, 4)})
    """
    weights: defaultdict[Report, Fraction] = defaultdict(Fraction)
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        script = scripts.pop()
        source = fork(script, seed)
        try:
            weights[randomize(source)] += source.weight
        except Undecided as draw:
            scripts += [(*script, outcome) for outcome in range(draw.outcomes)]
    return Law(weights)
