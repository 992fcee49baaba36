"""What the figures of errors share: where they go, and axes with both scales logarithmic."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import altair as alt

FOLDER = Path(__file__).parent.parent / "docs" / "figures"


def log_axes(entries: Iterable[dict[str, Any]], against: str, error: str | None, *, title: str | None = None) -> Any:
    """``error`` against another number. Errors are rounded, so that the same file comes out again on any machine; a zero has no place."""
    scale = alt.Scale(type="log", nice=False)
    rounded = [entry | {"error": float(f"{entry['error']:.4g}")} for entry in entries if entry["error"]]
    return alt.Chart(alt.InlineData(values=rounded)).encode(
        x=alt.X(f"{against}:Q", scale=scale, title=title or against.replace("_", " ")),
        y=alt.Y("error:Q", scale=scale, title=error),
    )
