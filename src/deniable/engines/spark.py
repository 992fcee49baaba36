"""Tallies, simulated reports and whole protocols on Apache Spark: partitions are folded where they lie, and only tallies travel.

Needs the extra ``spark``, on the workers too. A partition becomes one image (``contract.wire``), a few tasks add images up, and the driver
gets one from each of these. No report meets a shuffle or a group-by. A partition that is lost or tried again gives the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deniable.contract.protocol import Protocol, protocol_from_json
from deniable.contract.spec import Spec, spec_from_json
from deniable.core.reports import arrow_type
from deniable.core.tally import Tally
from deniable.engines import partition
from deniable.errors import MissingExtra, ParameterError, ProtocolError, WireError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    Batches = Iterator[pa.RecordBatch]

ROWS, BYTES = 1 << 20, 1 << 26
"""People whose reports are made or tallied at a time. With Spark's own batches of 10,000, the counters of a sketch would cost the most."""
MOST_IMAGES = 8
"""The driver gets so many at most: one from each of the tasks that add up."""
SMALL = 1 << 20
"""One more task adds up for each so many bytes of an image; for small ones, one task is enough."""
_IMAGES = "name string, image binary"
_WIDER = {
    pa.bool_(): (pa.bool_(), "boolean"),
    pa.uint8(): (pa.int16(), "short"),
    pa.uint16(): (pa.int32(), "integer"),
    pa.uint32(): (pa.int64(), "long"),
    pa.uint64(): (pa.decimal128(20, 0), "decimal(20,0)"),
}
"""Spark has no unsigned integers, and reads those of Parquet files as these."""


def tally(dataframe: DataFrame, spec: Spec, *, candidates: Any = None) -> Tally:
    """Return the tally of all reports in a DataFrame, the same bytes as of one batch of them all. Other columns are ignored.

    Spark does not show what Parquet files of ``Reports.to_arrow`` say about their spec. What ``privatize`` made remembers it, and is
    refused with another one. ``candidates`` are the values to count, where the domain is too large to list.
    """
    _pyspark(dataframe)
    for column in spec.layout:
        if column.name not in dataframe.columns:
            raise WireError(column.name, dataframe.columns, allowed=f"the columns of {spec!r}", fix="select the reports' columns")
        stated = dataframe.schema[column.name].metadata.get("deniable", spec.canonical.decode())
        if stated != spec.canonical.decode():
            raise WireError("spec", stated, allowed=spec.canonical.decode(), fix="use the spec that made the reports")
    nobody = partition.fold(spec, [], candidates)
    canonical = spec.canonical  # a spec carries its bulk half and tables along, which workers make themselves

    def fold(batches: Batches) -> Batches:
        known = spec_from_json(canonical)
        total = partition.fold(known, _gathered(batches, known), candidates)
        yield _Sums({"": total}).batch()

    reports = dataframe.select(*(column.name for column in spec.layout))
    return _sums(reports, fold, {"": nobody}).tallies[""]


def privatize(dataframe: DataFrame, column: str, spec: Spec) -> DataFrame:
    """Return reports of simulated people, one for each row of a column of a DataFrame; their columns are the spec's, and no others.

    The key is drawn here, once: Spark may compute a partition as often as it likes, and its people say the same. For that their rows must
    come in the same order; after a shuffle they may not, so persist or checkpoint what was shuffled.
    """
    sql = _pyspark(dataframe).sql
    canonical, key = spec.canonical, partition.new_key()
    forms = {part.name: _WIDER.get(arrow_type(part), (pa.binary(), "binary")) for part in spec.layout}
    wide = pa.schema([(name, form) for name, (form, _) in forms.items()])
    schema = sql.types.StructType()
    for name, (_, form) in forms.items():
        schema.add(name, form, metadata={"deniable": canonical.decode()})

    def randomize(batches: Batches) -> Batches:
        known = spec_from_json(canonical)
        for people in _gathered(batches, known):
            number = people.column(1)[0].as_py()  # the first person's: nobody else in the whole DataFrame draws from this stream
            reports = partition.privatize(known, people.column(0).combine_chunks(), key=key, partition=number)
            yield from reports.to_arrow().replace_schema_metadata(None).cast(wide).to_batches()

    # People are numbered by Spark: a task may hold several partitions, if they are coalesced later, and its own number stands for all.
    _check_columns(dataframe, [column])
    return dataframe.select(column, sql.functions.monotonically_increasing_id()).mapInArrow(randomize, schema)


