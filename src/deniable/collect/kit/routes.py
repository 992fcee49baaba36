"""The routes of a process as data: which path has which methods, and what answers them. Everything else is refused here, in one form."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from starlette.types import Receive, Scope, Send

from deniable.collect.kit.answers import Failures, Headers, HTTPAnswer, Refusal


class HTTPRequest(NamedTuple):
    """A request as its handler sees it, without anything about its sender."""

    method: str
    path: str
    names: Mapping[str, str]
    """What the path has for the names in its route."""
    headers: Headers
    receive: Receive


Handler = Callable[[HTTPRequest], Awaitable[HTTPAnswer | None]]
"""Gives the answer; None if the sender is gone."""


class Route(NamedTuple):
    """One path, a regular expression, with its methods; the answer to any other method gives the ``advice``."""

    path: str
    methods: Mapping[str, Handler]
    advice: str = "ask by GET"


def public(path: str, read: Callable[[], Awaitable[HTTPAnswer]]) -> Route:
    """Return the route to something that everyone may read."""

    async def answer(_: HTTPRequest) -> HTTPAnswer:
        return await read()

    return Route(re.escape(path), {"GET": answer, "HEAD": answer})


class Routes:
    """The ASGI application behind some routes.

    ``missing`` answers other paths, ``always`` are the headers of every answer, and ``observe`` is called with each refusal.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        failures: Failures,
        *,
        missing: str,
        always: Headers = (),
        observe: Callable[[Refusal], object] = bool,
    ) -> None:
        self._routes = [(re.compile(route.path), route) for route in routes]
        self._failures = failures
        self._missing = missing
        self._always = always
        self._observe = observe

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            answer = await self._answer(scope, receive)
        except (Exception, asyncio.CancelledError) as error:
            refusal = self._failures.refusal(error)
            self._observe(refusal)
            answer = refusal.answer
        if answer is not None:
            await answer._replace(headers=(*self._always, *answer.headers)).send(send, bare=scope["method"] == "HEAD")

    async def _answer(self, scope: Scope, receive: Receive) -> HTTPAnswer | None:
        path, method = scope["path"], scope["method"]
        for pattern, route in self._routes:
            if found := pattern.fullmatch(path):
                if method not in route.methods:
                    raise Refusal(405, "method", route.advice, close=True, allow=", ".join(route.methods).encode())
                return await route.methods[method](HTTPRequest(method, path, found.groupdict(), scope["headers"], receive))
        raise Refusal(404, "not_found", self._missing, close=True)
