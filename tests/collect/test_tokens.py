"""One-time tokens and shared secrets on real stores: who is counted, how often, and what is known about them."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import sqlalchemy as sql

import deniable as dn
from deniable.client import MemoryLedger, Reporter
from deniable.client.enrolment import DRAWN, enrol, stamp_for
from deniable.client.transport import Response
from deniable.collect.analysis.analyst import TooFew, estimate, task_status
from deniable.collect.collector import Collector
from deniable.collect.storage.block import Bucket
from deniable.collect.storage.store import Store
from deniable.collect.web.api import Api
from deniable.collect.web.dispatch import application
from deniable.collect.web.metrics import Metrics
from deniable.contract.admission import NO_ISSUER, SECRET_MARK, prove, spend_id, token_message
from deniable.contract.blind_rsa import blind, finalize
from deniable.contract.envelope import open_batch
from deniable.contract.source import SYSTEM
from deniable.errors import BudgetExceeded, ParameterError, ProtocolError
from tests.collect.crowd import HOUR, NOON, envelope, send, survey_task
from tests.collect.test_api import running

DAY = 24 * HOUR


@pytest.fixture
def site(collector):
    """The collector behind its HTTP interface, as a device's transport; ``lost`` answers arrive nowhere."""
    with running(application(Api(collector, Metrics()))) as ask:
        yield Web(collector, ask)


class Web:
    def __init__(self, collector, ask):
        self.collector, self.ask, self.lost, self.bodies = collector, ask, 0, []

    def request(self, method, path, body, headers):
        if path == "/v1/reports":
            self.bodies.append(body)
            refused = send(self.collector, *open_batch(body))
            rejected = [{"id": report.hex(), "code": code} for report, code in refused.items()]
            answer = Response(200, {}, json.dumps({"rejected": rejected}).encode()) if refused else Response(201, {}, b"")
        else:
            got = self.ask(method, path, content=body, headers=dict(headers))
            answer = Response(got.status_code, dict(got.headers), got.content)
        if self.lost and method == "POST":
            self.lost -= 1
            raise TimeoutError
        return answer


def publish(collector, *specs, **rules):
    """A task with tokens, under a key of its own."""
    draft = survey_task(collector.registry.key, *specs, admission="token", issuer=NO_ISSUER, **rules)
    task = replace(draft, issuer=collector.issuer.modulus(draft))
    collector.publish(task)
    return task


def redeemer(collector, task):
    """How a device that stands beside the collector posts its request."""

    def post(body):
        asked = json.loads(body)
        signed = collector.issuer.redeem(task, asked["code"], [bytes.fromhex(part) for part in asked["blinded"]])
        return Response(200, {}, json.dumps({"signatures": [part.hex() for part in signed]}).encode())

    return post


def device(collector, task):
    """What stamps the reports of a device that has enrolled."""
    ledger = MemoryLedger(lifetime_epsilon=8)
    enrol(task, collector.issuer.add_codes(task, 1)[0], ledger, redeemer(collector, task), SYSTEM)
    return stamp_for(task, ledger, None)


def counts(collector, task):
    """How many reports were counted in each sealed period, and in all."""
    stored = {found.bucket.number: (found.reports, found.repeated) for found in collector.store.buckets(task.id)}
    tallied = sum(tally.n for tally in collector.tallies(task.id).values())
    assert tallied == sum(reports for reports, _ in stored.values())
    return stored


# --- being counted ---


def test_a_device_that_enrolled_is_counted_once_for_each_token(collector, site, clock):
    task = publish(collector, dn.GRR(domain_size=4, epsilon=1.0), answers=2)
    (code,) = collector.issuer.add_codes(task, 1)
    ledger = MemoryLedger(lifetime_epsilon=8)
    reporter = Reporter(site, task=task.id, ledger=ledger, clock=clock, sleep=lambda _: None)
    with pytest.raises(BudgetExceeded, match="agreed"):
        reporter.enrol(code)
    ledger.consent(task.id)
    with pytest.raises(ProtocolError, match="enrol"):
        reporter.report(1)
    assert ledger.entries() == []
    reporter.enrol(f" {code}\n")
    site.lost = 5  # as often as is tried: the report waits
    assert reporter.report(1).state == "pending"
    assert [receipt.state for receipt in reporter.flush()] == ["sent"]
    clock.now += HOUR
    assert reporter.report(2).state == "sent"
    clock.now += HOUR
    with pytest.raises(BudgetExceeded):
        reporter.report(3)
    for period in (0, 1):
        collector.seal(task.id, period)
    assert counts(collector, task) == {0: (1, counts(collector, task)[0][1]), 1: (1, 0)}
    first, *again, last = ({sent.token: sent.id for sent in open_batch(body)} for body in site.bodies)
    assert all(body == first for body in again), "a resend carries the same token"
    assert len(first | last) == 2


