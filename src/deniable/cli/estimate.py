"""``deniable estimate``: what the collected reports say, and whether anything has changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode

import typer

from deniable.cli.answer_tables import print_answer
from deniable.cli.console import print_json, working
from deniable.cli.exits import CHANGED
from deniable.cli.options import Chart, Json, Period, Strata, TokenFile, Top, Url, read_labels
from deniable.cli.remote import collector_at
from deniable.cli.tally_file import ENDING, CandidateFile, read_tally
from deniable.errors import ParameterError

OtherStrata = Annotated[list[str] | None, typer.Option("--compare-stratum", help="Compare with these people instead.")]


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
    top: Top = 20,
    chart: Chart = None,
    file: Annotated[Path | None, typer.Option("--out", help="Save all values: .parquet or .json.")] = None,
    candidates: CandidateFile = None,
    url: Url = "",
    token_file: TokenFile = None,
    json_output: Json = False,
) -> None:
    """Show what a task's reports say, or what changed between two periods or groups of people; or what a file of deniable tally says.

    The exit status can raise an alarm. It is 3 if some value changed, at level alpha, with --compare-period or --compare-stratum, 4 if
    there are fewer reports than the task shows, 2 after any other error, and else 0.
    """
    from deniable.collect.analysis.answer import parquet_of

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
        with working("estimating"):
            content = read_tally(Path(which), candidates)
    elif candidates is not None:
        raise ParameterError("--candidates", str(candidates), allowed="none beside a task, which has its own", fix="leave it out")
    else:
        with collector_at(url, token_file) as remote:
            content = remote.call("GET", f"/v1/tasks/{remote.find(which)['id']}/{what}?{urlencode(query)}")
    if file is not None:
        file.write_bytes(parquet_of(content) if file.suffix.lower() == ".parquet" else json.dumps(content, indent=2).encode())
    if chart is not None:
        with working("drawing"):
            save_charts(content, top, chart)
    if json_output:
        print_json(content)
    else:
        print_answer(content, top)
    if content.get("changed"):
        raise typer.Exit(CHANGED)


def save_charts(content: dict[str, Any], top: int, file: Path) -> None:
    """Draw all that has a chart, one below the other."""
    from deniable.collect.analysis.presentation import charts_of
    from deniable.core.chart import stacked

    charts = list(charts_of(content, top).values())
    if not charts:
        raise ParameterError("--chart", str(file), allowed="a result that has a chart", fix="--out saves its table")
    stacked(charts).save(file)


def check_endings(chart: Path | None, file: Path | None) -> None:
    """Refuse files that cannot be written, before anything is asked."""
    from deniable.core.chart import check_ending

    if chart is not None:
        check_ending(chart)
    if file is not None and file.suffix.lower() not in (".parquet", ".json"):
        raise ParameterError("--out", str(file), allowed="a name that ends in .parquet or .json", fix="rename it")


def _labels(name: str, labels: dict[str, str]) -> list[tuple[str, str]]:
    return [(name, f"{stratum}:{label}") for stratum, label in labels.items()]
