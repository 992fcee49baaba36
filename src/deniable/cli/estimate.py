"""``deniable estimate``: what the collected reports say, and whether anything has changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import typer
from rich.table import Table
from rich.text import Text

from deniable.cli.console import err, out, print_json
from deniable.cli.remote import RefusedError, TokenFile, Url, collector_at
from deniable.cli.tally_file import ENDING, CandidateFile, read_tally
from deniable.collect.analysis.answer import charts_of, parquet_of, picked_rows
from deniable.collect.analysis.manner import headline
from deniable.collect.analysis.mixed import in_words
from deniable.collect.analysis.number_table import NumberTable, changes_table, estimate_table
from deniable.collect.analysis.table_text import table_text
from deniable.collect.analysis.tables import TABLE
from deniable.contract.canonical import from_plain
from deniable.core.chart import check_ending, stacked
from deniable.errors import DeniableError, ParameterError

CHANGED, TOO_FEW, FAILED = 3, 4, 2
"""The exit statuses that an alarm can look at, apart from 0; an error has the status that it has everywhere."""
Strata = Annotated[list[str] | None, typer.Option("--stratum", help="Only these people, as in platform=phone; say it again for more.")]
OtherStrata = Annotated[list[str] | None, typer.Option("--compare-stratum", help="Compare with these people instead.")]
Period = Annotated[str, typer.Option("--period", help="all, 3, 0-6, 2026-12-03 or 2026-12-01..2026-12-07; times are UTC.")]


def estimate(
    which: Annotated[
        str, typer.Argument(metavar="TASK", help="A task: its id, the first six digits of it or more, or its name; or a .tally file.")
    ],
    period: Period = "all",
    stratum: Strata = None,
    compare_period: Annotated[str | None, typer.Option(help="Compare with these periods.")] = None,
    compare_stratum: OtherStrata = None,
    alpha: Annotated[float, typer.Option(help="The chance of a false alarm, for all values and questions together.")] = 0.05,
    integrity: Annotated[bool, typer.Option("--integrity", help="Test as well whether reports were made up; takes longer.")] = False,
    top: Annotated[int, typer.Option(help="How many values to show of each question; files have them all.", min=1)] = 20,
    chart: Annotated[Path | None, typer.Option(help="Save a chart: .svg, .png, .html or .json.")] = None,
    file: Annotated[Path | None, typer.Option("--out", help="Save all values: .parquet or .json.")] = None,
    json_output: Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")] = False,
    candidates: CandidateFile = None,
    url: Url = "",
    token_file: TokenFile = None,
) -> None:
    """Show what a task's reports say, or what changed between two periods or groups of people; or what a file of deniable tally says.

    The exit status can raise an alarm:
    0: all is well, nothing changed.
    3: some value changed, at level alpha, with --compare-period or --compare-stratum.
    4: there are fewer reports than the task shows.
    2: any other error.
    """
    with exit_statuses():
        check_endings(chart, file)
        query: list[tuple[str, str]]
        if compare_period is None and not compare_stratum:
            what, query = "estimate", [("period", period), *_labels("stratum", read_labels(stratum))]
            query += [("integrity", "true")] if integrity else []
        else:
            if integrity:
                raise ParameterError("--integrity", True, allowed="one selection", fix="leave it out, or ask about each side by itself")
            first = read_labels(stratum)
            second = first | read_labels(compare_stratum)
            what, query = "compare", [("first", period), ("second", compare_period or period), ("alpha", repr(alpha))]
            query += [*_labels("stratum_first", first), *_labels("stratum_second", second)]
        if which.endswith(ENDING):
            if query != [("period", "all")]:
                raise ParameterError("TASK", which, allowed="a tally as a whole", fix="leave out periods, strata and comparisons")
            content = read_tally(Path(which), candidates)
        elif candidates is not None:
            raise ParameterError("--candidates", str(candidates), allowed="none beside a task, which has its own", fix="leave it out")
        else:
            with collector_at(url, token_file) as remote:
                content = remote.call("GET", f"/v1/tasks/{remote.find(which)['id']}/{what}?{urlencode(query)}")
        if file is not None:
            file.write_bytes(parquet_of(content) if file.suffix.lower() == ".parquet" else json.dumps(content, indent=2).encode())
        if chart is not None:
            save_charts(content, top, chart)
        if json_output:
            print_json(content)
        else:
            print_answer(content, top)
        if content.get("changed"):
            raise typer.Exit(CHANGED)


@contextmanager
def exit_statuses() -> Iterator[None]:
    """Turn errors into one line and the exit status that stands for them."""
    try:
        yield
    except (DeniableError, OSError) as error:
        err.print(Text.assemble((type(error).__name__, "bold red"), f": {error}"), soft_wrap=True)
        raise typer.Exit(TOO_FEW if isinstance(error, RefusedError) and error.code == "too_few" else FAILED) from error


def save_charts(content: dict[str, Any], top: int, file: Path) -> None:
    """Draw all that has a chart, one below the other."""
    charts = list(charts_of(content, top).values())
    if not charts:
        raise ParameterError("--chart", str(file), allowed="a result that has a chart", fix="--out saves its table")
    stacked(charts).save(file)


def check_endings(chart: Path | None, file: Path | None) -> None:
    """Refuse files that cannot be written, before anything is asked."""
    if chart is not None:
        check_ending(chart)
    if file is not None and file.suffix.lower() not in (".parquet", ".json"):
        raise ParameterError("--out", str(file), allowed="a name that ends in .parquet or .json", fix="rename it")


def read_labels(texts: list[str] | None) -> dict[str, str]:
    """Labels by name behind texts like platform=phone."""
    labels: dict[str, str] = {}
    for text in texts or []:
        name, sign, label = text.partition("=")
        if not (name and sign and label) or name in labels:
            raise ParameterError("--stratum", text, allowed="name=label, each name once", fix="as in --stratum platform=phone")
        labels[name] = label
    return labels


def _labels(name: str, labels: dict[str, str]) -> list[tuple[str, str]]:
    return [(name, f"{stratum}:{label}") for stratum, label in labels.items()]


def print_answer(content: dict[str, Any], top: int) -> None:
    """What a collector or an open folder says, as tables."""
    out.print(f"{content['name']}: {content['question']}", soft_wrap=True)
    for answer in content["answers"]:
        if answer.get("kind") == TABLE:
            _print_result(answer, top)
        else:
            out.print(_changes_table(answer, top) if "alpha" in answer else _estimate_table(answer, top))
    promise = next((answer["guarantee"] for answer in content["answers"] if "guarantee" in answer), None)
    if promise is not None:
        out.print(f"promise: about {promise['neighbors']}; it holds for {promise['unit']}", soft_wrap=True)
    if "changed" in content:
        named = ", ".join(f"{entry['question']}: {_text(from_plain(entry['value']))}" for entry in content["changed"])
        out.print(f"changed at alpha = {content['alpha']:g}: {named or 'nothing'}", soft_wrap=True)
    if "shuffle" in content:
        out.print(in_words(content["shuffle"]), soft_wrap=True)
    for each in content.get("integrity", ()):
        told = [test["what"] for test in each["tests"] if test["test"] in each["suspicious"]]
        verdict = (
            f"some were made up: {'; '.join(told)}" if told else "nothing that honest reports do not show" if each["tests"] else "no test"
        )
        out.print(f"{each['question']}, {each['n']:,} reports: {verdict}", soft_wrap=True)
    if content["withheld"]:
        out.print(f"withheld, with fewer than {content['minimum_batch']:,} reports: {', '.join(content['withheld'])}", soft_wrap=True)
    if content["provisional"]:
        out.print("provisional: a period is still open, and more reports may come")


def _print_result(answer: dict[str, Any], top: int) -> None:
    """A result of a protocol: the table that it makes of itself, which may be narrower than what there is to say about it."""
    told = table_text(answer, top)
    table = _table("", told.names)
    for line in told.lines:
        table.add_row(*line)
    out.print(headline(answer), soft_wrap=True)
    out.print(table)
    out.print(told.caption, soft_wrap=True)


def _estimate_table(answer: dict[str, Any], top: int) -> Table:
    if "kind" in answer:
        return _number_table(answer, estimate_table(answer))
    rows = picked_rows(answer, top)
    table = _table(headline(answer), ("value", "estimate", "± std. err.", "from", "to", "share"))
    for row in rows:
        numbers = (f"{row[name]:,.0f}" for name in ("count", "stderr", "low", "high"))
        table.add_row(_text(row["value"]), *numbers, f"{row['frequency']:.2%}")
    if len(rows) < answer["values"]:
        table.caption = f"the largest {len(rows):,} of {answer['values']:,} values; 95 % intervals for all of them together"
    else:
        table.caption = "95 % interval of each value"
    return table


def _changes_table(answer: dict[str, Any], top: int) -> Table:
    if "kind" in answer:
        return _number_table(answer, changes_table(answer))
    rows = picked_rows(answer, top)
    table = _table(headline(answer), ("value", "before", "after", "change", "from", "to", "adjusted p"))
    for row in rows:
        shares = (f"{row[name]:.2%}" for name in ("before", "after"))
        changes = (f"{row[name]:+.2%}" for name in ("change", "low", "high"))
        style = "bold red" if row["changed"] else None
        table.add_row(_text(row["value"]), *shares, *changes, f"{row['p_adjusted']:.2g}", style=style)
    shown = f"the clearest {len(rows):,} of {answer['values']:,} values; " if len(rows) < answer["values"] else ""
    table.caption = f"{shown}{100 * (1 - answer['alpha']):.4g} % intervals and p for all values together"
    return table


def _number_table(answer: dict[str, Any], told: NumberTable) -> Table:
    table = _table(headline(answer), told.names)
    for line in told.lines:
        table.add_row(*line, style="bold red" if told.changed else None)
    table.caption = told.caption
    return table


def _table(title: str, names: tuple[str, ...]) -> Table:
    table = Table(title=title or None, title_justify="left", caption_justify="left")
    for name in names:
        table.add_column(name, justify="left" if name == "value" else "right")
    return table


def _text(value: Any) -> str:
    return str(value) if str(value).isprintable() else repr(value)
