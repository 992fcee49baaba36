"""The commands as a person runs them: real processes, real files."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import urllib.request
from urllib.parse import urlsplit

import polars as pl
import pytest

from deniable.cli.mechanisms import oracle_for
from deniable.contract.domain import Categories
from tests.cli.running import COMMAND, Started, run
from tests.collect.rows import rows_of


@pytest.mark.parametrize("command", [[], ["demo"], ["audit"], ["simulate"], ["plan"]])
def test_help_explains(command, tmp_path):
    text = run(*command, "--help", cwd=tmp_path).stdout
    assert "Usage" in text
    assert "--json" in text or not command


def test_version(tmp_path):
    assert run("--version", cwd=tmp_path).stdout.startswith("deniable 0.")


def nothing_is_left_of(url, folder):
    """Neither the collector, which would still take connections, nor its store."""
    parts = urlsplit(url)
    with pytest.raises(ConnectionRefusedError), socket.create_connection((parts.hostname, parts.port)):
        pass
    return list(folder.iterdir()) == []


def test_demo_in_words_and_as_data(tmp_path):
    """Both at once: each waits for a period of its shuffler, most of the time."""
    words, data = tmp_path / "words", tmp_path / "data"
    for folder in (words, data):
        (folder / "temporary").mkdir(parents=True)
    elsewhere = {"DENIABLE_STORE": "elsewhere", "DENIABLE_PORT": "1"}
    first = Started("demo", "--people", 300, cwd=words, TMPDIR=words / "temporary", **elsewhere)
    second = Started("demo", "--people", 1000, "--epsilon", 2, "--json", "--out", "charts", cwd=data, TMPDIR=data / "temporary")
    shows_truth_estimate_interval_charts_promises_and_traffic(first.end(), words)
    finds_the_truth(json.loads(second.end().stdout), data)


def shows_truth_estimate_interval_charts_promises_and_traffic(done, folder):
    shown = " ".join(done.stdout.split())
    for words in ("truth", "estimate", "95 % interval", "tea", "yes", "privacy promise", "Spent: epsilon 6 of 6, 0 left", "900 reports"):
        assert words in shown
    for words in ("The same promise, epsilon = 1, under local trust and through a shuffler", "with an honest shuffler", "shuffle model"):
        assert words in shown
    assert "<svg" in (folder / "demo-output" / "demo.svg").read_text()
    assert (folder / "demo-output" / "demo.html").stat().st_size > 10_000
    assert "Open demo-output/demo.html in a browser" in shown
    url = re.search(r"http://127\.0\.0\.1:[0-9]+", shown)[0]
    assert url in done.stderr
    assert nothing_is_left_of(url, folder / "temporary")


def beside(content):
    """The rows of an estimate, each with the truth."""
    return list(zip(rows_of(content), content["truth"], strict=True))


def finds_the_truth(content, folder):
    assert (content["people"], content["reports"]) == (1000, 3000)
    drink, bicycle, word = content["tasks"]
    for task in (drink, bicycle):  # everyone was counted, and the truth is that of everyone
        assert task["estimate"]["n"] == 1000 == sum(task["truth"])
        assert all(abs(row["count"] - truth) < 6 * row["stderr"] for row, truth in beside(task))
        assert all(row["low"] <= max(row["count"], 0) <= row["high"] for row in rows_of(task))  # a count may come out below none
    assert {row["value"] for row in rows_of(bicycle)} == {"yes", "no"}
    assert [task["epsilon"] for task in content["tasks"]] == [2, 2, 8]
    assert word["estimate"]["n"] < 1000  # those whose turn it was in the last round
    assert word["rounds"] > 1
    place = word["estimate"]["values"].index("rain")  # a fifth of the crowd: seen at once
    assert word["everyone"][place] == 174
    rain, truth = beside(word)[place]
    assert abs(rain["count"] - truth) < 6 * rain["stderr"]
    assert all(truth <= everyone for truth, everyone in zip(word["truth"], word["everyone"], strict=True))
    assert [(folder / file).exists() for file in content["charts"]] == [True, True]
    shuffled = content["shuffled"]  # the drink once more, with the same promise
    assert (shuffled["n"], shuffled["shuffle"]["claim"]) == (1000, 2)
    assert sum(shuffled["shuffle"]["sizes"]) == 1000
    assert shuffled["shuffle"]["epsilon"] <= 2 < shuffled["shuffle"]["local_epsilon"]
    assert all(abs(row["shuffled"] - row["truth"]) < 6 * row["shuffled_stderr"] for row in shuffled["result"])
    assert all(2 * row["shuffled_stderr"] < row["local_stderr"] for row in shuffled["result"])  # what the shuffler is worth
    assert nothing_is_left_of(content["url"], folder / "temporary")


def test_demo_serves_until_it_is_interrupted(tmp_path):
    (tmp_path / "temporary").mkdir()
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
    arguments = [*COMMAND, "demo", "--people", "100", "--serve", "--no-shuffle"]
    with subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        lines = []
        for line in process.stderr:
            lines.append(line.strip())
            if line.startswith("The admin's token"):
                break
        told = [line for line in lines if line.startswith("deniable ")]
        for line in told:
            assert "bicycle" in run(*shlex.split(line)[1:], cwd=tmp_path).stdout or "estimate bicycle" not in line
        home, task, survey = (line.removeprefix("Open ").split()[0] for line in lines if line.startswith(("Open http", "http")))
        pages = [urllib.request.urlopen(page).read().decode() for page in (home, task, survey)]
        process.send_signal(signal.SIGINT)
        process.communicate()
        assert process.returncode == 0
    assert len(told) == 4
    assert [words in page for words, page in zip(("100 reports", "95 %", "answer-form"), pages, strict=True)] == [True] * 3
    assert nothing_is_left_of(re.search(r"http://[0-9.:]+", told[0])[0], tmp_path / "temporary")


def test_a_demo_that_is_told_to_stop_takes_its_collector_along(tmp_path):
    (tmp_path / "temporary").mkdir()
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
    with subprocess.Popen([*COMMAND, "demo"], cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=environment) as process:
        line = process.stderr.readline()
        process.terminate()
        process.communicate()
        assert process.returncode == 128 + signal.SIGTERM
    assert nothing_is_left_of(re.search(r"http://[0-9.:]+", line)[0].rstrip(","), tmp_path / "temporary")


def test_demo_without_the_servers_packages_names_the_extra(tmp_path):
    code = "import sys; sys.modules['sqlalchemy'] = None; sys.argv = ['deniable', 'demo']; from deniable.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert 'pip install ".[server]"' in " ".join(done.stderr.split())


@pytest.mark.parametrize("mechanism", ["CMS", "SHE", "BloomRR", "HCMS", "FLH", "DBitFlip"])
def test_audit_chooses_parameters_that_can_be_enumerated(mechanism, tmp_path):
    assert json.loads(run("audit", mechanism, "--json", cwd=tmp_path).stdout)["passed"]


@pytest.mark.parametrize("mechanism", ["RR", "GRR", "OUE", "OLH"])
def test_audit_passes_what_ships(mechanism, tmp_path):
    content = json.loads(run("audit", mechanism, "--epsilon", 0.7, "--json", cwd=tmp_path).stdout)
    assert content["passed"]
    assert 0.7 - 1e-9 <= content["epsilon"] <= 0.7
    assert {check["name"] for check in content["checks"]} >= {"total", "support", "privacy", "law", "unbiased"}


def test_audit_prints_a_table_and_samples(tmp_path):
    done = run("audit", "GRR", "--domain-size", 3, "--trials", 1000, cwd=tmp_path, status=None)  # may convict wrongly, 1 in 100
    assert "passed" in done.stdout
    assert "FAILED" not in done.stdout
    assert "from samples: epsilon is at least" in done.stdout


def test_audit_reads_a_published_spec_and_refuses_a_forged_one(tmp_path):
    import deniable as dn

    spec = dn.RR.from_probabilities("3/4", "1/4")
    (tmp_path / "spec.json").write_bytes(spec.canonical)
    content = json.loads(run("audit", "--spec", "spec.json", "--json", cwd=tmp_path).stdout)
    assert content["digest"] == spec.digest.hex()
    (tmp_path / "edited.json").write_bytes(spec.canonical + b"\n")  # an editor's last line break is no part of the spec
    run("audit", "--spec", "edited.json", "--trials", 200, cwd=tmp_path, status=None)
    (tmp_path / "forged.json").write_bytes(spec.canonical.replace(b"1.0986122886681098", b"0.5"))
    assert "forged.json, spec" in run("audit", "--spec", "forged.json", cwd=tmp_path, status=2).stderr


def test_simulate_a_column(tmp_path):
    table = pl.DataFrame({"city": ["Rome"] * 6000 + ["Oslo"] * 3000 + ["Lima"] * 1000, "year": [2000 + i % 3 for i in range(10_000)]})
    table.write_csv(tmp_path / "people.csv")
    table.write_parquet(tmp_path / "people.parquet")
    for file in ("people.csv", "people.parquet"):
        content = json.loads(run("simulate", file, "--column", "city", "--epsilon", 3, "--json", cwd=tmp_path).stdout)
        assert content["estimate"]["values"] == ["Rome", "Oslo", "Lima"]
        assert content["truth"] == [6000, 3000, 1000]
        assert all(abs(row["count"] - truth) < 6 * row["stderr"] for row, truth in beside(content))
    shown = run("simulate", "people.csv", "--column", "year", "--top", 2, "--chart", "years.svg", cwd=tmp_path).stdout
    assert "low and high: 95 % for all 3 values together, noise only" in " ".join(shown.split())
    assert "┃ value ┃ truth ┃ count ┃ stderr ┃" in shown
    assert "In a real survey" in shown
    assert "<svg" in (tmp_path / "years.svg").read_text()


def test_the_mechanism_is_chosen_for_the_people_that_a_file_has():
    domain = Categories(*(f"{number}" for number in range(100_000)))
    assert [oracle_for("auto", domain, 1.0, people).mechanism for people in (1000, 10**7)] == ["PGR", "RWS"]


def test_simulate_leaves_the_answers_as_they_are(tmp_path):
    """Leading zeros, markup, numbers that turn into words, other columns' contents: nothing is guessed, merged or interpreted."""
    answers = ["01", "1", "[/]", "[bold]x[/bold]", "3.10", "n/a", "日本", "NaN"]
    lines = [f"{answer},{i if i < 700 else 'oops'}" for i, answer in enumerate(answers * 100)]
    (tmp_path / "raw.csv").write_text("\n".join(["a,b", *lines]) + "\n")
    content = json.loads(run("simulate", "raw.csv", "--column", "a", "--json", cwd=tmp_path).stdout)
    assert {row["value"]: truth for row, truth in beside(content)} == dict.fromkeys(answers, 100)
    shown = run("simulate", "raw.csv", "--column", "a", cwd=tmp_path).stdout
    assert all(f"│ {answer} " in shown for answer in answers)


