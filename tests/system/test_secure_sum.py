"""Secure sums among real processes: exact to the integer whoever is killed, nothing opened for too few, and every wrong message refused."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from contextlib import ExitStack

import numpy as np
import pytest

from deniable.collect.faults import STATUS
from deniable.collect.sums.signature import DIGEST, MEDIA_TYPE, SIGNATURE, path_of, sign_request
from deniable.multiparty.masking import layout
from deniable.multiparty.masking.party import MaskingParty
from deniable.multiparty.message import Message
from tests.system.conftest import COMMAND, TIMEOUT
from tests.system.load import wait_for
from tests.system.sum_crowd import Sum, agreement_text


@pytest.mark.parametrize("signed", [True, False])
def test_twenty_parties_two_of_them_killed_mid_round(tmp_path, nursery, signed):
    """One dies after its shares are there and before its vector is: it is not in the sum. The other dies right after its vector: it is. The
    sum is compared with what the others have on disk, to the integer, and nothing of that is in any log or in the aggregator's folder.
    """
    shares = {"corrupt": "1/10", "lost": "1/10", "honest": "4/5"}
    with Sum(tmp_path, nursery, 20, signed=signed, **shares) as whole:
        whole.serve(linger=0)
        whole.join(*range(19))
        whole.wait_for_step("keys", 1)
        whole.signal(signal.SIGSTOP, 5)
        whole.join(19)
        whole.wait_for_step("shares", 1)  # only that of the stopped one is missing
        true, secret = whole.contributions(), secrets_of(whole)  # a party forgets them with its vector
        whole.signal(signal.SIGSTOP, 7)
        whole.signal(signal.SIGCONT, 5)
        whole.wait_for_step("vectors", 1)
        masked = bytes.fromhex(whole.standing(3).outgoing)
        assert masked in whole.traces()  # what the aggregator may see; and this is how the others would be found
        whole.kill(7, 11)
        assert not found(secret, whole.traces())
        whole.pass_time()
        whole.wait_for_step("agreement" if signed else "opening", 1)  # who died after its vector; in a signed sum it is not asked again
        whole.pass_time()
        survivors = [number for number in range(20) if number not in (7, 11)]
        assert [whole.status_of(number) for number in survivors] == [0] * 18
        assert whole.over() == 0
        assert whole.result() == true[[n for n in range(20) if n != 7]].sum(axis=0).tolist()
        assert not found([*secret, masked], whole.traces())


def found(texts: list[bytes], traces: bytes) -> list[bytes]:
    return [text for text in texts if text in traces]


def secrets_of(whole: Sum) -> list[bytes]:
    """Seeds, identities and numbers of all parties, as they are and as text."""
    listed: list[bytes] = []
    for number, own in enumerate(whole.folders):
        content = json.loads(whole.standing(number).engine)
        seeds = [bytes.fromhex(seed) for seed in content["seeds"].values()] + [own.identity(), bytes.fromhex(content["vector"])]
        vector = np.frombuffer(bytes.fromhex(content["vector"]), "<i8")
        listed += [*seeds, *(seed.hex().encode() for seed in seeds)]
        listed += [str(item).encode() for item in (*whole.numbers[number].tolist(), *vector.tolist())]
    return listed


def test_too_few_survivors_and_nothing_is_opened(tmp_path, nursery):
    """Four of five must stay. Two are killed before their vectors are there: no share is revealed, by nobody, and everybody is told."""
    with Sum(tmp_path, nursery) as whole:
        whole.serve(linger=0)
        whole.join(0, 1, 2, 3)
        whole.wait_for_step("keys", 1)
        whole.signal(signal.SIGSTOP, 0)
        whole.join(4)
        whole.wait_for_step("shares", 1)
        whole.signal(signal.SIGSTOP, 1, 2)
        whole.signal(signal.SIGCONT, 0)
        whole.wait_for_step("vectors", 2)
        whole.kill(1, 2)
        whole.pass_time()
        assert whole.over() == 2
        assert "aborted" in whole.out.with_suffix(".err").read_text()
        assert "result" not in whole.out.read_text()
        assert {kind for kind, _ in whole.taken()} == {layout.ADVERTISE, layout.SHARES, layout.MASKED}
        for number in (0, 3, 4):
            assert whole.status_of(number) == 2
            assert (whole.standing(number).state, whole.standing(number).spent, whole.standing(number).engine) == ("aborted", True, "")


def begun(whole: Sum) -> np.ndarray:
    """What parties will put in: all have begun, with their first messages on disk, and nothing was sent. A party forgets it later."""
    whole.serve()
    whole.join(*range(5), fault="answer saved:1")
    assert [whole.status_of(number) for number in range(5)] == [STATUS] * 5
    whole.stop()
    whole.parties.clear()
    return whole.contributions()


@pytest.mark.parametrize(
    "faults",
    [("message kept:3", "step ended:1"), ("message kept:13",), ("step ending:1", "step ending:3"), ("step ended:2",), ("sum ended:1",)],
    ids=str,
)
def test_an_aggregator_that_is_killed_goes_on(tmp_path, nursery, faults):
    """In the middle of a step, before and after one ends, and right after the end; parties wait for it, and are not started again."""
    with Sum(tmp_path, nursery) as whole:
        true = begun(whole)
        whole.join(0, 1, 2)  # whoever is early waits for the aggregator
        for fault in faults:
            whole.serve(fault)
            whole.join(*({3, 4} - whole.parties.keys()))
            assert whole.over() == STATUS
        whole.serve()
        assert [whole.status_of(number) for number in range(5)] == [0] * 5
        assert whole.over() == 0
        assert whole.result() == true.sum(axis=0).tolist()


@pytest.mark.parametrize("point", ["answer saved", "answer sent"])
def test_parties_that_are_killed_go_on_and_send_the_same(tmp_path, nursery, point):
    """Each party dies at another of its five messages, and is started again: what it had on disk is what the aggregator gets."""
    kinds = [layout.ADVERTISE, layout.SHARES, layout.MASKED, layout.AGREED, layout.REVEALED]
    with Sum(tmp_path, nursery) as whole:
        whole.serve()
        for number in range(5):
            whole.join(number, fault=f"{point}:{number + 1}")
        digests, true = {}, None
        for number, kind in enumerate(kinds):
            assert whole.status_of(number) == STATUS
            digests[kind, number] = whole.digest(number)
            if number == 0:  # and nobody goes on without it
                wait_for(lambda: all(whole.standing(each) for each in range(5)))
                true = whole.contributions()
            (tmp_path / f"{number}.csv").unlink()  # it is not read again
            whole.join(number)
        assert [whole.status_of(number) for number in range(5)] == [0] * 5
        assert whole.over() == 0
        assert whole.result() == true.sum(axis=0).tolist()
        taken = whole.taken()
        assert {place: taken[place] for place in digests} == digests


def test_slow_parties_are_left_behind_and_told(tmp_path, nursery):
    """One sleeps through the shares, and is not in the sum. It is told while the sum runs, and again by an aggregator that is over."""
    with Sum(tmp_path, nursery, signed=False) as whole:
        whole.serve()
        whole.join(0, 1, 2, 3)
        whole.wait_for_step("keys", 1)
        whole.signal(signal.SIGSTOP, 3)
        whole.join(4)
        whole.wait_for_step("shares", 1)
        true = whole.contributions()
        whole.signal(signal.SIGSTOP, 4)
        whole.pass_time()
        whole.wait_for_step("vectors", 1)
        whole.signal(signal.SIGCONT, 3)
        assert whole.status_of(3) == 2
        assert (whole.standing(3).state, whole.standing(3).spent, whole.standing(3).engine) == ("lost", False, "")
        whole.signal(signal.SIGCONT, 4)
        assert [whole.status_of(number) for number in (0, 1, 2, 4)] == [0] * 4
        assert whole.over() == 0
        assert whole.result() == true[[0, 1, 2, 4]].sum(axis=0).tolist()
        assert whole.standing(0).spent
        whole.serve()
        whole.join(3)
        assert whole.status_of(3) == 2  # it does not begin again
        assert whole.send(3, b"", method="GET").code == "lost"
        assert whole.send(0, b"", method="GET").code == "opened"


def begin(whole: Sum, numbers=range(5)) -> dict[int, MaskingParty]:
    """Parties in this process, whose first messages are there."""
    parties = {n: MaskingParty(whole.agreement.terms, n, whole.folders[n].identity(), np.array([n, n])) for n in numbers}
    for number, party in parties.items():
        assert whole.send(number, party.first()).status == 204
    return parties


def test_replayed_mixed_and_forged_messages_are_refused(tmp_path, nursery):
    """And each good one still goes through after them: the sum is exact in the end."""
    with Sum(tmp_path, nursery) as whole:
        whole.serve(linger=0)
        parties = begin(whole, range(4))
        first, late = parties[0].first(), MaskingParty(whole.agreement.terms, 4, whole.folders[4].identity(), np.array([4, 4]))
        other = Message.open(first)._replace(sum=bytes(32)).pack()
        assert whole.send(0, first).status == 204  # the same again
        assert (whole.send(0, other).status, whole.send(0, other).code) == (409, "not_due")
        changed = MaskingParty(whole.agreement.terms, 0, whole.folders[0].identity(), np.array([9, 9])).first()
        assert "another one" in whole.send(0, changed).json["error"]["message"]
        assert whole.send(1, first).status == 409  # in another party's name, signed by that party
        assert (whole.send(0, first, by=1).status, whole.send(0, b"", method="GET", by=1).status) == (403, 403)
        unsigned = Message.open(late.first())._replace(signature=b"").pack()
        assert whole.send(4, unsigned).status == 409
        assert whole.send(4, late.first()).status == 204
        parties[4] = late
        keys = {number: whole.send(number, b"", method="GET").body for number in parties}
        shares = {number: party.answer(keys[number]) for number, party in parties.items()}
        assert whole.send(0, first).status == 204  # of a step that is over, as it was sent
        parties[0].sent = layout.SHARES
        assert whole.send(0, Message.open(shares[0])._replace(kind=layout.MASKED).pack()).status == 409
        vectors = follow(whole, parties, shares)
        agreed = follow(whole, parties, vectors)
        follow(whole, parties, follow(whole, parties, agreed), last=True)
        assert whole.over() == 0
        assert whole.result() == [10.0, 10.0]


def follow(whole: Sum, parties: dict[int, MaskingParty], messages: dict[int, bytes], *, last: bool = False) -> dict[int, bytes]:
    """Send what is due, and answer what comes back."""
    for number, message in messages.items():
        assert whole.send(number, message).status == 204
    if last:
        return {}
    return {number: party.answer(whole.send(number, b"", method="GET").body) for number, party in parties.items()}


def test_requests_that_are_no_messages(tmp_path, nursery):
    with Sum(tmp_path, nursery) as whole:
        whole.serve()
        first = begin(whole, [0])[0].first()
        most = whole.agreement.roles.largest
        path = path_of(whole.agreement, 0)
        cases = {
            (400, "malformed"): [b"x", first[:-1], first + b"x", b"\x02" + first[1:], bytes(most)],
            (413, "too_large"): [bytes(most + 1)],
        }
        for (status, code), bodies in cases.items():
            for body in bodies:
                answer = whole.send(0, body)
                assert (answer.status, answer.code) == (status, code)
        assert whole.send(0, first, kind="text/plain").status == 415
        wrong = f"/v1/sums/{'ab' * 32}/parties/0"
        for method, place, status in [
            ("POST", wrong, 404),
            ("GET", wrong, 404),
            ("GET", path[:-1] + "5", 404),
            ("GET", path[:-1] + "00", 404),
            ("GET", "/v1/tasks", 404),
            ("PUT", path, 405),
            ("POST", "/v1/sum", 405),
            ("GET", path, 403),
        ]:
            assert whole.request(method, place, content_type=MEDIA_TYPE).status == status, place
        assert whole.request("GET", path, **{SIGNATURE: "zz"}).status == 403
        assert whole.send(0, first).status == 204  # the same again: nothing was spoiled
        head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {MEDIA_TYPE}\r\ncontent-length: "
        with socket.create_connection(("127.0.0.1", whole.port)) as large:  # refused by what it announces, before it comes
            large.sendall(f"{head}{1 << 40}\r\n\r\n".encode())
            assert large.recv(100).startswith(b"HTTP/1.1 413")
        with socket.create_connection(("127.0.0.1", whole.port)) as slow:  # a body that does not come keeps nobody else
            slow.sendall(f"{head}9\r\n\r\nx".encode())
            assert whole.request("GET", "/v1/health").json == {"state": "ready"}
        log = [json.loads(line) for line in whole.out.with_suffix(".err").read_text().splitlines()]
        waiting, starting = (line["event"] for line in log)
        assert waiting.startswith("keys: waiting for 5 of 5 members, until ")
        assert starting == "starting"


def test_a_body_is_read_after_its_sender_is_known(tmp_path, nursery):
    """Sixty strangers who announce the largest message: each is refused by its headers, and none of what it would send is read. A party
    sends the message that it signed.
    """
    with Sum(tmp_path, nursery) as whole, ExitStack() as stack:
        whole.serve()
        first = MaskingParty(whole.agreement.terms, 0, whole.folders[0].identity(), np.array([1, 1])).first()
        path, most = path_of(whole.agreement, 0), whole.agreement.roles.largest
        signed = sign_request(whole.folders[0].identity(), "POST", path, first)
        stranger = sign_request(whole.folders[1].identity(), "POST", path, bytes(most))
        hostile = [({}, most), (stranger, most), ({DIGEST: signed[DIGEST]}, len(first)), (signed, most), (signed, len(first) - 1)]
        for headers, length in hostile * 12:
            peer = stack.enter_context(announced(whole, path, headers, length))
            assert peer.recv(100).startswith(b"HTTP/1.1 403 ")  # although the body has not come
        other = stack.enter_context(announced(whole, path, signed, len(first)))
        other.sendall(bytes(len(first)))  # signed, and another body
        assert other.recv(100).startswith(b"HTTP/1.1 403 ")
        assert not whole.taken()
        assert whole.send(0, first).status == 204


def test_a_party_whose_line_went_dead_is_not_kept_waiting(tmp_path, nursery):
    """Its next request ends the read of the one before, so all of them together fill the memory of one message. Nobody else's read ends."""
    with Sum(tmp_path, nursery) as whole, ExitStack() as stack:
        whole.serve()
        first, other = (MaskingParty(whole.agreement.terms, n, whole.folders[n].identity(), np.array([1, 1])).first() for n in (0, 1))

        def begin_to_send(number: int, message: bytes) -> socket.socket:
            path = path_of(whole.agreement, number)
            peer = announced(whole, path, sign_request(whole.folders[number].identity(), "POST", path, message), len(message))
            stack.enter_context(peer).sendall(message[:10])  # and then nothing, not even an end
            assert whole.request("GET", "/v1/health").status == 200  # by now it is being read
            return peer

        slow, *dead = begin_to_send(1, other), begin_to_send(0, first), begin_to_send(0, first)
        assert dead[0].recv(100).startswith(b"HTTP/1.1 408 ")
        assert whole.send(0, first, by=1).status == 403  # a stranger's request ends nothing
        dead[1].setblocking(False)
        with pytest.raises(BlockingIOError):
            dead[1].recv(100)
        dead[1].settimeout(TIMEOUT)
        assert whole.send(0, first).status == 204
        assert dead[1].recv(100).startswith(b"HTTP/1.1 408 ")
        slow.sendall(other[10:])
        assert slow.recv(100).startswith(b"HTTP/1.1 204 ")
        assert whole.taken().keys() == {(layout.ADVERTISE, 0), (layout.ADVERTISE, 1)}


