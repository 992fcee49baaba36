"""What a collector counts about itself, for Prometheus. Labels are from short fixed lists, never from a request."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from deniable.collect.admission import Rows
from deniable.collect.batch_intake import CODES as REFUSALS
from deniable.collect.batch_intake import REPEATED, TAKEN
from deniable.collect.kit.committer import SECONDS
from deniable.collect.kit.entrance import STATUSES

CODES = (
    "unknown_task",
    "too_early",
    "too_late",
    "sealed",
    "closed",
    "wrong_round",
    "bad_question",
    "bad_stratum",
    "bad_payload",
    "bad_token",
    "bad_seed",
    "shuffled_only",
)
"""Why a report was not counted."""
_SIZES = (1, 10, 100, 1_000, 10_000, 100_000)


class Metrics:
    """The figures of one collector, in a registry of their own.

    ``period_now`` gives the period that a task is in by the collector's clock (None if in none); with it, reports of other periods are
    counted as early or late.
    """

    def __init__(self, period_now: Callable[[bytes], int | None] | None = None) -> None:
        self._period_now = period_now
        self.registry = registry = CollectorRegistry()
        reports = Counter("deniable_reports", "Reports by outcome.", ["outcome"], registry=registry)
        requests = Counter("deniable_requests", "Requests to hand in reports, by status.", ["status"], registry=registry)
        skew = Counter("deniable_period_skew", "Reports stored, by their period against the clock's.", ["period"], registry=registry)
        # Looked up once: a request pays for an addition alone, and every series is there from the start.
        self.reports = {outcome: reports.labels(outcome) for outcome in ("accepted", "repeated", *CODES)}
        self.requests = {status: requests.labels(str(status)) for status in STATUSES}
        self._skew = {period: skew.labels(period) for period in ("early", "current", "late")}
        batches = Counter("deniable_batches", "Shuffled batches by outcome.", ["outcome"], registry=registry)
        left_out = Counter("deniable_left_out", "Seals of batches that were taken which counted for nothing.", ["why"], registry=registry)
        self.batches = {outcome: batches.labels(outcome) for outcome in (TAKEN, REPEATED, "bad_signature", "malformed", *REFUSALS)}
        self.left_out = {why: left_out.labels(why) for why in ("dummy", "damaged", "repeated", *CODES)}
        self.append_seconds = Histogram("deniable_append_seconds", "Time to make a group durable.", buckets=SECONDS, registry=registry)
        self.append_reports = Histogram("deniable_append_reports", "Reports made durable together.", buckets=_SIZES, registry=registry)
        self.append_failures = Counter("deniable_append_failures", "Groups that could not be stored.", registry=registry)
        self.waiting = Gauge("deniable_waiting_bytes", "Bytes that wait to be durable.", registry=registry)
        self.sealed = Counter("deniable_sealed_buckets", "Buckets sealed by this process.", registry=registry)
        self.open_tasks = Gauge("deniable_open_tasks", "Tasks that take reports.", registry=registry)
        self.parked_rounds = Gauge("deniable_parked_rounds", "Rounds and periods that could not be closed, or read.", registry=registry)
        self.clock_doubt = Gauge("deniable_clock_doubt_seconds", "How far the clock has jumped ahead; 0 if believed.", registry=registry)

    def appended(self, rows: Rows, seconds: float, failed: Exception | None) -> None:
        """A committer's ``observe``: one append is over."""
        self.append_seconds.observe(seconds)
        if failed is not None:
            self.append_failures.inc()
            return
        self.append_reports.observe(sum(map(len, rows.values())))
        if self._period_now is not None:
            for (task, period, _, _), reports in rows.items():
                now = self._period_now(task)
                if now is not None:
                    self._skew["early" if period > now else "late" if period < now else "current"].inc(len(reports))

    def render(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)
