"""Codes become tokens: once, for one device, whatever is lost on the way."""

# ruff: noqa: F811  # fixtures are imported

from __future__ import annotations

import json
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

import deniable as dn
from deniable.client import FileLedger, MemoryLedger, Reporter
from deniable.client.enrolment import TOKENS, enrol, stamp_for
from deniable.client.transport import Response
from deniable.collect.issuer import CodeError
from deniable.collect.storage import tables
from deniable.contract.source import SYSTEM
from deniable.errors import ProtocolError, WireError
from tests.collect.crowd import envelope, send, survey_task
from tests.collect.test_tokens import publish, redeemer, site  # noqa: F401  # site: a fixture
from tests.conftest import ROOT


def test_an_answer_that_is_lost_costs_no_tokens_and_a_code_is_good_for_one_device(collector, site, clock):
    task = publish(collector, dn.GRR(domain_size=4, epsilon=1.0), answers=3)
    code, spare = collector.issuer.add_codes(task, 2)
    mine, another = MemoryLedger(lifetime_epsilon=8), MemoryLedger(lifetime_epsilon=8)
    devices = [Reporter(site, task=task.id, ledger=ledger, clock=clock, sleep=lambda _: None) for ledger in (mine, another)]
    for ledger in (mine, another):
        ledger.consent(task.id)
    site.lost = 4  # as often as is tried
    with pytest.raises(TimeoutError):
        devices[0].enrol(code)
    assert mine.recall(task.id, TOKENS) is None
    for wrong in (code, "dc_" + "0" * 32, ""):
        with pytest.raises(ProtocolError, match="code"):
            devices[1].enrol(wrong)
    devices[0].enrol(code)
    assert len(mine.recall(task.id, TOKENS)) == 3 * 288
    site.ask = None
    devices[0].enrol(spare)  # has its tokens, and asks nobody
    with pytest.raises(TypeError):
        devices[1].enrol(spare)


def test_whoever_guesses_codes_does_not_wait_for_the_database_nor_keep_others_waiting(collector):
    """While somebody writes, a code that gets nothing is refused at once."""
    task = publish(collector, answers=1)
    (code,) = collector.issuer.add_codes(task, 1)
    numbers = [[bytes(255) + bytes([last])] for last in (1, 2)]
    signed = collector.issuer.redeem(task, code, numbers[0])
    with collector.store.catalog.engine.begin() as connection:
        connection.execute(tables.enrolment.update().values(request=tables.enrolment.c.request))
        for wrong in ("dc_" + "0" * 32, code):
            with pytest.raises(CodeError):
                collector.issuer.redeem(task, wrong, numbers[1])
    assert collector.issuer.redeem(task, code, numbers[0]) == signed


def test_of_two_who_redeem_a_code_at_once_one_gets_tokens(collector):
    task = publish(collector, answers=1)
    for code in collector.issuer.add_codes(task, 5):

        def attempt(_, code=code):
            try:
                enrol(task, code, MemoryLedger(lifetime_epsilon=8), redeemer(collector, task), SYSTEM)
            except CodeError:
                return 0
            return 1

        with ThreadPoolExecutor(4) as threads:
            assert sum(threads.map(attempt, range(4))) == 1


def test_a_device_that_is_killed_between_asking_and_keeping_asks_the_same_again(collector, tmp_path):
    task = publish(collector, answers=2)
    (code,) = collector.issuer.add_codes(task, 1)
    path, asked = tmp_path / "ledger", tmp_path / "asked"
    (tmp_path / "task").write_bytes(task.canonical)
    child = f"""
import os, pathlib, signal
from deniable.client import FileLedger
from deniable.client.enrolment import enrol
from deniable.contract.source import SYSTEM
from deniable.contract.task import Task
from deniable.collect.plain_answer import know_plain_answer

know_plain_answer()

def post(body):
    pathlib.Path({str(asked)!r}).write_bytes(body)
    os.kill(os.getpid(), signal.SIGKILL)

task = Task.from_json(pathlib.Path({str(tmp_path / "task")!r}).read_bytes())
enrol(task, {code!r}, FileLedger({str(path)!r}, lifetime_epsilon=8), post, SYSTEM)
"""
    assert subprocess.run([sys.executable, "-c", child], cwd=ROOT, check=False).returncode == -signal.SIGKILL
    redeemer(collector, task)(asked.read_bytes())  # it had arrived
    ledger = FileLedger(path, lifetime_epsilon=8)
    enrol(task, code, ledger, redeemer(collector, task), SYSTEM)
    stamp = stamp_for(task, ledger, None)
    assert send(collector, stamp(envelope(task, 1), 0), stamp(envelope(task, 2), 1)) == {}


@pytest.mark.parametrize("change", [{"signatures": []}, {"signatures": ["00" * 256]}, {"signatures": [7]}, {"signatures": None}, {}, []])
def test_a_device_believes_no_answer_that_does_not_fit(collector, change):
    task = publish(collector, answers=1)
    ledger = MemoryLedger(lifetime_epsilon=8)
    with pytest.raises(WireError):
        enrol(task, "dc_0", ledger, lambda _: Response(200, {}, json.dumps(change).encode()), SYSTEM)
    assert ledger.recall(task.id, TOKENS) is None


def test_requests_for_tokens_that_make_no_sense(collector, site, clock):
    task = publish(collector, answers=2)
    plain = survey_task(collector.registry.key, name="open")
    collector.publish(plain)
    (code,) = collector.issuer.add_codes(task, 1)
    good = (2).to_bytes(256, "big").hex()

    def ask(content, wanted=task, **headers):
        path = f"/v1/tasks/{wanted.id.hex()}/tokens"
        answer = site.ask("POST", path, content=json.dumps(content), headers={"content-type": "application/json"} | headers)
        assert answer.headers["access-control-allow-origin"] == "*"
        return answer.status_code, answer.json().get("error", {}).get("code")

    right = {"code": code, "blinded": [good, good]}
    assert ask(right, plain) == (409, "no_tokens")
    assert ask(right, replace(task, name="nobody-s")) == (404, "unknown_task")
    assert ask(right, **{"content-type": "application/toml"}) == (415, "wrong_type")
    for wrong in ([good], [good] * 3, [good, "00" * 256], [good, task.issuer.hex()], [good, "ff" * 256]):
        assert ask({"code": code, "blinded": wrong}) == (422, "refused")
    for wrong in ({}, [], {"code": code}, right | {"more": 1}, {"code": code, "blinded": [good, "0"]}, {"code": 7, "blinded": [good] * 2}):
        assert ask(wrong) == (422, "malformed")
    assert ask(right | {"code": "x"}) == (403, "bad_code")
    assert ask(right) == (200, None)
    preflight = site.ask("OPTIONS", f"/v1/tasks/{task.id.hex()}/tokens", headers={"origin": "https://example.org"})
    assert (preflight.status_code, preflight.headers["access-control-allow-headers"]) == (204, "content-type")
    clock.now = task.end + task.late
    assert ask(right) == (409, "no_tokens")
