"""Which tasks a collector takes: whose promise holds there, is not too weak, and whose result and counters it has room for."""

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
"""How many values a task may ask about: its page has a row for each."""
MOST_COUNTERS = 1 << 26
"""How many counters a period or a round may need, over all questions and strata."""
ROUNDING = 1e-9
"""What adding up decimal epsilons as floats may leave."""


def protocol_of(task: Task) -> Protocol:
    """Return the protocol of a task; ParameterError if its promise needs more than rounds of devices that trust nobody."""
    protocol = protocol_from_json(task.protocol)
    if protocol.trust != LOCAL or protocol.needs:
        received = f"{protocol.kind}, of {protocol.trust} trust"
        fix = f"it needs {protocol.needs}" if protocol.needs else 'ask its question in a survey with trust = "shuffle"'
        raise ParameterError("protocol", received, allowed="a local protocol that asks in rounds", fix=fix)
    return protocol


def check_size(task: Task, protocol: Protocol) -> None:
    """Raise unless a collector has the memory for every period, or round, and a page for the result.

    One report for each combination of strata makes the collector hold all questions' tallies for each of them.
    """
    if not task.rounds:
        values = sum(question.values for question in protocol.open().questions if not question.spec.numeric)
        if values > MOST_VALUES:
            fix = 'name candidates = [...] in [domain], or let a [search] with protocol = "PEM" find the frequent ones'
            raise ParameterError("domain", f"{values:,} values", allowed=f"at most {MOST_VALUES:,}, each a row of the result", fix=fix)
    counters = protocol.work().counters * task.stratum_count
    if counters > MOST_COUNTERS:
        received = f"{counters:,} counters in a {'round' if task.rounds else 'period'}"
        fix = "take fewer strata, a smaller domain, or a mechanism or protocol with fewer counters"
        raise ParameterError("strata", received, allowed=f"at most {MOST_COUNTERS:,}, 8 bytes each", fix=fix)


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
