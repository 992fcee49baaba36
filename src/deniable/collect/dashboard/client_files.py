"""The browser's client as it was written: a wheel brings it along beside the pages, a checkout has it in ``clients/js/src``.

Pages load it as modules from this origin. There is one copy of it: what people answer with is what the client's own tests have tried.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

PACKED = Path(__file__).parent / "client"
"""Where the build puts it (``pyproject.toml``)."""
CHECKOUT = Path(__file__).parents[4] / "clients" / "js" / "src"


@cache
def client_files() -> dict[str, Path]:
    """The modules by their path inside the client; nothing in an installation that was made without them."""
    folder = PACKED if PACKED.is_dir() else CHECKOUT
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.js"))}