def test_simulate_counts_what_is_missing(tmp_path):
    (tmp_path / "holes.csv").write_text("x,y\na,1\n,2\nb,3\n")
    pl.DataFrame({"x": [1.0, float("nan"), 2.5, None]}).write_parquet(tmp_path / "holes.parquet")
    for file, missing in (("holes.csv", 1), ("holes.parquet", 2)):
        content = json.loads(run("simulate", file, "--column", "x", "--drop-missing", "--json", cwd=tmp_path).stdout)
        assert (content["missing"], content["people"], content["estimate"]["family_size"]) == (missing, 2, 2)


def test_winners_of_many_get_simultaneous_intervals(tmp_path):
    """5,000 different answers: the largest estimates are luck, and their intervals must know it."""
    pl.DataFrame({"id": [f"user{i}" for i in range(5000)]}).write_csv(tmp_path / "ids.csv")
    done = run("simulate", "ids.csv", "--column", "id", "--top", 3, "--json", cwd=tmp_path)
    content = json.loads(done.stdout)
    assert content["estimate"]["together"]
    assert "95 % for all 5,000 values together" in content["estimate"]["headline"]
    assert "the noise drowns them" in " ".join(run("simulate", "ids.csv", "--column", "id", "--top", 3, cwd=tmp_path).stderr.split())


