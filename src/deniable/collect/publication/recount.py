"""Counting a task's reports that lie in files of a dataset (``dataset``) or of a publication (``export``), by the local engine.

Where a file lies says what its reports are about::

    task=ID/period=P/question=Q/stratum=S/name.parquet    task, question and stratum only where they are needed to tell them apart
    P-Q-S.parquet

Files that say nothing are reports of period 0, if the task has one question and no strata. Whoever counts the same files gets the same
tallies, to the byte; nothing here is signed, so ``verification`` is for what others have published. Reports in files have no ids: the same
period, question and stratum in two folders is refused, since one may be a copy of the other.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from deniable.collect.analysis.selection import ReportSelection
from deniable.collect.publication.open_tally import OpenTally
from deniable.contract.protocol import Progress
from deniable.contract.task import Task
from deniable.core.tally import Tally
from deniable.engines import local
from deniable.engines.dataset import Dataset
from deniable.engines.files import File
from deniable.errors import WireError

Address = tuple[int, int, int]
"""Period, question, stratum."""
_KEY = re.compile(r"(task|period|question|stratum)=([0-9a-f]+)")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,12}")
_BATCH = re.compile(r"([0-9]+)-([0-9]+)-([0-9]+)\.[a-z]+")


def tally_dataset(dataset: Any, task: Task, now: float, *, progress: Progress | None = None, resume: str | Path | None = None) -> OpenTally:
    """Count the reports on a task in a dataset. ``progress`` and ``resume`` are those of ``engines.local.tally``."""
    opened = Dataset.open(dataset)
    groups: dict[Address, list[File]] = {}
    for file in opened.files:
        same = groups.setdefault(_address(file.path, task), [])
        same.append(file)
        if _place(file.path) != _place(same[0].path):
            allowed = f"these reports in {_place(same[0].path) or 'the dataset'} only, where some are"
            raise WireError(
                file.path, "another folder for the same reports", allowed=allowed, fix="a copy would count twice: name one of them"
            )
    for period in {address[0] for address in groups}:
        ReportSelection((period,)).check(task)
    tallies: dict[Address, Tally] = {}
    before = 0

    def tell(done: int, _: int) -> None:
        if progress is not None:
            progress(before + done, opened.rows)

    for address, files in sorted(groups.items()):
        question = task.survey.questions[address[1]]
        candidates = question.candidates if question.spec.candidates_at_tally else None
        kept = None if resume is None else Path(resume) / "-".join(map(str, address))
        tallies[address] = local.tally(Dataset(tuple(files)), question.spec, candidates=candidates, progress=tell, resume=kept)
        before += tallies[address].n
    return OpenTally(task, tallies, {}, now)


def _place(path: str) -> str:
    """The folder that says what a file's reports are about; nothing, if none does."""
    folders = path.split("/")[:-1]
    last = len(folders) if _BATCH.fullmatch(path.rpartition("/")[2]) else 0
    return "/".join(folders[: max([last, *(place for place, part in enumerate(folders, 1) if _KEY.fullmatch(part))])])


def _address(path: str, task: Task) -> Address:
    """What the reports of a file are about; WireError where its place does not say it, or the task has no such thing."""
    keys = {match[1]: match[2] for part in path.split("/") if (match := _KEY.fullmatch(part))}
    if match := _BATCH.fullmatch(path.rpartition("/")[2]):
        keys |= dict(zip(("period", "question", "stratum"), match.groups(), strict=True))
    if keys.pop("task", task.id.hex()) != task.id.hex():
        raise WireError(path, "a file of another task", allowed=f"task={task.id.hex()}", fix="count each task's reports by themselves")
    limits = {"period": task.period_count, "question": len(task.survey.questions), "stratum": task.stratum_count}
    needed = {name for name, limit in limits.items() if limit > 1 and (keys or name != "period")}
    numbers = {name: int(text) for name, text in keys.items() if _NUMBER.fullmatch(text) and int(text) < limits[name]}
    if len(numbers) < len(keys) or not needed <= set(numbers):
        allowed = f"{', '.join(f'{name}=0 to {limit - 1}' for name, limit in limits.items())} in its path"
        raise WireError(path, keys or "a path that says nothing", allowed=allowed, fix="see: deniable export --dataset")
    return numbers.get("period", 0), numbers.get("question", 0), numbers.get("stratum", 0)
