"""Run an experiment on all cores, and never lose a finished cell.

Cells go to worker processes in batches. The rows of a finished batch are written to a file at once, next to the final one; a run that was
interrupted, even killed, reads these and does the rest. In the end there is one file, with the rows in the order of the grid: it does not
depend on how often the run was interrupted, nor on the number of workers.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import threading
from collections.abc import Generator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from multiprocessing.connection import Connection
from os import PathLike
from pathlib import Path
from typing import Any

from deniable.contract.arguments import typed
from deniable.contract.protocol import Progress
from deniable.core.stream import cores
from deniable.errors import ParameterError, ProtocolError
from deniable.lab.experiment import Experiment, GridCell
from deniable.lab.results import Results, read_table, table_of, write_table

Rows = list[dict[str, Any]]
BATCHES = 200
"""Into how many batches a whole run is cut, about: what a kill can cost, and how many files there are meanwhile."""
_AT_WORK: list[Experiment] = []
"""The experiment of this worker process."""


@typed
def run(
    experiment: Experiment,
    folder: str | PathLike[str],
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Results:
    """Run what is not finished yet of an experiment, and leave ``NAME.parquet`` in the folder.

    ``workers`` is the number of processes, one for each core if left out; 1 works in this process. More of them are started anew and
    import the main script, which must protect its own work by ``if __name__ == "__main__":``. ``progress`` is called with the number
    of cells done and of all cells.
    """
    if workers is not None and (type(workers) is not int or workers < 1):
        raise ParameterError("workers", workers, allowed="an integer from 1 on", fix="leave out workers to get one per core")
    final = results_path(experiment, folder)
    done = finished(experiment, final)
    left = [i for i, cell in enumerate(experiment.cells) if cell.key not in done]
    total = len(experiment.cells)
    size = max(1, total // BATCHES)
    batches = [left[i : i + size] for i in range(0, len(left), size)]
    report = progress or (lambda done, total: None)
    report(len(done), total)
    with closing(_measured(experiment, batches, min(workers or cores(), len(batches)))) as measured:
        for rows in measured:
            write_table(table_of(rows), _parts(final) / f"{rows[0]['replay_key']}.parquet")
            for row in rows:
                done.setdefault(row["replay_key"], []).append(row)
            report(len(done), total)
    table = table_of(row for cell in experiment.cells for row in done[cell.key])
    if left or not final.exists():
        write_table(table, final)
    shutil.rmtree(_parts(final), ignore_errors=True)
    return Results(experiment.title, table, experiment.against)


def results_path(experiment: Experiment, folder: str | PathLike[str]) -> Path:
    """Where the results of an experiment are kept."""
    return Path(folder) / f"{experiment.name}.parquet"


def finished(experiment: Experiment, final: Path) -> dict[str, Rows]:
    """The rows of the cells that are done, by replay key; cells that were measured otherwise are done again."""
    parts = sorted(_parts(final).glob("[!.]*.parquet")) if _parts(final).is_dir() else []
    found: dict[str, Rows] = {}
    for path in [final] * final.exists() + parts:
        rows: dict[str, Rows] = {}
        for row in read_table(path).to_pylist():
            rows.setdefault(row["replay_key"], []).append(row)
        found |= rows  # a cell that is in two files is the same in both
    foreign = found.keys() - {cell.key for cell in experiment.cells}
    if foreign:
        allowed = f"cells of {experiment.name} as it is declared now; {len(foreign)} of {len(found)} are not"
        raise ParameterError("folder", str(final.parent), allowed=allowed, fix="choose another folder, or move the old results away")
    return {key: rows for key, rows in found.items() if [row["metric"] for row in rows] == list(experiment.metrics)}


def _parts(final: Path) -> Path:
    return final.with_name(f"{final.stem}.parts")


def _measured(experiment: Experiment, batches: list[list[int]], workers: int) -> Generator[Rows, None, None]:
    """The rows of each batch, as they come."""
    if workers <= 1:
        for batch in batches:
            yield [row for i in batch for row in _measure(experiment, experiment.cells[i])]
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy threads and locks in whatever state they are
    leash, held = context.Pipe(duplex=False)
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start, initargs=(experiment, leash))
    try:
        pending = {pool.submit(_work, batch) for batch in batches}
        while pending:
            ready, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in ready:
                yield future.result()
        pool.shutdown()
    except BrokenProcessPool as error:
        fix = "run again, with fewer workers if memory ran out; finished cells are kept"
        raise ProtocolError("workers", f"one of {workers} ended", allowed="worker processes that stay alive", fix=fix) from error
    finally:
        held.close()  # workers that are still running, after an error or an interruption, end now
        pool.shutdown(cancel_futures=True)
        leash.close()


def _measure(experiment: Experiment, cell: GridCell) -> Rows:
    try:
        return experiment.measure(cell)
    except Exception as error:
        error.add_note(f"in the cell {cell.describe()}")
        raise


def _work(batch: list[int]) -> Rows:
    experiment = _AT_WORK[0]
    return [row for i in batch for row in _measure(experiment, experiment.cells[i])]


def _start(experiment: Experiment, leash: Connection) -> None:
    """A worker leaves interruptions to its parent, and ends when that lets go of the leash: also by being killed."""
    _AT_WORK[:] = [experiment]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow, args=(leash,), daemon=True).start()


def _follow(leash: Connection) -> None:
    leash.poll(None)
    os._exit(1)
