"""Rooms load what is slow to load when they use it."""

from __future__ import annotations

import subprocess
import sys

import pytest

SLOW = {"scipy.stats", "altair", "vl_convert", "sklearn", "networkx"}
ROOMS = ("core.estimate", "local", "tasks.heavy_hitters", "tasks.plan", "central", "multiparty", "shuffle", "accounting", "lab.declared")


@pytest.mark.parametrize("room", [*ROOMS, "collect.analysis.answer", "engines.local"])
def test_a_room_loads_neither_distributions_nor_charts(room):
    code = (
        f"import sys, deniable.{room}; print(*sorted({{'scipy.stats', 'altair', 'vl_convert', 'sklearn', 'networkx'}} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""
