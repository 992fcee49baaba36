"""Everything that can be asked of a collector over HTTP, in one table: who may, with which parameters, and what the answers look like.

The application, the check of roles and the OpenAPI document are all made from it, so none of them can forget an endpoint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deniable.collect.kit.answers import JSON
from deniable.collect.web.access import OPEN
from deniable.collect.web.shapes import (
    Advanced,
    AdvanceQuery,
    AnnouncedKeys,
    CompareQuery,
    EstimateQuery,
    Health,
    JsonBatch,
    LogLines,
    LogQuery,
    PublishQuery,
    SealQuery,
    SignedRound,
    SignedTask,
    SignedTokens,
    Strict,
    TaskSummary,
    TokenRequest,
)
from deniable.contract.batch import MEDIA_TYPE as BATCH_TYPE
from deniable.contract.envelope import MEDIA_TYPE

TOML = "application/toml"
TEXT = "text/plain; version=0.0.4; charset=utf-8"
PARQUET = "application/vnd.apache.parquet"
REPORTS = "/v1/reports"
BATCHES = "/v1/tasks/{id}/batches"
ELSEWHERE = (REPORTS, BATCHES)
"""Paths with their own application."""
ID_PATTERN = "^[0-9a-f]{64}$"


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """An endpoint of the API: ``name`` is the method of ``Api`` that answers."""

    method: str
    path: str
    name: str
    summary: str
    role: str = OPEN
    query: type[Strict] = Strict
    bodies: dict[str, Any] | None = None
    status: int = 200
    answers: dict[str, Any] | None = None
    errors: tuple[int, ...] = ()
    any_origin: bool = False
    """True if pages of any origin may read the answer: browsers are devices too."""
    at_once: bool = False
    """True if it is answered in the event loop: it waits for nothing, so it must not wait for a thread either."""

    @property
    def statuses(self) -> tuple[int, ...]:
        """Every status of an answer, except for success."""
        keyed = () if self.role == OPEN else (401, 403, 429)
        named = (404, 503) if "{id}" in self.path else ()
        return tuple(sorted({*self.errors, *keyed, *named, *((507,) if self.path.startswith("/v1") else ()), *self._reading}))

    @property
    def _reading(self) -> tuple[int, ...]:
        return (400, 422) if self.path != REPORTS else ()


def _batches() -> Endpoint:
    return Endpoint(
        method="POST",
        path=BATCHES,
        name="batches",
        summary="Hand in a shuffled batch. 201: it is durable, 200: it was before. 422: it is refused permanently; nothing is kept.",
        bodies={BATCH_TYPE: {"type": "string", "format": "binary", "minLength": 68}},
        status=201,
        answers={},
        errors=(403, 408, 413, 415),
    )


def _reports() -> Endpoint:
    binary = {"type": "string", "format": "binary", "minLength": 64}
    return Endpoint(
        method="POST",
        path=REPORTS,
        name="reports",
        summary="Hand in reports. 201: all are durable. 200: all are durable but those listed.",
        bodies={MEDIA_TYPE: binary, JSON: JsonBatch},
        status=201,
        answers={},
        errors=(400, 408, 413, 415, 429, 503, 507),
        any_origin=True,
    )


_TASK = "/v1/tasks/{id}"
_ANY: dict[str, Any] = {JSON: dict[str, Any]}
_TABLE: dict[str, Any] = _ANY | {PARQUET: {"type": "string", "format": "binary"}}
ENDPOINTS = (
    _reports(),
    _batches(),
    Endpoint(
        method="GET",
        path="/v1/keys",
        name="keys",
        summary="The signed keys for encrypting shuffled reports, newest first.",
        answers={JSON: AnnouncedKeys},
        any_origin=True,
    ),
    Endpoint(method="GET", path="/v1/tasks", name="tasks", summary="List the tasks.", answers={JSON: list[TaskSummary]}, any_origin=True),
    Endpoint(method="GET", path=_TASK, name="task", summary="A task and its signature.", answers={JSON: SignedTask}, any_origin=True),
    Endpoint(method="GET", path=f"{_TASK}/round", name="round", summary="The current round.", answers={JSON: SignedRound}, any_origin=True),
    Endpoint(
        method="POST",
        path=f"{_TASK}/tokens",
        name="tokens",
        summary="Redeem a code for blindly signed one-time tokens; the same request gets the same answer. 403: unknown or used code.",
        bodies={JSON: TokenRequest},
        answers={JSON: SignedTokens},
        errors=(403, 408, 409, 413, 415, 429),
        any_origin=True,
    ),
    Endpoint(
        method="GET", path="/v1/log", name="log", summary="The public log.", query=LogQuery, answers={JSON: LogLines}, any_origin=True
    ),
    Endpoint(
        method="GET",
        path="/v1/log/tasks/{id}",
        name="logged_task",
        summary="The text of a task that the log names, deleted or not; its SHA-256 is the id.",
        answers={JSON: SignedTask},
        any_origin=True,
    ),
    Endpoint(
        method="GET",
        path=f"{_TASK}/status",
        name="status",
        summary="The periods of a task, their state and how many reports they have; admins see small numbers, too.",
        role="analyst",
        answers=_ANY,
    ),
    Endpoint(
        method="GET",
        path=f"{_TASK}/estimate",
        name="estimate",
        summary="What the reports say, with errors; 409 if there are too few or the rounds are not over.",
        role="analyst",
        query=EstimateQuery,
        answers=_TABLE,
        errors=(409,),
    ),
    Endpoint(
        method="GET",
        path=f"{_TASK}/compare",
        name="compare",
        summary="What differs between two selections, with a test; 409 if one has too few reports.",
        role="analyst",
        query=CompareQuery,
        answers=_TABLE,
        errors=(409,),
    ),
    Endpoint(
        method="POST",
        path="/v1/tasks",
        name="publish",
        summary="Publish a task from its TOML file; harmless if it is there already.",
        role="admin",
        query=PublishQuery,
        bodies={TOML: {"type": "string"}},
        status=201,
        answers={JSON: SignedTask},
        errors=(408, 413, 415, 429),
    ),
    Endpoint(
        method="POST",
        path=f"{_TASK}/seal",
        name="seal",
        summary="Count a period now; reports that come for it later are refused.",
        role="admin",
        query=SealQuery,
        status=204,
        errors=(409,),
    ),
    Endpoint(
        method="POST",
        path=f"{_TASK}/advance",
        name="advance",
        summary="Close the current round, and open the next if there is one; 409 if it is another round, or has too few reports.",
        role="admin",
        query=AdvanceQuery,
        answers={JSON: Advanced},
        errors=(409,),
    ),
    Endpoint(
        method="POST",
        path=f"{_TASK}/close",
        name="close",
        summary="Take no more reports, and count what is there.",
        role="admin",
        status=204,
    ),
    Endpoint(
        method="DELETE",
        path=_TASK,
        name="delete",
        summary="Delete a task with its reports and counts; the public log keeps what it asked.",
        role="admin",
        status=204,
    ),
    Endpoint(method="GET", path="/healthz", name="healthz", summary="Is the process there?", answers={JSON: Health}, at_once=True),
    Endpoint(method="GET", path="/readyz", name="readyz", summary="Can it store reports?", answers={JSON: Health}, errors=(503,)),
    Endpoint(method="GET", path="/metrics", name="metrics", summary="Figures for Prometheus.", answers={TEXT: {"type": "string"}}),
    Endpoint(method="GET", path="/openapi.json", name="openapi", summary="This document.", answers=_ANY),
)
