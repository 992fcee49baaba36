"""``deniable task``: write, check, publish, close and delete tasks."""

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
from deniable.errors import DomainError, ParameterError, WireError

if TYPE_CHECKING:
    from deniable.collect.tasks.task_file import TaskFile

NO_KEY = bytes(32)
"""Stands for the collector's key when no collector is involved."""
HEADS = ("id", "name", "question", "from", "to", "state")
task = typer.Typer(no_args_is_help=True, help="Ask people's devices a question: write, check, publish and close a task.")
File = Annotated[Path, typer.Argument(metavar="FILE", help="The task's TOML file.")]
NewMeaning = Annotated[
    bool, typer.Option("--new-meaning", help="Accept it although it means something else than the published task of that name.")
]


@task.command()
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, such as morning-drink.toml.")], json_output: Json = False
) -> None:
    """Write a commented task file for you to edit. It never overwrites a file."""
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
    against: Annotated[str | None, typer.Option(help="A published task's id, or an earlier file, that this one must agree with.")] = None,
    new_meaning: NewMeaning = False,
    url: Url = "",
    json_output: Json = False,
) -> None:
    """Show what a file would publish, without publishing it.

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
    """Publish a task permanently: it is signed, enters the public log, and takes answers from its start on."""
    _read(file, time.time())  # mistakes show up here rather than on a server
    query = {"new_meaning": "true"} if new_meaning else {}
    with collector_at(url, token_file) as remote:
        answer = remote.call("POST", "/v1/tasks", body=file.read_bytes(), media_type="application/toml", query=query)
    published = _verified(answer)
    if json_output:
        print_json({"id": published.id.hex(), "name": published.name, "key": published.key.hex(), "start": published.start})
        return
    tell(f"published {published.name} as {published.id.hex()}")
    tell(f"It can be answered from {moment_in_words(published.start)} to {moment_in_words(published.end)}. Devices pin the id.")
    tell(f"Survey page: {url.rstrip('/')}/tasks/{published.id.hex()}/answer")


@task.command("list")
def list_tasks(url: Url = "", json_output: Json = False) -> None:
    """List the tasks of a collector."""
    with collector_at(url) as remote:
        tasks = remote.tasks()
    if json_output:
        print_json({"tasks": tasks})
        return
    rows = table("Tasks", HEADS, words=HEADS, whole=("id", "state"))
    now = time.time()
    for entry in tasks:
        state = "closed" if entry["closed"] else "not started" if now < entry["start"] else "open" if now < entry["end"] else "over"
        moments = (moment_in_words(entry[name]) for name in ("start", "end"))
        rows.add_row(entry["id"][:12], entry["name"], entry["question"], *moments, state)
    out.print(rows)


@task.command()
def close(which: Which, url: Url = "", token_file: TokenFile = None, json_output: Json = False) -> None:
    """Refuse further reports for a task, and count those it has."""
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
    """Close a period now, before its end: count its reports, and refuse later ones."""
    with _found(which, url, token_file) as (remote, found):
        remote.call("POST", f"/v1/tasks/{found['id']}/seal", query={"period": period})
    _tell(found, json_output, f"closed period {period} of {{task}}", period=period)


@task.command()
def advance(
    which: Which,
    number: Annotated[int | None, typer.Option("--round", help="Only this round; the current one if left out.", min=0)] = None,
    force: Annotated[bool, typer.Option("--force", help="Close it even below the task's minimum batch.")] = False,
    url: Url = "",
    token_file: TokenFile = None,
    json_output: Json = False,
) -> None:
    """Close the current round of a search, and open the next one if there is any.

    The request always names the round, so that sending it twice does not close the next one.
    """
    with _found(which, url, token_file) as (remote, found):
        path = f"/v1/tasks/{found['id']}"
        number = remote.call("GET", f"{path}/status")["current"] if number is None else number
        query = ({} if number is None else {"round": number}) | (
            {"force": "true"} if force else {}
        )  # None: the collector refuses, and says why
        more = remote.call("POST", f"{path}/advance", query=query)["more"]
    _tell(found, json_output, f"closed round {number} of {{task}}, {'opened the next' if more else 'the last'}", round=number, more=more)


@task.command()
def delete(
    which: Which,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    url: Url = "",
    token_file: TokenFile = None,
    json_output: Json = False,
) -> None:
    """Delete a task with all its reports and counts; the public log keeps what it asked."""
    with _found(which, url, token_file) as (remote, found):
        if not yes:
            asked = f"Delete {found['name']} ({found['id'][:12]}), its reports and its counts, permanently?"
            typer.confirm(asked, abort=True, err=json_output)
        remote.call("DELETE", f"/v1/tasks/{found['id']}")
    _tell(found, json_output, "deleted {task}")


@contextmanager
def _found(which: str, url: str, token_file: Path | None) -> Iterator[tuple[Remote, dict[str, Any]]]:
    """Yield a collector, and the task that was named."""
    with collector_at(url, token_file) as remote:
        yield remote, remote.find(which)


def _tell(found: dict[str, Any], json_output: bool, done: str, **more: Any) -> None:
    """Print what was done with a task."""
    if json_output:
        print_json({"id": found["id"], "name": found["name"], **more})
        return
    tell(done.format(task=f"{found['name']} ({found['id'][:12]})"))


def _read(file: Path, now: float) -> TaskFile:
    """Return what a file declares; errors name the file."""
    from deniable.collect.tasks.task_file import read_task_file

    try:
        return read_task_file(file.read_bytes(), key=NO_KEY, now=now)
    except (ParameterError, DomainError) as error:
        where, received = ("FILE", str(file)) if error.parameter == "file" else (f"{file}, {error.parameter}", error.received)
        raise ParameterError(where.removesuffix(", task"), received, allowed=error.allowed, fix=error.fix) from error


def _earlier(against: str, url: str, now: float) -> Task:
    if Path(against).exists():
        return _read(Path(against), now).task
    if not re.fullmatch(r"[0-9a-f]{64}", against):
        raise ParameterError("--against", against, allowed="an existing file, or a task's id of 64 digits", fix="see: deniable task list")
    with collector_at(url) as remote:
        earlier = _verified(remote.call("GET", f"/v1/tasks/{against}"))
    if earlier.id.hex() != against:
        raise WireError(
            "task", earlier.id.hex(), allowed=f"the task {against}", fix="check --url: this collector answers with another task"
        )
    return earlier


def _verified(answer: Any) -> Task:
    """Return the task in a collector's answer, if its signature is valid."""
    try:
        canonical, signature = answer["task"].encode(), bytes.fromhex(answer["signature"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise WireError("answer", answer, allowed="a task and its signature", fix="check the address") from error
    published = Task.from_json(canonical)
    if not verify(published.key, TASK_CONTEXT + canonical, signature):
        raise WireError(
            "signature",
            signature.hex(),
            allowed="a signature under the task's key",
            fix="ask the operator: the answer was changed on its way, or by the collector",
        )
    return published