def test_a_token_spent_twice_counts_once(collector):
    task = publish(collector)
    stamp = device(collector, task)
    first, second = stamp(envelope(task, 1), 0), stamp(envelope(task, 2), 0)
    assert first.id == second.id
    assert send(collector, first, second) == {}
    assert send(collector, stamp(envelope(task, 3), 1)) == {}, "another token of the same device"
    collector.seal(task.id, 0)
    assert counts(collector, task)[0][0] == 2
    assert np.flatnonzero(collector.tallies(task.id)[0, 0, 0].counters).tolist() == [1, 3], "the first one"


def test_a_token_spent_in_two_periods_counts_in_the_one_that_is_sealed_first(collector, clock):
    task = publish(collector)
    stamps = [device(collector, task) for _ in range(3)]
    clock.now += HOUR + 1  # the first period is over, and still taken
    assert send(collector, *(stamp(envelope(task, 7, period=0), 0) for stamp in stamps)) == {}
    assert (
        send(collector, *(stamp(envelope(task, 7, period=1), 0) for stamp in stamps[1:]), stamps[0](envelope(task, 7, period=1), 1)) == {}
    )
    collector.seal(task.id, 1)
    shown = collector.tallies(task.id)
    assert shown[0, 0, 0].n == 1, "and no more is shown of the open one"
    collector.seal(task.id, 0)
    assert counts(collector, task) == {0: (1, 2), 1: (3, 0)}
    assert [result for _, result in collector.store.rebuild(collector.questions)] == ["same", "same"]


def test_a_token_spent_in_ten_open_periods_is_shown_once(collector, clock):
    """Or else one code would take a provisional estimate past the minimum batch."""
    task = publish(collector, late=10 * HOUR, minimum_batch=10)
    stamp = device(collector, task)
    clock.now += 9 * HOUR + 1
    assert send(collector, *(stamp(envelope(task, 7, period=period), 0) for period in range(10))) == {}
    with pytest.raises(TooFew):
        estimate(collector, task.id)
    assert [found["reports"] for found in task_status(collector, task.id)["periods"]] == [1, *[0] * 9]
    assert collector.tallies(task.id, [3]) == {}, "the first of the open periods will count it, and is not asked for"
    for _ in range(9):
        assert send(collector, device(collector, task)(envelope(task, 8, period=9), 0)) == {}
    shown = estimate(collector, task.id).to_json()
    collector.close_task(task.id)
    assert {period: reports for period, (reports, _) in counts(collector, task).items()} == {0: 1, **dict.fromkeys(range(1, 9), 0), 9: 9}
    assert estimate(collector, task.id).to_json() | {"provisional": True} == shown


@pytest.fixture
def other(collector, address, clock):
    """Another collector of the same PostgreSQL; a folder belongs to one."""
    if not collector.store.catalog.shared:
        yield collector
        return
    store = Store.open(address)
    yield Collector(store, clock=clock)
    store.close()


def test_two_spend_the_same_token_at_once(collector, other, clock):
    """In one period and in two, which are then sealed at once."""
    task = publish(collector, period=DAY // 8)
    other.refresh()
    clock.now += DAY // 8 + 1
    stamps = [device(collector, task) for _ in range(20)]
    batches = [[stamp(envelope(task, 5, period=period), 0) for stamp in stamps] for period in (0, 0, 1, 1)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda one, batch: send(one, *batch), [collector, other] * 2, batches)) == [{}] * 4
        list(threads.map(lambda one, period: one.seal(task.id, period), [collector, other], [0, 1]))
    assert sorted(reports for reports, _ in counts(collector, task).values()) == [0, 20]


def test_reports_are_kept_while_a_period_waits_to_be_counted(collector, clock):
    """A collector that was away for years: what it drops, it drops after everything was counted."""
    task = publish(collector)
    stamp = device(collector, task)
    assert send(collector, stamp(envelope(task, 1), 0)) == {}
    collector.seal(task.id, 0)
    clock.now += HOUR
    assert send(collector, stamp(envelope(task, 1, period=1), 0)) == {}
    clock.now += 1000 * DAY
    assert collector.tend() == [f"sealed {Bucket(task.id, 1)}"]
    assert counts(collector, task) == {0: (1, 0), 1: (0, 1)}
    assert collector.tend() == [f"dropped the reports of {Bucket(task.id, 0)}"]


# --- not being counted ---


