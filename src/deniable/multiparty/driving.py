"""A whole sum in memory: every role is a state machine, and this carries their messages. Tests, simulations and lessons use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from deniable.contract.arguments import typed
from deniable.errors import ProtocolError
from deniable.kernels.compiled import Array


class Party(Protocol):
    """One who has numbers to add, or who helps to open their sum."""

    def first(self) -> bytes | None:
        """The message with which a party begins; None if it waits for one."""

    def answer(self, data: bytes) -> bytes | None:
        """The answer to a message; None if there is none."""


class Aggregator(Protocol):
    """The one who gets the sum."""

    total: Array | None

    def receive(self, data: bytes) -> None:
        """Take a message of a party."""

    def close(self) -> dict[int, bytes]:
        """End the step: what to send to whom; nothing if there is nothing more."""


@typed
def run_sum(parties: Mapping[int, Party], aggregator: Aggregator, *, lost: Mapping[int, int] | None = None) -> Array:
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
        raise ProtocolError("sum", "none", allowed="a sum at the end", fix="the aggregator stopped without one")
    return aggregator.total
