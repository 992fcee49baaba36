"""The views, named as in the table of pages: from a visit to a response."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import quote

import msgspec
from starlette.responses import FileResponse, Response

from deniable.collect.admission import LiveTask
from deniable.collect.analysis.analyst import Answer, TooFew
from deniable.collect.collector import Collector
from deniable.collect.dashboard.answer_page import answer_body
from deniable.collect.dashboard.answers import SharedAnswers
from deniable.collect.dashboard.charts import Drawing, alone, chart_name
from deniable.collect.dashboard.compare_page import compare_body, see_comparison
from deniable.collect.dashboard.html import live_parts
from deniable.collect.dashboard.layout import ANSWER, Script, Visit, page
from deniable.collect.dashboard.plan_figures import PlanQuery
from deniable.collect.dashboard.plan_page import plan_body, see_plan
from deniable.collect.dashboard.promise import promise, proof
from deniable.collect.dashboard.publications import PublicationShelf
from deniable.collect.dashboard.record_pages import SHOWN, ledger_body, log_body
from deniable.collect.dashboard.selection_form import SelectionText, asked, query_of, read_selection
from deniable.collect.dashboard.sessions import sign_in_body, where_to
from deniable.collect.dashboard.static_files import CLIENT, KINDS, asset
from deniable.collect.dashboard.task_pages import Seen, see_task, several_body, task_body, tasks_body
from deniable.collect.kit.answers import Refusal, json_response, unknown_task
from deniable.collect.web.dispatch import read_query
from deniable.collect.web.routes import PARQUET
from deniable.collect.web.shapes import CompareQuery, Labels, LogQuery, Periods, Strict
from deniable.errors import ParameterError

Place = Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)]
Theme = Literal["light", "dark"]


class TaskQuery(Strict):
    """Which periods and strata of a task."""

    period: Periods = "all"
    stratum: Labels = msgspec.field(default_factory=list)


class TaskPicture(TaskQuery):
    """Which question's chart, which of them, light or dark."""

    question: Place = 0
    figure: Place = 0
    theme: Theme = "light"


class ComparePicture(CompareQuery):
    """Which question's chart, which of them, light or dark."""

    question: Place = 0
    figure: Place = 0
    theme: Theme = "light"


class PlanPicture(PlanQuery):
    """Light or dark."""

    theme: Theme = "light"


class SignInQuery(Strict):
    """Where to go after signing in."""

    next: str = "/"


