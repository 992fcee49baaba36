"""What a shuffler refuses, what it says about it, and what it never writes down."""

from __future__ import annotations

import http.client
import json
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from deniable.contract.admission import spend_id, token_message
from deniable.contract.blind_rsa import blind, draw_bytes, finalize
from deniable.contract.mixing import Threshold
from deniable.contract.notice import SHUFFLER
from deniable.contract.sealed import MEDIA_TYPE, crowd_of, pack_seals, seal_id
from deniable.contract.source import SYSTEM
from deniable.contract.task import Task
from deniable.sealing.keys import KeyPair, KeyRing
from deniable.sealing.seal import seal_report
from tests.system.load import wait_for
from tests.system.shuffled_crowd import HOUR, Receiver, ShufflerProcess, envelope, rank_task, seal_ranks

FEW = ("--batch", "50", "--workers", "1")


@pytest.fixture
def receiver(tmp_path):
    with Receiver(tmp_path / "receiver") as running:
        yield running


@pytest.fixture
def shuffler(tmp_path):
    with ShufflerProcess(tmp_path / "shuffler", *FEW) as running:
        yield running


def begin(shuffler: ShufflerProcess, receiver: Receiver, **task) -> Task:
    made = rank_task([shuffler.relay], **task)
    receiver.serve(made)
    shuffler.serve(made, receiver.url)
    return made


def tampered(seal: bytes, place: int) -> bytes:
    return seal[:place] + bytes([seal[place] ^ 1]) + seal[place + 1 :]


def test_bad_seals_are_told_one_by_one_and_nothing_goes_below_the_minimum(shuffler, receiver):
    """19 good ones among all that can be wrong; the minimum is 20. Then one more good one comes."""
    task = begin(shuffler, receiver, minimum=20)
    stranger, notice = KeyPair.make(time.time()).notice(SHUFFLER), shuffler.notice()
    good = seal_ranks(task, receiver.analyst, [notice], range(20))
    other = rank_task([shuffler.relay], minimum=21)
    bad = {
        seal_ranks(task, receiver.analyst, [stranger], range(1))[0]: "unknown_key",
        seal_ranks(other, receiver.analyst, [notice], range(1))[0]: "unknown_task",
        good[0][:-1]: "bad_seal",
        good[0] + b"\0": "bad_seal",
        tampered(good[0], 60): "bad_seal",  # the encapsulated key
        tampered(good[0], -1): "bad_seal",  # the tag
        tampered(good[0], 41): "bad_seal",  # the period
        tampered(good[0], 1): "unknown_key",
        seal_ranks(task, receiver.analyst, [notice], range(1), 1)[0]: "too_early",
        seal_ranks(task, receiver.analyst, [notice], range(1), 9)[0]: "bad_seal",
    }
    assert shuffler.codes([*good[:19], *bad]) == [""] * 19 + list(bad.values())
    assert shuffler.codes(good[:19]) == [""] * 19  # replays add nothing
    for body, kind in ((b"", MEDIA_TYPE), (pack_seals(good)[:-1], MEDIA_TYPE), (b"\xff" * 100, MEDIA_TYPE)):
        refused = shuffler.request("POST", "/v1/seals", body, Content_Type=kind)
        assert (refused.status, refused.code) == (400, "malformed")
    assert shuffler.request("POST", "/v1/seals", pack_seals(good), Content_Type="application/json").code == "wrong_type"
    wrong = [shuffler.get("/v1/seals"), shuffler.request("POST", "/v1/keys", b"")]
    assert [(answer.status, answer.headers["allow"]) for answer in wrong] == [(405, "POST, OPTIONS"), (405, "GET, HEAD")]
    assert [shuffler.get(path).status for path in ("/v1/reports", "/metrics")] == [404, 404]  # figures have a port of their own
    asked = shuffler.request("OPTIONS", "/v1/seals", Origin="https://survey.example.org")  # browsers send from other origins
    assert (asked.status, asked.headers["access-control-allow-origin"]) == (204, "*")
    assert "content-type" in asked.headers["access-control-allow-headers"]
    assert shuffler.get("/v1/keys").headers["access-control-allow-origin"] == "*"
    assert shuffler.get("/v1/health").json == {"state": "ready"}
    shuffler.end_period()
    wait_for(lambda: shuffler.codes(seal_ranks(task, receiver.analyst, [notice], range(50, 51))) == ["too_late"])
    wait_for(lambda: shuffler.figure("deniable_held_seals") == 19)
    assert receiver.count() == 0  # the period is over, and 19 are not 20
    shuffler.ahead(0)
    shuffler.restart()  # by the time of day it is not over
    assert shuffler.codes(good) == [""] * 20
    shuffler.end_period()
    receiver.wait(task, 20)
    assert shuffler.stop() == 0
    assert sorted(receiver.ranks(task)[0]) == list(range(20))


