"""How large a task may be: rows of its result, and counters for every combination of strata."""

from __future__ import annotations

from deniable.contract.protocol import Protocol
from deniable.contract.task import Task
from deniable.errors import ParameterError

MOST_VALUES = 1 << 20
"""How many values a task may ask about: its page has a row for each."""
MOST_COUNTERS = 1 << 26
"""How many counters a period or a round may need, over all questions and strata."""


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
