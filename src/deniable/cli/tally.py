"""``deniable tally``: count what devices have posted in open folders, or a dataset of reports, without a collector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from deniable.cli.answer_tables import print_answer
from deniable.cli.console import print_json, progress_bar, tell, working
from deniable.cli.counting import CountedReports, count_dataset, count_task, is_dataset, published_task
from deniable.cli.estimate import read_labels
from deniable.cli.options import Json, Period, Strata, Top
from deniable.cli.statuses import TOO_FEW
from deniable.cli.tally_file import CandidateFile
from deniable.errors import ParameterError

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
