"""The figures of the experiments that ship: what ``deniable lab run NAME`` draws, with the number of runs that is stated here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from tempfile import TemporaryDirectory

from figure_frame import Recipe

from deniable.cli.console import progress_bar
from deniable.core.chart import Chart
from deniable.lab.experiment import Experiment
from deniable.lab.experiments import shipped
from deniable.lab.runner import run

RUNS = {
    "apple-sketch": 2,
    "change-detection": 10,
    "expected-change": 10,
    "heavy-hitters-shootout": 6,
    "itemsets-shootout": 8,
    "linkability": 10,
    "next-words": 4,
    "oracle-shootout": 10,
    "pem-allocation": 60,
    "pem-distributions": 40,
    "pem-modules": 40,
    "pem-population-size": 20,
    "places": 4,
    "range-queries": 10,
    "rounds-tradeoff": 15,
    "table-marginals": 6,
    "word-topics": 4,
}
"""Experiments whose figure has fewer runs than they declare, so that all figures take minutes."""


def figured(name: str) -> Experiment:
    """A shipped experiment as its figure shows it."""
    declared = shipped()[name]
    return replace(declared, repetitions=RUNS.get(name, declared.repetitions))


def drawn(name: str) -> Chart:
    """Run all of it anew: what was measured before may come from other code."""
    with TemporaryDirectory() as folder, progress_bar(name, quiet=False) as progress:
        return run(figured(name), folder, progress=progress).chart()


def _recipes() -> Iterator[tuple[str, Recipe]]:
    for name, experiment in shipped().items():
        yield f"lab-{name}", partial(drawn, name)
        if experiment.example is not None:
            yield f"lab-{name}-example", experiment.example


FIGURES: dict[str, Recipe] = dict(_recipes())
