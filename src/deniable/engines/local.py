"""Datasets larger than memory on one machine: files tallied on all cores, or their people asked round after round.

Workers are threads, since readers and kernels run without the interpreter lock; two processes were not faster. In memory are one partition
for each core and the sum. A billion reports of HCMS take 11 s of CPU and 0.6 GB, where the group-bys of Polars and DuckDB on the same files
take 69 and 71 s (``benchmarks/billion.py``). ``files`` says which reader is used, and why.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from deniable.contract.arguments import typed
from deniable.contract.protocol import Progress, Protocol
from deniable.contract.spec import Spec
from deniable.core.stream import in_parallel
from deniable.core.tally import Tally
from deniable.engines.checkpoint import Checkpoint
from deniable.engines.dataset import Dataset
from deniable.engines.files import Partition
from deniable.engines.partition import answer, fold, merge_answers, new_key
from deniable.errors import ParameterError, WireError

BYTES = 1 << 26
"""The reports that a worker holds at a time, unpacked."""
PEOPLE = 1 << 20
"""The people whom a worker holds at a time, in an interactive protocol."""


@typed
def tally(
    dataset: Any, spec: Spec | None = None, *, candidates: Any = None, progress: Progress | None = None, resume: str | Path | None = None
) -> Tally:
    """Return the tally of all reports in a dataset (``dataset``), the same bytes as of one batch of them all.

    The spec is the one that the files name, unless it is given. ``progress`` gets how many reports are counted, of how many. What is
    counted is kept in the folder ``resume``, if one is named: after a crash the same call goes on from there. ``candidates`` are the
    values to count, where the domain is too large to list.

    >>> import tempfile
    >>> import numpy as np, pyarrow.parquet as pq
    >>> from deniable.client import GRR
    >>> folder = tempfile.TemporaryDirectory()
    >>> for day in range(3):
    ...     reports = GRR(domain_size=4, epsilon=1.0).privatize(np.arange(1000) % 4)
    ...     pq.write_table(reports.to_arrow(), f"{folder.name}/{day}.parquet")
    >>> tally(folder.name)
    Tally(GRR(domain_size=4, epsilon=1.0), n=3,000, counters=4)
    >>> folder.cleanup()
    """
    opened = Dataset.open(dataset)
    known = opened.spec(spec)
    names = [column.name for column in known.layout]
    rows = max(BYTES // sum(column.row_bytes for column in known.layout), 1)
    partitions = opened.partitions(rows)
    folder = None if resume is None else Path(resume)
    kept = Checkpoint(folder, opened.identity(partitions), len(partitions), fold(known, [], candidates))
    one_at_a_time = threading.Lock()

    def count(number: int) -> None:
        with _naming(partitions[number]):
            part = fold(known, partitions[number].read(names, rows), candidates)
        with one_at_a_time:
            kept.add(number, part)
            if progress is not None:
                progress(kept.total.n, opened.rows)

    try:
        in_parallel(count, [number for number, done in enumerate(kept.done) if not done])
    finally:
        with one_at_a_time:  # after one worker's error, another may still count
            kept.close()
    return kept.total


@typed
def run(
    protocol: Protocol, dataset: Any, column: str | Sequence[str], *, key: bytes | None = None, progress: Progress | None = None
) -> Any:
    """Ask the people of a dataset, one in each row, round after round until the protocol has its estimate.

    ``column`` names the column of their values, or several where questions ask about several. ``progress`` gets, in every round, how
    many people had their turn, of how many. The key is the operating system's unless one is given, for tests: then the result is always the
    same, and the same as another engine's over the same partitions.

    >>> import tempfile
    >>> import numpy as np, polars as pl
    >>> from deniable.tasks.heavy_hitters import PEM
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pl.DataFrame({"code": np.arange(30_000) % 3 * 50}).write_parquet(f"{folder}/people.parquet")
    ...     found = run(PEM(bits=8, k=3, epsilon=4.0), folder, "code", key=b"an example, thus the same always")
    >>> sorted(found.values)
    [0, 50, 100]
    """
    partitions = Dataset.open(dataset).partitions(PEOPLE)
    if not partitions:
        raise ParameterError("dataset", dataset, allowed="one person or more", fix="check that the files have rows")
    key = new_key() if key is None else key
    state: Any = protocol
    while isinstance(state, Protocol):
        state = state.close(_ask(state, partitions, column, key, progress))
    return state


def _ask(
    state: Protocol, partitions: Sequence[Partition], column: str | Sequence[str], key: bytes, progress: Progress | None
) -> dict[str, Tally]:
    """One round, all partitions."""
    sums: dict[str, Tally] = {}
    people, asked = sum(part.rows for part in partitions), 0
    one_at_a_time = threading.Lock()

    def ask(number: int) -> None:
        nonlocal asked
        answers = merge_answers([answer(state, _values(partitions[number], column), key=key, partition=number)])
        with one_at_a_time:
            sums.update({name: sums[name] + part if name in sums else part for name, part in answers.items()})
            asked += partitions[number].rows
            if progress is not None:
                progress(asked, people)

    in_parallel(ask, range(len(partitions)))
    return sums


@contextmanager
def _naming(part: Partition) -> Iterator[None]:
    """An error about a report names the file that it is in."""
    try:
        yield
    except WireError as error:
        if error.parameter == part.file.path:
            raise
        raise WireError(f"{part.file.path}, {error.parameter}", error.received, allowed=error.allowed, fix=error.fix) from error


def _values(part: Partition, column: str | Sequence[str]) -> Any:
    names = [column] if isinstance(column, str) else list(column)
    batches = [batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch]) for batch in part.read(names, part.rows)]
    table = pa.concat_tables(batches).combine_chunks()
    return table.column(column) if isinstance(column, str) else {name: table.column(name) for name in names}
