"""A command that serves few connections and waits half a second: what would take a test a minute takes no time."""

from __future__ import annotations

from deniable.cli import main as command
from deniable.collect.kit import server
from deniable.collect.kit.bodies import BodyReader
from deniable.collect.kit.connection import connection_class

PROGRAM = "tests.system.impatient"
SECONDS, MOST = 0.5, 12
HANDSHAKE = 5.0
"""Seconds in which honest peers must be done, on a slow machine."""


def main() -> None:
    server.HANDSHAKE_SECONDS = HANDSHAKE
    server.connection_class = lambda *_: connection_class(SECONDS, MOST)
    patient = BodyReader.__init__
    BodyReader.__init__ = lambda self, *, most, most_together, seconds: patient(
        self, most=most, most_together=most_together, seconds=SECONDS
    )
    command()
