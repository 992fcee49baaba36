"""Several who count: a collector that got the reports by HTTP, and two others who read an open folder each, agree to the byte."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deniable.client.bulletin import Bulletin, Everywhere
from deniable.client.ledger import MemoryLedger
from deniable.client.reporter import Reporter
from deniable.collect.collector import Collector
from deniable.collect.storage.store import Store
from deniable.contract.envelope import open_batch
from tests.conftest import ROOT
from tests.system.conftest import Server

TOML = """
name = "home-page"
question = "What is your home page?"
owner = "tests"
epsilon = 2.0
answers = 2
lasts = "2 hours"
period = "1 hour"
minimum_batch = 40
[strata]
platform = ["phone", "web"]
[[questions]]
name = "page"
domain = { categories = ["news", "mail", "games"] }
mechanism = { name = "GRR" }
[[questions]]
name = "hour"
domain = { range = 24 }
mechanism = { name = "OLH" }
"""
PEOPLE, HOUR = 240, 3600
SERVER = ("sqlalchemy", "starlette", "uvicorn", "msgspec", "prometheus_client", "psycopg")


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory):
    """A server, a task as it serves it, and an open folder, after everybody has answered at both."""
    place = tmp_path_factory.mktemp("answered")
    with Server(place / "collector") as server:
        admin = server.token("admin")
        task = server.task(TOML, admin)
        file, folder = place / "task.json", place / "open"
        file.write_bytes(server.get(f"/v1/tasks/{task.id.hex()}").body)
        folder.mkdir()
        places, spent = Everywhere(server.url, Bulletin(folder)), 0
        for hour in range(2):
            server.ahead(hour * HOUR)
            for person in range(PEOPLE // 2):
                ledger = MemoryLedger(lifetime_epsilon=4.0)
                ledger.consent(task.id)
                labels = {"platform": ("phone", "web")[person % 2]}
                reporter = Reporter(places, task=task.id, ledger=ledger, strata=labels, clock=lambda hour=hour: time.time() + hour * HOUR)
                receipt = reporter.report({"page": ("news", "mail")[person % 2], "hour": person % 24})
                assert receipt.state == "sent"
                spent += ledger.spent()
        places.close()
        assert spent == 2 * PEOPLE, "each of them once, although it went to two places"
        yield server, admin, task, file, folder


@pytest.fixture
def told(answered, tmp_path: Path):
    """The same for each test, with a folder of its own."""
    *rest, folder = answered
    return *rest, shutil.copytree(folder, tmp_path / "open")


def count(server, *arguments):
    """``deniable tally``."""
    return json.loads(server.run("tally", *map(str, arguments), "--json"))


def count_in_order(server, *arguments, backwards):
    """The same in an interpreter without any package of a server, which finds the files in another order."""
    code = f"""
import os, sys
class Sorted:
    def __init__(self, entries):
        self.entries = sorted(entries, key=lambda entry: entry.name, reverse={backwards!r})
    def __enter__(self):
        return iter(self.entries)
    def __exit__(self, *_):
        pass
