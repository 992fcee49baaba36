"""Files that pages bring along: styles, modules, an icon, the browser's client, and Vega, which is made when it is first asked for.

The browser's client is the one that was written: a wheel has it next to the pages, a checkout in ``clients/js/src``. Pages load it as
modules from this origin. There is one copy of it: what people answer with is what the client's own tests have tried.
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
"""What the names of the client's modules begin with."""
PACKED = Path(__file__).parent / "client"
"""Where the build puts it (``pyproject.toml``)."""
CHECKOUT = Path(__file__).parents[4] / "clients" / "js" / "src"


def asset(name: str, drawing: Drawing, known: str) -> Response:
    """A file, or that it is still the one that the browser knows by its tag."""
    content = drawing.bundle() if name == VEGA else _file(name)
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"etag": tag, "cache-control": "no-cache"}  # asked for again every time, sent again only if it has changed
    if known == tag:
        return Response(status_code=304, headers=headers)
    if name == VEGA:
        headers["content-encoding"] = "gzip"  # every browser that runs modules takes it
    return Response(content, headers=headers, media_type=KINDS[name[name.rindex(".") :]])


@cache
def client_files() -> dict[str, Path]:
    """The modules by their path inside the client; nothing in an installation that was made without them."""
    folder = PACKED if PACKED.is_dir() else CHECKOUT
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.js"))}


@cache
def names() -> frozenset[str]:
    """What there is."""
    return frozenset(path.name for path in files("deniable.collect.dashboard").joinpath("assets").iterdir() if path.is_file())


@cache
def _file(name: str) -> bytes:
    if name.removeprefix(CLIENT) in client_files() and name.startswith(CLIENT):
        return client_files()[name.removeprefix(CLIENT)].read_bytes()
    if name not in names() or not name.endswith(tuple(KINDS)):
        raise Refusal(404, "not_found", "there is no such file")
    return files("deniable.collect.dashboard").joinpath("assets", name).read_bytes()
