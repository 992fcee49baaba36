"""The nginx configuration that is printed for operators, started as it is: what goes through it, and what it keeps from the collector."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from deniable.collect.web.batches import LARGEST_BODY
from deniable.contract.batch import MEDIA_TYPE
from tests.collect.crowd import envelope
from tests.collect.mixing import dummies, message, reports, seals
from tests.nginx import CONFIGURATION, nginx
from tests.system.conftest import Server
from tests.system.test_server import HIDDEN, published
from tests.system.test_shuffled_kill import PEOPLE, key_of, post
from tests.system.test_shuffled_kill import TOML as MIXED

FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def front(tmp_path):
    """A collector, reached through nginx."""
    with Server(tmp_path / "collector", "--behind-proxy") as server, nginx(tmp_path / "nginx", urlsplit(server.url).netloc) as (url, own):
        server.url, server.cafile = url, str(own)
        yield server


def test_reports_sign_in_and_pages_go_through_it(front):
    task = published(front, HIDDEN, front.token("admin"))
    page = f"/tasks/{task.id.hex()}"
    assert front.send(*(envelope(task, True) for _ in range(3))).status == 201
    assert [front.get(path).status for path in ("/", page, f"{page}/answer", "/ledger", "/log", "/assets/style.css")] == [200] * 6
    assert [front.get(path).status for path in ("/metrics", "/readyz")] == [403, 403]  # for the operator's network
    assert front.get(f"{page}/estimate.json").status == 403
    token = f"token={front.token('analyst')}".encode()
    refused = front.request("POST", "/sign-in", token, Content_Type=FORM, Origin="https://elsewhere.example.org")
    entered = front.request("POST", "/sign-in", token, Content_Type=FORM, Origin=front.url)
    assert (refused.status, entered.status) == (403, 303)
    cookie = entered.headers["set-cookie"].partition(";")[0]
    assert cookie.startswith("__Host-deniable=")
    assert front.request("GET", f"{page}/estimate.json", Cookie=cookie).status == 200
    assert front.get("/").headers["strict-transport-security"].startswith("max-age=")


def test_a_shuffled_batch_is_answered_as_by_the_collector_itself(tmp_path):
    """The one kind of message that may have more than 1 MiB: neither refused by nginx nor kept in a file of its own."""
    with Server(tmp_path / "collector", "--behind-proxy") as direct, nginx(tmp_path / "nginx", urlsplit(direct.url).netloc) as (url, own):
        front = Server(tmp_path / "front", cafile=str(own))
        front.url = url
        task = direct.task(MIXED, direct.token("admin"))
        key = key_of(direct, task)
        good = seals(task, reports(task, PEOPLE), key)
        fill = dummies(task, 1, key) * ((2 << 20) // len(good[0]))
        whole = message(task, [*good, *fill])
        taken, again = (post(server, task, whole) for server in (front, direct))
        assert len(whole) > 2 << 20
        assert (taken.status, again.status, taken.body) == (201, 200, again.body)
        few = message(task, fill)
        refused = [post(server, task, few) for server in (front, direct)]
        assert [(answer.status, answer.code) for answer in refused] == [(422, "too_few")] * 2
        unknown = f"/v1/tasks/{'0' * 64}/batches"
        lost = [server.request("POST", unknown, bytes(2 << 20), Content_Type=MEDIA_TYPE) for server in (front, direct)]
        assert [(answer.status, answer.code) for answer in lost] == [(404, "unknown_task")] * 2
        assert front.request("POST", "/v1/reports", bytes(2 << 20)).status == 413
    assert not any((tmp_path / "nginx" / "body").iterdir())
    assert f"client_max_body_size {LARGEST_BODY >> 20}m;" in CONFIGURATION.read_text()


class Witness(BaseHTTPRequestHandler):
    """Tells what it was asked with."""

    def do_GET(self) -> None:
        content = json.dumps({name.lower(): value for name, value in self.headers.items()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing."""


def test_a_collector_behind_it_learns_no_address_and_devices_bring_no_cookie(tmp_path):
    sent = {"Cookie": "a=b", "User_Agent": "Telltale/7", "Referer": "https://x.example.org/", "Host": "survey.example.org"}
    with ThreadingHTTPServer(("127.0.0.1", 0), Witness) as witness:
        threading.Thread(target=witness.serve_forever, daemon=True).start()
        with nginx(tmp_path / "nginx", f"127.0.0.1:{witness.server_port}") as (url, own):
            front = Server(tmp_path / "front", cafile=str(own))
            front.url = url
            device, person = (front.request("GET", path, **sent).json for path in ("/v1/tasks", "/sign-in"))
            flood = {front.get("/v1/tasks").status for _ in range(60)}
        witness.shutdown()
    assert device == {"host": "survey.example.org", "accept-encoding": "identity"}
    assert person == device | {"cookie": "a=b"}
    assert flood == {200, 429}
    assert (tmp_path / "nginx" / "deniable.log").read_text() == ""
