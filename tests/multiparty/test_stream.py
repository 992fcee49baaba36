"""Streams: exact sums of every period, nothing without all parties, no period twice, and blocks that go on without the lost ones."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from nacl import bindings

from deniable.contract.ed25519 import ORDER
from deniable.errors import DomainError, ParameterError, ProtocolError, WireError
from deniable.multiparty.message import Message
from deniable.multiparty.stream import group
from deniable.multiparty.stream.blocks import blocks_of, whole_blocks
from deniable.multiparty.stream.shi import StreamAggregator, StreamParty, StreamTerms, deal_secrets
from deniable.testing import ReplaySource


class Stream:
    """Six parties with two numbers a period."""

    def __init__(self, key: bytes = b"s" * 32, parties: int = 6) -> None:
        self.terms = StreamTerms(key, parties, 2, 100)
        own, *secrets = deal_secrets(parties, ReplaySource.from_key(key.hex()))
        self.parties = [StreamParty(self.terms, number, secret) for number, secret in enumerate(secrets)]
        self.aggregator = StreamAggregator(self.terms, own)

    def send(self, period: int, numbers: np.ndarray) -> list[bytes]:
        return [party.send(period, row) for party, row in zip(self.parties, numbers, strict=True)]


NUMBERS = np.array([[1, -1], [0, 0], [100, -100], [-7, 7], [0, 50], [-94, 44]])


def test_sums_are_exact_in_every_period():
    """Among them a sum of 0, which is the neutral point, and the largest of either sign."""
    stream = Stream()
    for period, numbers in enumerate((NUMBERS, np.full((6, 2), 100), np.full((6, 2), -100), np.zeros((6, 2), dtype=int))):
        assert stream.aggregator.open(period, stream.send(period, numbers)).tolist() == numbers.sum(axis=0).tolist()


def test_messages_of_equal_numbers_share_nothing():
    stream = Stream()
    seen = {piece for period in range(3) for message in stream.send(period, NUMBERS * 0) for piece in (message[48:80], message[80:112])}
    assert len(seen) == 3 * 6 * 2


def test_a_period_is_used_once():
    """The evil twin that forgets the period: the difference of its two messages is that of its numbers."""
    stream = Stream()
    party = stream.parties[0]
    first = party.send(3, [5, 5])
    for period in (3, 2, -1):
        with pytest.raises(ProtocolError, match="show their difference"):
            party.send(period, [9, 9])
    party.period = -1
    second = party.send(3, [9, 9])
    difference = group.add(Message.open(second).body[4:36], group.times(ORDER - 1, Message.open(first).body[4:36]))
    assert group.small_logarithm(difference, 100) == 4


def test_without_all_parties_there_is_no_sum():
    stream = Stream()
    messages = stream.send(0, NUMBERS)
    with pytest.raises(ProtocolError, match="no sum"):
        stream.aggregator.open(0, messages[1:])
    with pytest.raises(ProtocolError, match="each party once"):
        stream.aggregator.open(0, [*messages[1:], messages[1]])
    stream.aggregator.terms = StreamTerms(stream.terms.id, 5, 2, 100)  # an aggregator that counts one party less
    moved = [Message.open(message)._replace(party=place).pack() for place, message in enumerate(messages[1:])]
    with pytest.raises(DomainError, match="bound"):
        stream.aggregator.open(0, moved)


def test_a_sum_beyond_its_bound_is_not_said_to_be_closed():
    """A party that does not keep to its bound ends the search, and a longer one opens the sum: here by 5 more than all may have."""
    stream = Stream()
    stream.parties[0].terms = StreamTerms(stream.terms.id, 6, 2, 105)
    for message in stream.send(0, np.array([[105, 0]] + [[100, 0]] * 5)):
        stream.aggregator.receive(message)
    messages = dict(stream.aggregator._messages)
    with pytest.raises(ProtocolError, match="epsilon of this sum is spent"):
        stream.aggregator.close()
    stream.aggregator.terms = stream.parties[0].terms
    assert stream.aggregator.open(0, messages).tolist() == [605, 0]


def test_other_periods_streams_and_points_are_refused():
    stream, other = Stream(), Stream(b"o" * 32)
    messages = stream.send(0, NUMBERS)
    with pytest.raises(ProtocolError, match="two periods"):
        stream.aggregator.open(1, messages)
    with pytest.raises(ProtocolError, match="two sums"):
        stream.aggregator.open(0, [*messages[1:], other.send(0, NUMBERS)[0]])
    message = Message.open(messages[0])
    small = bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa")  # of order 8
    for point in (bytes(32), b"\xff" * 32, small):
        with pytest.raises(WireError, match="point"):
            stream.aggregator.open(0, [message._replace(body=message.body[:4] + point + message.body[36:]).pack(), *messages[1:]])
    for damaged in (b"", messages[0][:-1], message._replace(body=message.body[:-32]).pack()):
        with pytest.raises(WireError):
            stream.aggregator.open(0, [damaged, *messages[1:]])
    with pytest.raises(ProtocolError, match="party"):
        stream.aggregator.open(0, [message._replace(party=6).pack(), *messages[1:]])


@pytest.mark.parametrize("numbers", [[1], [1, 2, 3], [1, 101], [-101, 0]])
def test_numbers_beyond_the_bound_are_refused_and_use_no_period(numbers):
    party = Stream().parties[0]
    with pytest.raises(DomainError):
        party.send(0, numbers)
    with pytest.raises(DomainError, match="integers"):
        party.send(0, [1.9, 0.2])
    assert party.period == -1
    with pytest.raises(ParameterError):
        StreamParty(party.terms, -1, party.secret)


@pytest.mark.parametrize("parts", [(b"short", 2, 1, 1), (bytes(32), 0, 1, 1), (bytes(32), 2, 0, 1), (bytes(32), 1 << 20, 1, 1 << 20)])
def test_terms_that_cannot_be_kept(parts):
    with pytest.raises(ParameterError):
        StreamTerms(*parts)


def test_logarithms_are_found_up_to_the_bound():
    for largest in (1, 2, 10, 1000):
        for number in {-largest, -1, 0, 1, largest, largest // 3}:
            assert group.small_logarithm(group.times_base(number), largest) == number
        with pytest.raises(DomainError):
            group.small_logarithm(group.times_base(largest + 1), largest)


def test_the_point_of_a_period_has_the_large_order():
    for period in range(20):
        point = StreamTerms(bytes(32), 2, 1, 1).point(period, 0)
        assert bindings.crypto_core_ed25519_is_valid_point(point)
        assert group.times(ORDER - 1, point) is not None
        assert group.add(group.times(ORDER - 1, point), point) is None


def test_no_secret_is_shown():
    stream = Stream()
    assert str(stream.parties[0].secret) not in repr(stream.parties[0])
    assert str(stream.aggregator.secret) not in repr(stream.aggregator)


# --- blocks ---


@pytest.mark.parametrize("parties", [1, 2, 3, 7, 8, 11])
def test_whole_blocks_hold_all_but_the_lost_ones_and_are_blocks_of_theirs(parties):
    for size in range(parties):
        for lost in combinations(range(parties), size):
            blocks = whole_blocks(parties, lost)
            assert [party for block in blocks for party in block] == [party for party in range(parties) if party not in lost]
            assert all(block in blocks_of(block.start, parties) for block in blocks)
            assert len(blocks) <= max(1, size * (parties - 1).bit_length() + 1)


def test_a_party_is_in_as_many_blocks_as_its_noise_is_divided_by():
    for parties in (1, 2, 8, 13, 64):
        for party in range(parties):
            blocks = blocks_of(party, parties)
            assert all(party in block for block in blocks)
            assert blocks[-1] == range(parties)
            assert len(blocks) <= (parties - 1).bit_length() + 1


def test_a_stream_in_blocks_survives_losses():
    """Four parties, the third is lost: pair and single, each a stream of its own."""
    parties, values = 4, [5, 6, 7, 8]
    streams = {}
    for block in {block for party in range(parties) for block in blocks_of(party, parties)}:
        streams[block] = Stream(bytes([block.start, block.stop]) * 16, len(block))
    total = 0
    for block in whole_blocks(parties, lost=[2]):
        stream = streams[block]
        sent = [stream.parties[party - block.start].send(0, [values[party], 0]) for party in block]
        total += int(stream.aggregator.open(0, sent)[0])
    assert total == 5 + 6 + 8


@pytest.mark.parametrize("wrong", [lambda: blocks_of(3, 3), lambda: blocks_of(0, 0), lambda: whole_blocks(3, [3])])
def test_blocks_of_nobody(wrong):
    with pytest.raises(ParameterError):
        wrong()
