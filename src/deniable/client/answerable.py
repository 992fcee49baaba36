"""Rounds that everyone can answer: whether a report arrives at all must not say what its sender holds.

A round comes later than the task that a person agreed to. Were it answerable by some values only, a device that holds another one would
stay silent, and its silence would be the answer, without noise and free of charge. So a device looks at the round before it looks at the
value: only what takes every value of the task's own domain is answered, by anybody. Rounds draw fresh noise: a permanent answer that was
paid for in one round would answer the next one's different question about the same classes free of charge.
"""

from __future__ import annotations

from functools import lru_cache

from deniable.contract.canonical import parse_canonical
from deniable.contract.cells import Cell
from deniable.contract.clusters import ClusterSide, Magnitude
from deniable.contract.domain import Bytes, Domain, IndexRange, Integers
from deniable.contract.domain_json import domain_from_json
from deniable.contract.encoder import Attribute, Encoder, Identity, Prefix
from deniable.contract.fragment import Fragment
from deniable.contract.gradient import Gradient
from deniable.contract.lines import Interval, Parity
from deniable.contract.numbers import Numbers
from deniable.contract.question import Question, Round
from deniable.contract.records import COLUMNS, Record
from deniable.contract.segments import Segments
from deniable.contract.sets import HeldCount, Overflow, PadAndSample, SetCode
from deniable.contract.task import Task
from deniable.errors import ParameterError, ProtocolError, WireError

OF_RECORDS = Cell | Gradient | ClusterSide | Magnitude
"""Encoders that read some columns of a record."""
OF_VALUES = Prefix | Fragment | Segments | PadAndSample | Overflow | HeldCount | SetCode | Interval | Parity
"""Encoders that read a value of their one domain."""


def task_domain(task: Task) -> Domain:
    """What an answer to a task of rounds may be; WireError if its protocol does not say.

    A protocol has a ``domain``; or the ``columns`` of a table, or the ``features`` of a model and perhaps a ``label``: then it is a record.
    """
    return protocol_domain(task.protocol)


@lru_cache(maxsize=64)
def protocol_domain(protocol: bytes) -> Domain:
    """What an answer to a protocol of rounds may be, from the protocol's canonical JSON; WireError if that does not say it."""
    content = parse_canonical(protocol)
    parts = content if isinstance(content, dict) else {}
    said = [name for name in ("domain", "columns", "features") if name in parts]
    try:
        if said == ["columns"]:
            return Record(COLUMNS.read("columns", parts["columns"]))
        if said == ["features"]:
            label = [{"name": parts["label"], "domain": parts.get("classes")}] if "label" in parts else []
            return Record(COLUMNS.read("features", parts["features"]) + COLUMNS.read("label", label))
        return domain_from_json(parts["domain"] if said == ["domain"] else None)
    except (TypeError, ParameterError) as error:
        raise WireError("domain", parts, allowed="a valid domain", fix=str(error)) from error


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
    encoder, spec = question.encoder, question.spec
    if not spec.answers_all:
        return False
    if isinstance(encoder, Identity):
        return spec.domain == domain
    if isinstance(encoder, Attribute):
        return isinstance(domain, Record) and domain.holds(encoder.name, spec.domain)
    return _reads(encoder, domain) and _takes_inputs(spec.domain, encoder)


def _reads(encoder: Encoder, domain: Domain) -> bool:
    """Whether an encoder has an input for every value of a domain."""
    if isinstance(encoder, OF_RECORDS):
        return isinstance(domain, Record) and all(domain.holds(*column) for column in encoder.columns)
    return isinstance(encoder, OF_VALUES) and encoder.domain == domain


def _takes_inputs(asked: Domain, encoder: Encoder) -> bool:
    """Whether all inputs that an encoder has lie in the domain of a mechanism."""
    if isinstance(encoder, Gradient):
        return _spans(asked, -encoder.limit, encoder.limit)
    if isinstance(encoder, Prefix) and encoder.candidates is None and isinstance(shown := encoder.shown(0), bytes):
        return type(asked) is Bytes and len(shown) <= asked.max_length  # Text, though a kind of Bytes, takes no bytes
    return _spans(asked, 0, _inputs(encoder) - 1)


def _inputs(encoder: Encoder) -> int:
    """How many inputs an encoder has that counts them from 0 on."""
    if isinstance(encoder, Prefix | Segments):
        whole = 1 << encoder.length if isinstance(encoder, Prefix) else encoder.size
        return whole if encoder.candidates is None else min(len(encoder.candidates) + 1, whole)  # one more for the others, if there are any
    inputs: int = encoder.size if isinstance(encoder, Cell) else encoder.inputs  # type: ignore[attr-defined]  # of both kinds above
    return inputs


def _spans(asked: Domain, low: int, high: int) -> bool:
    """Whether the integers from low to high all lie in a domain."""
    if isinstance(asked, Integers) or (isinstance(asked, Numbers) and not asked.times):
        return bool(asked.low <= low and high <= asked.high)
    return isinstance(asked, IndexRange) and low >= 0 and high < asked.count
