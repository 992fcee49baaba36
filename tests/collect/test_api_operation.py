"""The HTTP interface for operators: health, figures, several collectors, and a description that is true."""

# ruff: noqa: F811  # fixtures are imported

from __future__ import annotations

import asyncio
import json

import anyio.to_thread
import httpx
import jsonschema

from deniable.collect.collector import Collector
from deniable.collect.kit.process import Chore
from deniable.collect.settings import Settings
from deniable.collect.web.access import OPEN
from deniable.collect.web.api import Api
from deniable.collect.web.dispatch import application
from deniable.collect.web.metrics import Metrics
from deniable.collect.web.news import News
from deniable.collect.web.routes import ENDPOINTS
from deniable.contract.envelope import MEDIA_TYPE
from tests.collect.crowd import envelope, survey_task
from tests.collect.test_api import NOBODY, ask, code, site  # noqa: F401  # site: a fixture


def test_a_task_of_another_collector_is_found_and_unknown_ones_share_their_looks(site, monkeypatch):
    looks = []
    collector = Collector(site.service.store)
    monkeypatch.setattr(collector, "refresh", lambda: looks.append(0) or Collector.refresh(collector))
    app = application(Api(collector, Metrics()), news=News(collector.refresh))
    later = survey_task(collector.registry.key, name="later")
    site.collector.publish(later)

    async def scenario():
        async with asyncio.timeout(60), httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://collector") as client:
            assert (await client.get(f"/v1/tasks/{later.id.hex()}")).status_code == 200
            assert (await client.get(f"/v1/tasks/{later.id.hex()}")).status_code == 200
            assert len(looks) == 1
            paths = [f"/v1/tasks/{number:064x}{tail}" for number in range(16) for tail in ("", "/round")]
            answers = await asyncio.gather(*(client.get(path) for path in paths), client.post(f"/v1/tasks/{NOBODY}/tokens"))
            return {answer.status_code for answer in answers}

    assert asyncio.run(scenario()) == {404, 415}
    assert len(looks) == 2


# --- operators ---


def test_health_needs_no_thread(site):
    async def scenario():
        limiter = anyio.to_thread.current_default_thread_limiter()
        for _ in range(int(limiter.total_tokens)):
            limiter.acquire_on_behalf_of_nowait(object())
        transport = httpx.ASGITransport(site.service)
        async with asyncio.timeout(60), httpx.AsyncClient(transport=transport, base_url="http://collector") as client:
            return (await client.get("/healthz")).status_code

    assert asyncio.run(scenario()) == 200


def test_ready_until_the_store_is_in_trouble(site, monkeypatch):
    assert ask(site, "GET", "/healthz").json() == {"status": "up"}
    assert ask(site, "GET", "/readyz").json() == {"status": "ready"}
    monkeypatch.setattr(site.service.store.log, "trouble", lambda: "the disk at a secret path is full")
    answer = ask(site, "GET", "/readyz")
    assert code(answer) == (503, "not_ready")
    assert "secret" not in answer.text
    assert ask(site, "GET", "/healthz").status_code == 200


def test_metrics_count_what_came_in(site):
    sent = ask(site, "POST", "/v1/reports", content=envelope(site.task, 3).pack(), Content_Type=MEDIA_TYPE)
    assert sent.status_code == 201
    figures = dict(line.rsplit(" ", 1) for line in ask(site, "GET", "/metrics").text.splitlines() if not line.startswith("#"))
    assert figures['deniable_reports_total{outcome="accepted"}'] == "1.0"
    assert figures['deniable_period_skew_total{period="current"}'] == "1.0"
    assert figures["deniable_open_tasks"] == "1.0"


def test_tending_survives_its_errors(site, monkeypatch, caplog):
    """Once logged, not every time; and once it is over, it goes on."""
    monkeypatch.setattr(site.service, "settings", Settings(tend_seconds=0.01))
    turns = iter([ValueError, ValueError, None, ValueError])

    def tend(say):
        turn = next(turns, "end")
        if turn == "end":
            chore.stop()
        elif turn is not None:
            say("sealed 0/1")  # one step went well, and another did not
            raise turn("quoted")
        say("sealed 0/0")

    monkeypatch.setattr(site.collector, "tend", tend)
    chore = Chore("tending", lambda: site.service._tend() * 0, every=0.0)
    with caplog.at_level("INFO"):
        chore.start()
        assert chore.ended(60)
    messages = [record.message for record in caplog.records if record.name == "deniable"]
    failing = ["sealed 0/1", "tending failed"]
    assert messages == [*failing, "sealed 0/1", "sealed 0/0", *failing, "sealed 0/0"]
    assert "quoted" not in caplog.text


# --- the description ---


def test_the_document_describes_every_endpoint(site):
    document = ask(site, "GET", "/openapi.json").json()
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == {(endpoint.method, endpoint.path) for endpoint in ENDPOINTS}
    for endpoint in ENDPOINTS:
        operation = document["paths"][endpoint.path][endpoint.method.lower()]
        assert ("security" in operation) == (endpoint.role != OPEN)
        assert {str(endpoint.status), *map(str, endpoint.statuses)} <= set(operation["responses"])
    references = {part.split('"')[0] for part in json.dumps(document).split("#/components/schemas/")[1:]}
    assert references <= set(document["components"]["schemas"])
    for schema in document["components"]["schemas"].values():
        jsonschema.Draft202012Validator.check_schema(schema)
