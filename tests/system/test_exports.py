"""Several collectors, one dataset: two processes on one PostgreSQL, one of them killed, and both hosts export at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from deniable.client import GRR
from deniable.contract.envelope import Envelope
from deniable.engines import local
from deniable.testing import ReplaySource
from tests.system.conftest import Server
from tests.system.load import HOUR

TASK = """
name = "numbers"
question = "Which number is yours?"
owner = "tests"
epsilon = 2
weak_privacy = true
lasts = "2 days"
period = "1 hour"
late = "1 day"
answers = 48
minimum_batch = 10
[domain]
range = 300
[mechanism]
name = "GRR"
"""


def test_the_exports_of_all_collectors_are_one_dataset(postgres_address, tmp_path):
    first, second = (Server(tmp_path / name, store=postgres_address) for name in ("first", "second"))
    second.environment["DENIABLE_TEST_CLOCK"] = str(first.offset)
    with first, second:
        admin = first.token("admin")
        task = first.task(TASK, admin)
        spec, source = GRR(domain_size=300, epsilon=2.0), ReplaySource.from_key("exports")
        batches = [spec.privatize(np.arange(600) % 300, source=source) for _ in range(2)]
        for period, reports in enumerate(batches):
            ids = (b"".join(word.to_bytes(8, "big") for word in source.words(2)) for _ in range(len(reports)))
            sent = [Envelope(task.id, period, 0, 0, report, row.tobytes()) for report, row in zip(ids, reports.rows(), strict=True)]
            if period == 0:
                assert first.send(*sent[:400]).status == 201
                first.kill()  # its devices do not know what was taken, and send all of it to the other
                assert second.send(*sent).status == 201
                first.start()
            else:
                assert [first.send(*sent[::2]).status, second.send(*sent[1::2]).status] == [201, 201]
            assert [server.seal(task.id, period, admin).status for server in (first, second)] == [204, 204]
            first.ahead((period + 1) * HOUR)
        assert first.stop() == 0
        command = "export", "numbers", "--dataset", "--store", postgres_address, "--out", str(tmp_path / "data")
        with ThreadPoolExecutor(2) as hosts:  # while a collector serves
            told = list(hosts.map(lambda host: host.run(*command), (first, second)))
    assert all("1,200 reports in 2 files, 2 periods" in each for each in told)
    assert local.tally(tmp_path / "data").to_bytes() == sum(map(spec.tally, batches)).to_bytes()
    assert local.tally(tmp_path / "data" / "task=*" / "period=1").to_bytes() == spec.tally(batches[1]).to_bytes()
