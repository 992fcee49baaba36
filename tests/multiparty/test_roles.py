"""All engines behind one interface: exact sums of 2 to 1,000 parties, whoever is lost, and the same bytes after every restart."""

from __future__ import annotations

import json

import numpy as np
import pytest

from deniable.contract.source import SYSTEM
from deniable.errors import DomainError, ParameterError, ProtocolError, WireError
from deniable.multiparty import dealer
from deniable.multiparty.engines import MASKING, PAILLIER, STREAM, MaskingRoles, PaillierRoles, StreamRoles, roles_of
from deniable.multiparty.message import Message
from deniable.multiparty.roles import run_sum
from deniable.multiparty.stream import group
from deniable.multiparty.stream.blocks import whole_blocks
from deniable.multiparty.stream.shi import StreamAggregator, StreamParty, StreamTerms, deal_secrets
from deniable.multiparty.terms import SumTerms
from deniable.sealing.identity import new_identity, public_key
from deniable.testing import ReplaySource
from tests.multiparty.small_keys import PUBLIC, SHARES

ENGINES = (MASKING, PAILLIER, STREAM)
FIVE = {"honest": "3/5", "corrupt": "1/5", "lost": "1/5"}
ALL = {"honest": "1/2", "corrupt": "1/2", "lost": "0"}
LARGEST = 500
FILES = dealer.paillier_files(PUBLIC, SHARES)


class Whole:
    """All roles of a sum of small numbers, decryptors included, with the files that a dealer made."""

    def __init__(self, engine: str, parties: int, length: int = 2, *, label: str = "whole", **shares: str) -> None:
        source = ReplaySource.from_key(f"{engine} {parties}")
        self.identities = [new_identity(source) for _ in range(parties)]
        terms = SumTerms(label=label, parties=tuple(map(public_key, self.identities)), length=length, **(shares or ALL))
        self.vectors = np.random.default_rng(parties).integers(-LARGEST, LARGEST + 1, (parties, length))
        self.secrets, self.dealer = dict.fromkeys(range(parties), b""), b""
        if engine == STREAM:
            files = dealer.deal_stream(parties=parties, source=source)
            stream = bytes.fromhex(json.loads(files["aggregator.json"])["key"])
            self.roles, self.dealer = StreamRoles(terms, stream, LARGEST), files["aggregator.json"]
            self.secrets = {number: files[f"party-{number + 1}.json"] for number in range(parties)}
        elif engine == PAILLIER:
            self.roles = PaillierRoles(terms, PUBLIC, LARGEST)
            self.secrets |= {parties + place - 1: FILES[f"share-{place}.json"] for place in range(1, 6)}
        else:
            self.roles = MaskingRoles(terms)
        self.identities += [bytes(32)] * (len(self.secrets) - parties)
        self.aggregator = self.roles.aggregator(self.dealer)
        self.members = {number: self.begin(number) for number in self.secrets}

    def begin(self, number: int):
        return self.roles.party(number, self.identities[number], self.secrets[number], lambda: self.vectors[number], SYSTEM)

    def again(self, number: int):
        """A member as it was saved."""
        return self.roles.resume(self.members[number].save(), number, self.identities[number], self.secrets[number], SYSTEM)


@pytest.mark.parametrize("engine", [PAILLIER, STREAM])
@pytest.mark.parametrize("parties", [2, 3, 50, 1000])
def test_sums_are_exact(engine, parties):
    whole = Whole(engine, parties)
    assert run_sum(whole.members, whole.aggregator).tolist() == whole.vectors.sum(axis=0).tolist()


@pytest.mark.parametrize("parties", [5, 1000])
def test_sums_under_encryption_are_exact_without_the_lost_ones(parties):
    """A fifth of the parties, and the two decryptors that are not needed."""
    whole = Whole(PAILLIER, parties, **FIVE)
    lost = dict.fromkeys([*range(1, parties, 5), parties, parties + 3], 0)
    kept = [number for number in range(parties) if number not in lost]
    assert run_sum(whole.members, whole.aggregator, lost=lost).tolist() == whole.vectors[kept].sum(axis=0).tolist()
    whole = Whole(PAILLIER, parties, **FIVE)
    with pytest.raises(ProtocolError, match="nothing was opened"):
        run_sum(whole.members, whole.aggregator, lost=lost | {parties + 1: 0})
    assert whole.aggregator.total is None


