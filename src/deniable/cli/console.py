"""What the commands share: where to print, how to fail, how to choose a mechanism by name.

People's answers are printed as they are: no markup is read in them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from deniable.client.frequency import FrequencySpec
from deniable.contract.domain import Categories
from deniable.contract.spec import MECHANISMS
from deniable.errors import DeniableError

if TYPE_CHECKING:
    from deniable.core.frequency import FrequencyEstimate

out = Console(markup=False, highlight=False, emoji=False)
err = Console(markup=False, highlight=False, emoji=False, stderr=True)
Mechanism = StrEnum("Mechanism", [(name, name) for name in sorted(MECHANISMS)])  # type: ignore[misc]  # the registry decides, at run time
Choice = StrEnum("Choice", [(name, name) for name in ("auto", *sorted(MECHANISMS))])  # type: ignore[misc]  # the registry decides

AUTO = Choice("auto")


def oracle_for(choice: str, domain: Categories, epsilon: float) -> FrequencySpec:
    """The mechanism that was named, or the one with the smallest predicted error."""
    name = str(choice)
    if name == "auto":
        from deniable.local.choose import frequency_oracle  # heavy, and a collector starts without it

        return frequency_oracle(domain=domain, epsilon=epsilon).spec
    cls: Any = MECHANISMS[name]
    spec: FrequencySpec = cls(domain=domain, epsilon=epsilon)
    return spec


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn deniable's and the file system's errors into one line and exit status 2; all else is a bug and keeps its traceback."""
    try:
        yield
    except (DeniableError, OSError) as error:
        err.print(Text.assemble((type(error).__name__, "bold red"), f": {error}"), soft_wrap=True)
        raise typer.Exit(2) from error


@contextmanager
def progress_bar(what: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on standard error, so that results can be piped."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=err, disable=quiet) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)


def print_json(content: dict[str, Any]) -> None:
    """Machine-readable results on standard output."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


def result_table(estimate: FrequencyEstimate, truth: dict[Any, int]) -> Table:
    """Truth, estimate and interval side by side; rows that were picked out of more get intervals that hold for all."""
    table = Table(title=f"{estimate.n:,} reports, {estimate.spec.mechanism}, epsilon = {estimate.spec.epsilon:.4g}", title_justify="left")
    for name in ("value", "truth", "estimate", "± std. err.", "from", "to"):
        table.add_column(name, justify="left" if name == "value" else "right")
    low, high = estimate.interval(0.95, simultaneous=estimate.picked)
    for i, value in enumerate(estimate.values):
        shown = str(value) if str(value).isprintable() else repr(value)
        table.add_row(shown, *(f"{number:,.0f}" for number in (truth[value], estimate.counts[i], estimate.stderr[i], low[i], high[i])))
    if estimate.picked:
        table.caption = f"the largest {len(estimate.values):,} of {estimate.family_size:,} values; 95 % intervals for all of them together"
    else:
        table.caption = "95 % interval of each value"
    return table


def result_rows(estimate: FrequencyEstimate, truth: dict[Any, int]) -> dict[str, Any]:
    """The same as data."""
    low, high = estimate.interval(0.95, simultaneous=estimate.picked)
    columns = {"estimate": estimate.counts, "stderr": estimate.stderr, "low": low, "high": high}
    rows = [
        {"value": value, "truth": int(truth[value]), **{name: round(float(column[i]), 3) for name, column in columns.items()}}
        for i, value in enumerate(estimate.values)
    ]
    return {"values": estimate.family_size, "interval": "95 %, simultaneous" if estimate.picked else "95 %", "result": rows}
