"""``deniable lab``: experiments on populations whose true answers are known, ours and your own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable.cli.console import out, print_json, progress_bar, remark, table, tell, working
from deniable.cli.options import Json

if TYPE_CHECKING:
    from deniable.lab.experiment import Experiment
    from deniable.lab.results import Results

lab = typer.Typer(no_args_is_help=True, help="Try mechanisms on populations whose true answers are known.")


@lab.command("list")
def list_experiments(json_output: Json = False) -> None:
    """List the experiments that come with deniable."""
    from deniable.lab.experiments import shipped

    with working("reading the experiments"):
        known = shipped()
    if json_output:
        print_json({"experiments": [_content(experiment) for experiment in known.values()]})
        return
    caption = "its finding: deniable lab show NAME; to run it: deniable lab run NAME --out FOLDER"
    rows = table("Experiments", ("name", "question", "cells"), words=("question",), whole=("name",), caption=caption)
    for name, experiment in known.items():
        rows.add_row(name, experiment.question, f"{experiment.size:,}")
    out.print(rows)


Which = Annotated[
    str, typer.Argument(metavar="EXPERIMENT", help="An experiment by name (deniable lab list), or a .toml file with your own.")
]


@lab.command()
def show(name: Which, json_output: Json = False) -> None:
    """Show an experiment: its question, its finding, and what it varies."""
    experiment = _named(name)
    if json_output:
        print_json(_content(experiment))
        return
    for text in (experiment.question, experiment.found):
        if text:
            tell(text)
    rows = table("", (experiment.name, experiment.title), words=(experiment.title,))
    for label, cells in _content(experiment).items():
        if isinstance(cells, list):
            rows.add_row(label, "\n".join(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells))
    rows.add_row("repetitions", f"{experiment.repetitions:,}")
    rows.add_row("cells", f"{experiment.size:,}")
    out.print(rows)
    tell(f"to run it: deniable lab run {name} --out results")


@lab.command()
def run(
    name: Which,
    folder: Annotated[Path, typer.Option("--out", help="A folder for results and charts; run the command again to continue.")],
    repetitions: Annotated[
        int | None, typer.Option(help="How often to repeat each combination, instead of the number in the experiment.", min=1)
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Take a first look: two repetitions, the smallest crowd.")] = False,
    workers: Annotated[int | None, typer.Option(help="How many processes; one per core if left out.", min=1)] = None,
    json_output: Json = False,
) -> None:
    """Run an experiment: writes every measurement to a Parquet file, draws a chart, and prints the means."""
    from deniable.lab.runner import results_path
    from deniable.lab.runner import run as run_experiment

    experiment = _named(name)
    experiment = experiment.quick() if quick else experiment
    experiment = experiment if repetitions is None else replace(experiment, repetitions=repetitions)
    folder.mkdir(parents=True, exist_ok=True)  # first: a folder that cannot be written to should cost no work
    try:
        with progress_bar(experiment.name, quiet=json_output) as progress:
            results = run_experiment(experiment, folder, workers=workers, progress=progress)
    except KeyboardInterrupt:
        remark("Finished measurements are kept: run the same command to continue.")
        raise
    chart = folder / f"{experiment.name}.svg"
    files = [results_path(experiment, folder), chart]
    with working("drawing"):
        results.chart().save(chart)
        if experiment.example is not None:
            files.append(folder / f"{experiment.name}-example.svg")
            experiment.example().save(files[-1])
    if json_output:
        summary = [{name: _finite(cell) for name, cell in row.items()} for row in results.summary().to_dicts()]
        run_of = {"cells": len(experiment.cells), "left_out": list(experiment.left_out), "summary": summary}
        print_json(_content(experiment) | run_of | {"files": [str(file) for file in files]})
        return
    _print(experiment, results)
    for reason in experiment.left_out:
        tell(f"left out: {reason}")
    drawn = "chart" if len(files) == 2 else "charts"
    tell(f"Measurements: {files[0]}, {drawn}: {', '.join(map(str, files[1:]))}")


def _named(name: str) -> Experiment:
    """Return the experiment of a name or of a file."""
    from deniable.lab.declared import experiment_from_toml
    from deniable.lab.experiments import experiment as shipped_experiment

    return experiment_from_toml(name) if name.endswith(".toml") else shipped_experiment(name)


def _print(experiment: Experiment, results: Results) -> None:
    """Print the first metric, one table per crowd; the file has the rest."""
    import polars as pl

    metric = experiment.metrics[0]
    summary = results.summary().filter(pl.col("metric") == metric)
    other = "n" if experiment.against == "epsilon" else "epsilon"
    for (population, fixed), rows in summary.group_by("population", other, maintain_order=True):
        fixed_at = f"{other} = {fixed:,}" if other == "n" else f"{other} = {fixed:g}"
        places = rows[experiment.against].unique(maintain_order=True).to_list()
        means_of = table(
            f"{metric} on {population}, {fixed_at}", (f"mechanism \\ {experiment.against}", *(f"{place:,}" for place in places))
        )
        for (mechanism,), line in rows.group_by("mechanism", maintain_order=True):
            means = dict(zip(line[experiment.against].to_list(), line["mean"].to_list(), strict=True))
            means_of.add_row(str(mechanism), *(_text(means.get(place)) for place in places))
        out.print(means_of)


def _content(experiment: Experiment) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "title": experiment.title,
        "question": experiment.question,
        "found": experiment.found,
        "populations": [population.describe() for population in experiment.populations],
        "mechanisms": [method.label for method in experiment.mechanisms],
        "epsilons": list(experiment.epsilons),
        "people": list(experiment.people),
        "repetitions": experiment.repetitions,
        "metrics": list(experiment.metrics),
        "cells": experiment.size,
    }


def _finite(cell: Any) -> Any:
    """Return a cell for JSON, which has no infinity."""
    return None if isinstance(cell, float) and not abs(cell) < float("inf") else cell


def _text(mean: float | None) -> str:
    if mean is None:
        return ""
    return f"{mean:,.0f}" if abs(mean) >= 1000 else f"{mean:.3g}"
