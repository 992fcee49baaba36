"""The static files of pages: styles, modules, an icon, the browser client, and Vega, which is made on the first request.

The browser client comes from a wheel (next to the pages) or from ``clients/js/src`` of a checkout, and pages load it as modules from this
origin. There is only one copy: people answer with the very code that the client's own tests check.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path

from starlette.responses import Response

from deniable.collect.dashboard.charts import Drawing
from deniable.collect.kit.answers import Refusal

KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".json": "application/json"}
VEGA = "vega.js"
CLIENT = "client/"
"""The prefix of the client's modules."""
PACKED = Path(__file__).parent / "client"
"""Where the build puts it (``pyproject.toml``)."""
CHECKOUT = Path(__file__).parents[4] / "clients" / "js" / "src"


def asset(name: str, drawing: Drawing, known: str) -> Response:
    """Return a file, or status 304 if the browser has it already, by its tag."""
    content = drawing.bundle() if name == VEGA else _file(name)
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"etag": tag, "cache-control": "no-cache"}  # checked every time, sent again only if it has changed
    if known == tag:
        return Response(status_code=304, headers=headers)
    if name == VEGA:
        headers["content-encoding"] = "gzip"  # every browser that runs modules takes it
    return Response(content, headers=headers, media_type=KINDS[name[name.rindex(".") :]])


@cache
def client_files() -> dict[str, Path]:
    """Return the modules by their path inside the client; empty if the installation has none."""
    folder = PACKED if PACKED.is_dir() else CHECKOUT
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.js"))}


@cache
def names() -> frozenset[str]:
    """Return the names of all assets."""
    return frozenset(path.name for path in files("deniable.collect.dashboard").joinpath("assets").iterdir() if path.is_file())


@cache
def _file(name: str) -> bytes:
    if name.removeprefix(CLIENT) in client_files() and name.startswith(CLIENT):
        return client_files()[name.removeprefix(CLIENT)].read_bytes()
    if name not in names() or not name.endswith(tuple(KINDS)):
        raise Refusal(404, "not_found", "no such file")
    return files("deniable.collect.dashboard").joinpath("assets", name).read_bytes()