def test_a_one_time_token_is_good_for_one_seal(shuffler, receiver):
    issuer = rsa.generate_private_key(65537, 2048)
    modulus = issuer.private_numbers().public_numbers.n.to_bytes(256, "big")
    task = begin(shuffler, receiver, minimum=2, admission="token", issuer=modulus)
    notice = shuffler.notice()
    first, second = token(task, issuer), token(task, issuer)

    def seal(rank: int, paid: bytes) -> bytes:
        sent = envelope(task, rank, token=paid, report=spend_id(paid[:32]))
        return seal_report(task, sent, receiver.analyst, [notice])

    spent = seal(1, first)
    forged = tampered(first, 100)
    assert shuffler.codes([spent, seal(2, first), seal(3, forged)]) == ["", "token_used", "bad_token"]
    assert shuffler.codes([seal(4, first), spent]) == ["token_used", ""]
    shuffler.end_period()
    wait_for(lambda: shuffler.figure("deniable_held_seals") == 1)
    assert receiver.count() == 0  # one token is one person
    shuffler.ahead(0)
    shuffler.restart()
    assert shuffler.codes([seal(5, second), seal(6, second)]) == ["", "token_used"]
    shuffler.end_period()
    receiver.wait(task, 2)
    assert shuffler.stop() == 0
    assert sorted(receiver.ranks(task)[0]) == [1, 5]


def token(task: Task, issuer: rsa.RSAPrivateKey) -> bytes:
    """A one-time token, as a device gets it."""
    numbers = issuer.private_numbers()
    number = draw_bytes(SYSTEM, 32)
    blinded = blind(task.issuer, token_message(task.id, number), SYSTEM)
    answer = pow(int.from_bytes(blinded.message, "big"), numbers.d, numbers.public_numbers.n).to_bytes(256, "big")
    return number + finalize(task.issuer, token_message(task.id, number), answer, blinded)


def test_keys_are_rotated_announced_and_refused_after_their_grace(tmp_path, receiver):
    """A key of two hours with a grace of two: late seals open within it, and afterwards nothing opens them, ever."""
    options = (*FEW, "--key-days", str(2 / 24), "--grace-days", str(2 / 24))
    with ShufflerProcess(tmp_path / "shuffler", *options) as shuffler:
        task = begin(shuffler, receiver, minimum=2, start=int(time.time()) - 60)
        notice = shuffler.notice()
        early = seal_ranks(task, receiver.analyst, [notice], range(3), 1)
        shuffler.ahead(1.5 * HOUR)
        wait_for(lambda: len(json.loads(shuffler.get("/v1/keys").body)["keys"]) == 2)  # the next one is there before the first ends
        shuffler.ahead(2.4 * HOUR)  # ended, within its grace
        assert shuffler.codes(early[:1]) == [""]
        shuffler.ahead(4.2 * HOUR)
        wait_for(lambda: notice.canonical.decode() not in shuffler.get("/v1/keys").body.decode().replace("\\", ""))
        wait_for(lambda: notice.id not in KeyRing(tmp_path / "shuffler" / "own", SHUFFLER).pairs)
        assert shuffler.codes(early[:2]) == ["", "unknown_key"]  # what was taken stays a success
        assert shuffler.stop() == 0


def test_a_refused_batch_is_kept_and_told_in_the_log(shuffler, receiver):
    task = begin(shuffler, receiver, minimum=2)
    (receiver.folder / "refuse").write_text("")
    assert shuffler.codes(seal_ranks(task, receiver.analyst, [shuffler.notice()], range(5))) == [""] * 5
    shuffler.end_period()
    wait_for(lambda: (receiver.folder / "refuse").read_text() == "refused")
    wait_for(lambda: any(line.get("why") == "status 422, price, refused" for line in shuffler.log()))
    (receiver.folder / "refuse").unlink()
    receiver.wait(task, 5)
    assert shuffler.stop() == 0


def test_a_threshold_drops_small_crowds_and_says_so_in_the_manifest(shuffler, receiver):
    """Two crowds of like answers, of 60 and of 3; the batch has most of the first and none of the second."""
    rule = Threshold(minimum=20, sigma="1")
    task = begin(shuffler, receiver, minimum=20, threshold=rule)
    notice = shuffler.notice()
    crowds = [envelope(task, 7, report=bytes([i]) * 16) for i in range(60)] + [
        envelope(task, 8, report=bytes([99, i] * 8)) for i in range(3)
    ]
    assert crowd_of(crowds[0]) != crowd_of(crowds[-1])
    assert set(shuffler.codes([seal_report(task, sent, receiver.analyst, [notice]) for sent in crowds])) == {""}
    shuffler.end_period()
    receiver.wait(task, 20)
    assert shuffler.stop() == 0
    (batch,) = receiver.batches(shuffler.relay.key)
    assert batch.manifest.threshold == rule
    assert set(receiver.ranks(task)[0]) == {7}
    assert 60 - 8 - 6 <= batch.manifest.count <= 60 - 8 + 6  # six sigma: a chance of 1 in 10^8


