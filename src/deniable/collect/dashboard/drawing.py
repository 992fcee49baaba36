"""Charts without script, and the script that draws the others: both from Vega, run in a process of its own and gone afterwards.

Vega brings a whole JavaScript engine. In the process that collects it would cost memory for good, and whatever ends the engine would end
the collector. Nothing is fetched: the libraries are part of the package, and charts carry their data.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
import threading
from typing import Any

from deniable.collect.kit.answers import Refusal
from deniable.collect.kit.log import note

PATIENCE = 60.0
MOST = 32
_BUNDLE = "import sys, vl_convert; sys.stdout.buffer.write(vl_convert.javascript_bundle().encode())"
_CHART = (
    "import json, sys, vl_convert; spec = json.load(sys.stdin.buffer); "
    "sys.stdout.buffer.write(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]).encode())"
)


class Drawing:
    """Draws one thing at a time, and remembers the latest."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._bundle = b""
        self._charts: dict[bytes, bytes] = {}

    def bundle(self) -> bytes:
        """Vega, Vega-Lite and Vega-Embed as one script, gzipped; made when it is first asked for."""
        with self._turn:
            if not self._bundle:
                self._bundle = gzip.compress(_run(_BUNDLE, b""), 6, mtime=0)
            return self._bundle

    def svg(self, spec: dict[str, Any]) -> bytes:
        """A chart as a picture."""
        content = json.dumps(spec).encode()
        key = hashlib.sha256(content).digest()
        with self._turn:
            if key not in self._charts:
                while len(self._charts) >= MOST:
                    del self._charts[next(iter(self._charts))]
                self._charts[key] = _run(_CHART, content)
            return self._charts[key]


def _run(code: str, content: bytes) -> bytes:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DENIABLE_")}  # a password may be in there
    try:
        done = subprocess.run(  # noqa: S603  # ourselves
            [sys.executable, "-I", "-c", code], input=content, capture_output=True, timeout=PATIENCE, env=environment, check=True
        )
    except (subprocess.SubprocessError, OSError) as error:
        note("a chart could not be drawn", level="warning", error=type(error).__name__)
        raise Refusal(503, "no_chart", "this chart cannot be drawn now; the table beside it says the same", retry=5) from error
    return done.stdout
