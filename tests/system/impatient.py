"""A command that serves few connections and waits half a second: what would take a test a minute takes no time."""

from __future__ import annotations

from deniable.cli import main as command
from deniable.collect.kit import server
from deniable.collect.kit.bodies import BodyReader
from deniable.collect.kit.connection import connection_class

PROGRAM = "tests.system.impatient"
SECONDS, MOST = 0.5, 12
LONGEST = 120.0
"""Seconds that any process gives a body: those of a party's message."""
HANDSHAKE = 5.0
"""Seconds in which honest peers must be done, on a slow machine."""


def main() -> None:
    server.HANDSHAKE_SECONDS = HANDSHAKE
    server.connection_class = lambda *_: connection_class(SECONDS, MOST)
    patient = BodyReader.__init__

    def impatient(self: BodyReader, *, most: int, most_together: int, seconds: float) -> None:
        assert seconds <= LONGEST, "what a process really waits for is what its limits say"  # part of the tests
        patient(self, most=most, most_together=most_together, seconds=SECONDS)

    BodyReader.__init__ = impatient
    command()