class Views:
    """Answers every GET request."""

    def __init__(self, collector: Collector, publications: str, lifetime: float) -> None:
        self._collector = collector
        self._lifetime = lifetime
        self._shelf = PublicationShelf(publications)
        self._answers = SharedAnswers(collector)
        self._drawing = Drawing()

    def tasks(self, visit: Visit) -> Response:
        """All tasks."""
        lives = self._collector.admission.tasks.values()
        return page(visit, "Tasks", *tasks_body(self._answers, lives, visit, self._collector.clock()))

    # --- one task ---

    def task(self, visit: Visit) -> Response:
        """A task and its results."""
        live, seen, query = self._see_task(visit, TaskQuery)
        stored = next((row for row in self._collector.store.tasks() if row.id == visit.task), None)
        if stored is None:
            raise unknown_task()  # deleted in between
        choice = SelectionText(query.period, query.stratum)
        body = task_body(seen, live, visit, self._collector.clock(), choice)
        opened = self._shelf.of(live.task)
        about = promise(live.task), proof(live.task, bytes(stored.signature), visit, query_of(choice), opened)
        return page(visit, live.task.question, *body, *about, script=_script(visit, TaskQuery))

    def task_live(self, visit: Visit) -> Response:
        """Its live data."""
        return _live(self._see_task(visit, TaskQuery)[1])

    def task_chart(self, visit: Visit) -> Response:
        """A chart of it as a picture."""
        _, seen, query = self._see_task(visit, TaskPicture)
        return self._picture(seen, chart_name(query.question, query.figure), query.theme)

    def estimate_json(self, visit: Visit) -> Response:
        """The estimates as JSON."""
        return json_response(self._estimate(visit).to_json())

    def estimate_parquet(self, visit: Visit) -> Response:
        """The estimates as Parquet."""
        return Response(self._estimate(visit).to_parquet(), media_type=PARQUET)

    def answer(self, visit: Visit) -> Response:
        """The survey page."""
        live = self._live(visit)
        body = answer_body(live, self._collector.clock())
        asks = [relay.url for relay in live.task.mixing.shufflers] if live.task.mixing else []
        return page(visit, f"Answer: {live.task.question}", *body, script=Script("answer.js", visit.task.hex(), self._lifetime), asks=asks)

    def short(self, visit: Visit) -> Response:
        """The survey of the task with a name; a choice if several have it."""
        found = [live for live in self._collector.admission.tasks.values() if live.task.name == visit.name]
        if not found:
            raise Refusal(404, "unknown_task", f'this collector has no task "{visit.name[:80]}"')
        if len(found) > 1:
            return page(visit, "Which one?", *several_body(found, self._collector.clock()), status=300)
        return Response(status_code=307, headers={"location": ANSWER.format(id=found[0].task.id.hex())})

    def publication(self, visit: Visit) -> Response:
        """A file of an open publication."""
        path, about = self._shelf.find(self._live(visit).task, visit.asset)
        return FileResponse(path, media_type=PARQUET if path.suffix == ".parquet" else KINDS[".json"], stat_result=about)

    # --- two selections ---

    def compare(self, visit: Visit) -> Response:
        """What differs."""
        live, seen, query = self._see_comparison(visit, CompareQuery)
        body = compare_body(seen, live.task, query, self._collector.clock())
        return page(visit, f"Compare: {live.task.question}", *body, script=_script(visit, CompareQuery))

    def compare_live(self, visit: Visit) -> Response:
        """The charts of that."""
        return _live(self._see_comparison(visit, CompareQuery)[1])

    def compare_chart(self, visit: Visit) -> Response:
        """One of them as a picture."""
        _, seen, query = self._see_comparison(visit, ComparePicture)
        return self._picture(seen, chart_name(query.question, query.figure), query.theme)

    # --- the rest ---

    def plan(self, visit: Visit) -> Response:
        """The planner."""
        query = read_query(PlanQuery, asked(visit, PlanQuery))
        return page(
            visit, "Planner", *plan_body(see_plan(query, _raw(visit, PlanQuery)), query), script=_script(visit, PlanQuery, "plan.js")
        )

    def plan_live(self, visit: Visit) -> Response:
        """Its figures."""
        return _live(see_plan(read_query(PlanQuery, asked(visit, PlanQuery)), ""))

    def plan_chart(self, visit: Visit) -> Response:
        """Its chart as a picture."""
        query = read_query(PlanPicture, asked(visit, PlanPicture))
        return self._picture(see_plan(query, ""), "chart-plan", query.theme)

    def ledger(self, visit: Visit) -> Response:
        """The browser's privacy ledger."""
        return page(visit, "My ledger", *ledger_body(), script=Script("ledger.js", "", self._lifetime))

    def log(self, visit: Visit) -> Response:
        """The public log."""
        query = read_query(LogQuery, asked(visit, LogQuery))
        after = query.after if isinstance(query.after, int) else -1
        registry = self._collector.registry
        return page(
            visit, "Public log", *log_body(registry.entries(after, SHOWN + 1), registry.key, after, self._collector.admission.tasks)
        )

    def sign_in(self, visit: Visit) -> Response:
        """The form for a token."""
        query = read_query(SignInQuery, asked(visit, SignInQuery))
        return page(visit, "Sign in", *sign_in_body(where_to(query.next)))

    def asset(self, visit: Visit) -> Response:
        """A static file."""
        return asset(visit.asset, self._drawing, visit.tag)

    def client(self, visit: Visit) -> Response:
        """A module of the browser client."""
        return asset(CLIENT + visit.asset, self._drawing, visit.tag)

    # --- inside ---

    def _live(self, visit: Visit) -> LiveTask:
        try:
            return self._collector.task(visit.task)
        except ParameterError as error:
            raise unknown_task() from error

    def _see_task(self, visit: Visit, kind: type[TaskQuery]) -> tuple[LiveTask, Seen, Any]:
        live, query = self._live(visit), read_query(kind, asked(visit, kind))
        return live, see_task(self._answers, live, visit, SelectionText(query.period, query.stratum)), query

    def _see_comparison(self, visit: Visit, kind: type[CompareQuery]) -> tuple[LiveTask, Seen, Any]:
        live, query = self._live(visit), read_query(kind, asked(visit, kind))
        return live, see_comparison(self._answers, live.task, visit, query, _raw(visit, kind)), query

    def _estimate(self, visit: Visit) -> Answer:
        live, query = self._live(visit), read_query(TaskQuery, asked(visit, TaskQuery))
        if not visit.sees:
            raise Refusal(403, "not_signed_in", "sign in as an analyst to see estimates")
        selection = read_selection(live.task, SelectionText(query.period, query.stratum))
        try:
            return self._answers.estimate(live.task.id, selection, public=visit.public)
        except TooFew as error:
            raise Refusal(409, "too_few", str(error)) from error

    def _picture(self, seen: Seen, name: str, theme: str) -> Response:
        if name not in seen.charts:
            raise Refusal(404, "no_chart", "no such chart")
        return Response(self._drawing.svg(alone(seen.charts[name], theme)), media_type=KINDS[".svg"])


def _script(visit: Visit, kind: type[Strict], name: str = "live.js") -> Script:
    return Script(name, f"{visit.path}/live{_raw(visit, kind)}")


def _live(seen: Seen) -> Response:
    return json_response(live_parts(seen.result) | {"charts": seen.charts})


def _raw(visit: Visit, kind: type[Strict]) -> str:
    """Return the query, quoted for an address."""
    query = asked(visit, kind)
    return f"?{quote(query, safe='=&%+:.,-_~')}" if query else ""
