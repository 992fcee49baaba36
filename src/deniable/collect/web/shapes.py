"""What requests may say in their query, and what answers look like: types that are checked and documented at once."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from deniable.contract.envelope import Envelope
from deniable.errors import WireError

Period = Annotated[int, Meta(ge=0, lt=1 << 32)]
Periods = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=80,
        description="all, a number, a date, or the first and the last: 3, 0-6, 2026-12-03, 2026-12-01..2026-12-07",
    ),
]
Label = Annotated[str, Meta(pattern=r"^[^:]+:.+$", description="a stratum's name and label, as in platform:web")]
Labels = Annotated[list[Label], Meta(max_length=100)]
Form = Literal["json", "parquet"]


class Strict(msgspec.Struct, forbid_unknown_fields=True):
    """A query's parameters; unknown ones are refused."""


class LogQuery(Strict):
    """The part of the public log after an entry."""

    after: Annotated[int, Meta(ge=0, lt=1 << 31)] | UnsetType = UNSET


class PublishQuery(Strict):
    """Whether a task may have another meaning than the earlier one of its name."""

    new_meaning: Literal["true", "false"] = "false"


class SealQuery(Strict):
    """The period to close."""

    period: Period


class AdvanceQuery(Strict):
    """The round to close: only that one, so repeating the request is harmless. ``force`` closes it even with few reports."""

    round: Period | UnsetType = UNSET
    force: Literal["true", "false"] = "false"


class EstimateQuery(Strict):
    """The selected periods and strata (all, if none is named), and the format."""

    period: Periods = "all"
    stratum: Labels = []
    format: Form = "json"
    integrity: Literal["true", "false"] = "false"


class CompareQuery(Strict):
    """Two selections of periods and strata, and the family-wise false-positive rate."""

    first: Periods = "all"
    second: Periods = "all"
    stratum_first: Labels = []
    stratum_second: Labels = []
    alpha: Annotated[float, Meta(gt=0, lt=1)] = 0.05
    format: Form = "json"


Blinded = Annotated[str, Meta(pattern=r"^[0-9a-f]{512}\Z")]


class TokenRequest(Strict):
    """A code, and the blinded numbers that will become its tokens: as many as the task has answers."""

    code: Annotated[str, Meta(min_length=1, max_length=100)]
    blinded: Annotated[list[Blinded], Meta(min_length=1, max_length=366)]


class SignedTokens(msgspec.Struct):
    """The blind signatures, in the order of the request."""

    signatures: list[str]


class Problem(msgspec.Struct):
    """What went wrong: a code for programs, a sentence for people."""

    code: str
    message: str


class Failure(msgspec.Struct):
    """Every answer that reports a failure."""

    error: Problem


class RejectedReport(msgspec.Struct):
    """A report that was not counted, and why."""

    id: str
    code: str


class Rejected(msgspec.Struct):
    """The reports that were not counted, in the order of the request; all others are durable."""

    rejected: list[RejectedReport]


class TaskSummary(msgspec.Struct):
    """A task in a list."""

    id: str
    name: str
    question: str
    start: int
    end: int
    closed: bool


class SignedTask(msgspec.Struct):
    """A task as published: the SHA-256 of its text is its id."""

    task: str
    signature: str


class SignedRound(msgspec.Struct):
    """The current round of a task of several rounds."""

    round: str
    signature: str


class SignedNotice(msgspec.Struct):
    """A key to encrypt reports with, and the collector's signature."""

    notice: str
    signature: str


class AnnouncedKeys(msgspec.Struct):
    """The announced keys, newest first."""

    keys: list[SignedNotice]


class LogLine(msgspec.Struct):
    """An entry of the public log; the next record names its hash."""

    sequence: int
    record: str
    signature: str
    hash: str


class LogLines(msgspec.Struct):
    """Entries of the public log, oldest first; ask again after the last of them until there are none."""

    entries: list[LogLine]


class Advanced(msgspec.Struct):
    """Whether another round was opened; otherwise, the task has its result."""

    more: bool


class Health(msgspec.Struct):
    """The health of the collector."""

    status: str


Number16 = Annotated[int, Meta(ge=0, lt=1 << 16)]
Number32 = Annotated[int, Meta(ge=0, lt=1 << 32)]
Hex16 = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]
Hex32 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
HexToken = Annotated[str, Meta(pattern=r"^([0-9a-f]{2})*\Z", max_length=2 * (2**16 - 1))]
HexBytes = Annotated[str, Meta(pattern=r"^([0-9a-f]{2})*\Z")]


class JsonReport(Strict):
    """An envelope as JSON: numbers as they are, bytes as lower-case hexadecimal digits."""

    task: Hex32
    period: Number32
    question: Number16
    stratum: Number16
    id: Hex16
    payload: HexBytes
    token: HexToken = ""


class JsonBatch(Strict):
    """A batch as JSON."""

    reports: Annotated[list[JsonReport], Meta(min_length=1)]


_DECODER = msgspec.json.Decoder(JsonBatch)


def open_json(data: bytes) -> list[Envelope]:
    """The envelopes of a batch as JSON; WireError if anything in it is missing, unknown, of another type or out of range.

    >>> open_json(b'{"reports": [{"task": true}]}')
    Traceback (most recent call last):
    deniable.errors.WireError: JSON: ... Expected `str`, got `bool` - at `$.reports[0].task`
    """
    try:
        reports = _DECODER.decode(data).reports
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        allowed = "an object with a list of reports"
        raise WireError("JSON", f"{len(data)} bytes", allowed=allowed, fix=f"nothing of this batch was counted: {error}") from error
    return [
        Envelope(
            bytes.fromhex(report.task),
            report.period,
            report.question,
            report.stratum,
            bytes.fromhex(report.id),
            bytes.fromhex(report.payload),
            bytes.fromhex(report.token),
        )
        for report in reports
    ]
