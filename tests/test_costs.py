"""What a report costs: the bytes are those of the mechanisms, and the sums of the page on costs follow from what was measured."""

from __future__ import annotations

import importlib
import math
import re

import pytest

from deniable.client import MECHANISMS
from deniable.core.reports import Reports
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "how-to" / "costs.md").read_text()
BENCHMARKS = (ROOT / "benchmarks" / "README.md").read_text()
DAY = 10**9
ID, ENVELOPE = 16, 64
"""Bytes of a report's id, and of an envelope without its payload."""


def rows_of(text, first):
    """The table whose header begins with some words: its rows by their first cell, as numbers where they are."""
    lines = iter(text.splitlines())
    next(line for line in lines if line.startswith(f"| {first} "))
    next(lines)
    found = {}
    for line in lines:
        if not line.startswith("|"):
            return found
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        found[name] = [float(cell.replace(",", "")) for cell in cells]
    raise AssertionError(f"no end of the table {first}")


MEASURED = rows_of(BENCHMARKS[BENCHMARKS.index("### What a report costs") :], "mechanism")
PER_DAY, COLLECTORS = rows_of(PAGE, "10^9 reports a day"), rows_of(PAGE, "devices send")


def test_every_mechanism_is_in_the_table_with_its_bytes(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    spec_of = importlib.import_module("costs").spec_of
    assert list(MEASURED) == sorted(MECHANISMS)
    for mechanism, (payload, wire, image, *_) in MEASURED.items():
        spec = spec_of(mechanism)
        width = sum(column.row_bytes for column in spec.layout)
        assert (mechanism, payload, wire) == (mechanism, width, ENVELOPE + width)
        assert (mechanism, image) == (mechanism, len(spec.tally(Reports.empty(spec, 0)).to_bytes()))


@pytest.mark.parametrize("mechanism", sorted(PER_DAY))
def test_the_sums_of_a_day_follow_from_the_figures_of_a_report(mechanism):
    payload, wire, _, _, _, tally, seal = MEASURED[mechanism]
    receiving = [cells[1] * 1e-6 * DAY / 3600 for cells in COLLECTORS.values()]
    sealing = seal * 1e-9 * DAY / 3600
    expected = [wire * DAY / 1e9, (ID + payload) * DAY / 1e9, tally * 1e-9 * DAY, sealing, *(each + sealing for each in receiving)]
    tolerance = [0, 0, 1e-9, 0.00501, 0.00501, 0.00501]  # as printed: whole GB, three digits, two decimals
    for told, sum_, slack in zip(PER_DAY[mechanism], expected, tolerance, strict=True):
        assert told == pytest.approx(sum_, rel=1e-9, abs=slack)


def test_the_number_of_collectors_follows_from_their_rate():
    one, many = COLLECTORS["one report a request"], COLLECTORS["100 reports a request"]
    for rate, _, _, mean, peak in (one, many):
        assert (mean, peak) == (math.ceil(DAY / 86_400 / rate), math.ceil(10 * DAY / 86_400 / rate))
    assert many[2] == one[2] / 100


def test_the_rates_are_those_of_the_benchmark():
    """What one collector was measured to do stands in the benchmark's own page, and the two must not part."""
    units = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}
    for words, together, row in (("single reports", 1, "one report a request"), ("batches of 100", 100, "100 reports a request")):
        (line,) = re.findall(rf"^\| {words}, collector .*$", BENCHMARKS, re.MULTILINE)
        number, unit = re.fullmatch(r"([\d.]+) ?(\w?)", line.split("|")[3].strip()).groups()
        microseconds = float(line.split("|")[6].strip().removesuffix(" us"))
        assert COLLECTORS[row][:2] == [pytest.approx(float(number) * units[unit]), pytest.approx(microseconds / together)]
