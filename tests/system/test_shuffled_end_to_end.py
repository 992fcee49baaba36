"""Devices, a shuffler and a collector, each as it is run: what was answered is counted once, whoever dies in between."""

from __future__ import annotations

from collections import Counter

import pytest

from deniable.client.ledger import MemoryLedger
from deniable.client.reporter import Reporter
from deniable.collect.faults import STATUS
from deniable.contract.notice import ANALYST, read_keys
from deniable.sealing.seal import seal_report
from tests.collect.crowd import envelope
from tests.system.conftest import Server
from tests.system.load import wait_for
from tests.system.shuffled_crowd import HOUR, ShufflerProcess, free_port

PEOPLE = 300
DEVICES = 3
TOML = """
name = "drink"
question = "What do you drink?"
owner = "tests"
trust = "shuffle"
epsilon = "auto"
lasts = "1 day"
minimum_batch = 300

[domain]
range = 4

[shuffle]
epsilon = 0.6
shufflers = [{ url = "%s", key = "%s" }]
"""


@pytest.mark.parametrize("point", ["", "batch begun", "batch recorded"])
def test_reports_through_a_shuffler_are_counted_once(tmp_path, point):
    """Some devices report by themselves, the rest of the crowd is sealed in bulk. The collector dies over the batch, and the shuffler is
    killed while it waits for an answer; the batch comes again, and is the same one.
    """
    collector = Server(tmp_path / "collector", "--port", str(free_port()))
    port = free_port()
    with collector, ShufflerProcess(tmp_path / "shuffler", "--port", str(port), "--workers", "1") as shuffler:
        admin = collector.token("admin")
        task = collector.task(TOML % (f"http://127.0.0.1:{port}", shuffler.ring.identity.hex()), admin)
        shuffler.serve(task, collector.url)
        analyst = read_keys(collector.get("/v1/keys").body, task.key, task.start + 60, ANALYST)
        crowd = [seal_report(task, envelope(task, number % 4), analyst, [shuffler.notice()]) for number in range(PEOPLE)]
        assert shuffler.hand_in(crowd).status == 201
        for number in range(DEVICES):
            ledger = MemoryLedger(lifetime_epsilon=20.0)
            ledger.consent(task.id)
            with Reporter(collector.url, task=task.id, ledger=ledger) as reporter:
                assert reporter.report(number).state == "sent"
        if point:
            collector.kill()
            collector.fault(f"{point}:1")
            collector.start()
        later = 24 * HOUR + 2000  # the period is over, for the shuffler; the collector waits for an hour
        collector.ahead(later)
        shuffler.ahead(later)
        if point:
            assert collector.died() == STATUS
            shuffler.restart()
            collector.fault("")
            collector.start()
        wait_for(lambda: shuffler.figure("deniable_batches_passed_on_total") == 1)
        told = collector.get(f"/v1/tasks/{task.id.hex()}/estimate", admin).json
        assert (told["answers"][0]["estimate"]["n"], told["shuffle"]["sizes"]) == (PEOPLE + DEVICES, [PEOPLE + DEVICES])
        assert told["shuffle"]["epsilon"] <= 0.6
        assert Counter(line["event"] for line in shuffler.log())["let go"] == 1
        assert (shuffler.stop(), collector.stop()) == (0, 0)
