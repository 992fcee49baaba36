"""The nginx configuration that is printed for operators, started as it is: what goes through it, and what it keeps from the collector."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from tests.collect.crowd import envelope
from tests.nginx import nginx
from tests.system.conftest import Server
from tests.system.test_server import HIDDEN, published

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
