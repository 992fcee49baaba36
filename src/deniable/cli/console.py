"""What the commands share: where to print, how to fail, how to choose a mechanism by name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from math import exp
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from deniable.client import GRR, OLH, OUE, RR
from deniable.client.frequency import FrequencySpec
from deniable.contract.domain import Categories
from deniable.core.frequency import FrequencyEstimate
from deniable.errors import DeniableError

out = Console()
err = Console(stderr=True)


class Mechanism(StrEnum):
    """The mechanisms that can be asked for by name."""

    AUTO = "auto"
    RR = "RR"
    GRR = "GRR"
    OUE = "OUE"
    OLH = "OLH"


def oracle_for(mechanism: Mechanism, domain: Categories, epsilon: float) -> FrequencySpec:
    """The mechanism that was named, or the usual choice: GRR while the domain is small, then OUE, then OLH."""
    if mechanism is Mechanism.AUTO:
        small = domain.size < 3 * exp(min(epsilon, 20.0)) + 2  # where GRR's variance crosses OUE's
        mechanism = Mechanism.GRR if small else Mechanism.OUE if domain.size <= 4096 else Mechanism.OLH
    oracles: dict[Mechanism, type[FrequencySpec]] = {Mechanism.RR: RR, Mechanism.GRR: GRR, Mechanism.OUE: OUE, Mechanism.OLH: OLH}
    return oracles[mechanism](domain=domain, epsilon=epsilon)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn deniable's errors into one red line and exit status 2; everything else is a bug and keeps its traceback."""
    try:
        yield
    except DeniableError as error:
        err.print(f"[bold red]{type(error).__name__}[/]: {error}", highlight=False, soft_wrap=True)
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
    """Truth, estimate and interval side by side."""
    table = Table(title=estimate.headline(), title_justify="left")
    for name in ("value", "truth", "estimate", "± std. err.", "95 % interval"):
        table.add_column(name, justify="left" if name == "value" else "right")
    low, high = estimate.interval(0.95)
    for i, value in enumerate(estimate.values):
        limits = f"{low[i]:,.0f} to {high[i]:,.0f}"
        table.add_row(str(value), f"{truth[value]:,}", f"{estimate.counts[i]:,.0f}", f"{estimate.stderr[i]:,.0f}", limits)
    return table


def result_rows(estimate: FrequencyEstimate, truth: dict[Any, int]) -> list[dict[str, Any]]:
    """The same as data."""
    low, high = estimate.interval(0.95)
    return [
        {
            "value": value,
            "truth": int(truth[value]),
            "estimate": round(float(estimate.counts[i]), 3),
            "stderr": round(float(estimate.stderr[i]), 3),
            "low": round(float(low[i]), 3),
            "high": round(float(high[i]), 3),
        }
        for i, value in enumerate(estimate.values)
    ]
