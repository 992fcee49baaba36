"""A private survey in the browser: a page of plain HTML with the client that ships, and a collector. Open the address that is printed.

    .venv/bin/python examples/survey/run.py [--port 8080]

The page and the client are files: any web server can serve them. Reports go to the collector, which lets pages of every origin send them.
"""

from __future__ import annotations

import argparse
import json
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from local_collector import collector

CLIENT = HERE.parent.parent / "clients" / "js" / "src"


class Files(SimpleHTTPRequestHandler):
    """The page, the client, and where reports go."""

    def __init__(self, *arguments: object, survey: bytes, **options: object) -> None:
        self.survey = survey
        super().__init__(*arguments, directory=str(HERE), **options)

    def do_GET(self) -> None:
        """Answer with a file, or with the survey's address and task."""
        if self.path != "/survey.json":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(self.survey)

    def translate_path(self, path: str) -> str:
        """The client's files are where the repository has them."""
        inside = path.partition("?")[0].removeprefix("/deniable/")
        return str(CLIENT / inside) if path.startswith("/deniable/") and ".." not in path else super().translate_path(path)

    def log_message(self, *_: object) -> None:
        """Nobody's visit is written down."""


def main() -> None:
    """Serve until it is interrupted; then show what came in."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--port", type=int, default=8080, help="where the page is served; 0 takes a port that is free")
    chosen = arguments.parse_args()
    with collector(HERE / "task.toml") as server:
        survey = json.dumps({"collector": server.url, "task": server.task}).encode()
        with ThreadingHTTPServer(("127.0.0.1", chosen.port), partial(Files, survey=survey)) as pages:
            print(f"the survey: http://127.0.0.1:{pages.server_port}\nthe dashboard: {server.url}", flush=True)
            try:
                pages.serve_forever()
            except KeyboardInterrupt:
                print("stopped")


if __name__ == "__main__":
    main()
