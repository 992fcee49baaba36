"""From a task file to an answer, as people do it: the command line, devices with the client that ships, a collector in between."""

from __future__ import annotations

import http.client
import json
import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

from deniable.client.board import Board
from deniable.client.file_ledger import FileLedger
from deniable.client.ledger import Ledger, MemoryLedger
from deniable.client.reporter import Receipt, Reporter
from deniable.client.transport import HTTPTransport
from deniable.collect.web.routes import ENDPOINTS
from deniable.contract.envelope import MEDIA_TYPE
from deniable.errors import BudgetExceeded
from tests.collect.rows import rows_of
from tests.system.conftest import Server
from tests.system.load import HOUR, UNIQUE, unique

HOME = """
name = "home-page"
question = "What is your home page?"
owner = "tests"
epsilon = 4.0
weak_privacy = true
answers = 2
lasts = "2 hours"
period = "1 hour"
minimum_batch = 50
[domain]
categories = ["news", "mail", "games"]
[strata]
platform = ["phone", "web"]
"""
WORD = """
name = "word"
question = "Which word is yours?"
owner = "tests"
epsilon = 8.0
weak_privacy = true
lasts = "1 day"
minimum_batch = 10
people = 300
[domain]
text = 4
[search]
protocol = "PEM"
k = 2
"""
USUAL, MOVED = ["news"] * 240 + ["mail"] * 40 + ["games"] * 20, ["news"] * 20 + ["mail"] * 40 + ["games"] * 240
IN_FILES = 10
"""So many devices keep their ledger in a file."""
SIX_SIGMA = 6.0


@pytest.fixture
def site(server: Server) -> Server:
    """A collector whose operator has told the command line where it is."""
    server.environment |= {"DENIABLE_URL": server.url, "DENIABLE_TOKEN": server.token("admin"), "COLUMNS": "200"}
    return server


def publish(site: Server, toml: str) -> str:
    file = site.folder / "task.toml"
    file.write_text(toml)
    return json.loads(site.run("task", "publish", str(file), "--json"))["id"]


class Crowd:
    """People with a device each, which keeps its ledger from one question to the next."""

    def __init__(self, site: Server, task: str, people: int) -> None:
        self.task, self.hours = task, 0
        self._transport = HTTPTransport(site.url)
        self.board = Board(self._transport, keep_rounds=True)
        self._ledgers: list[Ledger] = [MemoryLedger(lifetime_epsilon=8.0) for _ in range(people - IN_FILES)]
        self._ledgers += [FileLedger(site.folder / f"{number}.ledger", lifetime_epsilon=8.0) for number in range(IN_FILES)]
        for ledger in self._ledgers:
            ledger.consent(task)

    def report(self, values: Sequence[str], *platforms: str) -> list[Receipt]:
        """Everybody answers, by turns on one of the platforms; the receipts of those who were asked."""

        def answer(number: int) -> Receipt | None:
            strata = {"platform": platforms[number % len(platforms)]} if platforms else {}
            return Reporter(self.board, task=self.task, ledger=self._ledgers[number], strata=strata, clock=self._clock).report(
                values[number]
            )

        with ThreadPoolExecutor(8) as threads:
            return [receipt for receipt in threads.map(answer, range(len(values))) if receipt is not None]

    def _clock(self) -> float:
        return time.time() + self.hours * HOUR

    def __enter__(self) -> Crowd:
        return self

    def __exit__(self, *_: object) -> None:
        self._transport.close()


def test_a_survey_from_its_file_to_an_alarm(site):
    """Everybody answers in two periods; in between, many move to another home page."""
    task = publish(site, HOME)
    with Crowd(site, task, len(USUAL)) as crowd:
        for hour, values in enumerate((USUAL, MOVED)):
            site.ahead(hour * HOUR)
            crowd.hours = hour
            assert {receipt.state for receipt in crowd.report(values, "phone", "web")} == {"sent"}
        with pytest.raises(BudgetExceeded):
            crowd.report(USUAL, "phone", "web")
    for period in (0, 1):
        assert site.seal(bytes.fromhex(task), period, site.environment["DENIABLE_TOKEN"]).status == 204
    estimate = json.loads(site.run("estimate", "home-page", "--period", "0", "--json"))
    [answer] = estimate["answers"]
    assert not estimate["provisional"]
    for row in rows_of(answer):
        assert abs(row["count"] - USUAL.count(row["value"])) < SIX_SIGMA * row["stderr"]
    changed = json.loads(site.run("estimate", task, "--period", "0", "--compare-period", "1", "--alpha", "1e-6", "--json", status=3))
    assert {entry["value"] for entry in changed["changed"]} == {"news", "games"}
    platforms = "--stratum", "platform=phone", "--compare-stratum", "platform=web"
    site.run("estimate", task, "--period", "0", *platforms, "--alpha", "1e-6")  # alike: no alarm