def run(protocol: Protocol, dataframe: DataFrame, column: str | Sequence[str], *, key: bytes | None = None) -> Any:
    """Ask simulated people, one in each row, round after round until the protocol has its result; one job a round.

    ``column`` names the column of their values, or several where questions ask about several. The key is the operating system's unless one
    is given, for tests: then the result is always the same, and the same as another engine's over the same partitions.

    In every round a partition must hold the same people in the same order, or some would answer twice and others never. Files give that.
    A digest of every partition is compared with the round before, and ProtocolError says that the DataFrame must be persisted.
    """
    _pyspark(dataframe)
    names = [column] if isinstance(column, str) else list(column)
    _check_columns(dataframe, names)
    people = dataframe.select(*names)
    key = partition.new_key() if key is None else key
    state: Any = protocol
    before: int | None = None
    while isinstance(state, Protocol):
        answers = _sums(people, _asker(state.canonical, column, key), partition.nobody(state))
        if before is not None and answers.people != before:
            allowed = "the same rows in the same partitions in every round"
            raise ProtocolError(
                "dataframe", "other people or another order", allowed=allowed, fix="persist or checkpoint the DataFrame first"
            )
        before = answers.people
        state = state.close(answers.tallies)
    return state


def _asker(canonical: bytes, column: str | Sequence[str], key: bytes) -> Callable[[Batches], Batches]:
    def ask(batches: Batches) -> Batches:
        from pyspark import TaskContext

        number = TaskContext.get().partitionId()  # type: ignore[union-attr]  # there is one in a task
        held = [batch for batch in batches if batch.num_rows]
        digest = hashlib.sha256(number.to_bytes(8))
        for batch in held:
            digest.update(batch.serialize())
        if held:
            table = pa.Table.from_batches(held)
            values = _column([part.combine_chunks() for part in table.columns], column)
            answers = partition.answer(protocol_from_json(canonical), values, key=key, partition=number)
            yield _Sums(partition.merge_answers([answers]), int.from_bytes(digest.digest())).batch()

    return ask


def _column(columns: list[Any], names: str | Sequence[str]) -> Any:
    return columns[0] if isinstance(names, str) else dict(zip(names, columns, strict=True))


class _Sums:
    """What partitions gave, added up: tallies by name, and digests of their people."""

    def __init__(self, tallies: Mapping[str, Tally] | None = None, people: int = 0) -> None:
        self.tallies, self.people = dict(tallies or {}), people

    def add(self, rows: Iterable[tuple[str | None, bytes]]) -> None:
        """Add images, and digests, which have no name."""
        for name, image in rows:
            if name is None:
                self.people = (self.people + int.from_bytes(image)) % (1 << 256)
            else:
                part = Tally.from_bytes(bytes(image))
                self.tallies[name] = self.tallies[name] + part if name in self.tallies else part

    def batch(self) -> pa.RecordBatch:
        rows: list[tuple[str | None, bytes]] = [(name, part.to_bytes()) for name, part in self.tallies.items()]
        names, images = zip(*rows, (None, self.people.to_bytes(32)), strict=True)
        return pa.record_batch([pa.array(names, pa.string()), pa.array(images, pa.binary())], ["name", "image"])


def _sums(dataframe: DataFrame, work: Callable[[Batches], Batches], nobody: Mapping[str, Tally]) -> _Sums:
    """One job: the sums that partitions were made into, added up by a few tasks and then here."""
    size = sum(len(part.to_bytes()) for part in nobody.values())
    images = dataframe.mapInArrow(work, _IMAGES).repartition(min(MOST_IMAGES, 1 + size // SMALL))
    sums = _Sums(nobody)
    sums.add((row["name"], row["image"]) for row in images.mapInArrow(_add_up, _IMAGES).collect())
    return sums


def _add_up(batches: Batches) -> Batches:
    sums = _Sums()
    for batch in batches:
        sums.add(zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True))
    yield sums.batch()


def _gathered(batches: Batches, spec: Spec) -> Iterator[pa.Table]:
    """The same rows in fewer and larger tables, none of them empty."""
    most = min(ROWS, BYTES // sum(column.row_bytes for column in spec.layout))
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held += [batch] if batch.num_rows else []
        if sum(part.num_rows for part in held) >= max(most, 1):
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


def _pyspark(dataframe: object) -> Any:
    """The package, if it is there and this is one of its DataFrames."""
    try:
        import pyspark.sql.functions
    except ModuleNotFoundError as error:
        raise MissingExtra("deniable.engines.spark", "spark", error.name) from error
    if not isinstance(dataframe, pyspark.sql.DataFrame):
        raise ParameterError(
            "dataframe", type(dataframe).__name__, allowed="a Spark DataFrame", fix="read one with spark.read.parquet(...)"
        )
    return pyspark


def _check_columns(dataframe: DataFrame, names: Sequence[str]) -> None:
    for name in names:
        if name not in dataframe.columns:
            raise ParameterError("column", name, allowed=f"one of {dataframe.columns}", fix="name a column of the DataFrame")
