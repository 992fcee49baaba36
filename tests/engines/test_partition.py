"""One partition's work: the same bytes however the reports are cut, widened or repeated."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from deniable.client import GRR, OLH, OUE, RR
from deniable.contract.protocol import Protocol
from deniable.core.run import run
from deniable.engines.partition import answer, fold, merge, merge_answers, read_reports
from deniable.errors import MergeError, ParameterError, WireError
from deniable.tasks.heavy_hitters import PEM
from tests.conftest import all_specs, candidates_of, some_values

SPECS = {spec.mechanism: spec for spec in all_specs()}
WIDER = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}


def widened(table):
    """As Spark gives it: signed integers of twice the size, binary of any size, no metadata."""
    types = [WIDER.get(field.type, pa.binary() if pa.types.is_fixed_size_binary(field.type) else field.type) for field in table.schema]
    return table.cast(pa.schema([(field.name, kind) for field, kind in zip(table.schema, types, strict=True)]))


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_a_partition_has_the_tally_of_its_reports_in_any_cut_and_width(spec):
    reports = spec.privatize(some_values(spec, 1000))
    whole = spec.tally(reports, candidates=candidates_of(spec)).to_bytes()
    table = widened(reports.to_arrow())
    parts = [table.slice(0, 300), table.slice(300, 0), table.slice(300)]
    assert fold(spec, parts, candidates_of(spec)).to_bytes() == whole
    assert merge(fold(spec, [part], candidates_of(spec)).to_bytes() for part in [*parts[::-1], table.slice(0, 0)]).to_bytes() == whole
    assert fold(spec, table.to_batches(max_chunksize=77), candidates_of(spec)).to_bytes() == whole


def test_what_does_not_fit_is_refused_and_not_wrapped():
    spec = GRR(domain_size=3, epsilon=1.0)
    for damaged in ([0, 3], [0, -1], [0, 256], [0, None]):
        with pytest.raises(WireError, match="symbol"):
            read_reports(spec, pa.table({"symbol": pa.array(damaged, pa.int64())}))
    wide = OUE(domain_size=9, epsilon=1.0)
    with pytest.raises(WireError, match="bits"):
        read_reports(wide, pa.table({"bits": pa.array([b"\0\0", b"\0"], pa.binary())}))
    with pytest.raises(WireError, match="select the reports' columns"):
        read_reports(spec, pa.table({"other": [0]}))
    with pytest.raises(WireError, match="spec that made the reports"):
        read_reports(spec, GRR(domain_size=4, epsilon=1.0).privatize([0]).to_arrow())
    with pytest.raises(MergeError, match="epsilon"):
        merge([fold(spec, []).to_bytes(), fold(GRR(domain_size=3, epsilon=2.0), []).to_bytes()])
    hashed = OLH(domain_size=8, epsilon=1.0)
    with pytest.raises(MergeError, match="candidates"):
        merge([fold(hashed, [], [0, 1]).to_bytes(), fold(hashed, [], [0, 2]).to_bytes()])


@pytest.mark.parametrize(
    ("spec", "column"),
    [
        (RR(epsilon=1.0), pa.array([0, 1, 7])),  # Arrow takes 7 for a 1
        (RR(epsilon=1.0), pa.array([0.0, float("nan")])),
        (GRR(domain_size=300, epsilon=1.0), pa.array([b"1", b"2"])),  # and these bytes for digits
        (GRR(domain_size=300, epsilon=1.0), pa.array(["1", "2"]).dictionary_encode()),
        (GRR(domain_size=300, epsilon=1.0), pa.array([[1], [2]])),
        (OUE(domain_size=16, epsilon=1.0), pa.array(["ab", "cd"])),
    ],
    ids=["bits as integers", "bits as floats", "bytes", "text", "lists", "bits as text"],
)
def test_a_column_of_another_kind_is_refused(spec, column):
    name = spec.layout[0].name
    with pytest.raises(WireError, match=rf"{name}: got .*to_arrow\(\)"):
        read_reports(spec, pa.table({name: column}))


def test_the_same_values_in_other_types_of_their_kind_are_read():
    wide, symbols = OUE(domain_size=16, epsilon=1.0), GRR(domain_size=300, epsilon=1.0)
    for kind in (pa.large_binary(), pa.binary_view(), pa.dictionary(pa.int8(), pa.binary())):
        assert read_reports(wide, pa.table({"bits": pa.array([b"xx", b"\1\2"], kind).slice(1)})).columns["bits"].tolist() == [[1, 2]]
    for kind in (pa.decimal128(20), pa.dictionary(pa.int8(), pa.uint16())):
        assert read_reports(symbols, pa.table({"symbol": pa.array([9, 299], kind)})).columns["symbol"].tolist() == [9, 299]
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["symbol", "symbol"])
    with pytest.raises(WireError, match="select the reports' columns"):
        read_reports(symbols, twice)


def test_a_stream_has_one_index_and_a_key_that_no_message_shows():
    protocol = PEM(bits=8, k=4, epsilon=4.0)
    for index in (True, -1, 1 << 64, np.int64(1), "1"):
        with pytest.raises(ParameterError, match=r"partition: got .*enumerate"):
            answer(protocol, [1, 2], key=b"k" * 32, partition=index)
    for key, told in (("secret", "str of length 6"), (b"", "bytes of length 0"), (7, "int")):
        with pytest.raises(ParameterError, match=f"key: got '{told}'"):
            answer(protocol, [1, 2], key=key, partition=0)


def crowd():
    generator = np.random.default_rng(5)
    return np.minimum(generator.geometric(0.3, 30_000), 255)


def driven(protocol, partitions, key):
    state = protocol
    while isinstance(state, Protocol):
        state = state.close(merge_answers(answer(state, values, key=key, partition=number) for number, values in partitions))
    return state


def test_a_protocol_over_partitions_is_repeatable_and_finds_what_memory_finds():
    protocol = PEM(bits=8, k=4, epsilon=4.0)
    partitions = list(enumerate(np.array_split(crowd(), 7)))
    found = driven(protocol, partitions, b"k" * 32)
    again = driven(protocol, partitions[::-1], b"k" * 32)
    assert repr(found) == repr(again)
    assert repr(driven(protocol, partitions, b"l" * 32)) != repr(found)
    assert set(found.top(2).values) == set(run(protocol, crowd(), source=None, progress=None).top(2).values)