def test_streams_go_on_without_the_lost_ones_in_blocks():
    """Of 1,000 parties three are lost: the blocks that are whole, each a stream of its own, add up to the others."""
    numbers, lost, total = np.random.default_rng(3).integers(-9, 10, 1000), [0, 255, 700], 0
    for block in whole_blocks(1000, lost):
        terms = StreamTerms(block.start.to_bytes(32, "little"), len(block), 1, 9)
        own, *secrets = deal_secrets(len(block), ReplaySource.from_key(str(block)))
        aggregator = StreamAggregator(terms, own)
        for place, party in enumerate(block):
            aggregator.receive(StreamParty(terms, place, secrets[place]).send(0, [numbers[party]]))
        aggregator.close()
        total += int(aggregator.total[0])
    assert total == numbers.sum() - numbers[lost].sum()


@pytest.mark.parametrize("engine", ENGINES)
def test_one_who_is_missing_below_the_threshold_ends_it(engine):
    whole = Whole(engine, 5, **(ALL if engine == STREAM else {"honest": "3/5", "corrupt": "2/5", "lost": "0"}))
    with pytest.raises(ProtocolError, match=r"nothing was opened|no sum"):
        run_sum(whole.members, whole.aggregator, lost={2: 0})
    assert whole.aggregator.total is None
    assert not whole.aggregator.waiting


# --- going on after a crash ---


@pytest.mark.parametrize("engine", ENGINES)
def test_every_role_goes_on_from_what_it_saved(engine):
    """Everybody is thrown away and made anew before and after each message; what is sent again is what was sent."""
    whole = Whole(engine, 5, **(ALL if engine == STREAM else FIVE))
    whole.members = {number: whole.again(number) for number in whole.members}  # before anything was sent
    out = {number: message for number, party in whole.members.items() if (message := party.first()) is not None}
    for number, message in out.items():
        assert whole.again(number).first() == message
    while out:
        for number, message in out.items():
            whole.aggregator.receive(message)
            whole.aggregator = whole.roles.aggregator(whole.dealer, whole.aggregator.save())
            whole.aggregator.receive(message)  # its answer was lost: the same again
            assert number not in whole.aggregator.waiting
            whole.members[number] = whole.again(number)
        sent = whole.aggregator.close()
        whole.aggregator = whole.roles.aggregator(whole.dealer, whole.aggregator.save()) if sent else whole.aggregator
        out = {number: whole.members[number].answer(message) for number, message in sent.items()}
    assert whole.aggregator.total.tolist() == whole.vectors.sum(axis=0).tolist()


@pytest.mark.parametrize("engine", [PAILLIER, STREAM])
def test_a_saved_sum_is_still_there(engine):
    whole = Whole(engine, 3)
    total = run_sum(whole.members, whole.aggregator)
    again = whole.roles.aggregator(whole.dealer, whole.aggregator.save())
    assert (again.total.tolist(), again.step, again.waiting) == (total.tolist(), 0, set())


@pytest.mark.parametrize("engine", [PAILLIER, STREAM])
def test_a_party_never_has_two_messages(engine):
    """The evil twin that is begun anew has another one under encryption, and in a stream one whose difference shows that of the numbers."""
    whole = Whole(engine, 3)
    message = whole.members[0].first()
    assert [whole.members[0].first(), whole.again(0).first()] == [message, message]
    with pytest.raises(ProtocolError, match="none is due"):
        whole.members[0].answer(message)
    before, whole.vectors = whole.vectors, whole.vectors + 3 - 6 * (whole.vectors > 0)
    twin = whole.begin(0).first()
    assert twin != message
    whole.aggregator.receive(message)
    with pytest.raises(ProtocolError, match="another one"):
        whole.aggregator.receive(twin)
    if engine == STREAM:
        first, second = (Message.open(each).body[4:36] for each in (message, twin))
        shown = group.small_logarithm(group.add(second, group.times(-1, first)), 10)
        assert shown == whole.vectors[0, 0] - before[0, 0]
        with pytest.raises(ProtocolError, match="show their difference"):
            whole.again(0).send(0, whole.vectors[0])
        assert whole.begin(0).save() != whole.members[0].save()


