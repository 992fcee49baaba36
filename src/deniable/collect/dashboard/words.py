"""Numbers, times and values as people read them."""

from __future__ import annotations

from typing import Any

from deniable.collect.admission import LiveTask
from deniable.collect.tasks.spans import moment_in_words, span_in_words
from deniable.contract.domain import Domain, IndexRange
from deniable.contract.task import Task
from deniable.core.integrity import IntegrityReport

DAY = 86_400


def label(value: Any, domain: Domain | None = None) -> str:
    r"""A value as it can be drawn: no line breaks or control characters.

    >>> label("tea"), label("a\nb"), label(b"\x00"), label(1, IndexRange(2))
    ('tea', "'a\\nb'", '0x00', '1 (yes)')
    """
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(domain, IndexRange) and domain.size == 2:
        return f"{value} ({'yes' if value else 'no'})"  # how a task asks for yes and no
    return str(value) if str(value).isprintable() else repr(str(value))


def period_in_words(task: Task, period: int) -> str:
    """Return a period by its start, as short as its length allows."""
    start = moment_in_words(task.period_span(period)[0])
    return start.removesuffix(" 00:00 UTC") if task.period % DAY == 0 and task.start % DAY == 0 else start


def state_of(live: LiveTask, now: float) -> str:
    """Return a task's state: open, closed or not open yet."""
    if live.closed or now >= live.task.end + live.task.late:
        return "closed"
    return "open" if now >= live.task.start else "not open yet"


def time_in_words(task: Task) -> str:
    """Return when a task starts and ends, and how often it asks."""
    whole = f"{moment_in_words(task.start)} to {moment_in_words(task.end)}"
    if task.rounds:
        return f"{whole}, in rounds"
    return whole if task.period_count == 1 else f"{whole}, in periods of {span_in_words(task.period)}"


def signs(report: IntegrityReport) -> str:
    """Return the result of the integrity tests in one line."""
    if not report.findings:
        return "not testable: an honest device may send any report"
    if not report.suspicious:
        return f"none ({', '.join(finding.test for finding in report.findings)})"
    seen = [finding.what for finding in report.findings if finding.test in report.suspicious]
    return f"yes: {'; '.join(seen)}"
