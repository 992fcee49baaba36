"""A hundred thousand hostile publications: what ``tests/collect/test_hostile_publications.py`` shows with some; ten minutes on one core."""

# ruff: noqa: S101  # tests assert; this folder is outside of tests/

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from tests.collect.hostile import honest, throw

MOST_MEMORY = 2 << 20
"""KiB that the process may take in all."""


@pytest.mark.parametrize(("name", "attacks"), [("small", 90_000), ("survey", 6_000), ("search", 4_000)])
def test_a_hundred_thousand_hostile_publications(name: str, attacks: int, tmp_path: Path) -> None:
    counts = throw(*honest(tmp_path)[name], attacks, seed=7)
    assert sum(counts.values()) == attacks
    assert counts["refused"] > 4 * counts["accepted"] > 0
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < MOST_MEMORY
