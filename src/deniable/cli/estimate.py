"""``deniable estimate``: estimates from collected reports, and whether anything changed."""

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

OtherStrata = Annotated[list[str] | None, typer.Option("--compare-stratum", help="Compare with this stratum, as in platform=web.")]


def estimate(
    which: Annotated[str, typer.Argument(metavar="TASK", help="A task by id, its first six or more digits, or name; or a .tally file.")],
    period: Period = "all",
    stratum: Strata = None,
    compare_period: Annotated[str | None, typer.Option(help="Compare with these periods.")] = None,
    compare_stratum: OtherStrata = None,
    alpha: Annotated[float, typer.Option(help="The false-positive rate, for all values and questions together.")] = 0.05,
    integrity: Annotated[bool, typer.Option("--integrity", help="Also test for false reports; this takes longer.")] = False,
    top: Top = 20,
    chart: Chart = None,
    file: Annotated[Path | None, typer.Option("--out", help="Save all values: .parquet or .json.")] = None,
    candidates: CandidateFile = None,
    url: Url = "",
    token_file: TokenFile = None,
    json_output: Json = False,
) -> None:
    """Show a task's estimates, or what changed between two periods or strata, or the estimate in a file from deniable tally.

    Use the exit status for alarms: 3 if some value changed at level alpha (with --compare-period or --compare-stratum), 4 with fewer
    reports than the task's minimum batch, 2 after any other error, and 0 otherwise.
    """
    from deniable.collect.analysis.answer import parquet_of

    check_endings(chart, file)
    query: list[tuple[str, str]]
    if compare_period is None and not compare_stratum:
        what, query = "estimate", [("period", period), *_labels("stratum", read_labels(stratum))]
        query += [("integrity", "true")] if integrity else []
    else:
        if integrity:
            raise ParameterError("--integrity", True, allowed="one selection", fix="leave it out, or test each side on its own")
        first = read_labels(stratum)
        second = first | read_labels(compare_stratum)
        what, query = "compare", [("first", period), ("second", compare_period or period), ("alpha", repr(alpha))]
        query += [*_labels("stratum_first", first), *_labels("stratum_second", second)]
    if which.endswith(ENDING):
        if query != [("period", "all")]:
            raise ParameterError(
                "TASK", which, allowed="a task; a .tally file is one total", fix="leave out periods, strata and comparisons"
            )
        with working("estimating"):
            content = read_tally(Path(which), candidates)
    elif candidates is not None:
        raise ParameterError("--candidates", str(candidates), allowed="no list, since the task has its own", fix="leave it out")
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
    """Save the charts of all estimates, one below the other."""
    from deniable.collect.analysis.presentation import charts_of
    from deniable.core.chart import stacked

    charts = list(charts_of(content, top).values())
    if not charts:
        raise ParameterError("--chart", str(file), allowed="a result with a chart", fix="save its table instead: --out")
    stacked(charts).save(file)


def check_endings(chart: Path | None, file: Path | None) -> None:
    """Raise unless these files can be written, before any request."""
    from deniable.core.chart import check_ending

    if chart is not None:
        check_ending(chart)
    if file is not None and file.suffix.lower() not in (".parquet", ".json"):
        raise ParameterError("--out", str(file), allowed="a name that ends in .parquet or .json", fix="rename it")


def _labels(name: str, labels: dict[str, str]) -> list[tuple[str, str]]:
    return [(name, f"{stratum}:{label}") for stratum, label in labels.items()]
