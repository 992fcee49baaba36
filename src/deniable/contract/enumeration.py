"""The enumeration of every branch: the exact law of shipping code, without a single sample.

Each draw follows a script and multiplies the branch's weight by the exact probability of the scripted outcome. Past the end of the script a
draw takes its first outcome and notes scripts for the others. Walking all scripts enumerates the law.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import TypeVar

from deniable.contract.arguments import typed
from deniable.contract.law import OutputLaw
from deniable.contract.source import ONE, Source
from deniable.errors import ParameterError, ProtocolError

Report = TypeVar("Report", bound=Hashable)


class ForkingSource(Source):
    """The primitives of a source with scripted outcomes: ``script`` has one for each draw, and later draws take their first.

    ``seed`` answers ``words``, whose 2^64 outcomes cannot be walked.
    """

    def __init__(self, script: tuple[int, ...], seed: tuple[int, ...] = ()) -> None:
        for name, given in (("script", script), ("seed", seed)):
            if type(given) is not tuple:  # a walk makes many sources: nothing more is checked
                raise ParameterError(name, given, allowed="a tuple of integers", fix="pass a tuple, () if nothing is known beforehand")
        self._taken: list[int] = []
        self._script = script
        self._seed = iter(seed)
        self.others: list[tuple[int, ...]] = []
        """The scripts of the branches that draws past the end of the script did not take."""
        self.numerator, self.denominator = 1, 1
        """The weight of this branch; not in lowest terms, which would take most of the time."""

    @property
    def weight(self) -> Fraction:
        """The probability of the outcomes so far."""
        return Fraction(self.numerator, self.denominator)

    def weigh(self, probability: Fraction) -> None:
        """Multiply the weight by the probability of an outcome, for draws that are not primitives."""
        self.numerator *= probability.numerator
        self.denominator *= probability.denominator

    def word(self) -> int:
        word = next(self._seed, None)
        if word is None:
            raise ProtocolError("source", "a raw word", allowed="bernoulli, below, pick, bernoulli_bits", fix="pass a seed to the audit")
        return word

    def bernoulli(self, threshold: int) -> bool:
        return self.bernoulli_ratio(threshold, ONE)

    def bernoulli_ratio(self, numerator: int, denominator: int) -> bool:
        outcome = self.outcome(2)
        self.numerator *= numerator if outcome else denominator - numerator
        self.denominator *= denominator
        return bool(outcome)

    def pick(self, cumulative: Sequence[int]) -> int:
        outcome = self.outcome(len(cumulative) + 1)
        edges = (0, *cumulative, ONE)
        self.numerator *= edges[outcome + 1] - edges[outcome]
        self.denominator *= ONE
        return outcome

    def below(self, count: int) -> int:
        self.denominator *= count
        return self.outcome(count)

    def bernoulli_bits(self, threshold: int, count: int, lanes: int = 64) -> int:
        bits = self.outcome(1 << count)
        self.numerator *= threshold ** bits.bit_count() * (ONE - threshold) ** (count - bits.bit_count())
        self.denominator *= ONE**count
        return bits

    def outcome(self, outcomes: int) -> int:
        """Return the scripted outcome of a draw, or its first past the end of the script."""
        taken = self._taken
        if len(taken) < len(self._script):
            outcome = self._script[len(taken)]
        else:
            outcome = 0
            self.others += [(*taken, other) for other in range(1, outcomes)]
        taken.append(outcome)
        return outcome


@typed
def law_of(
    randomize: Callable[[Source], Report], *, seed: tuple[int, ...] = (), fork: type[ForkingSource] = ForkingSource
) -> OutputLaw[Report]:
    """Return the exact output law of ``randomize``, by walking every branch of its draws.

    ``seed`` is what the source answers where raw words are drawn, and ``fork`` the kind of source that walks.

    >>> law_of(lambda source: source.below(3) + source.bernoulli(ONE // 4))
    OutputLaw({0: Fraction(1, 4), 1: Fraction(1, 3), 2: Fraction(1, 3), 3: Fraction(1, 12)})
    """
    weights: defaultdict[Report, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        source = fork(scripts.pop(), seed)
        report = randomize(source)
        scripts += source.others
        weights[report][source.denominator] += source.numerator
    return OutputLaw({report: sum((Fraction(*reversed(part)) for part in parts.items()), Fraction(0)) for report, parts in weights.items()})
