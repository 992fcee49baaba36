"""A survey of shuffle trust with everybody in a process of their own: devices, a shuffler, a collector that dies on the way, an analyst."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

from deniable.client.board import Board
from deniable.client.ledger import SENT, MemoryLedger
from deniable.client.reporter import Reporter
from deniable.client.transport import HTTPTransport
from deniable.collect.faults import STATUS
from tests.system.conftest import Server
from tests.system.load import wait_for
from tests.system.shuffled_crowd import ShufflerProcess

PEOPLE = 240
TOML = f"""
name = "drink"
question = "What do you drink?"
owner = "tests"
trust = "shuffle"
epsilon = "auto"
period = "1 hour"
lasts = "2 hours"
answers = 2
minimum_batch = {PEOPLE}

[domain]
range = 4

[shuffle]
epsilon = 0.7
shufflers = [{{ url = "http://127.0.0.1:1", key = "KEY" }}]
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def test_reports_go_through_the_shuffler_and_are_counted_once_although_the_collector_dies(tmp_path):
    port = str(free_port())  # a shuffler goes on sending to the same address
    with (
        Server(tmp_path / "collector", "--port", port) as collector,
        ShufflerProcess(tmp_path / "shuffler", "--workers", "1", "--pad", "50") as shuffler,
    ):
        admin = collector.token("admin")
        task = collector.task(TOML.replace("KEY", shuffler.relay.key.hex()), admin)
        shuffler.serve(task, collector.url)
        ways = [HTTPTransport(collector.url), HTTPTransport(shuffler.url)]
        board = Board(ways[0], connect=lambda _: ways[1])

        def answer(place: int) -> str:
            ledger = MemoryLedger(lifetime_epsilon=20)
            ledger.consent(task.id)
            return Reporter(board, task=task.id, ledger=ledger).report(place % 4).state

        with ThreadPoolExecutor(8) as devices:
            assert set(devices.map(answer, range(PEOPLE))) == {SENT}
        for way in ways:
            way.close()
        asked = collector.get(f"/v1/tasks/{task.id.hex()}/estimate", admin)
        assert (asked.status, asked.code) == (409, "too_few")  # no batch, no answer
        collector.kill()
        collector.fault("batch begun:1")
        collector.start()
        shuffler.end_period()
        assert collector.died() == STATUS
        collector.fault("")
        collector.start()
        wait_for(lambda: shuffler.figure("deniable_held_seals") == 0 and shuffler.figure("deniable_batches_passed_on_total") == 1)
        told = collector.get(f"/v1/tasks/{task.id.hex()}/estimate", admin).json
        assert (told["answers"][0]["estimate"]["n"], told["shuffle"]["sizes"]) == (PEOPLE, [PEOPLE])
        assert told["shuffle"]["epsilon"] <= 0.7 < told["shuffle"]["local_epsilon"] == task.epsilon
        shown = collector.run("estimate", "drink", "--url", collector.url, "--token-file", str(_kept(tmp_path, admin)))
        assert "1 shuffled batch of 240 reports" in shown


def _kept(folder, token):
    file = folder / "token"
    file.write_text(token)
    file.chmod(0o600)
    return file
