"""What the commands print, in one look: results on standard output, remarks and progress on standard error.

People's answers are printed as they are: no markup is read in them.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from deniable.collect.tasks.spans import until

QUIET_SECONDS = 1.0
LEVELS = {"strong": "green", "moderate": "cyan", "weak": "yellow", "very weak": "bold red", "none": "bold red"}
"""The colors of verdicts, which say the same in words."""
out = Console(markup=False, highlight=False, emoji=False)
err = Console(markup=False, highlight=False, emoji=False, stderr=True)


def tell(text: str, style: str = "") -> None:
    """A result in words."""
    _print(out, text, style)


def remark(text: str) -> None:
    """What is worth knowing beside the result."""
    _print(err, text)


def _print(console: Console, text: str, style: str = "") -> None:
    """Screens get whole words; pipes and files get whole lines, and so does what would be torn apart otherwise, such as a long path."""
    whole = not console.is_terminal or any(len(word) > console.width for word in text.split())
    console.print(text, style=style or None, soft_wrap=whole)


def table(title: str, names: Iterable[str], *, words: Iterable[str] = (), whole: Iterable[str] = (), caption: str = "") -> Table:
    """An empty table; columns of numbers are aligned on the right, the first and those that hold ``words`` on the left.

    What stands in the ``whole`` columns is never broken into lines: people copy it.
    """
    made = Table(title=title or None, title_justify="left", caption=caption or None, caption_justify="left")
    left, unbroken = set(words), set(whole)
    for place, name in enumerate(names):
        made.add_column(name, justify="left" if place == 0 or name in left else "right", no_wrap=name in unbroken)
    return made


def shown(value: Any) -> str:
    """A value as people wrote it, unless that would garble the screen."""
    return str(value) if str(value).isprintable() else repr(value)


def print_json(content: dict[str, Any]) -> None:
    """Machine-readable results: one document on standard output."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


@contextmanager
def progress_bar(what: str, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """How much of it is done; where nobody looks, one line at the end, or none if ``quiet``."""
    with _progress(MofNCompleteColumn(), disable=quiet and not err.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def working(what: str) -> Iterator[None]:
    """The same where nobody knows how much is left: on a screen alone, and gone when it is over."""
    with _progress(disable=not err.is_terminal, transient=True) as progress:
        progress.add_task(what, total=None)
        yield


@contextmanager
def waiting(what: str, seconds: float) -> Iterator[None]:
    """Say what is waited for and until when: at once on a screen, elsewhere as soon as it takes longer than a second."""
    text = f"waiting for {what}, until {until(seconds)} at the latest"
    late = threading.Timer(QUIET_SECONDS, lambda: None if err.is_terminal else remark(text))
    late.daemon = True
    late.start()
    try:
        with working(text):
            yield
    finally:
        late.cancel()


@contextmanager
def _progress(*more: ProgressColumn, disable: bool, transient: bool = False) -> Iterator[Progress]:
    columns = TextColumn("{task.description}"), BarColumn(), *more, TimeElapsedColumn()
    shown_already = bool(_SHOWN)  # a step of something whose progress is on the screen shows none of its own
    made = Progress(
        *columns, console=err, redirect_stdout=False, redirect_stderr=False, disable=disable or shown_already, transient=transient
    )
    _SHOWN.append(made)
    try:
        with made:
            yield made
    finally:
        _SHOWN.remove(made)


_SHOWN: list[Progress] = []
