"""One interface for three engines: the roles of a sum, new or saved, for the code that carries their messages.

==========  =======================  =============================  ===============================================================
engine      messages of a party      who may be missing             trusted, besides the honest parties
==========  =======================  =============================  ===============================================================
masking     4, or 5 if signed        ``lost`` of the parties        nobody if signed, otherwise the aggregator to keep to the protocol
paillier    1                        ``lost`` of the parties        aggregator, dealer, and fewer than the threshold of decryptors
stream      1                        nobody                         dealer
==========  =======================  =============================  ===============================================================

A party is asked for ``first`` and for an ``answer`` to what comes; an aggregator ``receive``s, and ``close``s a step when all are there or
their time is over. Before anything is sent, ``save`` is kept. Decryptors are numbered after the parties, and are driven as they are.
``run_sum`` carries the messages of a whole sum in memory: for sums in one process, tests and lessons.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Protocol

from deniable.contract.arguments import typed
from deniable.contract.source import Source
from deniable.errors import ProtocolError
from deniable.kernels.compiled import Array


class Participant(Protocol):
    """One who has numbers to add, or who helps to open their sum."""

    def first(self) -> bytes | None:
        """The message with which a party begins; None if it waits for one."""

    def answer(self, data: bytes) -> bytes | None:
        """The answer to a message; None if there is none."""


class SumReceiver(Protocol):
    """The role that gets the sum."""

    total: Array | None

    def receive(self, data: bytes) -> None:
        """Take a message of a party."""

    def close(self) -> dict[int, bytes]:
        """End the step: what to send to whom; nothing if there is nothing more."""


class Party(Participant, Protocol):
    """A party, or a decryptor."""

    def save(self) -> bytes:
        """Return all that it needs to go on, as bytes."""


class Aggregator(SumReceiver, Protocol):
    """The role that gets the sum. ``step`` is the kind of message that it takes now; 0 when it is done."""

    step: int

    @property
    def present(self) -> set[int]:
        """The members that are still in the sum; messages of all others come too late."""

    @property
    def waiting(self) -> set[int]:
        """The members whose message is due now."""

    def save(self) -> bytes:
        """Return all that it needs to go on, as bytes."""


class Roles(Protocol):
    """The roles of one sum. ``secret`` is a dealer's file, empty where there is none; ``vector`` is asked for by those who add alone."""

    steps: ClassVar[Mapping[int, str]]
    """What the aggregator waits for, by kind of message; the first is how a sum begins."""
    counted: ClassVar[int]
    """The kind of message with which a party's numbers are in the sum."""

    @property
    def id(self) -> bytes:
        """What stands in every message."""

    @property
    def key_id(self) -> bytes:
        """The id of what a dealer dealt; empty if nobody did."""

    @property
    def largest(self) -> int:
        """The most bytes of a message that anybody sends to the aggregator."""

    @property
    def trusted(self) -> str:
        """Who else must be honest, in words."""

    def aggregator(self, secret: bytes, saved: bytes | None = None) -> Aggregator:
        """A new one, or as it was saved."""

    def party(self, number: int, identity: bytes, secret: bytes, vector: Callable[[], Array], source: Source) -> Party:
        """A new one."""

    def resume(self, saved: bytes, number: int, identity: bytes, secret: bytes, source: Source) -> Party:
        """As it was saved."""


@typed
def run_sum(parties: Mapping[int, Participant], aggregator: SumReceiver, *, lost: Mapping[int, int] | None = None) -> Array:
    """The sum that an aggregator finds of what the parties add, by number; ``lost`` says by party how many messages it still sends."""
    left = dict(lost or {})

    def sends(party: int) -> bool:
        left[party] = left.get(party, 1 << 30) - 1
        return left[party] >= 0

    for number, party in parties.items():
        if (begun := party.first()) is not None and sends(number):
            aggregator.receive(begun)
    while out := aggregator.close():
        for number, message in out.items():
            if sends(number) and (reply := parties[number].answer(message)) is not None:
                aggregator.receive(reply)
    if aggregator.total is None:
        raise ProtocolError("sum", "none", allowed="a sum at the end", fix="begin a new sum: the aggregator stopped without a total")
    return aggregator.total
