"""What holds for every registered mechanism, found through its vectors."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.client.frequency import LinearProtocol
from deniable.client.mean import MeanSpec
from deniable.client.pure import PureProtocol
from deniable.contract.probability import exp_below
from deniable.contract.spec import MECHANISMS, spec_from_json
from deniable.core import stream
from deniable.core.reports import Reports
from deniable.core.tally import Tally
from deniable.errors import MergeError, WireError
from deniable.testing import ReplaySource
from tests.conftest import all_specs, asked_of, candidates_of, some_values

SPECS = all_specs()
CHUNK = 2048
"""People in a chunk: as for the shipped size, each chunk has a stream of its own."""
each_spec = pytest.mark.parametrize("spec", SPECS, ids=repr)
each_pure_spec = pytest.mark.parametrize("spec", [spec for spec in SPECS if isinstance(spec, PureProtocol)], ids=repr)


def batch(spec, count, key="batch"):
    return spec.privatize(some_values(spec, count), source=ReplaySource.from_key(key))


def tally_of(spec, count, key="batch"):
    return spec.tally(batch(spec, count, key), candidates=candidates_of(spec))


@each_spec
def test_spec_is_a_frozen_value(spec):
    again = spec_from_json(spec.canonical)
    assert again == spec
    assert hash(again) == hash(spec)
    assert again.digest == spec.digest
    assert MECHANISMS[spec.mechanism] is type(spec)
    with pytest.raises(dataclasses.FrozenInstanceError):
        spec.epsilon = 2.0


@each_spec
def test_effective_epsilon_is_tight_and_never_above(spec):
    assert spec.effective_epsilon <= spec.epsilon
    assert not spec.tight or spec.effective_epsilon >= spec.epsilon - 1e-9
    assert spec.ratio <= exp_below(spec.epsilon)


@each_pure_spec
def test_the_own_value_is_supported_more_often_than_others(spec):
    assert 0 < spec.q < spec.p < 1


@each_spec
def test_scalar_equals_bulk_on_a_long_stream(spec, monkeypatch):
    """Across several buffers of words, which are short here: people cut off at a buffer's end are served again from the same words."""
    monkeypatch.setattr(stream, "_BUFFER", 256)
    monkeypatch.setattr(stream, "_LARGEST", 512)
    people = 700 if spec.outputs > 2**64 else 2000
    values = some_values(spec, people)
    source = ReplaySource.from_key("long")
    one_by_one = [spec.encode(spec.randomize(value, source)) for value in values]
    bulk = ReplaySource.from_key("long")
    at_once = [row.tobytes() for row in spec.privatize(values, source=bulk).rows()]
    assert [place for place in range(people) if at_once[place] != one_by_one[place]][:1] == []  # the first: all are minutes to print
    assert bulk.consumed == source.consumed
    assert bulk.words(3) == source.words(3)  # and both go on with the same words


@each_spec
def test_parallel_equals_sequential_and_chunks_share_no_noise(spec, monkeypatch):
    monkeypatch.setattr(stream, "CHUNK", CHUNK)
    values = [some_values(spec, 1)[0]] * (2 * CHUNK + 512)
    fresh = spec.privatize(values)
    monkeypatch.setattr(stream.os, "urandom", lambda size: bytes(range(size)))
    runs = []
    for workers in (1, 3):
        monkeypatch.setattr(stream, "cores", lambda workers=workers: workers)
        runs.append(spec.privatize(values))
    assert runs[0] == runs[1]
    assert runs[0] != fresh
    rows = runs[0].rows()
    assert not np.array_equal(rows[:512], rows[CHUNK : CHUNK + 512])
    assert not np.array_equal(rows[:512], rows[2 * CHUNK :])


