"""``deniable estimate`` as an analyst runs it: against a real collector over HTTP."""

from __future__ import annotations

import json
import socket
import threading
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import uvicorn
from typer.testing import CliRunner

import deniable as dn
from deniable.cli.app import command_line
from deniable.collect.analysis.analyst import ReportSelection, compare, estimate
from deniable.collect.collector import Collector
from deniable.collect.storage.store import Store
from deniable.collect.web.access import add_token
from deniable.collect.web.api import Api
from deniable.collect.web.dispatch import application
from deniable.collect.web.metrics import Metrics
from deniable.core.table import cell_text
from deniable.testing import ReplaySource
from tests.collect.crowd import NOON, envelope, send, survey_task
from tests.collect.rows import rows_of

DAY = 86_400
PAGES = ("news", "mail", "search", "games")
USUAL, MOVED = [600, 500, 400, 300], [300, 500, 400, 600]
"""How many people have each page for their home page, on a usual day and after many have moved from news to games."""


class Site:
    """A collector on a port of this machine, and the command line that asks it."""

    def __init__(self, folder, monkeypatch):
        self.store = Store.open(folder / "store")
        self.now = float(NOON)
        self.collector = Collector(self.store, clock=lambda: self.now)
        api = application(Api(self.collector, Metrics(lambda task: None)))
        self._socket = socket.create_server(("127.0.0.1", 0))  # listens already: whoever comes early waits
        self._server = uvicorn.Server(uvicorn.Config(api, log_config=None, ws="none", lifespan="off"))
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        monkeypatch.setenv("DENIABLE_URL", self.url)
        monkeypatch.setenv("DENIABLE_TOKEN", add_token(self.store.catalog, "analyst", "tests"))
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.chdir(folder)

    def close(self):
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()
        self.store.close()

    def run(self, *arguments, status=0):
        result = CliRunner().invoke(command_line("estimate"), ["estimate", *map(str, arguments)])
        assert result.exit_code == status, result.output + result.stderr + repr(result.exception)
        return result

    def report(self, task, people, *, period=0, **labels):
        """So many people of each page report in a period."""
        spec = task.survey.questions[0].spec
        stratum = task.stratum(labels)
        values = [page for page, count in zip(PAGES, people, strict=True) for _ in range(count)]
        reports = spec.privatize(values, source=ReplaySource.from_key(f"{period}/{stratum}"))
        self.now = max(self.now, NOON + period * DAY)
        first = envelope(task, "news", period=period, stratum=stratum)
        ids = ReplaySource.from_key(f"ids/{period}/{stratum}")
        sent = [first._replace(id=ids.word().to_bytes(16, "big"), payload=row.tobytes()) for row in reports.rows()]
        assert send(self.collector, *sent) == {}


@pytest.fixture
def site(tmp_path, monkeypatch):
    site = Site(tmp_path, monkeypatch)
    yield site
    site.close()


@pytest.fixture
def task(site):
    """Three days, on the last of which many people on the web have another home page."""
    task = survey_task(
        site.collector.registry.key,
        dn.GRR(domain=dn.Categories(*PAGES), epsilon=2.0),
        name="home-page",
        period=DAY,
        end=NOON + 7 * DAY,
        minimum_batch=100,
        strata=(("platform", ("phone", "web")),),
    )
    site.collector.publish(task)
    for day, people in enumerate((USUAL, USUAL, MOVED)):
        site.report(task, people, period=day, platform="web")
    site.report(task, USUAL, period=2, platform="phone")
    return task


def test_an_estimate_is_shown_with_its_error(site, task):
    shown = site.run("home-page", "--period", "0").stdout
    assert task.question in shown
    assert "q0: 1,800 reports, GRR, epsilon = 2" in shown
    assert "low and high: 95 %, noise only" in shown
    assert "provisional" in shown
    found = estimate(site.collector, task.id, ReportSelection((0,))).estimates["q0"]
    for page, count in zip(PAGES, found.counts, strict=True):
        assert any(page in line and cell_text(count) in line for line in shown.splitlines())
    names, lines = found.cells()
    assert all(cell in shown for line in (names, *lines) for cell in line)  # as in Python
    for period in range(3):
        site.collector.seal(task.id, period)
    assert "provisional" not in site.run("home-page", "--period", "0").stdout