def test_a_search_over_rounds(site):
    """Nobody listed the words; each device answers in one of the rounds, and the frequent word is found."""
    task = publish(site, WORD)
    words = ["tea"] * 240 + ["mate", "milk", "cola", "soda"] * 15
    more, rounds, answers = True, 0, 0
    with Crowd(site, task, len(words)) as crowd:
        while more:
            receipts = crowd.report(words)
            assert {(receipt.state, receipt.period) for receipt in receipts} <= {("sent", rounds)}
            answers += len(receipts)
            rounds += 1
            more = site.request("POST", f"/v1/tasks/{task}/advance", token=site.environment["DENIABLE_TOKEN"]).json["more"]
            crowd.board.refresh()
            assert rounds < 20
        assert crowd.report(words) == []
    assert (rounds > 1, answers) == (True, len(words))
    rows = rows_of(json.loads(site.run("estimate", "word", "--json"))["answers"][0])
    assert max(rows, key=lambda row: row["count"])["value"] == "tea"


def test_an_old_profile_put_back_spends_again(site):
    """What no device can notice: the collector counts both answers, the ledger knows of one, and people were told."""
    task = publish(site, HOME)
    file = site.folder / "device.ledger"
    ledger = FileLedger(file, lifetime_epsilon=4.0)
    ledger.consent(task)
    backup = shutil.copy(file, site.folder / "backup")
    with Reporter(site.url, task=task, ledger=ledger, strata={"platform": "web"}) as reporter:
        assert reporter.report("news").state == "sent"
        with pytest.raises(BudgetExceeded):
            reporter.report("news")
        shutil.copy(backup, file)
        assert reporter.report("news").state == "sent"
        assert ledger.spent() == 4
        assert "forgets what it has sent" in reporter.task.statement
    [period] = site.get(f"/v1/tasks/{task}/status", site.environment["DENIABLE_TOKEN"]).json["periods"]
    assert period["reports"] == 2


def test_every_endpoint_for_every_role(server):
    tokens = {"nobody": "", "a stranger": "dn_" + "0" * 64, "analyst": server.token("analyst"), "admin": server.token("admin")}
    for endpoint in ENDPOINTS:
        path = endpoint.path.replace("{id}", "0" * 64)
        statuses = {who: server.request(endpoint.method, path, token=token).status for who, token in tokens.items()}
        may = {"open": set(tokens), "analyst": {"analyst", "admin"}, "admin": {"admin"}}[endpoint.role]
        assert {who for who, status in statuses.items() if status not in (401, 403)} == may, (endpoint.path, statuses)
        if endpoint.role == "admin":
            assert statuses["analyst"] == 403


@pytest.fixture(params=["embedded", "postgresql"])
def anywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Server, Path]]:
    """A collector, and the folder in which all that it keeps ends up."""
    if request.param == "embedded":
        server, kept = Server(tmp_path / "collector"), tmp_path / "collector" / "store"
    else:
        cluster = request.getfixturevalue("postgres")
        server, kept = Server(tmp_path / "collector", store=request.getfixturevalue("postgres_address")), cluster.folder
    with server:
        yield server, kept


def test_nothing_about_a_sender_is_kept(anywhere):
    """Not where it came from, what it is, which token it had, nor in which order reports came: not in logs, metrics, files or tables."""
    server, kept = anywhere
    admin, analyst = server.token("admin"), server.token("analyst")
    task = server.task(UNIQUE.replace("1_000_000", "1000"), admin)
    headers = {"User-Agent": "leaky-agent/7", "X-Forwarded-For": "203.0.113.7", "Cookie": "crumb=leaky-cookie", "Content-Type": MEDIA_TYPE}
    own, stranger = "127.0.0.77", "dn_" + "ab" * 32
    wrong = {"Authorization": f"Bearer {stranger}"}
    parts = urlsplit(server.url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, source_address=(own, 0), timeout=300)

    def send(method: str, path: str, body: Any = None, **more: str) -> int:
        connection.request(method, path, body, headers | more)
        answer = connection.getresponse()
        answer.read()
        return answer.status

    statuses = [send("POST", "/v1/reports", b"".join(unique(task, value).pack() for value in range(start, 0, -1))) for start in (9, 50)]
    statuses += [send("POST", "/v1/reports", b"broken"), send("GET", f"/v1/tasks/{task.id.hex()}/status?leaky=query", **wrong)]
    assert statuses == [201, 201, 400, 401]
    connection.close()
    assert server.get(f"/v1/tasks/{task.id.hex()}/estimate", analyst).status == 200
    assert server.seal(task.id, 0, admin).status == 204
    published = [server.get(path).body for path in ("/metrics", "/v1/log", "/v1/tasks")]
    assert server.stop() == 0
    if server.store.startswith("postgresql"):
        with psycopg.connect(server.store, autocommit=True) as database:
            database.execute("CHECKPOINT")
    files = [path for path in kept.rglob("*") if path.is_file()]
    assert files
    marks = [*(value for name, value in headers.items() if name != "Content-Type"), own, "leaky=query", stranger, admin, analyst]
    for content in (server.errors.read_bytes(), *published, *(path.read_bytes() for path in files)):
        assert [mark for mark in marks if mark.encode() in content] == []
    assert [path for path in files if path.suffix == ".log" and path.parent.parent.name == "open"] == []  # they had the order
