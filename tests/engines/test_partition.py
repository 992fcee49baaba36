"""One partition's work: the same bytes however the reports are cut, widened or repeated."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from deniable.client import GRR, OLH, OUE
from deniable.core.run import run
from deniable.engines.partition import answer, fold, merge, merge_answers, read_reports
from deniable.errors import MergeError, WireError
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
    with pytest.raises(WireError, match="spec that made them"):
        read_reports(spec, GRR(domain_size=4, epsilon=1.0).privatize([0]).to_arrow())
    with pytest.raises(MergeError, match="epsilon"):
        merge([fold(spec, []).to_bytes(), fold(GRR(domain_size=3, epsilon=2.0), []).to_bytes()])
    hashed = OLH(domain_size=8, epsilon=1.0)
    with pytest.raises(MergeError, match="candidates"):
        merge([fold(hashed, [], [0, 1]).to_bytes(), fold(hashed, [], [0, 2]).to_bytes()])


def crowd():
    generator = np.random.default_rng(5)
    return np.minimum(generator.geometric(0.3, 30_000), 255)


def driven(protocol, partitions, key):
    state = protocol
    while not isinstance(state, dict):
        state = state.close(merge_answers(answer(state, values, key=key, partition=number) for number, values in partitions))
    return state


def test_a_protocol_over_partitions_is_repeatable_and_finds_what_memory_finds():
    protocol = PEM(bits=8, k=4, epsilon=4.0)
    partitions = list(enumerate(np.array_split(crowd(), 7)))
    found = driven(protocol, partitions, b"k" * 32)
    again = driven(protocol, partitions[::-1], b"k" * 32)
    assert repr(found) == repr(again)
    assert repr(driven(protocol, partitions, b"l" * 32)) != repr(found)
    (ours,), (memory,) = found.values(), run(protocol, crowd(), source=None, progress=None).values()
    assert set(ours.top(2).values) == set(memory.top(2).values)
