"""Limits on tasks: the trust model, the strength of the promise, and the size of results and counters."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from deniable.contract.mixing import LOCAL
from deniable.contract.protocol import Protocol, protocol_from_json
from deniable.contract.task import Task
from deniable.contract.verdict import WEAKEST, verdicts
from deniable.errors import ParameterError

MOST_VALUES = 1 << 20
"""The most values of a task: its page has a row for each."""
MOST_COUNTERS = 1 << 26
"""The most counters of a period or a round, over all questions and strata."""
ROUNDING = 1e-9
"""The rounding error of sums of decimal epsilons in floats."""


def protocol_of(task: Task) -> Protocol:
    """Return the protocol of a task; raise ParameterError unless it is a local protocol that asks in rounds."""
    protocol = protocol_from_json(task.protocol)
    if protocol.trust != LOCAL or protocol.needs:
        received = f"{protocol.kind}, of {protocol.trust} trust"
        fix = f"run it in Python: it needs {protocol.needs}" if protocol.needs else 'ask its question in a survey with trust = "shuffle"'
        raise ParameterError("protocol", received, allowed="a local protocol that asks in rounds", fix=fix)
    return protocol


def check_size(task: Task, protocol: Protocol) -> None:
    """Raise unless a collector has enough memory for every period or round, and for a page with the result.

    One report in each combination of strata is enough to make the collector hold all questions' tallies for each of them.
    """
    if not task.rounds:
        values = sum(question.values for question in protocol.open().questions if not question.spec.numeric)
        if values > MOST_VALUES:
            fix = 'name candidates = [...] in [domain], or let a [search] with protocol = "PEM" find the frequent ones'
            raise ParameterError("domain", f"{values:,} values", allowed=f"at most {MOST_VALUES:,}, one row of the result each", fix=fix)
    counters = protocol.work().counters * task.stratum_count
    if counters > MOST_COUNTERS:
        received = f"{counters:,} counters in a {'round' if task.rounds else 'period'}"
        fix = "use fewer strata, a smaller domain, or a mechanism or protocol with fewer counters"
        raise ParameterError("strata", received, allowed=f"at most {MOST_COUNTERS:,}, 8 bytes each", fix=fix)


def check_strength(task: Task, weak: object) -> None:
    """Raise if all answers of a person together have too little privacy in some trust case, unless ``weak_privacy = true``."""
    if not isinstance(weak, bool):
        raise ParameterError("weak_privacy", weak, allowed="true or false", fix="write weak_privacy = true, without quotation marks")
    worst = max(verdicts(task), key=lambda verdict: verdict.strength)
    if weak or (worst.strength <= WEAKEST and worst.epsilon <= WEAKEST + ROUNDING):  # a strength is rounded to thousandths
        return
    received = f"{worst.epsilon:.4g}" + (f" ({worst.when[0].lower()}{worst.when[1:]})" if worst.when else "")
    allowed = f"at most {WEAKEST:g} for all answers of a person together; more nearly gives the true answers away"
    fix = "lower epsilon or answers; or write weak_privacy = true, and the survey page will say so"
    raise ParameterError("epsilon", received, allowed=allowed, fix=fix)


def most_epsilon(content: Mapping[str, Any]) -> float:
    """Return the largest epsilon per answer for epsilon = "auto", from what the task file declares."""
    answers = content.get("answers", 1)
    return inf if content.get("weak_privacy") is True or type(answers) is not int or answers < 1 else WEAKEST / answers
