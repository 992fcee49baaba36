"""One interface, three engines: whoever carries messages gets the roles of a sum from here, new or as they were saved, and knows no more.

==========  =======================  =============================  ===============================================================
engine      messages of a party      who may be missing             trusted, beside the share of honest parties
==========  =======================  =============================  ===============================================================
masking     4, or 5 if signed        ``lost`` of the parties        nobody if signed, otherwise the aggregator to keep to the protocol
paillier    1                        ``lost`` of the parties        aggregator, dealer, and fewer than the threshold of decryptors
stream      1                        nobody                         dealer
==========  =======================  =============================  ===============================================================

A party is asked for ``first`` and for an ``answer`` to what comes; an aggregator ``receive``s, and ``close``s a step when all are there or
their time is over. Before anything is sent, ``save`` is kept. Decryptors are numbered after the parties, and are driven as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Protocol

from deniable.contract.source import Source
from deniable.kernels.compiled import Array
from deniable.multiparty import driving


class Party(driving.Party, Protocol):
    """A party, or a decryptor."""

    def save(self) -> bytes:
        """All that it needs to go on."""


class Aggregator(driving.Aggregator, Protocol):
    """The one who gets the sum. ``step`` is the kind of message that it takes now; 0 when it is done."""

    step: int

    @property
    def present(self) -> set[int]:
        """Who is still in it; whoever else speaks is too late."""

    @property
    def waiting(self) -> set[int]:
        """Of whom something is due now."""

    def save(self) -> bytes:
        """All that it needs to go on."""


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
        """Who must be honest beside the parties, in words."""

    def aggregator(self, secret: bytes, saved: bytes | None = None) -> Aggregator:
        """A new one, or as it was saved."""

    def party(self, number: int, identity: bytes, secret: bytes, vector: Callable[[], Array], source: Source) -> Party:
        """A new one."""

    def resume(self, saved: bytes, number: int, identity: bytes, secret: bytes, source: Source) -> Party:
        """As it was saved."""