def test_the_largest_of_more_values_come_with_intervals_for_all(site, task):
    shown = site.run("home-page", "--top", 2, "--chart", "chart.json").stdout
    assert "low and high: 95 % for all 4 values together, noise only" in " ".join(shown.split())
    assert "the first 2 of 4 rows" in shown
    assert "search" not in shown
    found = estimate(site.collector, task.id).estimates["q0"].top(1)
    _, high = found.interval(simultaneous=True)
    (line,) = (line for line in shown.splitlines() if found.values[0] in line)
    assert cell_text(high[0]) in line
    with open("chart.json") as file:
        assert "that hold together" in file.read()


def test_as_data_on_the_screen_and_in_files(site, task):
    expected = json.loads(json.dumps(estimate(site.collector, task.id, ReportSelection(None, {"platform": "web"})).to_json()))
    shown = site.run("home-page", "--stratum", "platform=web", "--json", "--top", 1, "--out", "all.parquet").stdout
    assert json.loads(shown) == expected
    table = pl.read_parquet("all.parquet")
    assert table["count"].to_list() == expected["answers"][0]["estimate"]["columns"]["count"]
    site.run("home-page", "--stratum", "platform=web", "--out", "all.json", "--chart", "chart.svg")
    with open("all.json") as file:
        assert json.load(file) == expected
    with open("chart.svg") as file:
        assert "games" in file.read()


def test_an_alarm_when_many_users_suddenly_changed_their_home_page(site, task):
    web = ("home-page", "--stratum", "platform=web")
    quiet = site.run(*web, "--period", 0, "--compare-period", 1)
    assert "changed at alpha = 0.05: nothing" in quiet.stdout
    alarm = site.run(*web, "--period", "2027-01-16", "--compare-period", "2027-01-17", status=3)
    assert "changed at alpha = 0.05: q0: news, q0: games" in alarm.stdout
    content = json.loads(site.run(*web, "--period", 1, "--compare-period", 2, "--json", "--out", "changes.parquet", status=3).stdout)
    web_only = {"platform": "web"}
    expected = compare(site.collector, task.id, ReportSelection((1,), web_only), ReportSelection((2,), web_only))
    assert content == json.loads(json.dumps(expected.to_json()))
    changed = pl.read_parquet("changes.parquet").filter(pl.col("changed"))
    assert changed["value"].to_list() == ["news", "games"]
    strict = json.loads(site.run(*web, "--period", 1, "--compare-period", 2, "--alpha", 1e-6, "--json", status=3).stdout)
    assert strict["alpha"] == 1e-6
    assert strict["answers"][0]["estimate"]["level"] == 1 - 1e-6
    rows = zip(rows_of(content["answers"][0]), rows_of(strict["answers"][0]), strict=True)
    assert all(careful["low"] < usual["low"] and careful["high"] > usual["high"] for usual, careful in rows)
    shown = site.run(*web, "--period", 1, "--compare-period", 2, "--alpha", 1e-6, status=3).stdout
    assert "low, high and p hold for all values together (99.9999 %)" in shown


def test_groups_of_people_are_compared(site, task):
    shown = site.run("home-page", "--period", 2, "--stratum", "platform=phone", "--compare-stratum", "platform=web", status=3).stdout
    assert "Comparison of 1,800 with 1,800 reports" in shown
    content = json.loads(
        site.run("home-page", "--period", 2, "--stratum", "platform=phone", "--compare-stratum", "platform=web", "--json", status=3).stdout
    )
    assert content["first"] == {"periods": [2], "strata": {"platform": "phone"}}
    assert content["second"] == {"periods": [2], "strata": {"platform": "web"}}


