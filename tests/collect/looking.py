"""A dashboard to look at: a running service with tasks, whoever looks, and what they see."""

from __future__ import annotations

from contextlib import contextmanager
from html.parser import HTMLParser
from types import SimpleNamespace

from deniable.client import GRR, RR
from deniable.collect.server import Service
from deniable.collect.settings import Settings
from deniable.collect.web.access import add_token
from deniable.contract.domain import Categories
from tests.collect.crowd import NOON, envelope, send, survey_task
from tests.collect.test_api import running

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&\u202e\x07"
SAFE = "What do you drink?"
NOBODY = "0" * 64


@contextmanager
def dashboard(folder, **settings):
    """A running service with a survey of two questions, one whose every text is an attack, and a clock of our own."""
    clock = SimpleNamespace(now=float(NOON))
    service = Service(Settings(store=str(folder / "store"), tend_seconds=3600.0, **settings), clock=lambda: clock.now)
    key = service.collector.registry.key
    drink = GRR(domain=Categories("tea", "coffee", "water"), epsilon=2.0)
    rules = {"minimum_batch": 20, "strata": (("where", ("phone", "web")),)}
    task = survey_task(key, drink, RR(epsilon=1.0), name="drink", **rules)
    evil = survey_task(key, GRR(domain=Categories(HOSTILE, "other"), epsilon=2.0), name="evil", minimum_batch=3)
    object.__setattr__(evil, "strata", ((HOSTILE, (HOSTILE, "web")),))
    for name in ("question", "owner", "statement"):
        object.__setattr__(evil, name, HOSTILE)
    for published in (task, evil):
        service.collector.publish(published)
    tokens = {role: add_token(service.store.catalog, role, role) for role in ("analyst", "admin")}
    with running(service) as request:
        yield SimpleNamespace(
            request=request, service=service, collector=service.collector, clock=clock, task=task, evil=evil, tokens=tokens, cookie=""
        )


def get(site, path, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()} | ({"cookie": site.cookie} if site.cookie else {})
    return site.request("GET", path, headers=named)


def post(site, path, content="", **headers):
    usual = {"content-type": "application/x-www-form-urlencoded", "sec-fetch-site": "same-origin", "cookie": site.cookie}
    named = usual | {name.replace("_", "-"): value for name, value in headers.items()}
    return site.request("POST", path, content=content, headers={name: value for name, value in named.items() if value})


def sign_in(site, role="analyst"):
    answer = post(site, "/sign-in", f"token={site.tokens[role]}&next=/")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    site.cookie = answer.headers["set-cookie"].partition(";")[0]
    return answer.headers["set-cookie"]


def path_of(task):
    return f"/tasks/{task.id.hex()}"


def fill(site, count=40, period=0, stratum=0):
    """Reports to all questions of the drinks, and to the evil one."""
    values = [("tea", 0), ("coffee", 0), (1, 1)] * count
    send(site.collector, *(envelope(site.task, value, question=q, period=period, stratum=stratum) for value, q in values))
    send(site.collector, *(envelope(site.evil, HOSTILE, period=period) for _ in range(count)))


class Reader(HTMLParser):
    """What a browser would make of a page: its tags and its text."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]