def test_forged_foreign_and_missing_tokens_are_refused(collector):
    task = publish(collector)
    other = publish(collector, name="other")
    plain = survey_task(collector.registry.key, name="open")
    collector.publish(plain)
    sent = device(collector, task)(envelope(task, 1), 0)
    number, signature = sent.token[:32], sent.token[32:]

    def signed_by(key_of, task_id):
        blinded = blind(key_of.issuer, token_message(task_id, number), SYSTEM)
        post = redeemer(collector, key_of)
        rest = [blinded.message] * key_of.answers
        body = {"code": collector.issuer.add_codes(key_of, 1)[0], "blinded": [part.hex() for part in rest]}
        answer = json.loads(post(json.dumps(body).encode()).body)["signatures"][0]
        return finalize(key_of.issuer, token_message(task_id, number), bytes.fromhex(answer), blinded)

    flipped = [number + signature[:i] + bytes([signature[i] ^ 1]) + signature[i + 1 :] for i in (0, 128, 255)]
    wrong = [
        sent._replace(token=b""),
        *(sent._replace(token=token) for token in flipped),
        sent._replace(token=sent.token[:-1]),
        sent._replace(token=sent.token + b"\0"),
        sent._replace(token=number + bytes(256)),
        sent._replace(id=bytes(16)),
        sent._replace(token=bytes(32) + signature, id=spend_id(bytes(32))),
        sent._replace(token=number + signed_by(other, task.id)),  # another task's issuer
        sent._replace(task=other.id),
        sent._replace(task=other.id, token=number + signed_by(task, other.id)),
        sent._replace(task=other.id, token=number + signed_by(other, task.id)),
        sent._replace(task=plain.id),
    ]
    rows, rejected = collector.admit(wrong)
    assert rows == {}
    assert rejected == [(place, "bad_token") for place in range(len(wrong))]
    assert send(collector, sent, sent._replace(token=number + signed_by(task, task.id))) == {}, "two signatures of one number"
    collector.seal(task.id, 0)
    assert counts(collector, task)[0][0] == 1


def test_a_shared_secret_lets_in_those_who_have_it(collector, site, clock):
    task = survey_task(collector.registry.key, dn.GRR(domain_size=4, epsilon=1.0), admission="secret")
    collector.publish(task)
    secret = collector.issuer.secret(task)
    collector.publish(task)
    assert collector.issuer.secret(task) == secret, "publishing again changes nothing"
    ledger = MemoryLedger(lifetime_epsilon=8)
    ledger.consent(task.id)

    def reporter(text):
        return Reporter(site, task=task.id, ledger=ledger, clock=clock, sleep=lambda _: None, secret=text)

    for wrong in (None, "", secret.hex()[:-2], f"{SECRET_MARK}{secret.hex()[:-1]}g"):
        with pytest.raises(ParameterError, match="secret") as raised:
            reporter(wrong).report(1)
        assert secret.hex()[:8] not in str(raised.value)
    with pytest.raises(ParameterError, match="one-time tokens"):
        reporter(None).enrol("dc_0")
    assert reporter(SECRET_MARK + secret.hex()).report(1).state == "sent"
    (sent,) = open_batch(site.bodies[0])
    wrong = [sent._replace(token=token) for token in (b"", bytes(32), sent.token[:-1], prove(bytes(32), sent), prove(b"", sent))]
    wrong += [sent._replace(period=1), sent._replace(id=bytes(16)), sent._replace(payload=bytes([sent.payload[0] ^ 1]))]
    clock.now += HOUR
    assert collector.admit(wrong) == ({}, [(place, "bad_token") for place in range(len(wrong))])
    for entry in collector.registry.entries():
        assert secret.hex() not in entry.record.decode()


# --- publication ---

TOML = """
name = "drink"
question = "What do you drink?"
owner = "tests"
epsilon = 1.0
start = 2027-01-15
lasts = "2 days"
period = "1 day"
answers = 2
admission = "token"
[domain]
categories = ["tea", "coffee"]
"""


def test_a_file_published_twice_is_one_task_and_every_task_has_its_own_key(collector):
    from deniable.collect.tasks.task_file import read_task

    def published(text):
        task = read_task(text.encode(), key=collector.registry.key, now=NOON, issuer=collector.issuer.modulus)
        collector.publish(task, new_meaning=True)
        return task

    first = published(TOML)
    assert published(TOML) == first
    assert published(TOML.replace("2 days", "3 days")).issuer != first.issuer
    draft = read_task(TOML.encode(), key=collector.registry.key, now=NOON)
    with pytest.raises(ParameterError, match="a key that this collector made"):
        collector.publish(draft)
    with pytest.raises(ParameterError, match="a key that this collector made"):
        collector.publish(replace(first, issuer=published(TOML.replace("tea", "water")).issuer))
    assert "blind signatures" in first.statement
    collector.delete_task(first.id)
    with pytest.raises(ParameterError, match="a key that this collector made"):
        collector.publish(first)


