"""``deniable lab`` as a person runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from deniable.cli.app import command_line
from deniable.lab import runner

COMMAND = str(Path(sys.executable).parent / "deniable")
MINE = """
name = "mine"
title = "Mine"
epsilons = [1, 4]
people = [500, 1000]
repetitions = 3
metrics = ["tv", "mse"]
populations = [{kind = "Zipf", exponent = 1.1, size = 8}, {kind = "Geometric", p = 0.5}]
mechanisms = [{name = "GRR"}, {name = "RR"}]
leave_out = true
"""


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(MINE)
    (tmp_path / "wrong.toml").write_text(MINE.replace("epsilons", "epsilon"))

    def call(*arguments, status=0):
        result = CliRunner().invoke(command_line("lab"), ["lab", *map(str, arguments)], env={"COLUMNS": "120"})
        assert result.exit_code == status, result.output
        return result

    return call


def test_help_and_list(invoke):
    for command in ("list", "show", "run"):
        assert "--json" in invoke(command, "--help").stdout
    assert "oracle-shootout" in invoke("list").stdout
    known = json.loads(invoke("list", "--json").stdout)["experiments"]
    shootout = next(entry for entry in known if entry["name"] == "oracle-shootout")
    assert shootout["metrics"] == ["mse", "max_error", "tv"]
    assert shootout["cells"] == 6800


def test_show_what_was_asked_and_found(invoke):
    shown = " ".join(invoke("show", "oracle-shootout").stdout.split())
    for words in ("Which frequency oracle has the smallest error?", "GRR is the worst at epsilon 1/2", "Zipf(1.1, 64)", "6,800"):
        assert words in shown
    content = json.loads(invoke("show", "mine.toml", "--json").stdout)
    assert (content["question"], content["mechanisms"], content["cells"]) == ("", ["GRR", "RR"], 48)


def test_run_a_file(invoke, tmp_path):
    shown = invoke("run", "mine.toml", "--out", "results", "--workers", 1).stdout
    for words in ("tv on Zipf(1.1, 8), n = 500", "tv on Geometric(0.5), n = 1,000", "GRR", "left out: RR on Zipf", "results/mine.parquet"):
        assert words in shown
    assert pl.read_parquet(tmp_path / "results" / "mine.parquet").height == 2 * 2 * 2 * 3 * 2
    assert "<svg" in (tmp_path / "results" / "mine.svg").read_text()
    content = json.loads(invoke("run", "mine.toml", "--out", "results", "--workers", 1, "--repetitions", 4, "--json").stdout)
    assert content["repetitions"] == 4
    assert len(content["summary"]) == 16
    assert {row["repetitions"] for row in content["summary"]} == {4}
    assert content["files"] == ["results/mine.parquet", "results/mine.svg"]
    assert len(content["left_out"]) == 4


def test_a_quick_look(invoke):
    content = json.loads(invoke("run", "mine.toml", "--out", "quick", "--quick", "--workers", 1, "--json").stdout)
    assert (content["repetitions"], content["people"]) == (2, [500])


def test_infinite_means_are_left_open(invoke, tmp_path):
    text = MINE.replace('"tv", "mse"', '"kl"').replace('{name = "GRR"}, {name = "RR"}', '{name = "GRR", postprocess = "norm-sub"}')
    (tmp_path / "kl.toml").write_text(text.replace("[1, 4]", "[0.01]"))
    content = json.loads(invoke("run", "kl.toml", "--out", "kl", "--workers", 1, "--json").stdout)
    assert None in [row["mean"] for row in content["summary"]]


def test_stopping_keeps_what_is_finished(invoke, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run", interrupted)
    result = invoke("run", "mine.toml", "--out", "results", status=130)
    assert "measurements are kept" in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "absent", "--out", "x"], ["got 'absent'", "deniable lab list"]),
        (["run", "absent.toml", "--out", "x"], ["absent.toml"]),
        (["run", "wrong.toml", "--out", "x"], ["experiment: got 'epsilon'", "did you mean epsilons?"]),
        (["run", "mine.toml", "--out", "mine.toml"], ["mine.toml"]),
        (["run", "mine.toml"], ["--out"]),
        (["run", "mine.toml", "--out", "x", "--repetitions", "0"], ["repetitions"]),
    ],
)
def test_mistakes_are_explained_without_a_traceback(arguments, words, invoke):
    text = " ".join(invoke(*arguments, status=2).stderr.split())
    assert "Traceback" not in text
    for word in words:
        assert word in text


def test_the_real_command_runs_in_parallel(tmp_path):
    (tmp_path / "mine.toml").write_text(MINE)
    done = subprocess.run(
        [COMMAND, "lab", "run", "mine.toml", "--out", "x", "--workers", "2"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "24/24" in done.stderr  # the progress bar
    assert "GRR" in done.stdout
