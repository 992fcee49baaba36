"""From a request to the method that answers it: role check, strict query parsing, and one form for all errors."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any
from urllib.parse import parse_qsl

import anyio
import anyio.to_thread
import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from deniable.collect.kit.answers import Failures, Refusal, json_response, unknown_task
from deniable.collect.kit.bodies import BodyReader
from deniable.collect.kit.entrance import PREFLIGHT
from deniable.collect.kit.log import note_error
from deniable.collect.storage.log import StorageError
from deniable.collect.web.access import OPEN, Access
from deniable.collect.web.api import Api, Call
from deniable.collect.web.news import News
from deniable.collect.web.routes import ELSEWHERE, ENDPOINTS, ID_PATTERN, Endpoint
from deniable.collect.web.shapes import Failure, Problem
from deniable.errors import DeniableError, ProtocolError

LARGEST_TASK = 1 << 20
MOST_PARAMETERS = 1000
BODY_SECONDS = 10.0
_CODES = {404: "not_found", 405: "method"}


def application(
    api: Api, pages: Sequence[Route] = (), *, news: News | None = None, missing: Callable[[Request, int], Response] | None = None
) -> Starlette:
    """Return the ASGI application for the table of endpoints (except those with their own) and for the pages.

    ``news`` is for a collector that shares its database with others. ``missing`` makes the page for unknown addresses.
    """
    paths: dict[str, dict[str, Endpoint]] = {}
    for endpoint in ENDPOINTS:
        if endpoint.path not in ELSEWHERE:
            paths.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    dispatch = Dispatch(api, news)
    routes = []
    for path, methods in paths.items():
        asked = ["OPTIONS"] if any(endpoint.any_origin and endpoint.bodies for endpoint in methods.values()) else []
        routes.append(Route(path, dispatch.server(methods), methods=[*methods, *asked]))

    def not_in_the_table(request: Request, error: Exception) -> Response:
        """Answer unknown paths and methods: programs get data, people get a page."""
        if not isinstance(error, HTTPException):
            raise error
        path = request.scope["path"]
        if missing is None or path in paths or f"{path}/".startswith("/v1/"):
            response = json_response(Failure(Problem(_CODES.get(error.status_code, "refused"), error.detail)), error.status_code)
        else:
            response = missing(request, error.status_code)
        response.headers.update({name: ", ".join(sorted(value.split(", "))) for name, value in (error.headers or {}).items()})
        return response

    app = Starlette(routes=[*routes, *pages], exception_handlers={HTTPException: not_in_the_table})
    app.router.redirect_slashes = False
    return app


class Dispatch:
    """Checks requests and answers them in a thread: waiting for the disk must not delay reports."""

    def __init__(self, api: Api, news: News | None) -> None:
        self._api = api
        self._news = news
        self._access = Access(api.collector.store.catalog)
        self._bodies = BodyReader(most=LARGEST_TASK, most_together=16 * LARGEST_TASK, seconds=BODY_SECONDS)

    def server(self, methods: dict[str, Endpoint]) -> Callable[[Request], Awaitable[Response]]:
        """Return the handler for the requests of one path."""

        async def serve(request: Request) -> Response:
            if request.method == "OPTIONS":
                return Response(status_code=204, headers={name.decode(): value.decode() for name, value in PREFLIGHT})
            endpoint = methods["GET" if request.method == "HEAD" else request.method]
            try:
                response = await self._answer(endpoint, request)
            except (Exception, asyncio.CancelledError) as error:
                response = failure(error)
            if endpoint.role != OPEN:
                response.headers["cache-control"] = "no-store"
            if endpoint.any_origin:
                response.headers["access-control-allow-origin"] = "*"
            return response

        return serve

    async def _answer(self, endpoint: Endpoint, request: Request) -> Response:
        role = OPEN
        if endpoint.role != OPEN:  # before anything else: without the role, a sender learns nothing
            role = await in_thread(self._access.check, request.headers.getlist("authorization"), endpoint.role)
        query = read_query(endpoint.query, request.scope["query_string"])
        task = request.path_params.get("id", "")
        if task and not re.fullmatch(ID_PATTERN, task):
            raise unknown_task()
        call = Call(bytes.fromhex(task), query, b"", role)
        if task and self._news is not None and call.task not in self._api.collector.admission.tasks:
            await self._news.look()  # anyone may ask for unknown tasks: many requests share one query
        if endpoint.bodies:
            call = call._replace(body=await self._read_body(request, endpoint.bodies))
        answer: Callable[[Call], Response | None] = getattr(self._api, endpoint.name)
        response = answer(call) if endpoint.at_once else await in_thread(answer, call)
        response = Response(status_code=204) if response is None else response
        response.status_code = endpoint.status
        return response

    async def _read_body(self, request: Request, kinds: Iterable[str]) -> bytes:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in kinds or "content-encoding" in request.headers:
            raise Refusal(415, "wrong_type", f"send a body of type {' or '.join(kinds)}, without Content-Encoding", close=True)
        self._bodies.check_length(request.headers.get("content-length", "0").encode())
        body = await self._bodies.read(request.receive)
        if body is None:
            raise Refusal(400, "malformed", "the body is incomplete", close=True)
        return body


def read_query(kind: type[msgspec.Struct], query: bytes) -> Any:
    """Return a parsed query; raise Refusal if a parameter is unknown, missing, repeated or of the wrong type."""
    lists = {field.name for field in msgspec.structs.fields(kind) if field.default_factory is list}
    found: dict[str, Any] = {}
    try:
        pairs = parse_qsl(query.decode("ascii"), True, query != b"", errors="strict", max_num_fields=MOST_PARAMETERS)
    except ValueError as error:
        raise Refusal(400, "malformed", "write the query as name=value&name=value") from error
    for name, value in pairs:
        if name in lists:
            found.setdefault(name, []).append(value)
        elif name in found:
            raise Refusal(422, "repeated_parameter", f"give {name[:80]} only once")
        else:
            found[name] = value
    try:
        return msgspec.convert(found, kind, strict=False)
    except msgspec.ValidationError as error:
        raise Refusal(422, "bad_parameter", str(error)) from error


def failure(error: BaseException) -> Response:
    """Return the answer to a failed request: mistakes are explained, bugs are logged but not described."""
    answer = refusal_of(error).answer
    return Response(answer.content, answer.status, {name.decode(): value.decode() for name, value in answer.headers}, answer.kind)


def _storage(error: Exception) -> Refusal:
    note_error("storage failed", error)
    return Refusal(507, "storage", "the database or disk failed; try again later", retry=5)


ROWS: dict[type[BaseException], Callable[[Any], Refusal]] = {
    StorageError: _storage,
    ProtocolError: lambda error: Refusal(409, "not_now", str(error)),
    DeniableError: lambda error: Refusal(422, "refused", str(error)),
}
"""The answers to errors."""
refusal_of = Failures("collector", ROWS).refusal


async def in_thread(function: Callable[..., Any], *arguments: Any, limiter: anyio.CapacityLimiter | None = None) -> Any:
    """Call a function that may wait for a disk. Abandoned when the server stops: nobody waits for the result any more."""
    return await anyio.to_thread.run_sync(function, *arguments, abandon_on_cancel=True, limiter=limiter)
