"""The dashboard of a collector: from a request to the view that answers it, and who may see what.

Views are imported with the first page request, so a collector that only collects starts at once.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote

from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from deniable.collect.collector import Collector
from deniable.collect.dashboard.layout import PAGES, Page, Visit, message, page
from deniable.collect.dashboard.sessions import Sessions, is_same_origin, sign_in_body, where_to
from deniable.collect.kit.answers import Refusal, unknown_task
from deniable.collect.kit.bodies import BodyReader
from deniable.collect.settings import Settings
from deniable.collect.web.access import Access
from deniable.collect.web.dispatch import failure, in_thread, refusal_of
from deniable.collect.web.routes import ID_PATTERN

if TYPE_CHECKING:
    from deniable.collect.dashboard.views import Views

FORM = "application/x-www-form-urlencoded"
LARGEST_FORM = 4096
FORM_SECONDS = 10.0
THREADS = 8
"""The most pages made at once, in threads separate from the API's: visitors must not keep devices waiting."""
MOST_WAITING = 64
MOST_SLOW = 8
"""The most requests that wait for a slow page. Those are computed one at a time, and no other page waits for them."""

TITLES = {404: "Page not found", 429: "Too busy", 500: "Something went wrong", 503: "Too busy", 507: "Something went wrong"}
TROUBLE = "That did not work"


class Dashboard:
    """Answers every page of the table. Only signing in and out use POST, and only from pages of this origin."""

    def __init__(self, collector: Collector, settings: Settings) -> None:
        self._collector = collector
        self._everyone = settings.public_estimates
        self._publications = settings.publications
        self._lifetime = settings.lifetime_epsilon
        self._sessions = Sessions(Access(collector.store.catalog), secure=settings.secure or settings.behind_proxy)
        self._bodies = BodyReader(most=LARGEST_FORM, most_together=64 * LARGEST_FORM, seconds=FORM_SECONDS)
        self._threads = CapacityLimiter(THREADS)
        self._slow = CapacityLimiter(1)
        self._making = threading.Lock()
        self._views: Views | None = None

    @property
    def routes(self) -> list[Route]:
        """The pages by path."""
        paths: dict[str, dict[str, Page]] = {}
        for entry in PAGES:
            paths.setdefault(entry.path, {})[entry.method] = entry
        routes = [Route(path, self._server(methods), methods=list(methods)) for path, methods in paths.items()]
        for path, methods in paths.items():
            if "GET" in methods and not methods["GET"].data and path != "/" and "{asset" not in path:
                routes.append(Route(f"{path}/", _without_slash))
        return routes

    def missing(self, request: Request, status: int) -> Response:
        """Return the page for an unknown address, or for a wrong method."""
        text = "This page does not exist. Check the address, or choose a task." if status == 404 else "This address takes no such request."
        return message(Visit(path=request.url.path), TITLES.get(status, TROUBLE), text, status)

    def _server(self, methods: dict[str, Page]) -> Callable[[Request], Awaitable[Response]]:
        async def serve(request: Request) -> Response:
            entry = methods["GET" if request.method == "HEAD" else request.method]
            visit = Visit(path=request.url.path)
            try:
                limiter, most = (self._slow, MOST_SLOW) if entry.slow else (self._threads, MOST_WAITING)
                if self._threads.statistics().tasks_waiting >= MOST_WAITING or limiter.statistics().tasks_waiting >= most:
                    raise Refusal(503, "busy", "too many visitors at once; try again in a moment", retry=1)
                visit = (await in_thread(self._visit, request, limiter=self._threads))._replace(strict=entry.data)
                if entry.method == "POST":
                    visit = visit._replace(body=await self._read_form(request))
                response: Response = await in_thread(self._answer, entry, visit, limiter=limiter)
            except Exception as error:  # logged if it is a bug
                refusal = refusal_of(error)
                response = (
                    failure(refusal) if entry.data else message(visit, TITLES.get(refusal.status, TROUBLE), refusal.message, refusal.status)
                )
                if refusal.retry is not None:
                    response.headers["retry-after"] = str(refusal.retry)
            response.headers.setdefault("cache-control", "no-store")
            return response

        return serve

    def _visit(self, request: Request) -> Visit:
        cookies, task = request.headers.get("cookie", ""), request.path_params.get("id", "")
        signed_in = self._sessions.holds(cookies)
        if task and not re.fullmatch(ID_PATTERN, task):
            raise unknown_task()
        return Visit(
            path=request.url.path,
            task=bytes.fromhex(task),
            name=request.path_params.get("name", ""),
            query=request.scope["query_string"],
            asset=request.path_params.get("asset", ""),
            tag=request.headers.get("if-none-match", ""),
            cookies=cookies,
            public=not signed_in,
            sees=signed_in or self._everyone,
        )

    async def _read_form(self, request: Request) -> bytes:
        if not is_same_origin(request.headers):
            raise Refusal(403, "other_origin", "this form came from another site; sign in on a page of this collector", close=True)
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM or "content-encoding" in request.headers:
            raise Refusal(415, "wrong_type", f"send the form as {FORM}", close=True)
        self._bodies.check_length(request.headers.get("content-length", "0").encode())
        body = await self._bodies.read(request.receive)
        if body is None:
            raise Refusal(400, "malformed", "the form is incomplete; send it again", close=True)
        return body

    def _answer(self, entry: Page, visit: Visit) -> Response:
        if entry.method == "POST":
            return self._enter(visit) if entry.name == "enter" else self._leave(visit)
        with self._making:
            if self._views is None:
                from deniable.collect.dashboard.views import Views

                self._views = Views(self._collector, self._publications, self._lifetime)
        found: Response = getattr(self._views, entry.name)(visit)
        return found

    # --- signing in and out ---

    def _enter(self, visit: Visit) -> Response:
        """Exchange a token for a cookie, and go where the visitor wanted to."""
        try:
            form = dict(parse_qsl(visit.body.decode("ascii"), errors="strict", max_num_fields=10))
        except ValueError as error:
            raise Refusal(400, "malformed", "the form is malformed; sign in on /sign-in") from error
        try:
            cookie = self._sessions.begin(form.get("token", "").strip())
        except Refusal as refusal:
            body = sign_in_body(where_to(form.get("next", "/")), f"You are not signed in: {refusal.message}.")
            return page(visit, "Sign in", *body, status=refusal.status if refusal.status != 401 else 403)
        return Response(status_code=303, headers={"location": where_to(form.get("next", "/")), "set-cookie": cookie})

    def _leave(self, visit: Visit) -> Response:
        """Forget a session."""
        return Response(status_code=303, headers={"location": "/", "set-cookie": self._sessions.end(visit.cookies)})


async def _without_slash(request: Request) -> Response:
    """Redirect to the address without its trailing slash; relative, since a proxy may be in front."""
    query = request.scope["query_string"].decode("latin-1")
    location = quote(request.scope["path"].removesuffix("/")) + (f"?{query}" if query else "")
    return Response(status_code=308, headers={"location": location, "cache-control": "no-store"})
