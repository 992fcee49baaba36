"""``deniable task``: write a task, check it, publish it, and lead it through its life."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli.console import out, print_json, remark, table, tell, working
from deniable.cli.exits import DIFFERS
from deniable.cli.options import Json, TokenFile, Url, Which
from deniable.cli.remote import Remote, collector_at
from deniable.cli.task_described import described, print_described
from deniable.cli.task_template import template
from deniable.collect.tasks.spans import moment_in_words
from deniable.contract.ed25519 import TASK_CONTEXT, verify
from deniable.contract.task import Task
from deniable.errors import ParameterError, WireError

if TYPE_CHECKING:
    from deniable.collect.tasks.task_file import TaskFile

NO_KEY = bytes(32)
"""Stands for the collector's key where no collector is asked."""
HEADS = ("id", "name", "question", "from", "to", "state")
task = typer.Typer(no_args_is_help=True, help="Ask people's devices a question: write, check, publish and close a task.")
File = Annotated[Path, typer.Argument(metavar="FILE", help="The task's TOML file.")]
NewMeaning = Annotated[bool, typer.Option("--new-meaning", help="Take it although it means something else than its namesake.")]


@task.command()
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it, as in morning-drink.toml.")], json_output: Json = False
) -> None:
    """Write a task file with comments, to be edited; it never overwrites one."""
    name = re.sub(r"[^a-z0-9]+", "-", file.stem.lower()).strip("-")[:64].strip("-") or "my-task"
    with file.open("x", encoding="utf-8") as opened:
        opened.write(template(name))
    if json_output:
        print_json({"file": str(file), "name": name})
        return
    tell(f"wrote {file}; edit it, then: deniable task check {file}")


@task.command()
def check(
    file: File,
    against: Annotated[str | None, typer.Option(help="A published task's id, or an earlier file: must it mean the same?")] = None,
    new_meaning: NewMeaning = False,
    url: Url = "",
    json_output: Json = False,
) -> None:
    """Say what a file will publish, without publishing it.

    The exit status is 1 if it means something else than --against.
    """
    from deniable.collect.tasks.compatibility import changes_of_meaning

    now = time.time()
    with working(f"reading {file}"):
        declared = _read(file, now)
        changes = [] if against is None else changes_of_meaning(replace(_earlier(against, url, now), key=NO_KEY), declared.task)
        content = described(declared) | {"changes_of_meaning": changes}
    if json_output:
        print_json(content)
    else:
        print_described(content)
        for change in changes:
            remark(f"changes the meaning: {change}")
    if changes and not new_meaning:
        raise typer.Exit(DIFFERS)


@task.command()
def publish(file: File, url: Url = "", token_file: TokenFile = None, new_meaning: NewMeaning = False, json_output: Json = False) -> None:
    """Publish a task for good: it is signed, goes into the public log, and can be answered from its start on."""
    _read(file, time.time())  # mistakes are told here rather than by a server
    query = {"new_meaning": "true"} if new_meaning else {}
    with collector_at(url, token_file) as remote:
        answer = remote.call("POST", "/v1/tasks", body=file.read_bytes(), media_type="application/toml", query=query)
    published = _verified(answer)
    if json_output:
        print_json({"id": published.id.hex(), "name": published.name, "key": published.key.hex(), "start": published.start})
        return
    tell(f"published {published.name} as {published.id.hex()}")
    tell(f"It can be answered from {moment_in_words(published.start)} to {moment_in_words(published.end)}. Devices pin the id.")


@task.command("list")
def list_tasks(url: Url = "", json_output: Json = False) -> None:
    """List the tasks that a collector has published."""
    with collector_at(url) as remote:
        tasks = remote.tasks()
    if json_output:
        print_json({"tasks": tasks})
        return
    rows = table("Tasks", HEADS, words=HEADS, whole=("id", "state"))
    now = time.time()
    for entry in tasks:
        state = "closed" if entry["closed"] else "to come" if now < entry["start"] else "open" if now < entry["end"] else "over"
        moments = (moment_in_words(entry[name]) for name in ("start", "end"))
        rows.add_row(entry["id"][:12], entry["name"], entry["question"], *moments, state)
    out.print(rows)


@task.command()
def close(which: Which, url: Url = "", token_file: TokenFile = None, json_output: Json = False) -> None:
    """Take no more reports for a task, and count those that are there."""
    with _found(which, url, token_file) as (remote, found):
        remote.call("POST", f"/v1/tasks/{found['id']}/close")
    _tell(found, json_output, "closed {task}")


