r"""Admission: a task counts reports from everybody (``open``), from those who share a secret, or one for each one-time token.

**Secret**: everybody who takes part holds the same 32 bytes. A report's token is HMAC-SHA-256 under the secret of the envelope without
its token. It keeps strangers out and identifies nobody. Anyone who has the secret can report as often as they like.

**Token**: a device counts once without being known. The operator gives each person a code. The device draws ``answers`` numbers of 32
bytes, has the task's issuer sign them blindly in exchange for the code (``blind_rsa``), and later sends one of them with each report::

    what is signed    "deniable token 1\n", task id, number
    token             number (32 bytes), signature (256 bytes)
    report id         the first 16 bytes of SHA-256("deniable spend 1\n", number)

The issuer knows who got tokens and never which, the collector sees tokens and cannot tell whose. Since the number gives the report's id,
a token that is spent twice is a report that is sent twice, and every report is counted once. Across the periods of
a task, sealing a period leaves out ids that a period sealed before it holds. So nothing is kept about tokens but the ids of reports,
and those have to be kept until the task is over: its ``retention`` must be that long. The key is the task's own and stands in it, so a
token is good for one task, and no device can be given a key by which it would be known.

A key of 2048 bits is enough: it has to resist forgers while the task runs, and the blinding does not rest on it. Devices refuse a task
whose key has a small factor (``check_issuer``) before they look at anything of their own.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import TYPE_CHECKING

from deniable.contract.blind_rsa import SMALLEST_FACTOR, small_factor
from deniable.contract.envelope import Envelope
from deniable.errors import ParameterError, ProtocolError

if TYPE_CHECKING:
    from deniable.contract.task import Task

OPEN, SECRET, TOKEN = "open", "secret", "token"
ADMISSIONS = (OPEN, SECRET, TOKEN)
OWN, ASSIGNED = "own", "assigned"
"""Who chooses the hash function of a report: the device, or the token that it carries (``contract/assigned``)."""
SECRET_BYTES = 32
SECRET_MARK = "ds_"  # noqa: S105  # before the digits of a secret that is handed out
NUMBER_BYTES = 32
MODULUS_BYTES = 256
TOKEN_BYTES = NUMBER_BYTES + MODULUS_BYTES
SIZES = {OPEN: 0, SECRET: 32, TOKEN: TOKEN_BYTES}
"""How many bytes the token of a report has."""
MOST_TOKENS = 366
"""The most tokens for one code: an answer on each day of a year."""
NO_ISSUER = b"\xff" * MODULUS_BYTES
"""Stands for the issuer's key while a task is drafted. Anybody can factor it: no collector publishes it, and no device accepts it."""
_SIGNED = b"deniable token 1\n"
_SPENT = b"deniable spend 1\n"
_DAY = 86_400


def check_admission(task: Task) -> None:
    """Raise ParameterError if a task's rules of admission are unknown, or cannot be kept."""
    if task.admission not in ADMISSIONS:
        raise ParameterError("admission", task.admission, allowed=f"one of {list(ADMISSIONS)}", fix='leave it out for "open"')
    if task.seeds not in (OWN, ASSIGNED) or (task.seeds == ASSIGNED and task.admission != TOKEN):
        allowed = f'"{OWN}", or "{ASSIGNED}" with one-time tokens: a device that can draw again can search for a seed'
        raise ParameterError("seeds", task.seeds, allowed=allowed, fix=f'leave it out, or say admission = "{TOKEN}"')
    if task.admission != TOKEN:
        if task.issuer != b"":
            raise ParameterError("issuer", task.issuer, allowed=f'nothing, unless admission = "{TOKEN}"', fix="leave it out")
        return
    if not isinstance(task.issuer, bytes) or len(task.issuer) != MODULUS_BYTES or task.issuer[0] < 0x80 or task.issuer[-1] % 2 == 0:
        raise ParameterError("issuer", task.issuer, allowed="an RSA modulus of 2048 bits", fix="let the collector publish the task")
    if task.answers > MOST_TOKENS:
        raise ParameterError("answers", task.answers, allowed=f"at most {MOST_TOKENS} with tokens", fix="publish a task for each year")
    least = -(-(task.end - task.start + task.late) // _DAY) + 1
    if (task.rounds or task.period < task.end - task.start) and task.retention < least:
        allowed = f"{least} days or more: the reports that are kept show which tokens are spent"
        raise ParameterError("retention", task.retention, allowed=allowed, fix="keep reports for longer, or ask in one period only")


def check_issuer(task: Task) -> None:
    """Raise ProtocolError if the issuer's key has a small factor: a device's check before it enrols, reports or shows the task."""
    if task.admission == TOKEN and (factor := small_factor(task.issuer)):
        allowed = f"an RSA modulus of 2048 bits without factors below {SMALLEST_FACTOR:,}"
        raise ProtocolError("issuer", f"a multiple of {factor:,}", allowed=allowed, fix="do not trust this collector")


def token_message(task: bytes, number: bytes) -> bytes:
    """Return what the issuer signs for one token."""
    return _SIGNED + task + number


def spend_id(number: bytes) -> bytes:
    """Return the id of the one report that a token can be spent on.

    >>> spend_id(bytes(32)).hex()
    '9bd1ecd530d6a239bbf65f57789fd565'
    """
    return hashlib.sha256(_SPENT + number).digest()[:16]


def prove(secret: bytes, envelope: Envelope) -> bytes:
    """Return the token of a report to a task with a shared secret; it covers the whole report."""
    return hmac.digest(secret, envelope._replace(token=b"").pack(), "sha256")
