"""``deniable tally``: count what devices have posted in open folders, or a dataset of reports, without a collector."""

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
"""How many files are named of each kind that was not counted; --json names all."""


def tally(
    reports: Annotated[
        list[str],
        typer.Argument(metavar="REPORTS", help="Open folders; or one dataset: a folder, pattern or URL of Parquet or Arrow files."),
    ],
    task: Annotated[
        Path | None, typer.Option(help="The task and its signature, as its collector serves them: /v1/tasks/ID. A dataset may do without.")
    ] = None,
    period: Period = "all",
    stratum: Strata = None,
    candidates: CandidateFile = None,
    top: Top = 20,
    images: Annotated[Path | None, typer.Option("--out", help="A new folder for the tallies, byte for byte as a collector's.")] = None,
    resume: Annotated[
        Path | None, typer.Option(help="A folder that keeps what is counted of a dataset; after a crash, say the same.")
    ] = None,
    json_output: Json = False,
) -> None:
    """Count reports without a server, and say what they tell: those that devices posted in the open, or those in the files of a dataset.

    Whoever counts the same files gets the same tallies, to the byte. In open folders, what several of them have counts once, and files that
    do not count are named, with the reason. In a dataset, a file that is not right is an error; without a task it is counted as a whole,
    by the spec that its files name.

    The exit status is 4 if there are fewer reports than the task shows.
    """
    files = [where for where in reports if is_dataset(where)]
    if files and len(reports) > 1:
        fix = "reports in files have no ids: what two datasets have would count twice"
        raise ParameterError("reports", reports, allowed="one dataset, or open folders", fix=fix)
    if images is not None and images.exists():
        raise ParameterError("--out", str(images), allowed="a new folder", fix="nothing is ever overwritten")
    if resume is not None and not files:
        raise ParameterError("--resume", str(resume), allowed="a dataset", fix="open folders are counted at once: leave it out")
    task = published_task(reports[0]) if files and task is None else task
    if task is None and (not files or period != "all" or stratum):
        raise ParameterError("--task", None, allowed="a task", fix="name it: it says what people were asked, and when")
    if task is not None and candidates is not None:
        raise ParameterError("--candidates", str(candidates), allowed="none beside a task, which has its own", fix="leave it out")
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
        tell(f"fewer than the {counted.task.minimum_batch:,} reports of a question from which on anything is shown")


@dataclass(frozen=True)
class CountedReports:
    """Tallies by period, question and stratum, or one of all; the estimate is None where they are fewer than the task shows."""

    tallies: Mapping[tuple[int, ...], Tally]
    estimate: dict[str, Any] | None
    task: Task | None = None
    refused: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def reports(self) -> int:
        """How many reports were counted."""
        return sum(tally.n for tally in self.tallies.values())

    def to_json(self) -> dict[str, Any]:
        """All of it as plain data; a tally by the SHA-256 of its image. By hand: tallies are shown here, and travel as images."""
        rows = [
            dict(zip(("period", "question", "stratum"), address, strict=False))
            | {"reports": tally.n, "tally": hashlib.sha256(tally.to_bytes()).hexdigest()}
            for address, tally in self.tallies.items()
        ]
        task = None if self.task is None else self.task.id.hex()
        return {"task": task, "reports": self.reports, "tallies": rows, "refused": dict(self.refused), "estimate": self.estimate}

    def write(self, folder: Path) -> None:
        """The images of the tallies, in a new folder."""
        folder.mkdir(parents=True)
        for address, tally in self.tallies.items():
            (folder / f"{'-'.join(map(str, address)) or 'all'}{ENDING}").write_bytes(tally.to_bytes())


def is_dataset(where: str) -> bool:
    """Whether files of rows are meant, and not a folder that devices post into."""
    from deniable.client.bulletin import REPORT
    from deniable.engines.files import ARROW, PARQUET

    path = Path(where)
    if "://" in where or set(where) & set("*?[") or path.is_file():
        return True
    if not path.is_dir():
        raise ParameterError("reports", where, allowed="a folder or file that is there, a pattern or a URL", fix="check its path")
    with os.scandir(path) as entries:
        posted = any(entry.name.endswith(REPORT) for entry in entries)
    return not posted and any(each.suffix in PARQUET + ARROW for each in path.rglob("*"))


def published_task(where: str) -> Path | None:
    """The task of a publication, which lies in its folder."""
    path = Path(where) / "task.json"
    return path if path.is_file() else None


def count_dataset(where: str, candidates: Path | None, resume: Path | None, progress: Progress | None) -> CountedReports:
    """A dataset as a whole, by the spec that its files name."""
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
    """A task's reports in open folders or, with progress, in a dataset; the estimate is of the periods and strata that were selected."""
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
