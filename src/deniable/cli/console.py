"""How commands print: results on standard output, remarks and progress on standard error.

Answers are printed as they are, without reading markup in them.
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
"""The colors of verdicts; their words say the same."""
out = Console(markup=False, highlight=False, emoji=False)
err = Console(markup=False, highlight=False, emoji=False, stderr=True)


def tell(text: str, style: str = "") -> None:
    """Print a result in words."""
    _print(out, text, style)


def remark(text: str) -> None:
    """Print a remark, which is not part of the result."""
    _print(err, text)


def _print(console: Console, text: str, style: str = "") -> None:
    """Print whole words on screens, and whole lines elsewhere or around a word too long for the screen, such as a path."""
    whole = not console.is_terminal or any(len(word) > console.width for word in text.split())
    console.print(text, style=style or None, soft_wrap=whole)


def table(title: str, names: Iterable[str], *, words: Iterable[str] = (), whole: Iterable[str] = (), caption: str = "") -> Table:
    """Return an empty table; the first column and those of ``words`` are aligned on the left, columns of numbers on the right.

    Cells of ``whole`` columns are never broken into lines, so that people can copy them.
    """
    made = Table(title=title or None, title_justify="left", caption=caption or None, caption_justify="left")
    left, unbroken = set(words), set(whole)
    for place, name in enumerate(names):
        made.add_column(name, justify="left" if place == 0 or name in left else "right", no_wrap=name in unbroken)
    return made


def shown(value: Any) -> str:
    """Return a value as people wrote it, unless that would garble the screen."""
    return str(value) if str(value).isprintable() else repr(value)


def print_json(content: dict[str, Any]) -> None:
    """Print a result for programs: one JSON document on standard output."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


@contextmanager
def progress_bar(what: str, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Show how much is done; without a screen, one line at the end, or none if ``quiet``."""
    with _progress(MofNCompleteColumn(), disable=quiet and not err.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show that something is running, on a screen only, and clear it at the end."""
    with _progress(disable=not err.is_terminal, transient=True) as progress:
        progress.add_task(what, total=None)
        yield


@contextmanager
def waiting(what: str, seconds: float) -> Iterator[None]:
    """Show what the command waits for and until when: at once on a screen, elsewhere after a second."""
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
    shown_already = bool(_SHOWN)  # a step of something that shows its progress shows none of its own
    made = Progress(
        *columns, console=err, redirect_stdout=False, redirect_stderr=False, disable=disable or shown_already, transient=transient
    )
    _SHOWN.append(made)
    try:
        with made:
            try:
                yield made
            except BaseException:
                made.live.transient = True  # an error is one line: no bar that stopped halfway above it
                raise
    finally:
        _SHOWN.remove(made)


_SHOWN: list[Progress] = []