def test_what_cannot_be_kept_is_refused():
    from deniable.collect.tasks.task_file import read_task

    for old, new, named in [
        ('"token"', '"friends"', "admission"),
        ('"token"', '"token"\nretention = "3 days"', "retention: got 3; allowed: 4 days or more"),
        ("answers = 2", "answers = 400\nanswers_per_period = 200", "answers: got 400; allowed: at most 366"),
    ]:
        with pytest.raises(ParameterError, match=named):
            read_task(TOML.replace(old, new).encode(), key=bytes(32), now=NOON)
    one = TOML.replace('period = "1 day"', 'retention = "0 days"').replace("answers = 2", "")
    assert read_task(one.encode(), key=bytes(32), now=NOON).retention == 0, "a token of one period needs no memory"


# --- what is known ---


def everything_stored(collector, address):
    """All that is kept, as one string of bytes: every row of every table, and every file."""
    rows = []
    with collector.store.catalog.engine.begin() as connection:
        inspector = sql.inspect(connection)
        for name in inspector.get_table_names():
            for row in connection.execute(sql.text(f'SELECT * FROM "{name}"')).all():
                rows.append(b"|".join(value if isinstance(value, bytes) else str(value).encode() for value in row))
    files = [path.read_bytes() for path in sorted(address.rglob("*")) if path.is_file()] if not isinstance(address, str) else []
    return b"\n".join(rows + files)


@pytest.mark.parametrize("sealed", [False, True])
def test_nothing_stored_connects_a_report_with_a_code(collector, address, sealed):
    task = publish(collector, answers=2)
    codes, bodies, tokens, drawn = collector.issuer.add_codes(task, 6), [], [], []
    for code in codes[:5]:
        ledger = MemoryLedger(lifetime_epsilon=8)

        def post(body):
            bodies.append(json.loads(body))
            return redeemer(collector, task)(body)

        enrol(task, code, ledger, post, SYSTEM)
        drawn.append(ledger.recall(task.id, DRAWN))
        stamp = stamp_for(task, ledger, None)
        tokens += [stamp(envelope(task, 1), place) for place in range(2)]
    assert send(collector, *tokens) == {}
    if sealed:
        collector.seal(task.id, 0)
    kept = everything_stored(collector, address)
    assert all(sent.id in kept for sent in tokens), "the ids of reports are kept: that is how a token counts once"
    for sent in tokens:
        assert sent.token[:32] not in kept
        assert sent.token[32:] not in kept
    for body in bodies:
        assert body["code"].encode() not in kept
        assert all(bytes.fromhex(part) not in kept for part in body["blinded"])
    for parts in drawn:
        assert parts[32:288] not in kept, "nor what undoes the blinding"
    with collector.store.catalog.engine.begin() as connection:
        rows = connection.execute(sql.text("SELECT * FROM enrolment")).all()
    requests = [hashlib.sha256(b"".join(bytes.fromhex(part) for part in body["blinded"])).digest() for body in bodies]
    digests = [hashlib.sha256(code.encode()).digest() for code in codes]
    expected = {(task.id, digest, request) for digest, request in zip(digests, [*requests, None], strict=True)}
    assert {tuple(None if part is None else bytes(part) for part in row) for row in rows} == expected, (
        "two digests, and nothing of a report"
    )
    rest = kept.replace(task.id, b"")
    for value in {*digests, *requests}:
        assert rest.count(value) >= 1
        assert not any(sent.id in value or value[:16] == sent.id for sent in tokens)


def test_codes_lie_in_the_order_of_their_digests(identity, tmp_path, clock):
    """Not in that of their use, which could be laid beside the order in which reports come."""
    collector = Collector(Store.open(tmp_path / "store"), clock=clock)
    task = publish(collector, answers=1)
    codes = collector.issuer.add_codes(task, 20)
    for code in codes[::3]:
        enrol(task, code, MemoryLedger(lifetime_epsilon=8), redeemer(collector, task), SYSTEM)
    with collector.store.catalog.engine.begin() as connection:
        found = [bytes(row[0]) for row in connection.execute(sql.text("SELECT code FROM enrolment"))]
        assert found == sorted(found)
        with pytest.raises(sql.exc.OperationalError, match="rowid"):
            connection.execute(sql.text("SELECT rowid FROM enrolment"))
    collector.store.close()
