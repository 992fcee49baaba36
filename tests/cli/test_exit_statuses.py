"""Real commands, run into each of the exit statuses; whatever goes wrong is told in one line, with what to do next."""

from __future__ import annotations

import json
import os
import signal
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from typer.testing import CliRunner

from deniable.cli import installation
from deniable.cli.app import command_line
from deniable.cli.exits import BUG, CHANGED, DIFFERS, ERROR, FINE, STOPPED, TOO_FEW, TRACEBACK, UNREAD
from tests.cli.running import run
from tests.system.nursery import nursery

TASK = "5e" * 32


@pytest.fixture
def collector():
    """A server that says that something changed, or that there are too few reports, as the period is."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            few = "first=3" in self.path
            refused = {"error": {"code": "too_few", "message": "fewer than 100 reports"}}
            found = [{"id": TASK, "name": "drink", "closed": False}] if self.path == "/v1/tasks" else {"changed": [1]}
            body = json.dumps(refused if few else found).encode()
            self.send_response(409 if few else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_alarm_can_look_at_the_status(collector):
    compared = "estimate", "drink", "--json", "--compare-period", "1", "--url", collector
    assert json.loads(run(*compared, status=CHANGED).stdout) == {"changed": [1]}
    refused = run(*compared, "--period", "3", status=TOO_FEW)
    assert (refused.stdout, "fewer than 100 reports" in refused.stderr) == ("", True)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--version"], FINE, []),
        (["verify", "."], DIFFERS, ["not as published: task.json: got 'no file'", "copy the whole folder"]),
        (["audti"], ERROR, ["error: no such command 'audti'", "did you mean 'audit'", "see: deniable --help"]),
        (
            ["simulate", "x.csv"],
            ERROR,
            ["error: --column: missing; expected: the column to ask about; see: deniable simulate --help"],
        ),
        (
            ["plan", "--domain-size", "x"],
            ERROR,
            ["error: --domain-size: got 'x'; allowed: an integer; see: deniable plan --help"],
        ),
        (["plan", "--domain-sise", "4"], ERROR, ["error: --domain-sise: no such option; did you mean --domain-size; see:"]),
        (["audit", "OUEE"], ERROR, ["MECHANISM: got 'OUEE'", "did you mean OUE; see: deniable audit --help"]),
        (
            ["token", "add", "me", "--role", "king", "--store", "s"],
            ERROR,
            ["--role: got 'king'; allowed: one of 'analyst', 'admin'; check"],
        ),
        (["task", "check", "absent.toml"], ERROR, ["error: path: got 'absent.toml'", "; allowed: a file", "check the path"]),
        (["task", "new", "x.csv"], ERROR, ["error: path: got 'x.csv'", "nothing is overwritten"]),
        (["task", "check", "x.csv"], ERROR, ["error: FILE: got 'x.csv'; allowed: TOML"]),
        (["task", "list", "--url", "http://127.0.0.1:1"], ERROR, ["error: --url: got 'http://127.0.0.1:1'", "check the address"]),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else None,
)
def test_how_commands_end(arguments, status, words, tmp_path):
    (tmp_path / "x.csv").write_text("a b\n1\n")
    done = run(*arguments, cwd=tmp_path, status=status)
    assert [word for word in words if word not in done.stderr] == []
    assert (done.stderr.count("\n"), bool(done.stdout)) == ((0, True) if status == FINE else (1, False))


@pytest.fixture
def waiting(tmp_path):
    """A command that waits for its file: the process, and the other end of the file."""
    os.mkfifo(tmp_path / "events.toml")
    child = nursery().serve("account", str(tmp_path / "events.toml"), "--json", err=tmp_path / "err")
    return child, (tmp_path / "events.toml").open("w")  # opens as soon as somebody reads there


def test_ctrl_c_stops(waiting, tmp_path):
    child, file = waiting
    with child.stdout:
        child.send_signal(signal.SIGINT)
        file.close()  # wakes a read that began when the signal was there already
        assert (child.wait(), child.stdout.read(), (tmp_path / "err").read_text()) == (STOPPED, "", "stopped\n")


def test_a_reader_who_has_gone_is_no_error(waiting, tmp_path):
    child, file = waiting
    child.stdout.close()
    with file:
        file.write('[[event]]\nkind = "Pure"\nepsilon = 1.0\n')
    assert (child.wait(), (tmp_path / "err").read_text()) == (UNREAD, "")


def test_a_mistake_in_deniable_shows_no_traceback_unless_it_is_asked_for(monkeypatch):
    def broken():
        raise KeyError("nothing")

    monkeypatch.setattr(installation, "packages", broken)
    done = CliRunner().invoke(command_line("doctor"), ["doctor"])
    assert done.exit_code == BUG
    assert "bug in deniable: KeyError: 'nothing' (test_exit_statuses.py, line" in done.stderr
    assert (done.stderr.count("\n"), TRACEBACK in done.stderr) == (1, True)
    monkeypatch.setenv(TRACEBACK, "1")
    assert isinstance(CliRunner().invoke(command_line("doctor"), ["doctor"]).exception, KeyError)
