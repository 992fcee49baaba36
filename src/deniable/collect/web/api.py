"""The HTTP API, except for reports: tasks and rounds for devices, estimates for analysts, and management of tasks for admins.

Estimates and task files import what they need on first use: a collector that only collects starts at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from starlette.responses import Response

from deniable.collect.admission import LiveTask
from deniable.collect.collector import Collector
from deniable.collect.issuer import CodeError
from deniable.collect.kit.answers import JSON, Refusal, json_response, unknown_task
from deniable.collect.kit.log import note
from deniable.collect.storage.block import Bucket
from deniable.collect.web.access import OPEN
from deniable.collect.web.metrics import Metrics
from deniable.collect.web.openapi import document
from deniable.collect.web.routes import PARQUET, TEXT
from deniable.collect.web.shapes import (
    Advanced,
    Health,
    LogLine,
    LogLines,
    SignedRound,
    SignedTask,
    SignedTokens,
    TaskSummary,
    TokenRequest,
)
from deniable.contract.admission import TOKEN
from deniable.errors import ParameterError

if TYPE_CHECKING:
    from deniable.collect.analysis.analyst import Answer, Comparisons, ReportSelection


class Call(NamedTuple):
    """A request as its handler sees it: checked, and without anything about its sender."""

    task: bytes
    query: Any
    body: bytes
    role: str = OPEN
    """The sender's role."""