def test_too_few_reports_have_a_status_of_their_own(site, task):
    refused = site.run("home-page", "--period", 5, status=4)
    assert "100 or more" in refused.stderr
    assert refused.stdout == ""
    site.run("home-page", "--period", 0, "--compare-period", 5, "--json", status=4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["home-pag"], "deniable task list"),
        (["home-page", "--period", "9"], "0 to 6"),
        (["home-page", "--period", "soon"], "2026-12-03"),
        (["home-page", "--stratum", "platform=tv"], "phone"),
        (["home-page", "--stratum", "platform"], "platform=phone"),
        (["home-page", "--stratum", "platform=web", "--stratum", "platform=phone"], "each name once"),
        (["home-page", "--period", "1", "--compare-period", "all"], "without common reports"),
        (["home-page", "--period", "0", "--compare-period", "1", "--alpha", "2"], "alpha"),
        (["home-page", "--period", "0", "--compare-period", "1", "--alpha", "1e-30"], "alpha"),
        (["home-page", "--period", "0", "--compare-period", "1", "--integrity"], "one selection"),
        (["home-page", "--out", "all.csv"], ".parquet"),
        (["home-page", "--chart", "chart.gif"], ".svg"),
        (["home-page", "--out", "nowhere/all.json"], "nowhere"),
        (["home-page", "--token-file", "nothing"], "nothing"),
        (["home-page", "--url", "http://127.0.0.1:1"], "collector"),
        (["home-page", "--url", "ftp://example.org"], "https"),
    ],
)
def test_mistakes_are_told_in_one_line(site, task, arguments, words):
    refused = site.run(*arguments, status=2)
    assert words in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert refused.stdout == ""


def test_without_a_token_nothing_is_told(site, task, monkeypatch, tmp_path):
    monkeypatch.delenv("DENIABLE_TOKEN")
    assert "DENIABLE_TOKEN" in site.run("home-page", status=2).stderr
    (tmp_path / "token").write_text("dn_" + "0" * 64)
    assert site.run("home-page", "--token-file", "token", status=2).stdout == ""
    (tmp_path / "token").write_text(add_token(site.store.catalog, "analyst", "another") + "\n")
    site.run("home-page", "--token-file", "token")


def test_a_task_is_found_by_id_prefix_or_name(site, task):
    site.run(task.id.hex())
    site.run(task.id.hex()[:6])
    site.run(task.id.hex()[:5], status=2)
    newer = replace(task, statement="Nothing is hidden at all.")
    site.collector.publish(newer, new_meaning=True)
    refused = site.run("home-page", status=2).stderr
    assert task.id.hex()[:12] in refused
    assert newer.id.hex()[:12] in refused
    site.collector.close_task(newer.id)
    site.run("home-page")  # the one that is open
    site.collector.close_task(task.id)
    site.run("home-page", status=2)
    site.run(task.id.hex()[:12])  # closed, but still there


def test_a_search_that_is_not_over_says_so(site):
    search = dn.PEM(bits=8, k=3, epsilon=3.0, groups=1, people=400)
    base = survey_task(site.collector.registry.key, dn.RR(epsilon=3.0))
    task = replace(base, name="words", protocol=search.canonical, rounds=True, period=0, answers=1)
    site.collector.publish(task)
    assert "round 0 is open" in site.run("words", status=2).stderr
    (question,) = search.open().questions
    source = ReplaySource.from_key("words")
    reports = question.spec.privatize(question.encoder.encode_many(np.repeat([7, 9], 100), source), source=source)
    first = envelope(base, 0)._replace(task=task.id)
    assert send(site.collector, *(first._replace(id=bytes([i] * 16), payload=row.tobytes()) for i, row in enumerate(reports.rows()))) == {}
    site.collector.advance(task.id)
    content = json.loads(site.run("words", "--json").stdout)  # closed, but the only one of its name
    assert {row["value"] for row in rows_of(content["answers"][0])} >= {7, 9}
    assert "candidates were tested; 254 are not significant and dropped" in " ".join(site.run("words").stdout.split())


def test_a_long_list_of_values_is_no_trouble(site):
    """More than a device would read."""
    spec = dn.OLH(domain_size=30_000, epsilon=2.0)
    task = survey_task(site.collector.registry.key, spec, name="long")
    site.collector.publish(task)
    assert send(site.collector, *(envelope(task, value) for value in range(50))) == {}
    shown = site.run("long", "--top", 3, "--out", "long.json").stdout
    assert "the first 3 of 30,000 rows" in shown
    with open("long.json") as file:
        assert len(rows_of(json.load(file)["answers"][0])) == 30_000
