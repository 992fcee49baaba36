"""``deniable tally``: count the reports in open folders or in a dataset, without a collector."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli.answer_tables import print_answer
from deniable.cli.console import print_json, progress_bar, tell, working
from deniable.cli.exits import TOO_FEW
from deniable.cli.options import Json, Period, Strata, Top, read_labels
from deniable.cli.tally_file import ENDING, CandidateFile, estimate_of, read_candidates
from deniable.contract.task import Task
from deniable.errors import ParameterError

if TYPE_CHECKING:
    from deniable.contract.protocol import Progress
    from deniable.core.tally import Tally

NAMED = 5
"""How many files to name per reason for refusing them; --json names all."""


def tally(
    reports: Annotated[
        list[str],
        typer.Argument(metavar="REPORTS", help="Open folders; or one dataset: a folder, pattern or URL of Parquet or Arrow files."),
    ],
    task: Annotated[
        Path | None,
        typer.Option(help="The task and its signature, as its collector serves them under /v1/tasks/ID; optional for a dataset."),
    ] = None,
    period: Period = "all",
    stratum: Strata = None,
    candidates: CandidateFile = None,
    top: Top = 20,
    images: Annotated[Path | None, typer.Option("--out", help="A new folder for the tallies, byte for byte those of a collector.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="A folder for progress on a dataset; after a crash, run the same command again.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Count reports without a server, and show the estimates: reports that devices posted in open folders, or files of a dataset.

    The same files give the same tallies, to the byte. A report in several open folders counts once, and refused files are listed with
    the reason. In a dataset, an invalid file is an error; without a task, all its reports are counted, using the spec in its files.

    The exit status is 4 with fewer reports than the task's minimum batch.
    """
    files = [where for where in reports if is_dataset(where)]
    if files and len(reports) > 1:
        fix = "count them one by one: reports in files have no ids, so shared ones would count twice"
        raise ParameterError("reports", reports, allowed="one dataset, or open folders", fix=fix)
    if images is not None and images.exists():
        raise ParameterError("--out", str(images), allowed="a new folder", fix="choose another one: nothing is overwritten")
    if resume is not None and not files:
        raise ParameterError("--resume", str(resume), allowed="a dataset", fix="leave it out: open folders are counted in one go")
    task = published_task(reports[0]) if files and task is None else task
    if task is None and (not files or period != "all" or stratum):
        raise ParameterError("--task", None, allowed="a task", fix="save it from the collector (/v1/tasks/ID), and pass the file")
    if task is not None and candidates is not None:
        raise ParameterError("--candidates", str(candidates), allowed="no list, since the task has its own", fix="leave it out")
    selected = period, read_labels(stratum)
    with progress_bar("counting reports", quiet=json_output) if files else working("counting reports") as progress:
        counted = (
            count_dataset(reports[0], candidates, resume, progress)
            if task is None
            else count_task(reports, task, selected, resume, progress)
        )
    if images is not None:
        counted.write(images)
    if json_output:
        print_json(counted.to_json())
    else:
        _tell(counted, top)
    if counted.estimate is None:
        raise typer.Exit(TOO_FEW)


def _tell(counted: CountedReports, top: int) -> None:
    if counted.task is not None:
        tell(f"task {counted.task.name} {counted.task.id.hex()}")
    tell(f"{counted.reports:,} reports counted, {sum(map(len, counted.refused.values())):,} files not")
    for code, names in counted.refused.items():
        tell(f"  {code}: {', '.join(names[:NAMED])}{', ...' if len(names) > NAMED else ''} ({len(names):,})")
    if counted.estimate is not None:
        print_answer(counted.estimate, top)
    elif counted.task is not None:
        tell(f"nothing to show: below the minimum batch of {counted.task.minimum_batch:,} reports")


@dataclass(frozen=True)
class CountedReports:
    """Tallies by period, question and stratum, or one total; the estimate is None below the task's minimum batch."""

    tallies: Mapping[tuple[int, ...], Tally]
    estimate: dict[str, Any] | None
    task: Task | None = None
    refused: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def reports(self) -> int:
        """Return how many reports were counted."""
        return sum(tally.n for tally in self.tallies.values())

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain data, with the SHA-256 of each tally's image. By hand: tallies travel as images."""
        rows = [
            dict(zip(("period", "question", "stratum"), address, strict=False))
            | {"reports": tally.n, "tally": hashlib.sha256(tally.to_bytes()).hexdigest()}
            for address, tally in self.tallies.items()
        ]
        task = None if self.task is None else self.task.id.hex()
        return {"task": task, "reports": self.reports, "tallies": rows, "refused": dict(self.refused), "estimate": self.estimate}

    def write(self, folder: Path) -> None:
        """Write the images of the tallies into a new folder."""
        folder.mkdir(parents=True)
        for address, tally in self.tallies.items():
            (folder / f"{'-'.join(map(str, address)) or 'all'}{ENDING}").write_bytes(tally.to_bytes())


def is_dataset(where: str) -> bool:
    """Return whether ``where`` names files of rows, and not a folder that devices post into."""
    from deniable.client.bulletin import REPORT
    from deniable.engines.files import ARROW, PARQUET

    path = Path(where)
    if "://" in where or set(where) & set("*?[") or path.is_file():
        return True
    if not path.is_dir():
        raise ParameterError("reports", where, allowed="an existing folder or file, a pattern or a URL", fix="check the path")
    with os.scandir(path) as entries:
        posted = any(entry.name.endswith(REPORT) for entry in entries)
    return not posted and any(each.suffix in PARQUET + ARROW for each in path.rglob("*"))


def published_task(where: str) -> Path | None:
    """Return the task file in the folder of a publication."""
    path = Path(where) / "task.json"
    return path if path.is_file() else None


def count_dataset(where: str, candidates: Path | None, resume: Path | None, progress: Progress | None) -> CountedReports:
    """Count a whole dataset, using the spec in its files."""
    from deniable.engines import local
    from deniable.engines.dataset import Dataset

    opened = Dataset.open(where)
    spec = opened.spec()
    named = None if candidates is None else read_candidates(candidates, spec.domain)
    at_once = named if spec.candidates_at_tally else None
    total = local.tally(opened, spec, candidates=at_once, progress=progress, resume=resume)
    return CountedReports({(): total}, estimate_of(total, Path(where).name, named))


def count_task(
    reports: list[str], file: Path, selected: tuple[str, Mapping[str, str]], resume: Path | None, progress: Progress | None
) -> CountedReports:
    """Count a task's reports in open folders or, with progress, in a dataset; estimate the selected periods and strata."""
    from deniable.collect.analysis.disclosure import TooFew
    from deniable.collect.analysis.selection import ReportSelection, read_periods
    from deniable.collect.clock import clock_of
    from deniable.collect.publication.open_tally import read_open_task, read_served_task, tally_folders
    from deniable.collect.publication.recount import tally_dataset

    task = read_open_task(file.read_bytes()) if progress is None else read_served_task(file.read_bytes())
    selection = ReportSelection(read_periods(task, selected[0]), selected[1])
    selection.check(task)
    now = clock_of(os.environ)()
    if progress is None:
        counted = tally_folders(list(map(Path, reports)), task, now)
    else:
        counted = tally_dataset(reports[0], task, now, progress=progress, resume=resume)
    try:
        estimate = counted.answer(selection).to_json()
    except TooFew:
        estimate = None
    return CountedReports({address: each for address, each in counted.tallies.items()}, estimate, task, counted.refused)  # noqa: C416  # a wider key
