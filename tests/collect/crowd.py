"""Tasks and envelopes for the collector's tests: unique answers through the identity, so that a count of two proves a double count."""

from __future__ import annotations

from deniable.collect.collector import Collector
from deniable.collect.plain_answer import PlainAnswer
from deniable.contract.domain import IndexRange
from deniable.contract.envelope import Envelope
from deniable.contract.question import Question
from deniable.contract.source import SYSTEM
from deniable.contract.spec import Spec
from deniable.contract.survey import Survey
from deniable.contract.task import Task

NOON = 1_800_000_000
"""When the tests' tasks begin."""
HOUR = 3600


def survey_task(key: bytes, *specs: Spec, name: str = "unique", candidates=None, **rules) -> Task:
    """A task that asks each spec's question in equal shares; by default one question about unique numbers, in the clear."""
    from fractions import Fraction

    specs = specs or (PlainAnswer(domain=IndexRange(1 << 16)),)
    share = Fraction(1, len(specs))
    survey = Survey(tuple(Question(name=f"q{i}", spec=spec, share=share, candidates=candidates) for i, spec in enumerate(specs)))
    usual = {"start": NOON, "end": NOON + 24 * HOUR, "period": HOUR, "late": 600, "minimum_batch": 1, "answers": 24}
    return Task(
        name=name,
        question="Which number is yours?",
        owner="tests",
        statement="Nothing is hidden.",
        protocol=survey.canonical,
        epsilon=max(spec.epsilon for spec in specs),
        key=key,
        **usual | rules,
    )


def envelope(task: Task, value: int, *, period: int = 0, question: int = 0, stratum: int = 0, id: bytes | None = None) -> Envelope:
    """The report of a person who holds a value, with an id of its own."""
    spec = task.survey.questions[question].spec
    report = b"".join(SYSTEM.word().to_bytes(8, "little") for _ in range(2)) if id is None else id
    return Envelope(task.id, period, question, stratum, report, spec.encode(spec.randomize(value)))


def send(collector: Collector, *envelopes: Envelope) -> dict[bytes, str]:
    """Upload as the network's side does it; the code of each report that was refused."""
    rows, rejected = collector.admit(envelopes)
    refused = collector.append(rows) if rows else frozenset()
    codes = {envelopes[position].id: code for position, code in rejected}
    codes |= {sent.id: "sealed" for sent in envelopes if (sent.task, sent.period) in refused}
    known = collector.known([sent for sent in envelopes if sent.id in codes])
    return {report: code for report, code in codes.items() if report not in known}
