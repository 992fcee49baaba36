"""The weakest promise that a task file may make without saying so."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from deniable.contract.task import Task
from deniable.contract.verdict import WEAKEST, verdicts
from deniable.errors import ParameterError

ROUNDING = 1e-9
"""What adding up decimal epsilons as floats may leave."""


def check_strength(task: Task, weak: object) -> None:
    """Raise unless all answers of a person keep some privacy on every line of trust, or the author wrote ``weak_privacy = true``."""
    if not isinstance(weak, bool):
        raise ParameterError("weak_privacy", weak, allowed="true or false", fix="write it without quotation marks")
    worst = max(verdicts(task), key=lambda verdict: verdict.strength)
    if weak or (worst.strength <= WEAKEST and worst.epsilon <= WEAKEST + ROUNDING):  # a strength is rounded to thousandths
        return
    received = f"{worst.epsilon:.4g}" + (f" ({worst.when[0].lower()}{worst.when[1:]})" if worst.when else "")
    allowed = f"at most {WEAKEST:g} for all answers of a person together; more nearly gives the true answers away"
    fix = "lower epsilon or answers; or write weak_privacy = true, and people are told"
    raise ParameterError("epsilon", received, allowed=allowed, fix=fix)


def most_epsilon(content: Mapping[str, Any]) -> float:
    """The largest epsilon of one answer that a task file may leave to us: what it declares decides, before there is a task."""
    answers = content.get("answers", 1)
    return inf if content.get("weak_privacy") is True or type(answers) is not int or answers < 1 else WEAKEST / answers
