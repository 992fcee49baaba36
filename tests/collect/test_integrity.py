"""Tests of integrity over what a collector keeps: the reports that an analyst has selected, each once."""

from __future__ import annotations

import json

import numpy as np
import pytest

import deniable as dn
from deniable.collect.analysis import integrity
from deniable.collect.analysis.analyst import ReportSelection
from deniable.collect.analysis.integrity import integrity_json, integrity_of
from deniable.contract.envelope import Envelope
from deniable.core.integrity import check_reports
from deniable.core.reports import Reports
from deniable.errors import ParameterError
from deniable.lab.attacks import craft
from deniable.testing import ReplaySource
from tests.collect.crowd import HOUR, send, survey_task

OUE, GRR = dn.OUE(domain_size=256, epsilon=1.0), dn.GRR(domain_size=4, epsilon=1.0)
STRATA = (("platform", ("phone", "web")),)


def reports(task, spec, question, *, made_up=0, period=0, stratum=0, honest=400):
    source = ReplaySource.from_key(f"{question} {period} {stratum}")
    batches = [spec.privatize([0] * honest, source=source)]
    if made_up:
        batches.append(craft(spec, "crafted", np.arange(250, 256), made_up, source))
    rows = [row.tobytes() for batch in batches for row in batch.rows()]
    ids = (b"".join(word.to_bytes(8, "big") for word in source.words(2)) for _ in rows)
    return [Envelope(task.id, period, question, stratum, report, row) for report, row in zip(ids, rows, strict=True)]


@pytest.fixture
def asked(collector, clock):
    """A survey of two questions; made-up reports in the second period, by one of two platforms."""
    task = survey_task(collector.registry.key, OUE, GRR, strata=STRATA, minimum_batch=100)
    collector.publish(task)
    clock.now += HOUR + 300
    for period in (0, 1):
        for stratum in (0, 1):
            made_up = 40 if (period, stratum) == (1, 1) else 0
            sent = reports(task, OUE, 0, made_up=made_up, period=period, stratum=stratum)
            sent += sent[:100]  # again, as after a lost answer
            assert send(collector, *sent, *reports(task, GRR, 1, period=period, stratum=stratum)) == {}
    return collector, task


@pytest.mark.parametrize("sealed", [(), (0,), (0, 1)])
def test_made_up_reports_are_found_where_they_are(asked, sealed):
    collector, task = asked
    for period in sealed:
        collector.seal(task.id, period)
    found = integrity_of(collector, task.id)
    assert {name: (report.n, report.suspicious[:1], len(report.findings)) for name, report in found.items()} == {
        "q0": (1640, ["popcount"], 2),
        "q1": (1600, [], 0),
    }
    for selection, suspicious in (
        (ReportSelection((0,)), False),
        (ReportSelection((1,)), True),
        (ReportSelection((1,), {"platform": "phone"}), False),
        (ReportSelection(None, {"platform": "web"}), True),
    ):
        assert bool(integrity_of(collector, task.id, selection)["q0"].suspicious) == suspicious
    with pytest.raises(ParameterError, match="stratum"):
        integrity_of(collector, task.id, ReportSelection(None, {"platform": "tv"}))


def test_it_is_the_test_of_the_reports_that_were_sent(asked):
    collector, task = asked
    sent = reports(task, OUE, 0, made_up=40, period=1, stratum=1)
    expected = check_reports(
        Reports.from_rows(OUE, b"".join(each.payload for each in sent)), 0.005
    )  # half of alpha for each of two questions
    found = integrity_of(collector, task.id, ReportSelection((1,), {"platform": "web"}))
    assert found["q0"].findings == expected.findings
    [told, _] = integrity_json(found)
    assert (told["n"], told["alpha"], told["suspicious"]) == (440, 0.005, expected.suspicious)
    assert [each["p"] for each in told["tests"]] == expected.p_values
    assert json.loads(json.dumps(told)) == told


def test_few_reports_are_not_tested_and_of_many_a_sample_is_that_nobody_can_avoid(asked, monkeypatch):
    """Whoever chooses the largest ids, or the smallest, is sampled as all others are."""
    collector, task = asked
    few = ReportSelection((7,))
    assert integrity_of(collector, task.id, few) == {}
    monkeypatch.setattr(integrity, "MOST", 500)
    rows = np.zeros((2000, 17), dtype=np.uint8)
    rows[:, :16] = np.frombuffer(b"".join(word.to_bytes(8, "big") for word in ReplaySource.from_key("ids").words(4000)), np.uint8).reshape(
        -1, 16
    )
    rows[:1000, 0] = 255
    rows[:1000, 16] = 1
    taken = [integrity._sample(rows, bytes([key]) * 32)[:, 16] for key in range(1, 40)]
    assert {len(each) for each in taken} == {500}
    shares = np.array([each.mean() for each in taken])
    assert abs(shares.mean() - 0.5) < 4.9 * 0.5 / np.sqrt(500 * len(shares))
    assert integrity_of(collector, task.id)["q0"].n == 500
