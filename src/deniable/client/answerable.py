"""Rounds that everyone can answer: whether a report arrives at all must not say what its sender holds.

A round comes later than the task that a person agreed to. Were it answerable by some values only, a device that holds another one would
stay silent, and its silence would be the answer, without noise and free of charge. So a device looks at the round before it looks at the
value: only what takes every value of the task's own domain is answered, by anybody. Rounds count, with fresh noise: a permanent answer that
was paid for in one round would answer the next one's different question about the same classes free of charge.
"""

from __future__ import annotations

from functools import lru_cache

from deniable.client.longitudinal import Longitudinal
from deniable.client.numeric import NumericSpec
from deniable.contract.canonical import parse_canonical
from deniable.contract.domain import Bytes, Domain, IndexRange, Integers
from deniable.contract.domain_json import domain_from_json
from deniable.contract.encoder import Identity, Prefix
from deniable.contract.fragment import Fragment
from deniable.contract.lines import Interval, Parity
from deniable.contract.question import Question, Round
from deniable.contract.segments import Segments
from deniable.contract.sets import HeldCount, PadAndSample, SetCode
from deniable.contract.task import Task
from deniable.errors import ProtocolError


def task_domain(task: Task) -> Domain:
    """What an answer to a task of rounds may be; WireError if its protocol does not say."""
    return _protocol_domain(task.protocol)


@lru_cache(maxsize=64)
def _protocol_domain(protocol: bytes) -> Domain:
    content = parse_canonical(protocol)
    return domain_from_json(content.get("domain") if isinstance(content, dict) else None)


def check_answerable(task: Task, questions: Round) -> None:
    """ProtocolError unless every question of a round has an answer for every value of the task's own domain."""
    domain = task_domain(task)
    for question in questions.questions:
        if not takes_all(question, domain):
            received = f"{question.encoder.kind} before {question.spec.mechanism} over {question.spec.domain.describe()}"
            allowed = f"what every value of the task can be asked: {domain.describe()}"
            fix = "who answers would show what they hold; do not answer it"
            raise ProtocolError(f"question {question.name!r}", received, allowed=allowed, fix=fix)


def takes_all(question: Question, domain: Domain) -> bool:
    """Whether a question can be answered by every value of a domain.

    >>> from deniable.client.grr import GRR
    >>> ends = Prefix(Integers(0, 255), 2, candidates=(1, 3))  # 0, 1, and 2 for everyone else
    >>> [takes_all(Question(name="ends", spec=GRR(domain_size=size, epsilon=1.0), encoder=ends), Integers(0, 255)) for size in (2, 3)]
    [False, True]
    """
    encoder, asked = question.encoder, question.spec.domain
    counts = not isinstance(question.spec, NumericSpec | Longitudinal)  # some numbers have no answer; and see above
    if isinstance(encoder, Identity) or not counts:
        return counts and asked == domain
    if (
        not isinstance(encoder, Prefix | Fragment | Segments | PadAndSample | HeldCount | SetCode | Interval | Parity)
        or encoder.domain != domain
    ):
        return False
    if isinstance(encoder, Fragment | PadAndSample | HeldCount | SetCode | Interval | Parity):
        return _counts_to(asked, encoder.inputs)
    inputs = 1 << encoder.length if isinstance(encoder, Prefix) else encoder.size
    if encoder.candidates is not None:
        return _counts_to(asked, min(len(encoder.candidates) + 1, inputs))  # one more for the others, where there are any
    if isinstance(encoder, Prefix) and isinstance(shown := encoder.shown(0), bytes):
        return type(asked) is Bytes and len(shown) <= asked.max_length  # Text, though a kind of Bytes, takes no bytes
    return _counts_to(asked, inputs)


def _counts_to(asked: Domain, inputs: int) -> bool:
    """Whether the numbers below ``inputs`` all lie in a domain."""
    if isinstance(asked, Integers):
        return asked.low <= 0 and inputs - 1 <= asked.high
    return isinstance(asked, IndexRange) and inputs <= asked.count