class Api:
    """Answers every endpoint of the table except reports and batches, by the method of its name. Most run in threads."""

    def __init__(self, collector: Collector, metrics: Metrics) -> None:
        self.collector = collector
        self._metrics = metrics
        self._published: dict[bytes, bytes] = {}
        self._rounds: dict[bytes, tuple[int, bytes]] = {}

    # --- for devices ---

    def tasks(self, _: Call) -> Response:
        """The list of tasks."""
        lives = sorted(self.collector.admission.tasks.values(), key=lambda live: (live.task.name, live.task.id))
        return json_response(
            [
                TaskSummary(live.task.id.hex(), live.task.name, live.task.question, live.task.start, live.task.end, live.closed)
                for live in lives
            ]
        )

    def task(self, call: Call) -> Response:
        """A task as published, cached because it never changes."""
        self._live(call)
        if call.task not in self._published:
            self._published[call.task] = self._text(call.task)
        return Response(self._published[call.task], media_type=JSON)

    def round(self, call: Call) -> Response:
        """The current round, while it is open."""
        live = self._live(call)
        if not live.task.rounds or not live.asks(self.collector.now()):
            raise Refusal(404, "no_round", "no round of this task is open")
        number, content = self._rounds.get(call.task, (-1, b""))
        if number != live.round:
            found = self.collector.registry.opened(call.task)
            if found is None:
                raise Refusal(404, "no_round", "no round of this task is open")
            content = msgspec.json.encode(SignedRound(bytes(found.canonical).decode(), bytes(found.signature).hex()))
            self._rounds[call.task] = found.number, content
        return Response(content, media_type=JSON)

    def keys(self, _: Call) -> Response:
        """The keys that encrypt shuffled reports."""
        return Response(self.collector.keys.announcement(), media_type=JSON, headers={"cache-control": "no-cache"})

    def tokens(self, call: Call) -> Response:
        """Blind signatures for a code."""
        live = self._live(call)
        if live.task.admission != TOKEN or live.closed or self.collector.now() >= live.task.end + live.task.late:
            raise Refusal(409, "no_tokens", "this task gives out no tokens now")
        try:
            asked = msgspec.json.decode(call.body, type=TokenRequest)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise Refusal(422, "malformed", f"not a token request: {error}") from error
        try:
            signed = self.collector.issuer.redeem(live.task, asked.code, [bytes.fromhex(part) for part in asked.blinded])
        except CodeError as error:
            raise Refusal(403, "bad_code", str(error)) from error
        return json_response(SignedTokens([part.hex() for part in signed]))

    def log(self, call: Call) -> Response:
        """A part of the public log, whose numbers have no gaps."""
        after = call.query.after if isinstance(call.query.after, int) else -1
        entries = enumerate(self.collector.registry.entries(after), after + 1)
        return json_response(LogLines([LogLine(i, entry.record.decode(), entry.signature.hex(), entry.hash.hex()) for i, entry in entries]))

    def logged_task(self, call: Call) -> Response:
        """The text of a task in the log, for those who verify the log; devices do not use it."""
        return Response(self._text(call.task), media_type=JSON)

    # --- for analysts ---

    def status(self, call: Call) -> Response:
        """The status of a task."""
        from deniable.collect.analysis.analyst import task_status

        self._live(call)
        return json_response(task_status(self.collector, call.task, exact=call.role == "admin"))

    def estimate(self, call: Call) -> Response:
        """The estimates."""
        from deniable.collect.analysis.analyst import TooFew, estimate

        selection = self._selection(call, call.query.period, call.query.stratum)
        if call.query.integrity == "true" and call.query.format != "json":
            raise Refusal(422, "bad_parameter", "integrity needs format=json: leave it out, or ask for JSON")
        try:
            found = estimate(self.collector, call.task, selection)
            if call.query.integrity == "true":
                from deniable.collect.analysis.integrity import integrity_json, integrity_of

                tested = integrity_json(integrity_of(self.collector, call.task, selection))
                return json_response(found.to_json() | {"integrity": tested})
            return _table(found, call.query.format)
        except TooFew as error:
            raise Refusal(409, "too_few", str(error)) from error

    def compare(self, call: Call) -> Response:
        """The differences between two selections."""
        from deniable.collect.analysis.analyst import TooFew, compare

        first = self._selection(call, call.query.first, call.query.stratum_first)
        second = self._selection(call, call.query.second, call.query.stratum_second)
        try:
            return _table(compare(self.collector, call.task, first, second, call.query.alpha), call.query.format)
        except TooFew as error:
            raise Refusal(409, "too_few", str(error)) from error

    # --- for admins ---

    def publish(self, call: Call) -> Response:
        """Publish a task file."""
        from deniable.collect.tasks.task_file import read_task

        task = read_task(call.body, key=self.collector.registry.key, now=self.collector.clock(), issuer=self.collector.issuer.modulus)
        self.collector.publish(task, new_meaning=call.query.new_meaning == "true")
        note("published a task", task=task.id.hex()[:12])
        return self.task(call._replace(task=task.id))

    def seal(self, call: Call) -> None:
        """Close a period: count it now."""
        live, period = self._live(call), call.query.period
        last = live.round if live.task.rounds else live.task.period_count - 1
        if period > last:
            raise ParameterError("period", period, allowed=f"from 0 to {last}", fix="look up the number in the task's status")
        self.collector.close_period(Bucket(call.task, period), again=True)
        self._metrics.sealed.inc()
        note("sealed a period", task=call.task.hex()[:12], period=period)

    def advance(self, call: Call) -> Response:
        """Close the current round."""
        self._live(call)
        number = call.query.round if isinstance(call.query.round, int) else None
        more = self.collector.advance(call.task, number, force=call.query.force == "true")
        self._metrics.sealed.inc()
        note("closed a round", task=call.task.hex()[:12], more=more)
        return json_response(Advanced(more))

    def close(self, call: Call) -> None:
        """Take no more reports."""
        self._live(call)
        self.collector.close_task(call.task)
        note("closed a task", task=call.task.hex()[:12])

    def delete(self, call: Call) -> None:
        """Delete a task."""
        self._live(call)
        self.collector.delete_task(call.task)
        self._published.pop(call.task, None)
        note("deleted a task", task=call.task.hex()[:12])

    # --- for operators ---

    def healthz(self, _: Call) -> Response:
        """The process is running."""
        return json_response(Health("up"))

    def readyz(self, _: Call) -> Response:
        """Whether reports can be stored; if not, the log says why."""
        trouble = self.collector.ready()
        if trouble is None:
            return json_response(Health("ready, but the clock is in doubt" if self.collector.watch.now().doubt else "ready"))
        note("not ready", level="warning", trouble=trouble)
        raise Refusal(503, "not_ready", "reports cannot be stored now", retry=5)

    def metrics(self, _: Call) -> Response:
        """Metrics for Prometheus."""
        return Response(self._metrics.render(), headers={"content-type": TEXT})

    def openapi(self, _: Call) -> Response:
        """The OpenAPI document."""
        return Response(document(), media_type=JSON)

    # --- inside ---

    def _text(self, task: bytes) -> bytes:
        found = self.collector.store.text(task)
        if found is None:
            raise unknown_task()  # or deleted in between
        return msgspec.json.encode(SignedTask(found[0].decode(), found[1].hex()))

    def _live(self, call: Call) -> LiveTask:
        try:
            return self.collector.task(call.task)
        except ParameterError as error:
            raise unknown_task() from error

    def _selection(self, call: Call, periods: str, strata: list[str]) -> ReportSelection:
        from deniable.collect.analysis.analyst import ReportSelection, read_periods, read_strata

        task = self._live(call).task
        return ReportSelection(read_periods(task, periods), read_strata(task, strata))


def _table(answer: Answer | Comparisons, form: str) -> Response:
    return Response(answer.to_parquet(), media_type=PARQUET) if form == "parquet" else json_response(answer.to_json())
