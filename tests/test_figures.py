"""The figures of the docs: every file has one recipe and a page that shows it; pages say how often was run what they show."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from deniable.lab.experiments import shipped
from tests.conftest import ROOT

FIGURES = ROOT / "docs" / "figures"


def numbers(figure):
    """What an SVG says of each bar, line and point: their numbers, whatever version of a drawing library put them where."""
    return [html.unescape(label).replace("\u2212", "-") for label in re.findall(r'aria-label="([^"]*)"', figure.read_text())]


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts" / "figures")
    return import_module


def test_every_file_has_one_recipe_and_is_shown_on_a_page(script, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts" / "docs")
    docs_site = import_module("docs_site")
    files = {path.name for path in FIGURES.iterdir()}
    assert {f"{name}.svg" for name in script("make_figures").recipes()} == files
    pages = [*(path.read_text() for path in (ROOT / "docs").rglob("*.md")), docs_site.experiments()]
    assert {name for page in pages for name in re.findall(r"\]\((?:\.\./)?figures/([^)]+)\)", page)} == files


def test_two_recipes_for_one_file_are_refused(script, monkeypatch):
    figures = script("make_figures")
    monkeypatch.setattr(figures, "GROUPS", (*figures.GROUPS, {"oue": figures.GROUPS[0]["words"]}))
    with pytest.raises(ValueError, match="more than one recipe for oue"):
        figures.recipes()


def test_a_figure_says_how_often_the_experiment_was_run(script):
    experiments = script("figures_of_experiments")
    assert list(experiments.RUNS) == sorted(experiments.RUNS.keys() & shipped().keys())
    for name, experiment in shipped().items():
        runs = experiments.figured(name).repetitions
        assert runs < experiment.repetitions or name not in experiments.RUNS
        assert f"points: means of {runs} runs ± 1.96 standard errors" in (FIGURES / f"lab-{name}.svg").read_text(), (name, runs)


@pytest.mark.parametrize("name", shipped())
def test_a_point_of_an_experiments_figure_is_what_the_code_finds_now(script, name):
    """The first mechanism on the smallest crowd, so that a figure that no longer shows what the code does is noticed."""
    whole = script("figures_of_experiments").figured(name)
    one = {field: getattr(whole, field)[:1] for field in ("populations", "mechanisms", "metrics")}
    few = replace(whole, **one, epsilons=whole.epsilons[-1:], people=(min(whole.people),))
    found = float(np.mean([row["value"] for cell in few.cells for row in few.measure(cell)]))
    metric, mechanism = few.metrics[0].replace("_", " "), re.escape(few.mechanisms[0].label)
    labels = "\n".join(numbers(FIGURES / f"lab-{name}.svg"))
    points = re.findall(rf"^{few.against}: [^;]+; {metric}: ([^;]+); mechanism: {mechanism}$", labels, re.MULTILINE)
    assert min(abs(float(point) - found) for point in points) <= 1e-6 * abs(found), f"draw it: make_figures.py --only lab-{name}"


def test_a_figure_drawn_again_is_the_one_that_is_stored(script, tmp_path, capsys):
    script("make_figures").main(["--only", "marg*", "--out", str(tmp_path)])
    assert "1 of 1  marginals" in capsys.readouterr().out
    drawn, stored = (numbers(folder / "marginals.svg") for folder in (tmp_path, FIGURES))
    assert drawn == stored
    assert len(stored) > 36  # bar, interval and truth of twelve combinations


def test_an_unknown_figure_is_named(script, capsys):
    with pytest.raises(SystemExit):
        script("make_figures").main(["--only", "ouch"])
    assert "no figure is called ouch: --list names all" in capsys.readouterr().err