@task.command()
def seal(
    which: Which,
    period: Annotated[int, typer.Argument(metavar="PERIOD", help="The period's number, from 0 on.", min=0)],
    url: Url = "",
    token_file: TokenFile = None,
    json_output: Json = False,
) -> None:
    """Count a period now, before its time; reports that come for it later are refused."""
    with _found(which, url, token_file) as (remote, found):
        remote.call("POST", f"/v1/tasks/{found['id']}/seal", query={"period": period})
    _tell(found, json_output, f"sealed period {period} of {{task}}", period=period)


@task.command()
def advance(
    which: Which,
    number: Annotated[int | None, typer.Option("--round", help="Only this round; the one at hand if left out.", min=0)] = None,
    force: Annotated[bool, typer.Option("--force", help="With fewer reports than the task's minimum batch, too.")] = False,
    url: Url = "",
    token_file: TokenFile = None,
    json_output: Json = False,
) -> None:
    """Close the round at hand of a search, and open the next if there is one.

    The round is always named to the collector, so that nobody's second try closes the next one.
    """
    with _found(which, url, token_file) as (remote, found):
        path = f"/v1/tasks/{found['id']}"
        number = remote.call("GET", f"{path}/status")["current"] if number is None else number
        query = ({} if number is None else {"round": number}) | ({"force": "true"} if force else {})  # None: it refuses, and says why
        more = remote.call("POST", f"{path}/advance", query=query)["more"]
    _tell(found, json_output, f"closed round {number} of {{task}}, {'opened the next' if more else 'the last'}", round=number, more=more)


@task.command()
def delete(
    which: Which,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask whether it is meant.")] = False,
    url: Url = "",
    token_file: TokenFile = None,
    json_output: Json = False,
) -> None:
    """Delete a task with all its reports and counts; the public log keeps what it asked."""
    with _found(which, url, token_file) as (remote, found):
        if not yes:
            asked = f"Delete {found['name']} ({found['id'][:12]}), its reports and its counts, for good?"
            typer.confirm(asked, abort=True, err=json_output)
        remote.call("DELETE", f"/v1/tasks/{found['id']}")
    _tell(found, json_output, "deleted {task}")


@contextmanager
def _found(which: str, url: str, token_file: Path | None) -> Iterator[tuple[Remote, dict[str, Any]]]:
    """A collector, and the one task of it that is meant."""
    with collector_at(url, token_file) as remote:
        yield remote, remote.find(which)


def _tell(found: dict[str, Any], json_output: bool, done: str, **more: Any) -> None:
    """What was done with a task."""
    if json_output:
        print_json({"id": found["id"], "name": found["name"], **more})
        return
    tell(done.format(task=f"{found['name']} ({found['id'][:12]})"))


def _read(file: Path, now: float) -> TaskFile:
    """What a file declares; mistakes in it name the file."""
    from deniable.collect.tasks.task_file import read_task_file

    try:
        return read_task_file(file.read_bytes(), key=NO_KEY, now=now)
    except ParameterError as error:
        where, received = ("FILE", str(file)) if error.parameter == "file" else (f"{file}, {error.parameter}", error.received)
        raise ParameterError(where, received, allowed=error.allowed, fix=error.fix) from error


def _earlier(against: str, url: str, now: float) -> Task:
    if Path(against).exists():
        return _read(Path(against), now).task
    if not re.fullmatch(r"[0-9a-f]{64}", against):
        raise ParameterError(
            "--against", against, allowed="a file that is there, or a task's id of 64 digits", fix="see: deniable task list"
        )
    with collector_at(url) as remote:
        earlier = _verified(remote.call("GET", f"/v1/tasks/{against}"))
    if earlier.id.hex() != against:
        raise WireError("task", earlier.id.hex(), allowed=f"the task {against}", fix="this collector answers with another task")
    return earlier


def _verified(answer: Any) -> Task:
    """A task as a collector handed it out, if its signature is right."""
    try:
        canonical, signature = answer["task"].encode(), bytes.fromhex(answer["signature"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise WireError("answer", answer, allowed="a task and its signature", fix="check the address") from error
    published = Task.from_json(canonical)
    if not verify(published.key, TASK_CONTEXT + canonical, signature):
        raise WireError("signature", signature.hex(), allowed="a signature under the task's key", fix="this is not what was published")
    return published
