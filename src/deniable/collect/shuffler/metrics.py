"""What a shuffler counts about itself, for Prometheus. Labels are from short fixed lists, never from a request."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from deniable.collect.kit.committer import SECONDS
from deniable.collect.kit.entrance import STATUSES
from deniable.collect.shuffler.judge import BAD_SEAL, BAD_TOKEN, UNKNOWN_KEY, UNKNOWN_TASK, Address, Row
from deniable.shuffle.mixer import CLOSED, USED

CODES = (UNKNOWN_TASK, UNKNOWN_KEY, BAD_SEAL, BAD_TOKEN, USED, "too_early", CLOSED)
"""Why a seal was not taken."""


class ShufflerMetrics:
    """The figures of one shuffler, in a registry of their own. ``held`` gives the seals that waited when it was last looked."""

    def __init__(self, held: Callable[[], int]) -> None:
        self.registry = registry = CollectorRegistry()
        seals = Counter("deniable_seals", "Seals by outcome; those that came again are among the accepted.", ["outcome"], registry=registry)
        requests = Counter("deniable_requests", "Requests to hand in seals, by status.", ["status"], registry=registry)
        self.seals = {outcome: seals.labels(outcome) for outcome in ("accepted", *CODES)}
        self.requests = {status: requests.labels(str(status)) for status in STATUSES}
        self.append_seconds = Histogram("deniable_append_seconds", "Time to make a group durable.", buckets=SECONDS, registry=registry)
        self.append_failures = Counter("deniable_append_failures", "Groups that could not be stored.", registry=registry)
        self.made = Counter("deniable_batches_made", "Batches that were let go.", registry=registry)
        self.passed_on = Counter("deniable_batches_passed_on", "Batches that were acknowledged.", registry=registry)
        self.attempts = Counter("deniable_batch_failures", "Attempts to pass a batch on that failed.", registry=registry)
        Gauge("deniable_held_seals", "Seals that wait for a crowd.", registry=registry).set_function(held)

    def appended(self, _: dict[Address, list[Row]], seconds: float, failed: Exception | None) -> None:
        """A committer's ``observe``: one append is over."""
        self.append_seconds.observe(seconds)
        if failed is not None:
            self.append_failures.inc()

    def delivered(self, done: bool) -> None:
        """A forwarder's ``observe``: one attempt is over."""
        (self.passed_on if done else self.attempts).inc()
