"""Task files that name a protocol, on a real collector: published, answered by devices round by round, and told alike everywhere."""

from __future__ import annotations

import hashlib
import io
import json
import socket
import threading
from types import SimpleNamespace

import httpx
import polars as pl
import pytest
import uvicorn
from typer.testing import CliRunner

from deniable.cli import console
from deniable.cli.app import command_line
from deniable.client import MemoryLedger, Reporter
from deniable.client.board import Board
from deniable.client.transport import HTTPTransport
from deniable.collect.analysis.disclosure import by_name
from deniable.collect.analysis.presentation import unfolded
from deniable.collect.publication.export import publish_reports
from deniable.collect.publication.verification import verify_publication
from deniable.collect.server import Service
from deniable.collect.settings import Settings
from deniable.collect.web.access import add_token
from deniable.core.saved import estimate_from_json
from deniable.errors import WireError
from deniable.testing import ReplaySource
from tests.collect.crowd import NOON
from tests.collect.declared import CROWDS, task_file
from tests.collect.looking import Reader
from tests.collect.publishing import resign

ROUNDS = {"Hierarchy": 1, "LogisticRegression": 2, "Marginals": 1, "NodeDegrees": 1, "PEM": 2, "SVIM": 3, "QuadTree": 2}
ROUNDS |= {"Bigrams": 1, "Movement": 1, "NewWords": 2, "SampledFactorization": 2, "Terms": 1, "UniformGrid": 1, "WordPairs": 1}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A collector on a port of this machine, with its pages for everyone."""
    folder = tmp_path_factory.mktemp("declared")
    settings = Settings(store=str(folder / "store"), tend_seconds=3600.0, public_estimates=True)
    service = Service(settings, clock=lambda: float(NOON))
    listening = socket.create_server(("127.0.0.1", 0))  # listens already: whoever comes early waits
    server = uvicorn.Server(uvicorn.Config(service, log_config=None, ws="none", lifespan="on"))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    token = add_token(service.store.catalog, "admin", "tests")
    way = HTTPTransport(url)
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=None) as web:
        yield SimpleNamespace(url=url, token=token, web=web, way=way, collector=service.collector, folder=folder)
    way.close()
    server.should_exit = True
    thread.join()
    listening.close()


def published(site, protocol, **changed):
    """The id of a task that was published from its file."""
    answer = site.web.post("/v1/tasks", content=task_file(protocol, **changed), headers={"content-type": "application/toml"})
    assert answer.status_code == 201, answer.text
    return hashlib.sha256(answer.json()["task"].encode()).digest()


class Crowd:
    """Devices with the client that ships, each with its own ledger."""

    def __init__(self, site, task, protocol):
        self._values, self.board = CROWDS[protocol], Board(site.way, keep_rounds=True)
        self.reporters = []
        for person in range(len(self._values)):
            ledger = MemoryLedger(lifetime_epsilon=8.0)
            ledger.consent(task)
            words = ReplaySource.from_key(f"{protocol}, person {person}")
            self.reporters.append(Reporter(self.board, task=task, ledger=ledger, clock=lambda: float(NOON), source=words))

    def answer(self):
        """Whoever is asked now answers; how many did."""
        self.board.refresh()
        receipts = [reporter.report(value) for reporter, value in zip(self.reporters, self._values, strict=True)]
        assert {receipt.state for receipt in receipts if receipt} == {"sent"}
        return sum(receipt is not None for receipt in receipts)


def run(site, task, protocol):
    """The rounds of a task, from the first to the last; how many reports each had."""
    crowd, more, answered = Crowd(site, task, protocol), True, []
    while more:
        answered.append(crowd.answer())
        waiting = site.web.get(f"/v1/tasks/{task.hex()}/estimate")
        assert waiting.status_code == 409
        assert f"round {len(answered) - 1} is open" in waiting.json()["error"]["message"]
        assert f"it has {answered[-1]:,} reports" in waiting.json()["error"]["message"]
        assert f"Round {len(answered) - 1} is open, with" in site.web.get(f"/tasks/{task.hex()}").text
        more = site.web.post(f"/v1/tasks/{task.hex()}/advance").json()["more"]
    assert all(7.99 < reporter.ledger.spent() <= 8 for reporter in crowd.reporters)  # everybody once
    return answered


@pytest.mark.parametrize("protocol", ROUNDS)
def test_a_result_is_the_protocols_own_in_json_on_the_page_and_in_the_terminal(site, protocol, monkeypatch):
    task = published(site, protocol)
    answered = run(site, task, protocol)
    assert (len(answered), sum(answered)) == (ROUNDS[protocol], len(CROWDS[protocol]))
    content = site.web.get(f"/v1/tasks/{task.hex()}/estimate").json()
    outcome = site.collector.outcome(task, len(answered) - 1)
    ((name, result),) = by_name(site.collector.task(task).task, outcome).items()
    (answer,) = content["answers"]
    assert (answer["question"], answer["mechanism"], answer["epsilon"]) == (name, protocol, pytest.approx(8.0))
    assert "more than 2,980.96 times as likely" in answer["promise"].splitlines()[0]
    assert answer["estimate"] == json.loads(json.dumps(result.to_json()))
    page = Reader(site.web.get(f"/tasks/{task.hex()}").text)
    monkeypatch.setenv("DENIABLE_URL", site.url)
    monkeypatch.setenv("DENIABLE_TOKEN", site.token)
    monkeypatch.setattr(console.out, "_width", 400)  # so wide that no cell is broken
    shown = CliRunner().invoke(command_line("estimate"), ["estimate", protocol.lower(), "--chart", str(site.folder / f"{protocol}.json")])
    assert shown.exit_code == 0, shown.output
    parts = dict(unfolded(name, result.settled()))
    assert set(parts) >= {name, *(f"{name}: {part}" for part in result.parts)}
    figures = 0
    for each in parts.values():
        rows = each.rows()
        assert {"stderr", "low", "high"} & set(rows)  # no result without its error
        listed = estimate_from_json(each.to_json()).shortened(20)
        names, lines = listed.cells(20)
        assert (names, lines) == each.shortened(20).cells(20)
        assert [cell for line in (names, *lines) for cell in line if cell not in shown.stdout] == []
        if each.falling and each.family_size > 2:  # on the page the largest come with limits that hold together
            names, lines = listed.jointly().cells(20)
        assert [cell for line in (names, *lines) for cell in line if cell not in page.text] == []
        figures += len(each.figures())
    told = site.web.get(f"/v1/tasks/{task.hex()}").json()
    assert "What the promise compares" in told["task"]
    charts = site.web.get(f"/tasks/{task.hex()}/live").json()["charts"]
    assert len(charts) == figures > 0
    assert {f"chart-0-{number}" if number else "chart-0" for number in range(figures)} == set(charts)
    drawn = json.loads((site.folder / f"{protocol}.json").read_text())
    assert len(drawn.get("vconcat", [drawn])) >= 1
    assert site.web.get(f"/tasks/{task.hex()}/chart.svg?figure={figures - 1}").headers["content-type"] == "image/svg+xml"
    assert site.web.get(f"/tasks/{task.hex()}/answer").status_code == 200
    table = pl.read_parquet(io.BytesIO(site.web.get(f"/v1/tasks/{task.hex()}/estimate?format=parquet").content))
    assert table["question"].to_list() == [part for part, each in parts.items() for _ in each.values]
    printed = CliRunner().invoke(command_line("estimate"), ["estimate", protocol.lower(), "--json"])
    assert json.loads(printed.stdout) == content
    read = estimate_from_json(answer["estimate"])
    assert (repr(read), list(read.values)) == (repr(result.settled()), list(result.values))


def test_nothing_is_told_about_fewer_people_than_the_task_shows(site):
    """A round that was closed by force has a result in the collector, and nobody sees it."""
    task = published(site, "Hierarchy", name='"few"', minimum_batch="81")
    assert Crowd(site, task, "Hierarchy").answer() == 80
    path = f"/v1/tasks/{task.hex()}"
    assert "it has fewer than 81 reports" in site.web.get(f"{path}/estimate").json()["error"]["message"]
    assert "with fewer than 81 reports" in site.web.get(f"/tasks/{task.hex()}").text
    assert site.web.post(f"{path}/advance").status_code == 409
    assert site.web.post(f"{path}/advance?force=true").json() == {"more": False}
    assert site.collector.outcome(task, 0).n == 80
    assert site.web.get(f"{path}/estimate").json()["error"]["code"] == "too_few"
    assert "Fewer than 81 reports so far" in site.web.get(f"/tasks/{task.hex()}").text


def test_a_published_table_is_counted_again_and_one_that_was_changed_is_found_out(site, tmp_path):
    task = published(site, "Hierarchy", name='"open"', minimum_batch="10")
    run(site, task, "Hierarchy")
    folder = tmp_path / "folder"
    publish_reports(site.collector, task, folder)
    verify_publication(folder)
    content = json.loads((folder / "estimates.json").read_bytes())
    content["answers"][0]["estimate"]["columns"]["frequency"][3] += 1e-3
    (folder / "estimates.json").write_text(json.dumps(content))
    resign(folder, site.collector.store.signing_key())
    with pytest.raises(WireError, match="columns, frequency, 3"):
        verify_publication(folder)