def test_numbers_are_not_kept_once_they_are_hidden():
    whole = Whole(PAILLIER, 3)
    assert json.loads(whole.members[0].save())["vector"] == whole.vectors[0].tolist()
    whole.members[0].first()
    assert json.loads(whole.members[0].save())["vector"] == []
    with pytest.raises(DomainError):  # beyond the bound, before anything is encrypted
        whole.roles.party(1, whole.identities[1], b"", lambda: np.array([LARGEST + 1, 0]), SYSTEM).first()


@pytest.mark.parametrize("engine", [PAILLIER, STREAM])
def test_states_of_others_are_refused(engine):
    whole, other = Whole(engine, 3), Whole(engine, 3, label="another")
    party, aggregator = whole.members[0].save(), whole.aggregator.save()
    content = json.loads(party)
    for wrong in (b"", b"[]", b"{}", aggregator, other.members[0].save(), json.dumps(content | {"version": 2}).encode()):
        with pytest.raises(WireError, match="saved state"):
            whole.roles.resume(wrong, 0, whole.identities[0], whole.secrets[0], SYSTEM)
    for wrong in (b"{", party, other.aggregator.save(), json.dumps(json.loads(aggregator) | {"messages": ["00"]}).encode()):
        with pytest.raises(WireError, match="saved state"):
            whole.roles.aggregator(whole.dealer, wrong)
    for number, secret in whole.secrets.items():
        if secret:
            assert json.loads(secret)["secret"] not in (whole.members[number].save() + aggregator).decode()


def test_a_stream_goes_on_from_period_to_period():
    """Both roles are made anew between any two; a period is not begun twice."""
    terms = StreamTerms(b"s" * 32, 3, 1, 100)
    own, *secrets = deal_secrets(3)
    parties, aggregator = [StreamParty(terms, number, secret) for number, secret in enumerate(secrets)], StreamAggregator(terms, own)
    with pytest.raises(ProtocolError, match="send"):
        parties[0].first()
    for period in (1, 2, 9):
        aggregator.begin(period)
        for number, secret in enumerate(secrets):
            aggregator.receive(parties[number].send(period, [period * number]))
            parties[number] = StreamParty.resume(parties[number].save(), terms=terms, secret=secret)
            aggregator = StreamAggregator.resume(aggregator.save(), terms=terms, secret=own)
        aggregator.close()
        assert aggregator.total.tolist() == [3 * period]
        with pytest.raises(ProtocolError, match="not closed"):
            aggregator.receive(parties[0].first())
        with pytest.raises(ProtocolError, match="show their difference"):
            parties[0].send(period, [0])
        with pytest.raises(ProtocolError, match="used twice"):
            aggregator.begin(period)


# --- what a dealer made ---


@pytest.mark.parametrize("engine", [PAILLIER, STREAM])
def test_secrets_of_others_are_refused(engine):
    whole = Whole(engine, 3)
    number = 0 if engine == STREAM else 3
    own, foreign = whole.secrets[number], whole.secrets[number + 1]
    damaged = [
        json.dumps(json.loads(own) | change).encode() for change in ({"secret": "0x1"}, {"secret": 5}, {"key": "00"}, {"version": 2})
    ]
    for wrong in (foreign, b"{", b"[]", *damaged):
        with pytest.raises(WireError, match="your own") as caught:
            whole.roles.party(number, whole.identities[0], wrong, lambda: whole.vectors[0], SYSTEM)
        assert json.loads(own)["secret"][:8] not in str(caught.value)
    with pytest.raises(ParameterError, match="the file that the dealer made"):
        whole.roles.party(number, whole.identities[0], b"", lambda: whole.vectors[0], SYSTEM)