@each_spec
def test_reports_survive_bytes_arrow_and_parquet(spec, tmp_path):
    for count in (0, 1, 7, 8, 9, 1000):
        reports = batch(spec, count)
        table = reports.to_arrow()
        pq.write_table(table, tmp_path / "reports.parquet")
        parts = pa.concat_tables([table.slice(0, count // 2), table.slice(count // 2)])
        assert len(reports) == count
        assert Reports.from_bytes(reports.to_bytes()) == reports, count
        assert Reports.from_rows(spec, reports.rows().tobytes()) == reports, count
        for read in (table, pq.read_table(tmp_path / "reports.parquet"), parts):
            assert Reports.from_arrow(read) == reports, count


@each_spec
def test_a_report_is_as_small_as_its_information(spec):
    per_report = batch(spec, 8000).nbytes / 8000
    assert per_report <= sum(column.bits * column.count + 7 for column in spec.layout) / 8
    assert spec.report_bits <= 8 * sum(column.row_bytes for column in spec.layout)


@each_spec
def test_tallies_are_a_commutative_monoid(spec):
    a, b, c = (tally_of(spec, count, key) for count, key in ((40, "a"), (0, "b"), (33, "c")))
    assert a + b == a
    assert a + c == c + a
    assert (a + b) + c == a + (b + c)
    joined = Reports.from_rows(spec, batch(spec, 40, "a").rows().tobytes() + batch(spec, 33, "c").rows().tobytes())
    assert spec.tally(joined, candidates=candidates_of(spec)) == a + c
    assert Tally.from_bytes((a + c).to_bytes()) == a + c


@each_spec
def test_reports_made_one_by_one_are_tallied_like_a_batch(spec):
    reports = batch(spec, 64)
    one_by_one = [reports[i] for i in range(64)]
    assert spec.tally(one_by_one, candidates=candidates_of(spec)) == spec.tally(reports, candidates=candidates_of(spec))


@each_pure_spec
def test_tally_counts_what_the_scalar_code_says_is_supported(spec):
    reports = batch(spec, 64)
    asked = asked_of(spec) or [spec.domain.value(key) for key in range(min(spec.domain_size, 40))]
    tally = spec.tally(reports, candidates=candidates_of(spec))
    expected = [sum(spec.supports(reports[i], spec.domain.key(value)) for i in range(64)) for value in asked]
    assert spec.estimate(tally, candidates=asked_of(spec)).law.supports[: len(asked)].tolist() == expected


@pytest.mark.parametrize("spec", [spec for spec in SPECS if isinstance(spec, LinearProtocol)], ids=repr)
def test_estimate_is_the_sum_of_exact_scores(spec):
    """The float estimator agrees with the exact one, report by report, to rounding."""
    reports = batch(spec, 50)
    estimate = spec.estimate(spec.tally(reports, candidates=candidates_of(spec)), candidates=asked_of(spec))
    for i in (0, len(estimate.values) - 1):
        exact = sum(spec.score(reports[j], spec.domain.key(estimate.values[i])) for j in range(50))
        assert estimate.counts[i] == pytest.approx(float(exact), rel=1e-9, abs=1e-9 * spec.influence)


@pytest.mark.parametrize("spec", [spec for spec in SPECS if isinstance(spec, MeanSpec)], ids=repr)
def test_mean_is_the_average_of_exact_scores(spec):
    """The tally adds up what the scalar code says about each report, and the float estimate is the exact average, to rounding."""
    reports = batch(spec, 50)
    one_by_one = [reports[i] for i in range(50)]
    tally = spec.tally(reports)
    assert tally.counters.tolist() == np.sum([spec.features(report) for report in one_by_one], axis=0).tolist()
    exact = spec.domain.start + spec.unit * sum(spec.score(report) for report in one_by_one) / 50
    assert spec.estimate(tally).law.center == pytest.approx(float(exact), rel=1e-12, abs=1e-12 * spec.influence)


@each_spec
def test_other_specs_are_refused_by_name(spec):
    coin = {"coin": None} if hasattr(spec, "coin") else {}  # given thresholds are those of another epsilon
    other = dataclasses.replace(spec, epsilon=3.0 if spec.mechanism == "RR" else spec.epsilon + 0.5, **coin)
    with pytest.raises(MergeError, match=r"spec\.(epsilon|hash_range|coin)"):
        tally_of(spec, 5) + tally_of(other, 5)
    with pytest.raises(MergeError, match=r"spec\."):
        spec.tally(batch(other, 5), candidates=candidates_of(spec))
    with pytest.raises(MergeError, match=r"spec\."):
        spec.estimate(tally_of(other, 5), candidates=asked_of(spec))


@each_spec
def test_damaged_images_are_refused(spec):
    for image, read in ((batch(spec, 9).to_bytes(), Reports.from_bytes), (tally_of(spec, 9).to_bytes(), Tally.from_bytes)):
        for damaged in (image[:-1], image + b"\0", image[:10], b"", b"X" + image[1:], image[:20] + image[21:]):
            with pytest.raises(WireError):
                read(damaged)
        for position in range(0, len(image), max(1, len(image) // 50)):  # any flipped bit is noticed
            flipped = bytearray(image)
            flipped[position] ^= 1 << position % 8
            with pytest.raises(WireError):
                read(bytes(flipped))
    with pytest.raises(WireError):
        Tally.from_bytes(batch(spec, 9).to_bytes())


@each_spec
@given(data=st.binary(max_size=200))
def test_garbage_raises_only_wire_errors(spec, data):
    for read in (spec.decode, Reports.from_bytes, Tally.from_bytes, spec_from_json):
        try:
            read(data)
        except WireError:
            continue
        assert read == spec.decode, "only a single report has so little structure that garbage may be one"
        assert spec.encode(spec.decode(data)) == data


@each_spec
@given(cut=st.integers(0, 400), insert=st.binary(max_size=3))
def test_edited_specs_raise_only_wire_errors(spec, cut, insert):
    text = spec.canonical
    cut %= len(text)
    edited = text[:cut] + insert + text[cut + len(insert) :]
    try:
        read = spec_from_json(edited)
    except WireError:
        return
    assert read.canonical == edited
