"""``deniable tally``: count what devices have posted in open folders, without a collector."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.cli.console import out, plain_errors, print_json
from deniable.cli.estimate import TOO_FEW, Period, Strata, print_answer, read_labels
from deniable.errors import ParameterError

NAMED = 5
"""How many files are named of each kind that was not counted; --json names all."""


def tally(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER...", help="Open folders; what several of them have counts once.")],
    task: Annotated[Path, typer.Option(help="The task and its signature, as its collector serves them: /v1/tasks/ID.")],
    period: Period = "all",
    stratum: Strata = None,
    top: Annotated[int, typer.Option(help="How many values to show of each question; --json has them all.", min=1)] = 20,
    images: Annotated[Path | None, typer.Option("--out", help="A new folder for the tallies, byte for byte as a collector's.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")] = False,
) -> None:
    """Count the reports that devices posted in the open, and say what they tell. Needs no server.

    Whoever counts the same files gets the same tallies, to the byte. Files that do not count are named, with the reason.
    The exit status is 4 if there are fewer reports than the task shows.
    """
    with plain_errors():
        for folder in folders:
            if not folder.is_dir():
                raise ParameterError("folder", str(folder), allowed="a folder that is there", fix="check its path")
        if images is not None and images.exists():
            raise ParameterError("--out", str(images), allowed="a new folder", fix="nothing is ever overwritten")
        from deniable.collect.analysis.counted import TooFew
        from deniable.collect.analysis.selection import Selection, read_periods
        from deniable.collect.clock import clock_of
        from deniable.collect.publication.tallying import read_open_task, tally_folders

        asked = read_open_task(task.read_bytes())
        selection = Selection(read_periods(asked, period), read_labels(stratum))
        selection.check(asked)
        counted = tally_folders(folders, asked, clock_of(os.environ)())
        try:
            answer = counted.answer(selection).to_json()
        except TooFew:
            answer = None
        if images is not None:
            images.mkdir(parents=True)
            for address, each in counted.tallies.items():
                (images / f"{'-'.join(map(str, address))}.tally").write_bytes(each.to_bytes())
    if json_output:
        print_json(_content(counted) | {"estimate": answer})
    else:
        _tell(counted, answer, top)
    if answer is None:
        raise typer.Exit(TOO_FEW)


def _content(counted: Any) -> dict[str, Any]:
    tallies = [
        {"period": p, "question": q, "stratum": s, "reports": each.n, "tally": hashlib.sha256(each.to_bytes()).hexdigest()}
        for (p, q, s), each in counted.tallies.items()
    ]
    return {"task": counted.task.id.hex(), "reports": counted.reports, "tallies": tallies, "refused": dict(counted.refused)}


def _tell(counted: Any, answer: dict[str, Any] | None, top: int) -> None:
    out.print(f"task {counted.task.name} {counted.task.id.hex()}", soft_wrap=True)
    out.print(f"{counted.reports:,} reports counted, {sum(map(len, counted.refused.values())):,} files not")
    for code, names in counted.refused.items():
        out.print(f"  {code}: {', '.join(names[:NAMED])}{', ...' if len(names) > NAMED else ''} ({len(names):,})", soft_wrap=True)
    if answer is None:
        out.print(f"fewer than the {counted.task.minimum_batch:,} reports of a question from which on anything is shown")
    else:
        print_answer(answer, top)
