"""What some tests need beside Python: without it they are skipped, saying why; under CI=true that is a failure."""

from __future__ import annotations

import os

import pytest


def needed(found: object, reason: str) -> None:
    """Go on if it was found."""
    if not found:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
