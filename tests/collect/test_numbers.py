"""Tasks that ask for a number: what their files may say, and that what is shown is what the reports say, to the last digit."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import numpy as np
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.cli.task_described import described
from deniable.cli.task_template import template
from deniable.client.bulletin import REPORT
from deniable.collect.analysis.analyst import ReportSelection, TooFew, compare, estimate
from deniable.collect.collector import Collector
from deniable.collect.publication.export import publish_reports
from deniable.collect.publication.open_tally import tally_folders
from deniable.collect.publication.verification import verify_publication
from deniable.collect.storage.store import Store
from deniable.collect.tasks.compatibility import changes_of_meaning
from deniable.collect.tasks.task_file import read_task, read_task_file
from deniable.contract.envelope import Envelope
from deniable.contract.task import Task
from deniable.core.saved import estimate_from_json
from deniable.errors import DeniableError, WireError
from deniable.testing import ReplaySource
from tests.collect.crowd import HOUR, NOON, send, survey_task
from tests.collect.publishing import resign
from tests.collect.rows import rows_of
from tests.collect.test_task_file import HEAD, KEY, NOW, WHEN

AGES = "[domain]\nnumbers = { low = 0, high = 120 }\n"
STRATA = (("platform", ("phone", "web")),)
BED = dn.Numbers(datetime(2026, 3, 1, 18), datetime(2026, 3, 2, 6))
SPECS = {
    "one bit": dn.OneBitMean(low=0, high=120, epsilon=1.0),
    "hybrid": dn.Hybrid(low=-1.5, high=2, epsilon=2.0),
    "times": dn.Hybrid(domain=BED, epsilon=2.0),
    "zones": dn.Duchi(low=datetime(2026, 1, 1, tzinfo=UTC), high=datetime(2027, 1, 1, tzinfo=UTC), epsilon=1.0),
    "clipped": dn.Piecewise(low=0, high=50, clip=True, epsilon=3.0),
    "again": dn.OneBitMeanPM(low=0, high=1000, epsilon=1.0),
    "wave": dn.SquareWave(low=0, high=100, steps=50, epsilon=2.0),
    "wave of times": dn.SquareWave(domain=replace(BED, steps=24), epsilon=3.0),
}
GOOD = {
    "auto": (AGES, "Hybrid", dn.Numbers(0, 120)),
    "one bit": (AGES.replace("[domain]", "[mechanism]\nname = 'OneBitMean'\n[domain]"), "OneBitMean", dn.Numbers(0, 120)),
    "the mechanism's own grid": ("mechanism = 'SquareWave'\n" + AGES, "SquareWave", dn.Numbers(0, 120, steps=960)),
    "a grid of one's own": (
        "mechanism = 'SquareWave'\n" + AGES.replace("120", "120, steps = 24"),
        "SquareWave",
        dn.Numbers(0, 120, steps=24),
    ),
    "grid and auto": (AGES.replace("120", "120, steps = 24"), "Hybrid", dn.Numbers(0, 120, steps=24)),
    "clip": (AGES.replace("120", "120, clip = true"), "Hybrid", dn.Numbers(0, 120, clip=True)),
    "setting": ("mechanism = {name = 'Piecewise', window = 9000}\n" + AGES, "Piecewise", dn.Numbers(0, 120)),
    "floats": ("[domain]\nnumbers = { low = -0.5, high = 1.25 }\n", "Hybrid", dn.Numbers(-0.5, 1.25)),
    "wall clock": ("[domain]\nnumbers = { low = 2026-03-01T18:00:00, high = 2026-03-02T06:00:00 }\n", "Hybrid", BED),
    "dates": (
        "[domain]\nnumbers = { low = 2026-03-01, high = 2026-04-01 }\n",
        "Hybrid",
        dn.Numbers(datetime(2026, 3, 1), datetime(2026, 4, 1)),
    ),
    "zone": (
        "[domain]\nnumbers = { low = 2026-03-01T18:00:00+01:00, high = 2026-03-02T06:00:00Z }\n",
        "Hybrid",
        dn.Numbers(datetime(2026, 3, 1, 17, tzinfo=UTC), datetime(2026, 3, 2, 6, tzinfo=UTC)),
    ),
    "again": ("mechanism = 'OneBitMeanPM'\n" + AGES, "OneBitMeanPM", dn.Numbers(0, 120, steps=1)),
}
BAD = {
    "a list": ("[domain]\nnumbers = [0, 120]\n", ["numbers", "a table", "low = 0"]),
    "misspelled": (AGES.replace("high", "hihg"), ["numbers", "'hihg'", "did you mean high?"]),
    "one end": ("[domain]\nnumbers = { low = 0 }\n", ["numbers", "add high"]),
    "backwards": (AGES.replace("120", "-1"), ["numbers: got", "low < high"]),
    "mixed ends": (AGES.replace("120", "2026-01-01"), ["numbers: got", "low < high"]),
    "mixed zones": ("[domain]\nnumbers = { low = 2026-03-01T18:00:00, high = 2026-03-02T06:00:00Z }\n", ["numbers: got", "time zone"]),
    "infinite": (AGES.replace("120", "inf"), ["numbers: got", "finite"]),
    "no steps": (AGES.replace("120", "120, steps = 0"), ["steps", "from 1 to"]),
    "clip in words": (AGES.replace("120", "120, clip = 'yes'"), ["clip", "True or False"]),
    "counting mechanism": ("mechanism = 'GRR'\n" + AGES, ["'GRR'", "OneBitMean", "integers = [0, 100]"]),
    "mechanism for numbers": ("mechanism = 'Hybrid'\n[domain]\nrange = 9\n", ["'Hybrid'", "GRR", "numbers = {"]),
    "misspelled mechanism": ("mechanism = 'Hybird'\n" + AGES, ["'Hybird'", "did you mean Hybrid?"]),
    "range twice": ("mechanism = {name = 'Hybrid', low = 3}\n" + AGES, ["Hybrid", "'low'"]),
    "candidates": (AGES + "candidates = [3]\n", ["candidates", "none for numbers"]),
    "search": (AGES + "[search]\nk = 3\n", ["domain", "[search]"]),
    "default out of range": ("default = 121\n" + AGES, ["121", "from 0 to 120"]),
    "default that is no number": ("default = '41'\n" + AGES, ["'41'", "finite numbers"]),
    "default between counters": ("default = 41.5\nmechanism = 'OneBitMeanPM'\n" + AGES, ["41.5", "whole number"]),
    "default between the ends": ("default = 41\nmechanism = 'SignRR'\n" + AGES, ["41", "0 or 120"]),
}


@pytest.mark.parametrize(("text", "mechanism", "domain"), GOOD.values(), ids=GOOD)
def test_a_file_asks_for_a_number(text, mechanism, domain):
    file = read_task_file((HEAD + WHEN + text).encode(), key=KEY, now=NOW)
    spec = file.task.survey.questions[0].spec
    assert (spec.mechanism, spec.domain) == (mechanism, domain)
    assert Task.from_json(file.task.canonical) == file.task
    grid = "one step" if domain.steps == 1 else f"{domain.steps:,} equal steps"
    assert grid in file.task.statement
    assert ("nearest end: the mean is then that of the clipped numbers" in file.task.statement) == domain.clip
    assert ("out of range is refused" in file.task.statement) != domain.clip
    told = described(file)["questions"][0]
    assert told["mean_error"] == pytest.approx(spec.variance(100_000) ** 0.5)
    assert told["error_in_words"] == (
        f"{told['mean_error']:,.3g}" if not domain.times else str(timedelta(seconds=round(told["mean_error"])))
    )


@pytest.mark.parametrize(("text", "parts"), BAD.values(), ids=BAD)
def test_what_a_file_may_not_say_about_numbers(text, parts):
    with pytest.raises(DeniableError) as caught:
        read_task((HEAD + WHEN + text).encode(), key=KEY, now=NOW)
    assert all(part in str(caught.value) for part in parts), str(caught.value)


def test_a_default_may_be_a_number_or_a_time():
    def default(text):
        task = read_task((HEAD + WHEN + text).encode(), key=KEY, now=NOW)
        assert Task.from_json(task.canonical).default == task.default
        assert f"your device sends {task.default} with noise" in task.statement
        return task.default

    assert default("default = 41.5\n" + AGES) == 41.5
    assert default("default = 41\n" + AGES) == 41
    times = "[domain]\nnumbers = { low = 2026-03-01, high = 2026-04-01 }\n"
    assert default("default = 2026-03-05\n" + times) == datetime(2026, 3, 5)


def test_another_range_is_another_meaning_and_the_template_knows_numbers():
    def task(text):
        return read_task((HEAD + WHEN + "default = 7\n" + text).encode(), key=KEY, now=NOW)

    assert changes_of_meaning(task(AGES), replace(task(AGES), owner="somebody else")) == []
    for other in (AGES.replace("120", "121"), AGES.replace("120", "120, clip = true"), AGES.replace("120", "120, steps = 24")):
        assert any(change.startswith("the domain: ") for change in changes_of_meaning(task(AGES), task(other)))
    (line,) = [line for line in template("ages").splitlines() if line.startswith("# numbers")]
    asked = template("ages").replace('categories = ["tea", "coffee", "water", "something else"]', line[2:]).replace('default = "water"', "")
    assert read_task(asked.encode(), key=KEY, now=NOW).survey.questions[0].spec.domain == dn.Numbers(0, 120)


# --- what reports say ---


def people(spec, n, key, at=0.4):
    """Numbers around a place of the range, and for the clipped some beyond it."""
    places = np.random.default_rng(key).normal(at, 0.1, n).clip(0, 1.2 if spec.clip else 1)
    numbers = float(spec.domain.start) + float(spec.domain.width) * places
    if spec.mechanism == "OneBitMeanPM":
        return np.floor(numbers)
    return [spec.domain.shown(float(number)) for number in numbers] if spec.domain.times else numbers


def ask(collector, spec, crowds, **rules):
    """A task with reports of so many people by period and stratum, and these reports."""
    task = survey_task(collector.registry.key, spec, strata=STRATA, **rules)
    collector.publish(task)
    sent = {}
    for place, ((period, stratum), values) in enumerate(crowds.items()):
        sent[period, stratum] = spec.privatize(values, source=ReplaySource.from_key(f"{spec.mechanism} {period} {stratum}"))
        rows = sent[period, stratum].rows()
        ids = (bytes([place]) + i.to_bytes(15, "big") for i in range(len(rows)))
        assert send(collector, *(Envelope(task.id, period, 0, stratum, i, row.tobytes()) for i, row in zip(ids, rows, strict=True))) == {}
    return task, sent


@pytest.fixture
def collector(tmp_path):
    store = Store.open(tmp_path / "store")
    yield Collector(store, clock=lambda: NOON + HOUR + 300)
    store.close()


def number(spec, value):
    return float(spec.domain.number(value)) if isinstance(value, datetime) else float(value)


@pytest.mark.parametrize("name", SPECS)
def test_estimates_are_those_of_the_same_reports_in_memory(name, collector, tmp_path):
    """Equal to the last digit, and within six standard errors of the truth; published, recomputed, and read from Parquet alike."""
    spec = SPECS[name]
    crowds = {(0, 0): people(spec, 3000, 1), (0, 1): people(spec, 2500, 2), (1, 0): people(spec, 500, 3)}
    task, sent = ask(collector, spec, crowds)
    answer = estimate(collector, task.id)
    tally = sum(spec.tally(reports) for reports in sent.values())
    wave = spec.mechanism == "SquareWave"
    memory = spec.estimate(tally)
    mean = memory.mean if wave else memory
    (told,) = answer.to_json()["answers"]
    assert json.loads(json.dumps(told)) == told
    assert (told["estimate"]["n"], told["estimate"]["kind"]) == (6000, "distribution" if wave else "mean")
    shown = answer.estimates["q0"].mean if wave else answer.estimates["q0"]
    assert (shown.value, shown.stderr, shown.interval()) == (mean.value, mean.stderr, mean.interval())
    part = told["estimate"]["parts"]["mean"] if wave else told["estimate"]
    (row,) = rows_of({"estimate": part})
    read = (lambda cell: datetime.fromisoformat(cell["time"])) if spec.domain.times else float
    seconds = mean.stderr.total_seconds() if spec.domain.times else mean.stderr
    stderr = row["stderr"]["seconds"] if spec.domain.times else row["stderr"]
    assert (row["value"], read(row["mean"]), stderr) == ("mean", mean.value, seconds)
    assert (read(row["low"]), read(row["high"])) == mean.interval(0.95)
    assert estimate_from_json(part).interval(0.95, population=True) == mean.interval(0.95, population=True)
    held = [value for values in crowds.values() for value in values]
    ends = [float(spec.domain.start), float(spec.domain.start + spec.domain.width)]
    truth = np.clip([number(spec, value) for value in held], *ends).mean()
    assert abs(number(spec, mean.value) - truth) < 6 * seconds
    assert (told["estimate"]["bias"] is not None) == (wave or spec.clip)
    if wave:
        again, brief = memory.settled(), told["estimate"]["brief"]
        assert brief == again.brief()
        assert len(brief["value"]) == 8  # the mean and seven quantiles
        low, high = again.interval(0.9)
        found = estimate_from_json(told["estimate"]).interval(0.9)
        np.testing.assert_array_equal(found, (low, high))
        assert rows_of(told)[-1]["cdf"] == pytest.approx(1.0)
    table = pq.read_table(io.BytesIO(answer.to_parquet())).to_pylist()
    assert {(row["question"], row["n"]) for row in table} == {("q0", 6000)}
    assert len(table) == (spec.domain.size if wave else 1)
    if not wave:
        assert (table[0]["value"], table[0]["mean"], table[0]["stderr"]) == ("mean", mean.value, mean.stderr)
    answer.charts()["q0"].save(tmp_path / "chart.json")
    collector.seal(task.id, 0)
    publish_reports(collector, task.id, tmp_path / "open")
    published = verify_publication(tmp_path / "open", task=task.id).answer().to_json()["answers"]
    assert published == estimate(collector, task.id, ReportSelection((0,))).to_json()["answers"]
    forged = json.loads((tmp_path / "open" / "estimates.json").read_text())
    columns = (forged["answers"][0]["estimate"]["parts"]["mean"] if wave else forged["answers"][0]["estimate"])["columns"]
    step, low = 1e-6 * float(spec.domain.width), columns["low"][0]
    columns["low"][0] = low - step if not spec.domain.times else {"time": (read(low) - timedelta(seconds=step)).isoformat()}
    (tmp_path / "open" / "estimates.json").write_text(json.dumps(forged))
    resign(tmp_path / "open", collector.store.signing_key())
    with pytest.raises(WireError, match=r"answers, 0, estimate, (parts, mean, )?columns, low, 0"):
        verify_publication(tmp_path / "open")


@pytest.mark.parametrize("name", ["one bit", "times", "wave", "again"])
def test_a_mean_that_moved_is_called_changed_and_one_that_stayed_is_not(name, collector, tmp_path):
    """By 0.2 of the range, which is 10 standard errors or more; the two halves of a period differ by chance alone."""
    spec = SPECS[name]
    crowds = {(0, 0): people(spec, 20_000, 1), (0, 1): people(spec, 20_000, 2), (1, 0): people(spec, 20_000, 3, at=0.6)}
    task, sent = ask(collector, spec, crowds, name="moving")
    moved = compare(collector, task.id, ReportSelection((0,), {"platform": "phone"}), ReportSelection((1,)))
    first, second = (spec.estimate(spec.tally(sent[place])) for place in ((0, 0), (1, 0)))
    found = first.compare(second)
    (told,) = moved.to_json()["answers"]
    (row,) = rows_of(told)
    seconds = (lambda x: x.total_seconds()) if spec.domain.times else float
    shown = [row[name]["seconds"] if spec.domain.times else row[name] for name in ("change", "low", "high")]
    assert shown == [seconds(found.difference), *map(seconds, found.interval(0.95))]
    assert row["p"] == found.p_value
    assert moved.changed() == [("q0", "mean")]
    assert moved.to_json()["changed"] == [{"question": "q0", "value": "mean"}]
    assert abs(shown[0] - 0.2 * float(spec.domain.width)) < 6 * seconds(found.stderr) + 1
    moved.charts()["q0"].save(tmp_path / "chart.json")
    (saved,) = pq.read_table(io.BytesIO(moved.to_parquet())).to_pylist()
    assert (saved["change"], saved["changed"], saved["n_before"]) == (found.difference, True, first.n)
    still = compare(
        collector, task.id, ReportSelection((0,), {"platform": "phone"}), ReportSelection((0,), {"platform": "web"}), alpha=1e-6
    )
    assert still.changed() == []


def test_nothing_is_said_about_few_and_questions_of_several_kinds_share_a_table(collector):
    ages, drink = SPECS["one bit"], dn.GRR(domain=dn.Categories("tea", "coffee"), epsilon=1.0)
    task = survey_task(collector.registry.key, ages, drink, SPECS["wave of times"], minimum_batch=50)
    collector.publish(task)

    def tell(place, values):
        spec = task.survey.questions[place].spec
        rows = spec.privatize(values, source=ReplaySource.from_key(f"few {place} {len(values)}")).rows()
        ids = (bytes([place, len(values)]) + i.to_bytes(14, "big") for i in range(len(values)))
        assert send(collector, *(Envelope(task.id, 0, place, 0, i, row.tobytes()) for i, row in zip(ids, rows, strict=True))) == {}

    tell(0, [30.0] * 49)
    with pytest.raises(TooFew):
        estimate(collector, task.id)
    tell(0, [30.0])
    assert estimate(collector, task.id).withheld == ("q1", "q2")
    tell(1, ["tea"] * 60)
    tell(2, [datetime(2026, 3, 1, 22)] * 60)
    table = pq.read_table(io.BytesIO(estimate(collector, task.id).to_parquet())).to_pylist()
    named = [(row["question"], row["value"]) for row in table[:4]]
    assert named == [("q0", "mean"), ("q1", "tea"), ("q1", "coffee"), ("q2", "2026-03-01 18:00:00")]  # words and times in one column: text
    assert table[0]["count"] is None
    assert table[1]["mean"] is None
    assert isinstance(table[1]["count"], float)


def test_open_folders_are_counted_alike(collector, tmp_path):
    spec = SPECS["hybrid"]
    task, sent = ask(collector, spec, {(0, 0): people(spec, 200, 1)})
    rows = sent[0, 0].rows()
    for i, row in enumerate(rows):
        data = Envelope(task.id, 0, 0, 0, i.to_bytes(16, "big"), row.tobytes()).pack()
        (tmp_path / "folder").mkdir(exist_ok=True)
        (tmp_path / "folder" / f"{sha256(data).hexdigest()}{REPORT}").write_bytes(data)
    counted = tally_folders([tmp_path / "folder"], task, NOON + HOUR)
    assert counted.tallies == {(0, 0, 0): spec.tally(sent[0, 0])}
    assert counted.answer(ReportSelection()).to_json()["answers"] == estimate(collector, task.id).to_json()["answers"]