def test_plan_prints_two_tables_and_saves_a_chart(tmp_path):
    done = run("plan", "--domain-size", 1000, "--epsilon", 1, "--people", 100_000, "--error", 0.001, "--chart", "plan.svg", cwd=tmp_path)
    shown = " ".join(done.stdout.split())
    for word in (
        "100,000 people, 1,000 values, epsilon = 1",
        "SubsetSelection",
        "3,683,695",
        "Costs and risks",
        "left out: RR takes at most",
    ):
        assert word in shown
    assert "…" not in done.stdout  # nothing is cut off at 80 columns
    assert "<svg" in (tmp_path / "plan.svg").read_text()


def test_plan_as_data(tmp_path):
    content = json.loads(
        run("plan", "--domain-size", 128, "--people", 10_000, "--mechanism", "GRR", "--mechanism", "OUE", "--json", cwd=tmp_path).stdout
    )
    assert (content["domain_size"], content["people"], content["left_out"]) == (128, 10_000, [])
    rows = {row["mechanism"]: row for row in content["mechanisms"]}
    assert list(rows) == ["OUE", "GRR"]
    assert rows["OUE"]["detectable"] == pytest.approx(0.0644672, rel=1e-5)
    assert rows["GRR"]["influence"] == pytest.approx(74.9110, rel=1e-5)
    aimed = json.loads(run("plan", "--domain-size", 128, "--error", 0.00001, "--mechanism", "HCMS", "--json", cwd=tmp_path).stdout)
    assert (aimed["mechanisms"][0]["people"], aimed["mechanisms"][0]["epsilon"]) == (None, None)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan"], ["--domain-size", "got nothing", "plan mean"]),
        (["plan", "--domain-size", "1"], ["--domain-size", "from 2"]),
        (["plan", "--domain-size", "9", "--people", "0"], ["--people: got '0'", "allowed: 1 or more"]),
        (["plan", "--domain-size", "9", "--error", "0"], ["--error: got 0.0", "between 0 and 1"]),
        (["plan", "--domain-size", "9", "--mechanism", "Laplace"], ["Laplace", "GRR"]),
        (["plan", "--domain-size", "9", "--mechanism", "RR"], ["RR takes at most 2 values"]),
        (["plan", "--domain-size", "9", "--chart", "plan.bmp"], ["--chart", ".svg"]),
        (["demo", "--epsilon", "0"], ["--epsilon", "above 0"]),
        (["demo", "--people", "99"], ["people", "100"]),
        (["audit"], ["MECHANISM", "try: deniable audit GRR"]),
        (["audit", "OUE", "--domain-size", "50"], ["enumerate"]),
        (["audit", "Laplace"], ["Laplace", "GRR"]),
        (["simulate", "absent.csv", "--column", "x"], ["absent.csv"]),
        (["simulate", "holes.csv", "--column", "x"], ["row 2 of 3", "--drop-missing"]),
        (["simulate", "holes.csv", "--column", "w"], ["1 different values", "two or more"]),
        (["simulate", "holes.csv", "--column", "[red]x"], ["'[red]x'"]),
        (["simulate", "holes.csv", "--column", "y", "--chart", "chart.bmp"], ["--chart", ".svg"]),
        (["simulate", "empty.csv", "--column", "x"], ["empty.csv"]),
        (["simulate", "lists.parquet", "--column", "x"], ["plain values"]),
        (["demo", "--out", "notes.txt"], ["notes.txt"]),
        (["demo", "--out", "/proc/none"], ["/proc/none"]),
        (["audit", "GRR", "--domain-size", "0"], ["--domain-size", "got 0"]),
        (["audit", "GRR", "--spec", "notes.txt"], ["--spec alone", "GRR"]),
        (["simulate", "holes.csv", "--column", "z"], ["--column", "'z'", "'x', 'y', 'w'"]),
        (["simulate", "notes.txt", "--column", "x"], [".csv or .parquet"]),
    ],
)
def test_mistakes_are_explained_without_a_traceback(arguments, words, tmp_path):
    (tmp_path / "holes.csv").write_text("x,y,w\na,1,c\n,2,c\nb,3,c\n")
    (tmp_path / "empty.csv").write_text("")
    pl.DataFrame({"x": [[1], [2, 3]]}).write_parquet(tmp_path / "lists.parquet")
    (tmp_path / "notes.txt").write_text("x")
    done = run(*arguments, cwd=tmp_path, status=2)
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in " ".join(done.stderr.split())
