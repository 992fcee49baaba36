"""Numbers on the pages of a collector: the mean first, in the units that were typed, its chart, a comparison, and the field."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import altair as alt
import pytest

import deniable as dn
from deniable.collect.analysis.analyst import ReportSelection, compare, estimate
from deniable.core.table import cell_text
from tests.collect.crowd import HOUR, NOON, envelope, send, survey_task
from tests.collect.looking import Reader, dashboard, get, path_of, sign_in
from tests.collect.rows import rows_of

BED = dn.Numbers(datetime(2026, 3, 1, 18), datetime(2026, 3, 2, 6), steps=24)
SPECS = {
    "mean": (dn.OneBitMean(low=0, high=120, epsilon=2.0), [30.5, 40, 61]),
    "clipped": (dn.Hybrid(low=0, high=50, clip=True, epsilon=2.0), [30.5, 40, 61]),
    "times": (dn.Hybrid(domain=BED, epsilon=2.0), [datetime(2026, 3, 1, 22), datetime(2026, 3, 1, 23, 30)]),
    "wave": (dn.SquareWave(low=0, high=120, steps=24, epsilon=3.0), [30.5, 40, 61]),
    "wave of times": (dn.SquareWave(domain=BED, epsilon=3.0), [datetime(2026, 3, 1, 22), datetime(2026, 3, 1, 23, 30)]),
}


@pytest.fixture
def site(tmp_path):
    with dashboard(tmp_path) as site:
        sign_in(site)
        yield site


def asked(site, spec, values, people=150):
    task = survey_task(site.collector.registry.key, spec, name="number", minimum_batch=20)
    site.collector.publish(task)
    for period in (0, 1):
        site.clock.now = NOON + period * HOUR
        assert send(site.collector, *(envelope(task, values[i % len(values)], period=period) for i in range(people))) == {}
    return task


def charts(site, path, figures=1):
    news = get(site, f"{path.partition('?')[0]}/live?{path.partition('?')[2]}").json()
    page = Reader(get(site, path).text)
    assert {tag["data-live"] for _, tag in page.tags if "data-live" in tag} == set(news["texts"])
    assert {tag["data-chart"] for _, tag in page.tags if "data-chart" in tag} == set(news["charts"])
    assert set(news["charts"]) == set(["chart-0", "chart-0-1"][:figures])
    for number, chart in enumerate(news["charts"].values()):
        alt.Chart.from_dict(chart)  # valid Vega-Lite
        assert chart["width"] == "container"
        picture = get(site, f"{path.partition('?')[0]}/chart.svg?{path.partition('?')[2]}&question=0&figure={number}")
        assert (picture.status_code, picture.headers["content-type"]) == (200, "image/svg+xml")
    assert "http" not in json.dumps(news["charts"])
    assert get(site, f"{path.partition('?')[0]}/chart.svg?{path.partition('?')[2]}&figure={figures}").status_code == 404
    return page, news


@pytest.mark.parametrize("name", SPECS)
def test_a_page_says_the_mean_first_and_draws_it(site, name):
    spec, values = SPECS[name]
    task = asked(site, spec, values)
    wave = spec.mechanism == "SquareWave"
    page, news = charts(site, path_of(task), figures=1 + wave)  # shares, and the curve
    found = estimate(site.collector, task.id).estimates["q0"]
    mean = found.mean if wave else found
    told = [news["texts"][f"{part}-0"] for part in ("value", "share")] + news["texts"]["interval-0"].split(" to ")
    assert told[0] == "mean"
    shown = [mean.value, *mean.interval(0.95, population=wave)]
    if spec.domain.times:
        assert told[1:] == [each.isoformat(sep=" ", timespec="seconds") for each in shown]
    else:
        assert [float(text.replace("−", "-")) for text in told[1:]] == pytest.approx(shown, abs=(shown[2] - shown[1]) / 20)
    lines = news["rows"]["rows-0"]
    assert [line[0] for line in lines] == ["mean", *(f"{q} % at most" for q in (5, 10, 25, 50, 75, 90, 95))][: 8 if wave else 1]
    assert ("mean of the clipped values" in page.text) == spec.clip
    assert spec.domain.describe() in page.text
    influence = (spec.piecewise if wave else spec).influence
    width = shown[2] - shown[1]
    width = width.total_seconds() if spec.domain.times else width
    liars = int(re.match(r"([\d,]+) of 300", news["texts"]["liars-0"])[1].replace(",", ""))
    assert (liars - 1) * influence < width * 300 <= liars * influence


@pytest.mark.parametrize("name", ["mean", "times", "wave"])
def test_a_comparison_says_the_change_in_the_same_units(site, name):
    spec, values = SPECS[name]
    task = asked(site, spec, values[:1])
    site.clock.now = NOON + 2 * HOUR
    moved = (datetime(2026, 3, 2, 5), 110)[not spec.domain.times]
    assert send(site.collector, *(envelope(task, moved, period=2) for _ in range(400))) == {}
    page, _ = charts(site, f"{path_of(task)}/compare?first=0&second=2")
    content = compare(site.collector, task.id, ReportSelection((0,)), ReportSelection((2,))).to_json()
    assert content["changed"] == [{"question": "q0", "value": "mean"}]
    (row,) = rows_of(content["answers"][0])
    for name in ("change", "low", "high"):
        assert cell_text(timedelta(seconds=row[name]["seconds"]) if spec.domain.times else row[name]) in page.text
    assert "The mean changed" in page.text
    assert "150 with 400 reports" in page.text
    still, _ = charts(site, f"{path_of(task)}/compare?first=0&second=1&alpha=0.000001")
    assert "The mean did not change significantly" in still.text


@pytest.mark.parametrize(
    ("domain", "kind", "expected"),
    [
        (dn.Numbers(0, 120), "number", {"type": "number", "min": "0", "max": "120", "step": "any"}),
        (dn.Numbers(-0.5, 1.25), "number", {"type": "number", "min": "-0.5", "max": "1.25", "step": "any"}),
        (dn.Numbers(0, 120, clip=True), "number", {"type": "number", "min": None, "max": None, "step": "any"}),
        (BED, "clock", {"type": "datetime-local", "min": "2026-03-01T18:00", "max": "2026-03-02T06:00", "step": "any"}),
        (
            dn.Numbers(datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 4, 1, tzinfo=UTC)),
            "time",
            {"type": "datetime-local", "min": None, "max": None, "step": "any"},
        ),
    ],
)
def test_numbers_and_times_have_a_field(site, domain, kind, expected):
    default = domain.value(1)
    task = survey_task(site.collector.registry.key, dn.OneBitMean(domain=domain, epsilon=1.0), name="field", default=_plain(default))
    site.collector.publish(task)
    page = Reader(get(site, f"{path_of(task)}/answer").text)
    (field,) = [tag for tag in page.all("input") if tag.get("id") == "answer-0"]
    assert {name: field.get(name) for name in expected} == expected
    assert kind in [tag.get("data-kind") for tag in page.all("div")]
    assert f"counts as {_plain(default)}" in page.text


def _plain(value):
    return value if isinstance(value, int | datetime) else float(value)
