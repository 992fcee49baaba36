"""Rounds that everyone can answer: whether a report arrives at all must not say what its sender holds.

A round comes later than the task that a person agreed to. Were it answerable by some values only, a device that holds another one would
stay silent, and its silence would be the answer, without noise and free of charge. So a device looks at the round before it looks at the
value: only what takes every value of the task's own domain is answered, by anybody. Rounds draw fresh noise: a permanent answer that was
paid for in one round would answer the next one's different question about the same classes free of charge.
"""

from __future__ import annotations

from functools import lru_cache

from deniable.contract.canonical import parse_canonical
from deniable.contract.domain import Domain
from deniable.contract.question import Question, Round
from deniable.contract.records import COLUMNS, Record
from deniable.contract.task import Task
from deniable.errors import ParameterError, ProtocolError, WireError


def task_domain(task: Task) -> Domain:
    """Return what an answer to a task of rounds may be; WireError if its protocol does not say.

    A protocol has a ``domain``; or the ``columns`` of a table, or the ``features`` of a model and perhaps a ``label``: then it is a record.
    """
    return protocol_domain(task.protocol)


@lru_cache(maxsize=64)
def protocol_domain(protocol: bytes) -> Domain:
    """Return what an answer to a protocol of rounds may be, from the protocol's canonical JSON; WireError if that does not say it."""
    content = parse_canonical(protocol)
    parts = content if isinstance(content, dict) else {}
    said = [name for name in ("domain", "columns", "features") if name in parts]
    try:
        if said == ["columns"]:
            return Record(COLUMNS.read("columns", parts["columns"]))
        if said == ["features"]:
            label = [{"name": parts["label"], "domain": parts.get("classes")}] if "label" in parts else []
            return Record(COLUMNS.read("features", parts["features"]) + COLUMNS.read("label", label))
        return Domain.from_json(parts["domain"] if said == ["domain"] else None)
    except (TypeError, ParameterError) as error:
        raise WireError("domain", parts, allowed="a valid domain", fix=str(error)) from error


def check_answerable(task: Task, questions: Round) -> None:
    """Raise ProtocolError unless every question of a round has an answer for every value of the task's own domain."""
    domain = task_domain(task)
    for question in questions.questions:
        if not takes_all(question, domain):
            received = f"{question.encoder.kind} before {question.spec.mechanism} over {question.spec.domain.describe()}"
            allowed = f"a question that every value of the task can answer: {domain.describe()}"
            fix = "do not answer it: answering at all would show what the respondent holds"
            raise ProtocolError(f"question {question.name!r}", received, allowed=allowed, fix=fix)


def takes_all(question: Question, domain: Domain) -> bool:
    """Return whether a question can be answered by every value of a domain.

    >>> from deniable.client.grr import GRR
    >>> from deniable.contract.domain import Integers
    >>> from deniable.contract.encoder import Prefix
    >>> ends = Prefix(Integers(0, 255), 2, candidates=(1, 3))  # 0, 1, and 2 for everyone else
    >>> [takes_all(Question(name="ends", spec=GRR(domain_size=size, epsilon=1.0), encoder=ends), Integers(0, 255)) for size in (2, 3)]
    [False, True]
    """
    return question.spec.answers_all and question.encoder.takes(domain, question.spec.domain)
