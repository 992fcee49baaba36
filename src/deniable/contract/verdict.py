"""Verdicts: how strong a promise is, in the same words on every screen, in every statement and in every command.

A verdict covers everything that one person is asked. For a task that is all answers that a device may ever give, with one verdict for each
condition that matters: whether a shuffler is honest, and, where noise is drawn once and reused, whether the answer changes.
``docs/theory/verdicts.md`` proves the numbers. Nothing is rounded up to certainty. ``vectors/verdicts.json`` holds the words.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, floor, inf, log1p
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniable.contract.task import Task

LIMITS = {"strong": 1.0, "moderate": 3.0, "weak": 6.0, "very weak": inf}
"""The largest strength of each level."""
NONE = "none"
"""The level without any promise."""
WEAKEST = LIMITS["weak"]
"""Tasks above it are published only if the task file allows it."""
AWAY = "This nearly gives your answer away: "
_GUESSER = "omeone who had narrowed it down to two answers"
_RARE = 1_000_000
PATTERN = "Not covered: that it changes and when, which can show for certain, and what that gives away."
"""What reused noise does not hide, whatever epsilon is."""


@dataclass(frozen=True)
class Verdict:
    """What (epsilon, delta) means for a person; ``when`` is the condition under which it holds, if there is one.

    >>> print(Verdict(1.0))
    Strong privacy. Even someone who had narrowed it down to two answers would guess right at most 74 times in 100. Guessing blindly gives
    50.
    >>> print(Verdict(8.0, when="All 8 answers together"))
    All 8 answers together: very weak privacy. This nearly gives your answer away: someone who had narrowed it down to two answers could
    guess wrong as rarely as once in 2,982 times.
    """

    epsilon: float
    delta: float = 0.0
    when: str = ""
    beyond: str = ""
    """What it does not cover, as a sentence."""

    @property
    def strength(self) -> float:
        """Return the log of the best odds of a guess between two answers, to three decimals: epsilon, or slightly more with a delta."""
        if self.epsilon == inf or self.delta >= 1:
            return inf
        odds = self.epsilon + log1p(self.delta * exp(-self.epsilon)) - log1p(-self.delta)
        return floor(1000 * odds + 0.5) / 1000

    @property
    def level(self) -> str:
        """Return the level: strong, moderate, weak, very weak or none."""
        return NONE if self.strength == inf else next(level for level, limit in LIMITS.items() if self.strength <= limit)

    @property
    def title(self) -> str:
        """Return the level in words for respondents."""
        return "no privacy" if self.level == NONE else f"{self.level} privacy"

    @property
    def guess(self) -> str:
        """Return how often a guess between two answers is right at most, in words: rounded up, but never to certainty."""
        if self.level == NONE:
            return "This can give your answer away for certain."
        odds = exp(min(self.epsilon, 700.0))  # beyond it, floats overflow
        right = 1 - (1 - self.delta) / (1 + odds)
        if right <= 0.99:
            often = f"{ceil(100 * right)} times in 100. Guessing blindly gives 50."
            return (
                f"Even s{_GUESSER} would guess right at most {often}"
                if self.strength <= LIMITS["moderate"]
                else f"S{_GUESSER} could guess right {often}"
            )
        once = ceil((1 + odds) / (1 - self.delta))
        seldom = f"as rarely as once in {once:,} times" if once < _RARE else "less than once in a million times"
        return f"{AWAY}s{_GUESSER} could guess wrong {seldom}." if self.strength > WEAKEST else f"S{_GUESSER} could guess wrong {seldom}."

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as plain data, to be shown: nothing reads it back."""
        return {"when": self.when, "epsilon": self.epsilon, "delta": self.delta, "level": self.level, "text": str(self)}

    def __str__(self) -> str:
        first = f"{self.when}: {self.title}" if self.when else self.title
        return " ".join(filter(None, (f"{first[0].upper()}{first[1:]}.", self.guess, self.beyond)))


def verdicts(task: Task) -> tuple[Verdict, ...]:
    """Return the verdicts on all answers that a task may ask of one person, those that need the most trust first.

    Epsilons and deltas of answers with fresh noise add up. A report drawn from a memoized answer costs nothing more, so two cases count:
    the answer never changes, or it changes every time. The second case compares histories that change at the same moments, to the
    same extent (``Longitudinal.lifetime_epsilon``). So its verdict says what it does not cover, as soon as one question reuses noise.
    """
    together = [f"all {task.answers:,} answers together"] if task.answers > 1 else []
    specs = [] if task.rounds or task.epsilon == inf else [question.spec for question in task.survey.questions]
    still, changing = (
        max((spec.paid_answers(task.answers, values) for spec in specs), default=task.answers) for values in (1, task.answers)
    )
    reused = any(spec.paid_answers(task.answers, 1) < task.answers for spec in specs)
    mixing, found = task.mixing, []
    if mixing is not None:
        who = "the shuffler" if len(mixing.shufflers) == 1 else "one of the shufflers"
        found.append(Verdict(task.answers * mixing.epsilon, min(task.answers * mixing.delta, 1.0), _when(f"if {who} is honest", *together)))
    colluding = [] if mixing is None else ["if shuffler and collector work together"]
    if reused:
        found.append(Verdict(still * task.epsilon, 0.0, _when(*colluding, "if your answer stays the same", *together)))
        colluding.append("if your answer changes")
    beyond = PATTERN if reused else ""
    return (*found, Verdict(changing * task.epsilon, 0.0, _when(*colluding, *together), beyond))


def _when(*conditions: str) -> str:
    joined = ", ".join(conditions)
    return joined[:1].upper() + joined[1:]