def test_a_stream_is_for_the_parties_that_it_was_dealt_for():
    """Terms for more of them have smaller shares of the noise: a party finds out by its own file, whatever the terms say of the key."""
    three, four = Whole(STREAM, 3), Whole(STREAM, 4)
    for secret, begin in ((three.secrets[0], four.begin), (three.dealer, lambda _: four.roles.aggregator(four.dealer))):
        changed = json.dumps(json.loads(secret) | {"key": four.roles.key_id.hex()}).encode()
        four.secrets[0] = four.dealer = changed
        with pytest.raises(WireError, match="4 parties"):
            begin(0)


def test_what_an_engine_cannot_add_up():
    usual = {"label": "x", "parties": tuple(bytes([number]) * 32 for number in range(4)), "length": 2, **ALL}
    stream, modulus = {"stream": "ab" * 32, "parties": 4}, (1 << 2047) + 1
    key = {"modulus": f"{modulus:x}", "base": "2", "threshold": 2}
    good = {"decryptors": 0, "largest": 10}
    assert roles_of(STREAM, SumTerms(**usual), stream, **good).key_id == b"\xab" * 32
    assert roles_of(PAILLIER, SumTerms(**usual), key, decryptors=3, largest=10).largest == 44 + 512
    for engine, terms, table, more in (
        ("magic", usual, {}, good),
        (MASKING, usual, stream, good),
        (MASKING, usual, {}, good | {"decryptors": 3}),
        (STREAM, usual, {}, good),
        *(
            (STREAM, usual, stream | change, good)
            for change in ({"stream": "AB" * 32}, {"stream": "00" * 32}, {"parties": 3}, {"parties": "4"})
        ),
        (STREAM, usual, {"stream": "ab" * 32}, good),
        (STREAM, usual, stream, good | {"decryptors": 3}),
        (STREAM, usual, stream, good | {"largest": 1 << 30}),
        (STREAM, usual | {"active": True}, stream, good),
        (STREAM, usual | {"hybrid": True}, stream, good),
        (STREAM, usual | {"honest": "1/4"}, stream, good),
        (PAILLIER, usual, key, good),
        (PAILLIER, usual, key, good | {"decryptors": 1}),
        (PAILLIER, usual, key, good | {"decryptors": 21}),
        (PAILLIER, usual, key, good | {"decryptors": 4}),
        (PAILLIER, usual, key | {"threshold": 1}, good | {"decryptors": 3}),
        (PAILLIER, usual, key | {"threshold": True}, good | {"decryptors": 3}),
        *(
            (PAILLIER, usual, key | {"base": f"{base:x}"}, good | {"decryptors": 3})
            for base in (1, modulus - 1, modulus + 1, modulus**2 - 1)
        ),
        (PAILLIER, usual, key | {"modulus": f"{PUBLIC.modulus:x}"}, good | {"decryptors": 3}),
        (PAILLIER, usual, key | {"base": f"{modulus:x}"}, good | {"decryptors": 3}),
        (PAILLIER, usual, key | {"base": "02"}, good | {"decryptors": 3}),
        (PAILLIER, usual, key | {"more": 1}, good | {"decryptors": 3}),
        (PAILLIER, usual | {"active": True}, key, good | {"decryptors": 3}),
        (PAILLIER, usual, key, good | {"decryptors": 3, "largest": 1 << 62}),
    ):
        with pytest.raises(ParameterError):
            roles_of(engine, SumTerms(**terms), table, **more)


@pytest.mark.parametrize(
    "wrong", [lambda: dealer.deal_stream(parties=1), lambda: dealer.deal_paillier(bits=512, decryptors=3, threshold=2)]
)
def test_dealers_refuse(wrong):
    with pytest.raises(ParameterError):
        wrong()
