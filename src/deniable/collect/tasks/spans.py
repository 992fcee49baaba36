"""Times as people write them: dates, and durations such as "90 days"."""

from __future__ import annotations

import re
import time
from datetime import UTC, date, datetime

from deniable.errors import ParameterError

UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 7 * 86_400}
_SPAN = re.compile(rf"([0-9]{{1,9}}) ?({'|'.join(UNITS)})s?")


def read_moment(parameter: str, value: object) -> int:
    """Return a TOML date or time in seconds since 1970; without an offset, it is UTC.

    >>> from datetime import timedelta, timezone
    >>> read_moment("start", date(1970, 1, 2)), read_moment("end", datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=1))))
    (86400, 3600)
    """
    if not isinstance(value, date):  # a datetime is one too
        allowed = "a date or a date with a time, without quotation marks"
        raise ParameterError(parameter, value, allowed=allowed, fix=f"write {parameter} = 2027-01-01, or 2027-01-01T06:00:00Z for a time")
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    return int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())


def read_span(parameter: str, value: object, unit: int = 1) -> int:
    """Return the length of a duration in units of ``unit`` seconds, a whole number of them.

    >>> read_span("late", "90 minutes"), read_span("retention", "2 weeks", UNITS["day"])
    (5400, 14)
    """
    found = _SPAN.fullmatch(value) if isinstance(value, str) else None
    seconds = int(found[1]) * UNITS[found[2]] if found else -1
    if seconds < 0 or seconds % unit:
        whole = "whole days or weeks" if unit == UNITS["day"] else "a number of seconds, minutes, hours, days or weeks"
        raise ParameterError(parameter, value, allowed=whole, fix=f'write {parameter} = "30 days", for example')
    return seconds // unit


def span_in_words(seconds: int) -> str:
    """Return a duration in its largest whole unit.

    >>> span_in_words(86_400), span_in_words(5400), span_in_words(1_209_600)
    ('1 day', '90 minutes', '14 days')
    """
    unit = next(unit for unit in ("day", "hour", "minute", "second") if seconds % UNITS[unit] == 0)
    count = seconds // UNITS[unit]
    return f"{count:,} {unit}{'' if count == 1 else 's'}"


def moment_in_words(seconds: int) -> str:
    """Return a time as people read it.

    >>> moment_in_words(86_400)
    '1970-01-02 00:00 UTC'
    """
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    except (ValueError, OverflowError, OSError):  # a task may end after the year 9999
        return f"{seconds:,} seconds after 1970"


def until(seconds: float) -> str:
    """Return the time this many seconds from now, as people read it.

    >>> until(float("inf"))
    '1,000,000,000,000 seconds after 1970'
    """
    return moment_in_words(int(min(1e12, time.time() + seconds)))
