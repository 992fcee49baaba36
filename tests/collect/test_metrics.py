from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from deniable.collect.web.metrics import Metrics

TASK, OTHER = bytes(32), bytes([1]) * 32


def figures(metrics):
    families = text_string_to_metric_families(metrics.render().decode())
    return {(sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples}


def test_reports_are_compared_with_the_period_by_the_clock():
    metrics = Metrics(period_now={TASK: 5}.get)
    metrics.appended(
        {(TASK, 4, 0, 0): [b"a"], (TASK, 5, 0, 0): [b"b", b"c"], (TASK, 7, 1, 0): [b"d"] * 4, (OTHER, 5, 0, 0): [b"e"]}, 0.003, None
    )
    found = figures(metrics)
    assert [found["deniable_period_skew_total", period] for period in ("late", "current", "early")] == [1, 2, 4]
    assert found["deniable_append_reports_sum",] == 8
    assert found["deniable_append_seconds_bucket", "0.005"] - found["deniable_append_seconds_bucket", "0.0025"] == 1


def test_an_append_that_failed_counts_no_reports():
    metrics = Metrics(period_now={TASK: 5}.get)
    metrics.appended({(TASK, 5, 0, 0): [b"a"]}, 0.003, OSError())
    found = figures(metrics)
    assert (found["deniable_append_failures_total",], found["deniable_append_reports_count",]) == (1, 0)
    assert found["deniable_append_seconds_count",] == 1
    assert found["deniable_period_skew_total", "current"] == 0


def test_two_collectors_in_one_process_count_for_themselves():
    first, second = Metrics(), Metrics()
    first.sealed.inc()
    assert (figures(first)["deniable_sealed_buckets_total",], figures(second)["deniable_sealed_buckets_total",]) == (1, 0)
