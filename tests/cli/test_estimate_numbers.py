"""``deniable estimate`` about numbers, against a real collector over HTTP."""

from __future__ import annotations

import json

import polars as pl
import pytest

import deniable as dn
from deniable.collect.analysis.analyst import ReportSelection, compare, estimate
from deniable.contract.envelope import Envelope
from deniable.core.table import cell_text
from deniable.testing import ReplaySource
from tests.cli.test_estimate_command import DAY, Site
from tests.collect.crowd import NOON, send, survey_task


@pytest.fixture
def site(tmp_path, monkeypatch):
    found = Site(tmp_path, monkeypatch)
    yield found
    found.close()


@pytest.mark.parametrize("mechanism", [dn.OneBitMean, dn.SquareWave])
def test_a_mean_is_printed_saved_and_compared(site, tmp_path, mechanism):
    spec = mechanism(low=0, high=100, steps=50, clip=True, epsilon=2.0)
    task = survey_task(site.collector.registry.key, spec, name="ages", period=DAY, end=NOON + 5 * DAY, answers=5, minimum_batch=100)
    site.collector.publish(task)
    for period, age in ((0, 30), (1, 70)):
        site.now = NOON + period * DAY
        rows = spec.privatize([age] * 4000, source=ReplaySource.from_key(f"ages {period}")).rows()
        ids = (bytes([period]) + i.to_bytes(15, "big") for i in range(4000))
        send(site.collector, *(Envelope(task.id, period, 0, 0, i, row.tobytes()) for i, row in zip(ids, rows, strict=True)))
    content = json.loads(site.run("ages", "--period", "0", "--json").stdout)
    assert content["answers"] == estimate(site.collector, task.id, ReportSelection((0,))).to_json()["answers"]
    told = content["answers"][0]["estimate"]
    mean = (told["parts"]["mean"] if mechanism is dn.SquareWave else told)["columns"]["mean"][0]
    printed = site.run("ages", "--period", "0", "--out", "ages.parquet", "--chart", "ages.svg").stdout
    digits = next(part for line in printed.splitlines() if line.startswith("│ mean") for part in line.replace("│", " ").split()[1:2])
    assert float(digits) == pytest.approx(mean, abs=0.06)
    assert "low and high: 95 %, noise" in printed
    assert ("50 % at most" in printed) == (mechanism is dn.SquareWave)
    table = pl.read_parquet("ages.parquet")
    if mechanism is dn.SquareWave:
        assert table["cdf"].to_list() == told["columns"]["cdf"]
    else:
        assert table["mean"].to_list() == [mean]
    assert (tmp_path / "ages.svg").read_text().startswith("<svg")
    changed = site.run("ages", "--period", "0", "--compare-period", "1", status=3).stdout
    (told,) = compare(site.collector, task.id, ReportSelection((0,)), ReportSelection((1,))).to_json()["answers"]
    assert cell_text(told["estimate"]["columns"]["change"][0]) in changed
    assert "changed at alpha = 0.05: ages: mean" in changed.replace("q0", "ages")
    assert site.run("ages", "--period", "2", status=4)
