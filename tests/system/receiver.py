"""A collector's ear, in a process of its own: takes signed batches, keeps each as a file under its id, and dies where it is told to.

Run as ``python -m tests.system.receiver FOLDER PORT``. The folder has ``task`` (canonical JSON), ``keys`` (what ``GET /v1/keys`` answers)
and ``batches``. A file ``die`` that says "before" or "after" ends the process at the next batch: before it is stored, or before it is
answered. A file ``refuse`` makes it refuse every batch as a collector does whose price is too high.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from deniable.contract.batch import MEDIA_TYPE, open_batch
from deniable.contract.task import Task
from deniable.errors import WireError


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    folder: Path
    task: Task

    def do_GET(self) -> None:
        if self.path == f"/v1/tasks/{self.task.id.hex()}":
            self._answer(200, json.dumps({"task": self.task.canonical.decode(), "signature": ""}).encode())
        elif self.path == "/v1/keys":
            self._answer(200, (self.folder / "keys").read_bytes())
        else:
            self._answer(404, b"{}")

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["content-length"]))
        if self.path != f"/v1/tasks/{self.task.id.hex()}/batches" or self.headers["content-type"] != MEDIA_TYPE:
            self._answer(404, b"{}")
            return
        try:
            batch = open_batch(data, self.task.mixing.shufflers[-1].key)
        except WireError:
            self._answer(400, b'{"error": {"code": "malformed", "message": ""}}')
            return
        if (self.folder / "refuse").exists():
            (self.folder / "refuse").write_text("refused")
            self._answer(422, b'{"error": {"code": "price", "message": ""}}')
            return
        self._die("before")
        file = self.folder / "batches" / batch.manifest.batch.hex()
        known = file.exists()
        if known:
            assert hashlib.sha256(file.read_bytes()).digest() == hashlib.sha256(data).digest()
        else:
            file.with_suffix(".new").write_bytes(data)
            file.with_suffix(".new").replace(file)
        self._die("after")
        self._answer(200 if known else 201, json.dumps({"batch": batch.manifest.batch.hex()}).encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def _die(self, when: str) -> None:
        flag = self.folder / "die"
        if flag.exists() and flag.read_text() == when:
            flag.unlink()
            os._exit(137)

    def _answer(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def main() -> None:
    Handler.folder = Path(sys.argv[1])
    Handler.task = Task.from_json((Handler.folder / "task").read_bytes())
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
    sys.stdout.write(f"serving on http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
