"""What every backend promises, whatever its scheme: one suite for the ports ``Catalog`` and ``Log`` and for the store on them."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from deniable.client import GRR
from deniable.collect.storage.attempts import Attempts
from deniable.collect.storage.backends import BACKENDS, find_backend
from deniable.collect.storage.batches import Batches
from deniable.collect.storage.block import Block, Bucket, digest, sort_once
from deniable.collect.storage.public_log import PublicLog
from deniable.collect.storage.records import StoredRound, StoredTask
from deniable.collect.storage.secrets import Secrets
from deniable.collect.storage.store import Store
from deniable.collect.storage.tokens import Codes, Tokens
from deniable.contract.public_log import LogEntry
from deniable.contract.question import Question
from deniable.errors import ParameterError
from tests.collect.conftest import BACKENDS_TESTED

pytestmark = pytest.mark.parametrize("address", BACKENDS_TESTED, indirect=True)

TASK, OTHER = bytes(range(32)), bytes(range(1, 33))
QUESTION = Question(name="value", spec=GRR(domain_size=4, epsilon=1.0))
NOW = 1000.0


def add_task(catalog, task=TASK, name="test"):
    with PublicLog(catalog).extension() as log:
        log.add_task(StoredTask(task, b"{}", b"signature", closed=False), name)


@pytest.fixture
def store(address):
    store = Store.open(address)
    add_task(store.catalog)
    yield store
    store.close()


def block(*values, question=0, stratum=0, payload=None):
    """Reports with an id that sorts unlike the numbers do; each answers with its number unless ``payload`` says otherwise."""
    rows = [hashlib.sha256(b"%d" % value).digest()[:16] + bytes([value % 4 if payload is None else payload]) for value in values]
    return Block.of(question, stratum, 1, b"".join(rows))


def plain(blocks):
    return [(each.address, [row.tobytes() for row in each.rows]) for each in blocks]


def append(store, bucket, *blocks):
    store.begin_bucket(bucket)
    return store.log.append({bucket: list(blocks)})


def seal(store, bucket, **more):
    store.seal(bucket, [QUESTION, QUESTION], NOW, **more)


def test_its_scheme_finds_it(address):
    backend = find_backend(address)
    assert not backend.exists()
    Store.open(address).close()
    assert find_backend(address).exists()
    with pytest.raises(ParameterError, match="postgresql"):
        find_backend("carrier-pigeon://coop")
    assert set(BACKENDS) == {"", "postgresql", "memory"}


def test_what_was_appended_is_there_after_a_restart_each_id_once_the_first_that_came(store, address):
    bucket = Bucket(TASK, 2**32 - 1)
    assert append(store, bucket, block(1, 2), block(3, question=1, stratum=65535)) == frozenset()
    assert append(store, bucket, block(1, 4, payload=0)) == frozenset()
    store.close()
    again = Store.open(address)
    assert plain(again.open_reports(bucket)) == plain(sort_once([block(1, 2), block(3, question=1, stratum=65535), block(4, payload=0)]))
    assert again.open_reports(Bucket(TASK, 7)) == []
    assert [(stored.bucket, stored.state) for stored in again.unfinished()] == [(bucket, "open")]
    again.close()


def test_a_seal_counts_each_report_once_and_takes_no_more(store):
    bucket = Bucket(TASK, 0)
    append(store, bucket, block(1, 2), block(2, 5))
    assert store.open_counts(TASK) == {0: 3}
    counted = store.open_tallies(TASK, lambda _: [QUESTION, QUESTION])
    seal(store, bucket)
    assert store.tallies(TASK) == counted
    assert store.tallies(TASK)[0, 0, 0].counters.tolist() == [0, 2, 1, 0]
    (stored,) = store.find([bucket])
    assert (stored.state, stored.reports, stored.sealed) == ("sealed", 3, int(NOW))
    assert stored.repeated in (0, 1)  # a log may store a repetition or leave it out at once
    assert append(store, bucket, block(9)) == {bucket}
    seal(store, bucket)  # again: nothing
    assert plain(store.sealed_reports(bucket)) == plain(sort_once([block(1, 2, 5)]))
    assert store.log.size(bucket) == 0


def test_ids_of_a_sealed_bucket_are_found_under_their_question(store):
    bucket = Bucket(TASK, 0)
    append(store, bucket, block(1), block(2, question=1))
    seal(store, bucket)
    ids = [row[:16].tobytes() for value in (1, 2, 3) for row in block(value).rows]
    assert store.sealed_ids({bucket: (ids, [(0, 0), (1, 0), (0, 0)])}) == set(ids[:2])
    assert store.sealed_ids({bucket: (ids, [(1, 0), (0, 0), (0, 0)])}) == set()


def test_with_once_an_id_counts_in_the_period_that_is_sealed_first(store):
    for period in (0, 1):
        append(store, Bucket(TASK, period), block(1, 2 + period))
    assert store.open_counts(TASK, once=True) == {0: 2, 1: 1}
    seal(store, Bucket(TASK, 1), once=True)
    seal(store, Bucket(TASK, 0), once=True)
    assert [stored.reports for stored in store.buckets(TASK)] == [1, 2]


def test_reports_are_dropped_and_their_tallies_stay(store):
    bucket = Bucket(TASK, 0)
    append(store, bucket, block(1, 2))
    seal(store, bucket)
    before = store.tallies(TASK)
    store.drop_reports(bucket)
    store.drop_reports(bucket)
    assert [stored.state for stored in store.buckets()] == ["dropped"]
    assert store.tallies(TASK) == before
    assert list(store.rebuild(lambda _: [QUESTION])) == [(bucket, "dropped")]


def test_a_recount_agrees_and_a_tally_that_differs_is_repaired(store):
    bucket = Bucket(TASK, 0)
    append(store, bucket, block(1, 2))
    seal(store, bucket)
    before = store.tallies(TASK)
    assert list(store.rebuild(lambda _: [QUESTION])) == [(bucket, "same")]
    other = Question(name="value", spec=GRR(domain_size=4, epsilon=2.0))
    assert list(store.rebuild(lambda _: [other], repair=True)) == [(bucket, "repaired: question and stratum [(0, 0)]")]
    assert [verdict[:8] for _, verdict in store.rebuild(lambda _: [QUESTION], repair=True)] == ["repaired"]
    assert store.tallies(TASK) == before


def test_a_deleted_task_leaves_its_text(store):
    bucket = Bucket(TASK, 0)
    append(store, bucket, block(1))
    seal(store, bucket)
    append(store, Bucket(TASK, 1), block(2))
    store.delete_task(TASK)
    assert (store.tasks(), store.buckets(), store.tallies(TASK)) == ([], [], {})
    assert store.text(TASK) == (b"{}", b"signature")


def test_threads_append_while_a_seal_runs_and_what_was_acknowledged_is_counted(store):
    bucket = Bucket(TASK, 0)
    store.begin_bucket(bucket)
    with ThreadPoolExecutor(4) as pool:
        told = [pool.submit(store.log.append, {bucket: [block(value)]}) for value in range(40)]
        seal(store, bucket)
        taken = [value for value, each in enumerate(told) if bucket not in each.result()]
    assert plain(store.sealed_reports(bucket)) == plain(sort_once([block(*taken)]) if taken else [])


def test_a_batch_is_taken_once_with_the_reports_that_are_new(store):
    batches, bucket = Batches(store), Bucket(TASK, 0)
    append(store, bucket, block(1))
    with batches.turn():
        batches.begin(bucket, b"b" * 16, b"digest", block(1, 2, 3), lambda reports: reports / 2)
    assert batches.begun() == [(TASK, b"b" * 16)]

    def put(where, rows, reports):
        return not store.log.append({where: [Block(0, 0, np.frombuffer(rows, np.uint8).reshape(reports, -1))]})

    assert batches.finish(TASK, b"b" * 16, put)
    assert [(each.reports, each.epsilon, each.rows) for each in batches.listed(TASK)] == [(2, 1.0, None)]
    assert plain(store.open_reports(bucket)) == plain(sort_once([block(1, 2, 3)]))


def test_the_public_log_grows_in_one_transaction(store):
    published = PublicLog(store.catalog)
    with pytest.raises(ZeroDivisionError), published.extension() as log:  # noqa: PT012  # the transaction is what fails
        log.add_task(StoredTask(OTHER, b"text", b"", closed=False), "other")
        raise ZeroDivisionError
    with published.extension() as log:
        assert not log.has_task(OTHER)
        assert log.last_entry() is None
        log.add_task(StoredTask(OTHER, b"text", b"", closed=False), "other")
        log.add_round(OTHER, StoredRound(0, 7, b"state", b"round", b"signed"))
        log.add_entry(0, OTHER, LogEntry(b"record", b"by"), b"hash")
    with published.extension() as log:
        assert log.last_of("other") == (OTHER, b"text")
        assert (log.last_entry(), log.was_published(OTHER), log.was_published(TASK)) == ((0, b"hash"), True, False)
        assert (log.has_round(OTHER, 0), log.has_round(OTHER, 1)) == (True, False)
        assert (log.close_task(OTHER), log.close_task(OTHER)) == (True, False)
    assert published.entries(-1, 10) == [LogEntry(b"record", b"by")]
    assert store.round(OTHER, 0) == StoredRound(0, 7, b"state", b"round", b"signed")
    assert store.closed() == {OTHER: True, TASK: False}


def test_secrets_tokens_and_codes(store):
    secrets, tokens, codes = Secrets(store.catalog), Tokens(store.catalog), Codes(store.catalog)
    assert secrets.make("a 1", lambda: b"first") == secrets.make("a 1", lambda: b"second") == b"first"
    secrets.change("a ", lambda kept: (list(kept), {"a 2": b"next"}))
    assert (secrets.starting("a "), secrets.find("a 1")) == ({"a 2": b"next"}, None)
    assert store.signing_key() == store.signing_key()
    assert (tokens.add(b"d", "admin", "me"), tokens.add(b"e", "analyst", "me")) == (True, False)
    assert (tokens.roles(), tokens.remove("me"), tokens.remove("me")) == ([(b"d", "admin")], True, False)
    with pytest.raises(ZeroDivisionError):
        codes.add(TASK, [b"lost"], lambda: 1 / 0)
    codes.add(TASK, [b"code"], list)
    assert [codes.redeem(TASK, *asked) for asked in ((b"lost", b"r"), (b"code", b"r"), (b"code", b"r"), (b"code", b"s"))] == [
        False,
        True,
        True,
        False,
    ]


def test_what_could_not_be_closed_stays_parked(store):
    first, second = Attempts(store.catalog, b"first"), Attempts(store.catalog, b"second")
    assert first.begin(TASK, 0, NOW, again=False).tries == 1
    first.park(TASK, 0, NOW, "MemoryError")
    assert second.parked() == {TASK: {0: "MemoryError"}}
    assert second.begin(TASK, 0, NOW, again=False) is None
    assert second.begin(TASK, 0, NOW, again=True).tries == 1
    second.done(TASK, 0)
    assert first.parked() == {}


def test_a_tally_seal_is_the_same_on_every_backend(store):
    bucket = Bucket(TASK, 0)
    append(store, bucket, block(3, 1), block(2, stratum=1), block(7, question=1))
    seal(store, bucket)
    assert digest(store.sealed_reports(bucket)) == digest(sort_once([block(3, 1), block(2, stratum=1), block(7, question=1)]))
    assert sum(tally.n for tally in store.tallies(TASK).values()) == store.find([bucket])[0].reports == 4
