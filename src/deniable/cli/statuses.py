"""How commands end: the exit statuses of all of them, in one table."""

from __future__ import annotations

FINE, DIFFERS, ERROR, CHANGED, TOO_FEW, BUG, STOPPED, UNREAD, TERMINATED = 0, 1, 2, 3, 4, 70, 130, 141, 143

STATUSES = {
    FINE: "all is well",
    DIFFERS: "what was checked is not as it should be",
    ERROR: "an error, told in one line with what to do next",
    CHANGED: "some value changed, where two selections were compared",
    TOO_FEW: "there are fewer reports than the task shows",
    BUG: "a mistake in deniable itself",
    STOPPED: "stopped by Ctrl-C, or by a no to a question",
    UNREAD: "whoever read the output has closed it",
    TERMINATED: "told to stop by a signal; servers end with 0",
}
"""What an exit status means, whichever command ends with it. From 128 on it is a signal's number more, as shells count."""
