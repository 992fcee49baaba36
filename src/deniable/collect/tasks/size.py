"""Which tasks a collector can keep: whose promise holds there, and whose result and counters it has room for."""

from __future__ import annotations

from deniable.contract.mixing import LOCAL
from deniable.contract.protocol import Protocol, protocol_from_json
from deniable.contract.task import Task
from deniable.errors import ParameterError

MOST_VALUES = 1 << 20
"""How many values a task may ask about: its page has a row for each."""
MOST_COUNTERS = 1 << 26
"""How many counters a period or a round may need, over all questions and strata."""


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
