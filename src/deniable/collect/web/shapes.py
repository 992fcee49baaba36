"""What requests may say in their query, and what answers look like: types that are checked and documented at once."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

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
    """What may be said in a query, and nothing else."""


class LogQuery(Strict):
    """Which part of the public log: what comes after an entry."""

    after: Annotated[int, Meta(ge=0, lt=1 << 31)] | UnsetType = UNSET


class PublishQuery(Strict):
    """Whether a task may mean something else than an earlier one of its name."""

    new_meaning: Literal["true", "false"] = "false"


class SealQuery(Strict):
    """Which period is counted."""

    period: Period


class AdvanceQuery(Strict):
    """Which round is closed: only that one, so that asking again does no harm. By force: with however few reports."""

    round: Period | UnsetType = UNSET
    force: Literal["true", "false"] = "false"


class EstimateQuery(Strict):
    """About which periods and strata (all, if none is named), and in which form."""

    period: Periods = "all"
    stratum: Labels = []
    format: Form = "json"
    integrity: Literal["true", "false"] = "false"


class CompareQuery(Strict):
    """Two selections of periods and strata, and how often the test may cry wolf."""

    first: Periods = "all"
    second: Periods = "all"
    stratum_first: Labels = []
    stratum_second: Labels = []
    alpha: Annotated[float, Meta(gt=0, lt=1)] = 0.05
    format: Form = "json"


Blinded = Annotated[str, Meta(pattern=r"^[0-9a-f]{512}\Z")]


class TokenRequest(Strict):
    """A code, and the blinded numbers that are to become its tokens: as many as the task has answers."""

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
    """Every answer that is no success."""

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
    """A task as it was published: the SHA-256 of its text is its id."""

    task: str
    signature: str


class SignedRound(msgspec.Struct):
    """The round at hand of a task of several rounds."""

    round: str
    signature: str


class SignedNotice(msgspec.Struct):
    """A key to seal reports for, and the collector's signature."""

    notice: str
    signature: str


class SealingKeys(msgspec.Struct):
    """The keys that are announced, the newest first."""

    keys: list[SignedNotice]


class LogLine(msgspec.Struct):
    """An entry of the public log; the next record names its hash."""

    sequence: int
    record: str
    signature: str
    hash: str


class PublicLog(msgspec.Struct):
    """Entries of the public log, oldest first; ask again after the last of them until there are none."""

    entries: list[LogLine]


class Advanced(msgspec.Struct):
    """Whether another round was opened; if not, the task has its result."""

    more: bool


class State(msgspec.Struct):
    """How the collector is."""

    status: str
