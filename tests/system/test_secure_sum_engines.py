"""Sums under encryption and streams among real processes: exact whoever is killed, and nothing opened for too few."""

from __future__ import annotations

import json
import signal

import numpy as np

from deniable.collect.faults import STATUS
from deniable.collect.sums.party_folder import write_private
from deniable.multiparty.dealer import deal_stream
from deniable.multiparty.fixed_point import laplace_reach
from tests.multiparty.inside import contribution
from tests.multiparty.small_keys import long_files
from tests.system.sum_crowd import Sum, named


class Dealt(Sum):
    """Five parties and what a dealer made for them; under encryption three decryptors, 5 to 7, of whom two open."""

    def __init__(self, folder, nursery, engine):
        self.engine, self.files = engine, long_files() if engine == "paillier" else deal_stream(parties=5)
        for name, content in self.files.items():
            write_private(folder / name, content)
        super().__init__(folder, nursery, decryptors=3 * (engine == "paillier"))

    def text(self, keys, parts):
        corrupt, lost, largest = ("1/5", "1/5", 10**12) if self.engine == "paillier" else ("2/5", "0", 10**6)
        shares = f'honest = "3/5"\ncorrupt = "{corrupt}"\nlost = "{lost}"\n[numbers]\nlargest = {largest}\n'
        tables = f"[parties]\n{named('party', keys[:5])}\n[decryptors]\n{named('decryptor', keys[5:])}\n"
        head = f'name = "test"\nvalues = ["flu", "rsv"]\nunit = "person"\nepsilon = 1.0\nengine = "{self.engine}"\n'
        return head + shares + tables + self.files["key.toml"].decode()

    def secret(self, number):
        name = "aggregator.json" if number is None else f"party-{number + 1}.json" if number < 5 else f"share-{number - 4}.json"
        return ["--secret", str(self.folder / name)] if name in self.files else []

    def contributions(self):
        """What every party put in, as the message that it has on disk opens with all secrets; the noise is checked to be no more."""
        sent = [bytes.fromhex(self.standing(number).outgoing) for number in range(5) if self.standing(number)]
        found = np.array([contribution(self.agreement.roles, data, self.files) for data in sent])
        assert np.abs(found - self.numbers[: len(found)]).max() <= laplace_reach(1.0, 10, 1.0)
        return found


def test_a_committee_opens_what_is_left(tmp_path, nursery):
    """One party dies before it uploads, another right after; one decryptor dies with its share on disk, and goes on; one is never there.
    Nothing of any number or secret is in a log, or in what the aggregator keeps.
    """
    with Dealt(tmp_path, nursery, "paillier") as whole:
        whole.serve()
        whole.join(4, fault="answer saved:1")
        whole.join(1, fault="answer sent:1")
        whole.join(0, 2, 3)
        whole.join(5, fault="answer saved:2")  # the first is where it begins
        whole.wait_for_step("vectors", 1)
        assert (whole.status_of(4), whole.status_of(1)) == (STATUS, STATUS)
        true = whole.contributions()
        secret = secrets_of(whole) + [str(number).encode() for number in (*whole.numbers.ravel().tolist(), *true.ravel().tolist())]
        whole.pass_time()
        assert whole.status_of(5) == STATUS
        whole.wait_for_step("opening", 3)
        digest = whole.digest(5)
        whole.join(5, 1)
        whole.wait_for_step("opening", 2)
        assert not [text for text in secret if text in whole.traces()]
        whole.join(6)
        assert [whole.status_of(number) for number in (0, 1, 2, 3, 5, 6)] == [0] * 6
        assert whole.over() == 0
        assert whole.result() == true[:4].sum(axis=0).tolist()
        assert whole.taken()[3, 5] == digest
        assert not [text for text in secret if text in whole.traces()]


def secrets_of(whole):
    """Identities and a dealer's secrets, as text."""
    dealt = [json.loads(content)["secret"] for name, content in whole.files.items() if name.endswith(".json")]
    return [text.encode() for text in (*dealt, *(own.identity().hex() for own in whole.folders))]


def test_too_few_decryptors_and_nothing_is_opened(tmp_path, nursery):
    with Dealt(tmp_path, nursery, "paillier") as whole:
        whole.serve(linger=0)
        whole.join(0, 1, 2, 3, 4, 5)
        whole.wait_for_step("opening", 2)
        whole.pass_time()
        assert whole.over() == 2
        assert "result" not in whole.out.read_text()
        assert [whole.status_of(number) for number in range(6)] == [2] * 6
        assert {kind for kind, _ in whole.taken()} == {1, 3}
        assert (whole.standing(0).state, whole.standing(0).spent, whole.standing(5).spent) == ("aborted", True, False)
        told = [b"".join(path.read_bytes() for path in tmp_path.glob(f"party-{number}-*.err")) for number in (0, 5)]
        assert [b"its epsilon is spent" in text for text in told] == [True, False]  # all that a party has is the aggregator's word
        assert b"nothing was opened" not in b"".join(told)


def test_a_period_of_a_stream_goes_on_after_kills(tmp_path, nursery):
    """A party dies with its message on disk, another after it is sent, the aggregator in the middle and when the sum is there."""
    with Dealt(tmp_path, nursery, "stream") as whole:
        whole.serve("message kept:2")
        whole.join(3, fault="answer saved:1")
        assert whole.status_of(3) == STATUS
        digest = whole.digest(3)
        whole.join(2, fault="answer sent:1")
        whole.join(0)
        assert whole.over() == STATUS
        whole.serve("sum ended:1")
        (tmp_path / "3.csv").write_text("value,number\nflu,1\nrsv,1\n")  # it is not read again: there is no second message of a period
        whole.join(1, 3)
        whole.wait_for_step("vectors", 1)
        assert whole.status_of(2) == STATUS
        whole.join(2, 4)
        assert whole.over() == STATUS
        true = whole.contributions()
        whole.serve()
        assert [whole.status_of(number) for number in range(5)] == [0] * 5
        assert whole.over() == 0
        assert whole.result() == true.sum(axis=0).tolist()
        assert whole.taken()[1, 3] == digest
        assert not [text for text in secrets_of(whole) if text in whole.traces()]


def test_a_stream_without_everybody_has_no_sum(tmp_path, nursery):
    with Dealt(tmp_path, nursery, "stream") as whole:
        whole.serve(linger=0)
        whole.join(0, 1, 2, 3)
        whole.wait_for_step("vectors", 1)
        whole.signal(signal.SIGSTOP, 3)
        whole.kill(3)
        whole.pass_time()
        assert whole.over() == 2
        assert "no sum" in whole.out.with_suffix(".err").read_text()
        assert "result" not in whole.out.read_text()
        assert [whole.status_of(number) for number in (0, 1, 2)] == [2] * 3
