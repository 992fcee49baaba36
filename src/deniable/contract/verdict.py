"""How strong a promise is, in words: one verdict, made in one place, for every screen, statement and command.

A verdict is about everything that is asked of one person together. For a task that is all answers that a device may give over the task's
declared life, one line for each thing that decides what they are worth: whether a shuffler is honest, and, where noise is drawn once and
reused, whether the answer changes. ``docs/theory/verdicts.md`` proves the numbers. Nothing is rounded up to certainty.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, floor, inf, log1p
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniable.contract.task import Task

LIMITS = {"strong": 1.0, "moderate": 3.0, "weak": 6.0, "very weak": inf}
"""Up to which strength a level reaches."""
NONE = "none"
"""The level where nothing is promised at all."""
WEAKEST = LIMITS["weak"]
"""What goes beyond it is published only if the task file says so."""
AWAY = "This nearly gives your answer away: "
_GUESSER = "omeone who had narrowed it down to two answers"
_RARE = 1_000_000
PATTERN = "Not covered: that it changes and when, which can show for certain, and what that gives away."
"""What reused noise does not hide, whatever epsilon is."""


@dataclass(frozen=True)
class Verdict:
    """What (epsilon, delta) is worth to a person; ``when`` says under which condition it holds, if there is one.

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
        """The logarithm of the best odds of a guess between two answers, in thousandths: epsilon, and a little more with a delta."""
        if self.epsilon == inf or self.delta >= 1:
            return inf
        odds = self.epsilon + log1p(self.delta * exp(-self.epsilon)) - log1p(-self.delta)
        return floor(1000 * odds + 0.5) / 1000

    @property
    def level(self) -> str:
        """One of strong, moderate, weak, very weak and none."""
        return NONE if self.strength == inf else next(level for level, limit in LIMITS.items() if self.strength <= limit)

    @property
    def title(self) -> str:
        """The level as people read it."""
        return "no privacy" if self.level == NONE else f"{self.level} privacy"

    @property
    def guess(self) -> str:
        """How often a guess between two answers is right, at most; rounded against the promise, and never to certainty."""
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
        """The verdict as plain data. By hand: it is shown as numbers and words, and never read back."""
        return {"when": self.when, "epsilon": self.epsilon, "delta": self.delta, "level": self.level, "text": str(self)}

    def __str__(self) -> str:
        told = f"{self.when}: {self.title}" if self.when else self.title
        return " ".join(filter(None, (f"{told[0].upper()}{told[1:]}.", self.guess, self.beyond)))


def verdicts(task: Task) -> tuple[Verdict, ...]:
    """The verdicts on all answers that a task may ask of one person: what holds on more trust first.

    Epsilons and deltas of answers with fresh noise add up. An answer that is drawn from a permanent one costs nothing more, so those count
    by how often the answer changes: never, or every time. The latter compares histories that change at the same moments, to the same extent
    (``Longitudinal.lifetime_epsilon``), so it says what it leaves out: wherever one question reuses noise, whatever the others cost.
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
