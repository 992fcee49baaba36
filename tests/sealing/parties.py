"""A collector and its shufflers with keys, and envelopes that go through them."""

from __future__ import annotations

from typing import Any

from deniable.contract.admission import SIZES, TOKEN
from deniable.contract.envelope import Envelope
from deniable.contract.mixing import Mixing, Relay
from deniable.contract.notice import ANALYST, SHUFFLER, KeyNotice
from deniable.contract.task import Task
from deniable.sealing.identity import public_key
from deniable.sealing.keys import KeyPair
from deniable.sealing.seal import seal_report
from tests.client.fake import DAY, KEY, START, drink_task
from tests.conftest import vectors

ISSUER = bytes.fromhex(vectors("tokens")["blinding"][0]["modulus"])
"""The key of an honest issuer."""


class Parties:
    """Everybody who takes part in a task of shuffle trust, but the devices."""

    def __init__(self, relays: int = 1, *, threshold: Any = None, size: int = 400, admission: str = "open", **changes: Any) -> None:
        self.seeds = [bytes([100 + place]) * 32 for place in range(relays)]
        shufflers = tuple(Relay(f"https://shuffler-{place}.example", public_key(seed)) for place, seed in enumerate(self.seeds))
        mixing = Mixing(epsilon=0.5, delta=1e-6, minimum=10, shufflers=shufflers, size=size, threshold=threshold)
        more = {"issuer": ISSUER} if admission == TOKEN else {}
        self.task: Task = drink_task(model="shuffle", mixing=mixing, admission=admission, **more, **changes)
        self.collector_seed = KEY.private_bytes_raw()
        self.collector = KeyPair(b"\x07" * 32, START - DAY, START + 30 * DAY)
        self.shufflers = [KeyPair(bytes([50 + place]) * 32, START - DAY, START + 30 * DAY) for place in range(relays)]

    @property
    def analyst(self) -> KeyNotice:
        return self.collector.notice(ANALYST)

    @property
    def relays(self) -> list[KeyNotice]:
        return [pair.notice(SHUFFLER) for pair in self.shufflers]

    def envelope(self, payload: bytes = b"\x01", *, period: int = 0, number: int = 0) -> Envelope:
        token = b"\x08" * SIZES[self.task.admission]
        return Envelope(self.task.id, period, 0, 0, number.to_bytes(16, "big"), payload, token)

    def seal(self, envelope: Envelope) -> bytes:
        return seal_report(self.task, envelope, self.analyst, self.relays)
