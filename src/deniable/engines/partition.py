"""The work on one partition, the same in every engine: its reports become one small tally, or its people answer one round.

Everything here is a function of what it is given, so an engine may lose a partition, repeat it or do it elsewhere: the bytes are the same.
People who are simulated draw from a stream of their partition, keyed once for the whole run; in every round they hold the same tickets.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from deniable.contract.protocol import Protocol
from deniable.contract.spec import Spec
from deniable.contract.wire import Column
from deniable.core.reports import METADATA, Reports, arrow_type
from deniable.core.run import ask, crowd_size, draw_tickets
from deniable.core.stream import SecureStream, random_words
from deniable.core.tally import Tally
from deniable.errors import ParameterError, WireError


def fold(spec: Spec, batches: Iterable[Any], candidates: Any = None) -> Tally:
    """Return the tally of a partition's reports, given as Arrow batches or tables; an empty tally for an empty partition.

    >>> import numpy as np
    >>> from deniable.client import GRR
    >>> spec = GRR(domain_size=3, epsilon=1.0)
    >>> halves = [spec.privatize(np.zeros(500, dtype=int)).to_arrow() for _ in range(2)]
    >>> fold(spec, halves)
    Tally(GRR(domain_size=3, epsilon=1.0), n=1,000, counters=3)
    """
    total: Tally = spec.tally(Reports.empty(spec, 0), candidates=candidates)
    for batch in batches:
        total += spec.tally(read_reports(spec, batch), candidates=candidates)
    return total


def merge(images: Iterable[bytes]) -> Tally:
    """Return the sum of at least one tally, each given as bytes."""
    return sum((Tally.from_bytes(image) for image in images), start=0)  # type: ignore[return-value]  # sum of one or more


def new_key() -> bytes:
    """Return a key for one run, from the operating system."""
    return random_words(4).tobytes()


def privatize(spec: Spec, values: Any, *, key: bytes, partition: int) -> Reports:
    """Return the reports of a partition's simulated people, the same ones on every retry."""
    reports: Reports = spec.privatize(values, source=_stream(key, b"reports" + spec.canonical, partition))
    return reports


def answer(protocol: Protocol, values: Any, *, key: bytes, partition: int) -> dict[str, bytes]:
    """Return the tallies of a partition's simulated people in the current round, by question.

    Tickets and answers come from two streams of the partition: the tickets' is the same in every round, the answers' is never used twice.
    """
    held = protocol.read(values)
    tickets = draw_tickets(protocol, crowd_size(held), _stream(key, b"tickets", partition))
    tallies = ask(protocol, held, tickets, source=_stream(key, protocol.canonical, partition))
    return {name: tally.to_bytes() for name, tally in tallies.items()}


def nobody(protocol: Protocol) -> dict[str, Tally]:
    """Return the empty tallies of the current round, by question."""
    asked = protocol.open().questions
    return {each.name: fold(each.spec, [], each.candidates if each.spec.candidates_at_tally else None) for each in asked}


def merge_answers(answers: Iterable[Mapping[str, bytes]]) -> dict[str, Tally]:
    """Return the sums of the partitions' tallies by question, as ``Protocol.close`` takes them."""
    collected: dict[str, list[bytes]] = {}
    for tallies in answers:
        for name, image in tallies.items():
            collected.setdefault(name, []).append(image)
    return {name: merge(images) for name, images in collected.items()}


def read_reports(spec: Spec, batch: Any) -> Reports:
    """Return the reports in an Arrow batch or table, by the spec's column names; other columns are ignored.

    Engines widen what they have no type for (Spark knows no unsigned integers and no binary of fixed size); here it becomes narrow again,
    or is refused if it does not fit.
    """
    stated = (batch.schema.metadata or {}).get(METADATA, spec.canonical)
    if stated != spec.canonical:
        raise WireError("spec", stated.decode(), allowed=spec.canonical.decode(), fix="use the spec that made the reports")
    arrays = []
    for column in spec.layout:
        if batch.schema.names.count(column.name) != 1:
            raise WireError(column.name, batch.schema.names, allowed=f"the columns of {spec!r}", fix="select the reports' columns")
        arrays.append(_narrow(column, batch.column(column.name)))
    table = pa.table(arrays, [column.name for column in spec.layout])
    return Reports.from_arrow(table.replace_schema_metadata({METADATA: spec.canonical}))


def _narrow(column: Column, given: Any) -> Any:
    """Return a column in the spec's type. Other kinds are refused: Arrow would turn every number but 0 into a set bit, and parse text."""
    wanted = arrow_type(column)
    kind = given.type.value_type if pa.types.is_dictionary(given.type) else given.type
    if len(given) and not any(alike(wanted) and alike(kind) for alike in (pa.types.is_boolean, _is_whole, _is_bytes)):
        raise WireError(column.name, str(given.type), allowed=f"{column.describe()}, as {wanted}", fix="write reports with to_arrow()")
    try:
        return given.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise WireError(column.name, str(error), allowed=column.describe(), fix="discard the report: it is damaged or false") from error


def _is_whole(kind: Any) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_decimal(kind))


def _is_bytes(kind: Any) -> bool:
    types = pa.types
    return any(fits(kind) for fits in (types.is_fixed_size_binary, types.is_binary, types.is_large_binary, types.is_binary_view))


def _stream(key: bytes, purpose: bytes, partition: int) -> SecureStream:
    """Return the random words of a partition for one purpose. Indices are integers only: 1 and True would give the same draws."""
    if not isinstance(key, bytes) or not key:
        received = f"{type(key).__name__} of length {len(key)}" if isinstance(key, bytes | str) else type(key).__name__
        raise ParameterError("key", received, allowed="bytes, one or more", fix="leave out the key, and the operating system provides one")
    if type(partition) is not int or not 0 <= partition < 1 << 64:
        raise ParameterError("partition", partition, allowed="an integer from 0 to 2^64 - 1", fix="number the partitions with enumerate")
    return SecureStream(hmac.digest(key, purpose, hashlib.sha256), partition)