def pieces(seal: bytes) -> list[bytes]:
    """Parts of what is locked in a seal: pages of a file may end inside it, but not inside all of them."""
    return [seal[start : start + 16] for start in range(77, len(seal) - 16, 16)]


def test_nothing_about_senders_is_written_down(shuffler, receiver):
    """Neither in the log nor on disk: addresses, times of day, headers, seals as they came; and what was passed on is overwritten."""
    task = begin(shuffler, receiver, minimum=20)
    seals = seal_ranks(task, receiver.analyst, [shuffler.notice()], range(40))
    before = int(time.time())
    sent = {"Content-Type": MEDIA_TYPE, "User-Agent": "Telltale/7", "Forwarded": "for=192.0.2.43", "Cookie": "who=person"}
    for seal in seals:
        parts = urlsplit(shuffler.url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, source_address=("127.9.8.7", 0))
        connection.request("POST", "/v1/seals", pack_seals([seal]), sent)
        assert connection.getresponse().status == 201
        connection.close()
    held = sqlite_content(shuffler.folder / "own")
    shuffler.end_period()
    receiver.wait(task, 40)
    wait_for(lambda: shuffler.figure("deniable_batches_passed_on_total") == 1)
    assert shuffler.stop() == 0
    after = sqlite_content(shuffler.folder / "own")
    written = shuffler.errors.read_bytes() + shuffler.folder.joinpath("own", "lock").read_bytes()
    for content in (held, after, written):
        for secret in (b"Telltale", b"192.0.2.43", b"127.9.8.7", bytes([127, 9, 8, 7]), b"who=person"):
            assert secret not in content
        for second in range(before - 2, int(time.time()) + 3):
            assert str(second).encode() not in content
            assert second.to_bytes(4, "big") not in content
    (batch,) = receiver.batches(shuffler.relay.key)
    assert not any(piece in held for seal in seals for piece in pieces(seal))  # as they came
    assert all(any(piece in held for piece in pieces(seal)) for seal in batch.seals)
    assert not any(piece in after for seal in batch.seals for piece in pieces(seal))  # passed on, and overwritten
    assert all(seal_id(seal) in after for seal in seals)  # against replays
    for line in shuffler.log():
        assert set(line) <= {"level", "event", "announced", "tasks", "held", "batches", "seals", "dropped"}


def sqlite_content(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.glob("shuffler.sqlite*")))


def test_whoever_has_no_place_in_a_task_does_not_start(shuffler, receiver, tmp_path):
    task = begin(shuffler, receiver, minimum=2)
    shuffler.run("shuffle", "keys", "rotate", "--folder", str(shuffler.folder / "own"), status=2)  # it runs
    stranger = tmp_path / "stranger"
    identity = shuffler.run("shuffle", "keys", "create", "--folder", str(stranger)).strip()
    assert json.loads(shuffler.run("shuffle", "keys", "show", "--folder", str(stranger), "--json"))["identity"] == identity
    assert shuffler.run("shuffle", "keys", "create", "--folder", str(stranger)).strip() == identity
    shuffler.run("shuffle", "keys", "rotate", "--folder", str(stranger))
    shown = json.loads(shuffler.run("shuffle", "keys", "show", "--folder", str(stranger), "--json"))
    assert len(shown["keys"]) == 2
    assert "private" not in json.dumps(shown)
    for days in ("nan", "inf", "0", "-1"):
        shuffler.run("shuffle", "keys", "create", "--folder", str(stranger), "--key-days", days, status=2)
        shuffler.run("shuffle", "keys", "rotate", "--folder", str(stranger), "--key-days", days, status=2)
    same = ("--collector", receiver.url, "--task", task.id.hex(), "--port", "0")
    shuffler.run("shuffle", "--folder", str(stranger), *same, status=2)
    shuffler.run("shuffle", "--folder", str(stranger), "--collector", receiver.url, "--task", "ab" * 32, "--port", "0", status=2)
    shuffler.run("shuffle", "--folder", str(shuffler.folder / "own"), *same, status=2)  # held by the one that runs
    assert shuffler.stop() == 0
    for wrong in (("--grace-days", "nan"), ("--key-days", "inf"), ("--grace-days", str(1 / 24)), ("--pad", "60000", "--batch", "50000")):
        shuffler.run("shuffle", "--folder", str(shuffler.folder / "own"), *same, *wrong, status=2)