real = os.scandir
os.scandir = lambda folder: Sorted(real(folder))
sys.modules.update(dict.fromkeys({SERVER!r}))
from deniable.cli import main
main()
"""
    command = [sys.executable, "-c", code, "tally", *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=server.environment, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_three_who_count_agree_to_the_byte(told, tmp_path):
    server, admin, task, file, folder = told
    server.environment |= {"DENIABLE_URL": server.url, "DENIABLE_TOKEN": admin}
    images = [tmp_path / "first", tmp_path / "second"]
    answers = [
        count_in_order(server, folder, "--task", file, "--out", out, backwards=backwards)
        for out, backwards in zip(images, (False, True), strict=True)
    ]
    assert answers[0] == answers[1]
    assert (answers[0]["reports"], answers[0]["refused"]) == (PEOPLE, {})
    asked = json.loads(server.run("estimate", "home-page", "--json"))
    assert answers[0]["estimate"] == asked
    assert asked["provisional"]
    assert len(asked["answers"]) == 2
    for selection in (["--period", "1"], ["--stratum", "platform=web"], ["--period", "0-1", "--stratum", "platform=phone"]):
        assert count(server, folder, "--task", file, *selection)["estimate"] == json.loads(
            server.run("estimate", "home-page", "--json", *selection)
        )
    tested = json.loads(server.run("estimate", "home-page", "--json", "--integrity"))
    page, hour = tested.pop("integrity")
    assert tested == asked
    assert page == {"question": "page", "n": asked["answers"][0]["estimate"]["n"], "alpha": 0.005, "suspicious": [], "tests": []}
    assert (hour["n"], hour["suspicious"], [each["test"] for each in hour["tests"]]) == (
        asked["answers"][1]["estimate"]["n"],
        [],
        ["draws of seed"],
    )
    assert "no sign of tampering" in server.run("estimate", "home-page", "--integrity")
    assert server.stop() == 0
    store = Store.open(server.store)
    collected = {"-".join(map(str, key)): tally.to_bytes() for key, tally in Collector(store).tallies(task.id).items()}
    store.close()
    assert len(collected) == 8, "two periods, two questions, two strata"
    for out in images:
        assert {path.stem: path.read_bytes() for path in out.iterdir()} == collected
    assert [each["tally"] for each in answers[0]["tallies"]] == [hashlib.sha256(collected[key]).hexdigest() for key in sorted(collected)]


def post(folder, data):
    name = f"{hashlib.sha256(data).hexdigest()}.report"
    (folder / name).write_bytes(data)
    return name


def test_what_does_not_count_is_named(told, tmp_path):
    """Duplicates, torn files, foreign tasks, wrong periods, and all else that somebody may put into an open folder."""
    server, _, task, file, folder = told
    expected = count(server, folder, "--task", file)
    names = sorted(path.name for path in folder.iterdir())
    mirror = shutil.copytree(folder, tmp_path / "mirror")
    (good,) = open_batch((folder / names[0]).read_bytes())
    fresh = good._replace(id=b"\1" * 16)
    wrong = {
        "unknown_task": [post(mirror, fresh._replace(task=bytes(32)).pack())],
        "too_early": [post(mirror, fresh._replace(period=period).pack()) for period in (2, 1 << 31)],
        "bad_question": [post(mirror, fresh._replace(question=2).pack())],
        "bad_stratum": [post(mirror, fresh._replace(stratum=2).pack())],
        "bad_payload": [post(mirror, fresh._replace(payload=payload).pack()) for payload in (good.payload + b"\0", b"")],
        "bad_token": [post(mirror, fresh._replace(token=b"\0" * 32).pack())],
        "malformed": [post(mirror, data) for data in (b"", b"x" * 64, good.pack() * 2)],
        "unfinished": [".0123456789abcdef.part"],
        "not_a_report": ["README", "a folder", "link.report", "pipe"],
        "repeated": names[1:],
    }
    (mirror / wrong["unfinished"][0]).write_bytes(b"half a rep")
    (mirror / "README").write_text("hello")
    (mirror / "a folder").mkdir()
    (mirror / "link.report").symlink_to(folder / names[0])
    os.mkfifo(mirror / "pipe")
    (mirror / names[0]).write_bytes(good.pack()[:-1])
    torn = {"torn": [names[0]]}
    (mirror / f"{task.id.hex()}.task").write_bytes(file.read_bytes())
    found = count(server, folder, mirror, "--task", file)
    assert {code: sorted(files) for code, files in found["refused"].items()} == {
        code: sorted(files) for code, files in (wrong | torn).items()
    }
    assert (found["tallies"], found["estimate"]) == (expected["tallies"], expected["estimate"])
    assert count(server, mirror, folder, "--task", file) == found, "whichever folder comes first"


def test_two_reports_under_one_id_count_for_nothing(told):
    """Nothing in a folder tells which was first. Each is named, and in another period the id is another report's."""
    server, _, _, file, folder = told
    (good,) = next(found for path in folder.iterdir() if (found := open_batch(path.read_bytes()))[0].period == 0)
    payload = bytes([0 if good.payload[0] else 1]) + good.payload[1:]
    other = post(folder, good._replace(payload=payload).pack())
    found = count(server, folder, "--task", file)
    assert found["refused"] == {"conflict": sorted([other, f"{hashlib.sha256(good.pack()).hexdigest()}.report"])}
    assert found["reports"] == PEOPLE - 1
    post(folder, good._replace(period=1).pack())
    assert count(server, folder, "--task", file)["reports"] == PEOPLE


def test_a_device_that_is_killed_while_it_posts_leaves_nothing_that_counts(told):
    server, _, _, file, folder = told
    code = f"""
import os, signal, sys
from deniable.client.bulletin import Bulletin
os.utime = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
Bulletin({str(folder)!r}).request("POST", "/v1/reports", sys.stdin.buffer.read(), {{}})
"""
    (good,) = open_batch(next(folder.iterdir()).read_bytes())
    late = good._replace(id=bytes(16)).pack()
    done = subprocess.run([sys.executable, "-c", code], input=late, check=False)
    assert done.returncode == -signal.SIGKILL
    found = count(server, folder, "--task", file)
    assert (found["reports"], list(found["refused"])) == (PEOPLE, ["unfinished"])
    Bulletin(folder).request("POST", "/v1/reports", late, {})
    assert count(server, folder, "--task", file)["reports"] == PEOPLE + 1


def test_the_command_in_words_and_what_it_refuses(told, tmp_path):
    server, _, task, file, folder = told
    (folder / "README").write_text("")
    text = server.run("tally", str(folder), "--task", str(file))
    assert task.id.hex() in text
    assert f"{PEOPLE} reports counted, 1 files not" in text
    assert "not_a_report: README (1)" in text
    assert "hour" in text
    (tmp_path / "empty").mkdir()
    assert "minimum batch of 40" in server.run("tally", str(tmp_path / "empty"), "--task", str(file), status=4)
    signed = json.loads(file.read_bytes())
    forged = tmp_path / "forged.json"
    for wrong in (signed | {"signature": "00" * 64}, signed | {"task": signed["task"].replace("home page", "bank")}, {}, [], "x"):
        forged.write_text(json.dumps(wrong))
        server.run("tally", str(folder), "--task", str(forged), status=2)
    server.run("tally", str(tmp_path / "nowhere"), "--task", str(file), status=2)
    server.run("tally", str(folder), "--task", str(file), "--out", str(tmp_path), status=2)