def announced(whole: Sum, path: str, headers: dict[str, str], length: int) -> socket.socket:
    """A connection on which a message of some length is announced."""
    peer = socket.create_connection(("127.0.0.1", whole.port), timeout=TIMEOUT)
    named = {"host": "x", "content-type": MEDIA_TYPE, "content-length": str(length)} | headers
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items()), "", ""]
    peer.sendall("\r\n".join(lines).encode())
    return peer


def test_three_hospitals_by_the_commands_alone(tmp_path, nursery):
    """As the how-to has it, and the mistakes that can be made on the way."""

    def deniable(*arguments: str, status: int = 0) -> str:
        out = tmp_path / f"out-{len(list(tmp_path.glob('out-*')))}"
        process = nursery.start(*arguments, out=out)
        assert nursery.status(process) == status, out.with_suffix(".err").read_text()
        return out.read_text() if not status else out.with_suffix(".err").read_text()

    names = ("north", "south", "west")
    keys = [bytes.fromhex(deniable("party", "keys", "--folder", str(tmp_path / name))) for name in names]
    (tmp_path / "sum.toml").write_text(agreement_text(keys, corrupt="1/3", lost="0", honest="2/3"))
    store = str(tmp_path / "store")
    shown = json.loads(deniable("aggregate", "create", str(tmp_path / "sum.toml"), "--folder", store, "--json"))
    assert "a folder without a sum" in deniable("aggregate", "create", str(tmp_path / "sum.toml"), "--folder", store, status=2)
    assert "not over yet" in deniable("aggregate", "show", "--folder", store, status=2)
    arguments = [COMMAND, "aggregate", "run", "--folder", store, "--port", "0", "--tend-seconds", "0.05"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as aggregator:
        url = aggregator.stdout.readline().removeprefix("serving on ").strip()
        terms = json.loads(deniable("party", "terms", "--url", url, "--json"))
        assert terms["sum"] == shown["sum"]
        assert [party["key"] for party in terms["parties"]] == [key.hex() for key in keys]
        assert "2 of 3 parties" in terms["promise"]
        common = ["--url", url, "--sum", terms["sum"], "--folder"]
        (tmp_path / "bad.json").write_text('{"flu": 318, "rvs": 12}')
        (tmp_path / "good.json").write_text('{"rsv": 12, "flu": 318}')
        message = deniable("party", "run", *common, str(tmp_path / "north"), "--numbers", str(tmp_path / "bad.json"), status=2)
        assert "check the spelling" in message
        wrong = ["--url", url, "--sum", "ab" * 32, "--folder", str(tmp_path / "north"), "--numbers", str(tmp_path / "good.json")]
        assert "read its terms first" in deniable("party", "run", *wrong, status=2)
        shown_first = deniable("party", "run", "--url", url, "--folder", str(tmp_path / "north"), *wrong[-2:], status=2)
        assert terms["sum"] in shown_first
        assert terms["noise"] in shown_first
        deniable("party", "keys", "--folder", str(tmp_path / "east"))
        numbers = ["--numbers", str(tmp_path / "good.json")]
        assert "one of the parties" in deniable("party", "run", *common, str(tmp_path / "east"), *numbers, status=2)
        runs = [nursery.start("party", "run", *common, str(tmp_path / name), *numbers, out=tmp_path / f"{name}.out") for name in names]
        assert [nursery.status(process) for process in runs] == [0, 0, 0]
        assert "flu" in aggregator.stdout.read()
        assert aggregator.wait(60) == 0
    result = json.loads(deniable("aggregate", "show", "--folder", store, "--json"))["estimate"]
    assert result["values"] == ["flu", "rsv"]
    found = result["columns"]["sum"]
    assert [abs(each - true) < 100 for each, true in zip(found, (954, 36), strict=True)] == [True, True]  # noise of 1.66
    sums = json.loads(deniable("party", "sums", "--folder", str(tmp_path / "west"), "--json"))["sums"]
    assert [(row["sum"], row["state"], row["spent"]) for row in sums] == [(shown["sum"], "opened", True)]
