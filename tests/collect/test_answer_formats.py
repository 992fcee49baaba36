"""What an analyst gets, as JSON, Parquet and charts: the same, whatever the form."""

# ruff: noqa: F811  # fixtures are imported

from __future__ import annotations

import io
import json
from dataclasses import replace
from fractions import Fraction

import polars as pl
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.collect.analysis.analyst import ReportSelection, compare, estimate
from deniable.collect.analysis.presentation import charts_of
from deniable.core.saved import estimate_from_json
from deniable.errors import WireError
from tests.collect.rows import rows_of
from tests.collect.test_analysis import PAGES, clock, collector, identity, publish, report  # noqa: F401  # some are fixtures


def content_of(parquet):
    """The rows of a Parquet file, and what it says about itself."""
    metadata = json.loads(pq.read_schema(io.BytesIO(parquet)).metadata[b"deniable"])
    return pl.read_parquet(io.BytesIO(parquet)).to_dicts(), metadata


def test_parquet_says_what_json_says(collector):
    spec = dn.GRR(domain=PAGES, epsilon=1.0)
    task = publish(collector, spec, dn.OUE(domain=dn.Categories("yes", "no"), epsilon=1.0))
    for period in (0, 1):
        for question, domain in enumerate((PAGES, dn.Categories("yes", "no"))):
            report(collector, task, [domain.labels[i % domain.size] for i in range(300)], period=period, question=question)
    first, second = ReportSelection((0,)), ReportSelection((1,))
    answer, changes = estimate(collector, task.id, first), compare(collector, task.id, first, second)
    for told in (answer, changes):
        plain = json.loads(json.dumps(told.to_json(), allow_nan=False))  # real JSON: no infinity, nothing but plain data
        rows, about = content_of(told.to_parquet())
        named = {(each["question"], each["value"]) for each in plain.get("changed", ())}
        expected = []
        for each in plain["answers"]:
            n = each["estimate"]["n"]
            counted = {"n": n} if told is answer else dict(zip(("n_before", "n_after"), n, strict=True))
            for row in rows_of(each):
                marks = {} if told is answer else {"changed": (each["question"], row["value"]) in named}
                expected.append({"question": each["question"], **row, **counted, **marks})
            for name in ("values", "columns", "order", "law", "parts"):
                del each["estimate"][name]
        assert rows == expected
        assert about == plain
        assert about["task"] == task.id.hex()
        assert about["statement"] == task.statement
        assert about["version"] == dn.__version__
        assert [a["mechanism"] for a in about["answers"]] == ["GRR", "OUE"]
        assert [a["spec"] for a in about["answers"]] == [q.spec.digest.hex() for q in task.survey.questions]
    assert answer.to_json()["selection"] == {"periods": [0], "strata": {}}
    assert [row["count"] for row in content_of(answer.to_parquet())[0][:4]] == answer.estimates["q0"].counts.tolist()


@pytest.mark.parametrize(
    "domains",
    [
        [dn.IndexRange(3)],
        [dn.Integers(-2, 1)],
        [dn.Categories("tea", "mate")],
        [dn.IndexRange(2), dn.Categories("1", "0")],
        [dn.Bytes(2)],
        [dn.Integers(0, (1 << 64) - 1)],
        [dn.Integers(-5, (1 << 63) + 5)],
    ],
    ids=str,
)
def test_values_of_every_kind_are_written(collector, domains):
    named = {"bytes": [b"\x00\xff", b"a"], "integers": [domains[0].low, domains[0].high] if hasattr(domains[0], "low") else None}
    specs = [dn.OLH(domain=domain, epsilon=4.0) for domain in domains]
    candidates = [None if domain.listed and domain.size < 10 else named[domain.kind] for domain in domains]
    share = Fraction(1, len(specs))
    asked = [dn.Question(name=f"q{i}", spec=s, share=share, candidates=c) for i, (s, c) in enumerate(zip(specs, candidates, strict=True))]
    survey = dn.Survey(tuple(asked))
    task = replace(publish(collector, dn.GRR(domain_size=2, epsilon=4.0)), name="kinds", protocol=survey.canonical)
    collector.publish(task)
    for place, question in enumerate(survey.questions):
        value = question.candidates[0] if question.candidates else question.spec.domain.value(0)
        report(collector, task, [value] * 20, question=place)
    answer = estimate(collector, task.id)
    plain = [value for a in json.loads(json.dumps(answer.to_json()))["answers"] for value in estimate_from_json(a["estimate"]).values]
    values = [value for found in answer.estimates.values() for value in found.values]
    assert plain == values
    written = [row["value"] for row in content_of(answer.to_parquet())[0]]
    assert written == ([str(value) for value in values] if len(domains) > 1 else values)


def test_charts_of_everything_that_is_shown(collector, tmp_path):
    task = publish(collector, dn.GRR(domain=PAGES, epsilon=1.0))
    for period in (0, 1):
        report(collector, task, ["news"] * 300 + ["mail"] * 100, period=period)
    compared = compare(collector, task.id, ReportSelection((0,)), ReportSelection((1,)))
    for number, told in enumerate((estimate(collector, task.id), compared)):
        told.charts()["q0"].save(tmp_path / f"{number}.svg")
        assert "games" in (tmp_path / f"{number}.svg").read_text()


def test_what_a_collector_says_is_drawn_by_our_own_builder_or_not_at_all(collector):
    """A figure says which columns are drawn: no address of anything, no part of Vega, and no column that is not there."""
    task = publish(collector, dn.GRR(domain=dn.Categories("url", "href"), epsilon=1.0))
    report(collector, task, ["url"] * 300)
    content = json.loads(json.dumps(estimate(collector, task.id).to_json()))
    (figure,) = content["answers"][0]["estimate"]["figures"]
    assert charts_of(content)["q0"].to_dict()["data"]["values"][0]["value"] == "url"
    wrong = [{"number": "other"}, {"label": "other"}, {"group": "other"}, {"mark": "url"}, {"axis": {"url": "http://example.org"}}]
    wrong += [{"ends": "http://example.org"}, {"ends": [{"url": "a"}, 1]}, {"ends": ["a", "b"]}, {"most": "all"}, {"percent": 1}]
    for change in wrong:
        content["answers"][0]["estimate"]["figures"] = [figure | change]
        with pytest.raises(WireError):
            charts_of(content)
    content["answers"][0]["estimate"]["figures"] = []
    assert charts_of(content) == {}
    earlier = {"answers": [{"question": "q0", "mechanism": "GRR", "epsilon": 1.0, "n": 300, "rows": []}]}
    with pytest.raises(WireError, match="upgrade the collector"):
        charts_of(earlier)
