"""The bulk path where it is easy to get wrong: many parts, full counters, long rows, forks, odd columns, forged images."""

from __future__ import annotations

import os
import zlib

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import deniable as dn
from deniable.contract.wire import TALLY, write_image
from deniable.core import stream
from deniable.core.reports import Reports
from deniable.core.tally import Tally
from deniable.errors import DomainError, MergeError, ParameterError, WireError
from deniable.local.frequency.unary import sum_bits
from deniable.testing import ReplaySource

GRR = dn.GRR(domain_size=4, epsilon=1.0)
SPECS = [
    dn.RR(epsilon=1.0),
    GRR,
    dn.OUE(domain_size=9, epsilon=1.0),
    dn.OLH(domain_size=9, epsilon=1.0),
    dn.HRR(domain_size=9, epsilon=1.0),
]


@pytest.mark.parametrize("spec", SPECS, ids=repr)
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_a_tally_of_many_parts_is_the_sum_of_its_parts(spec, workers, monkeypatch):
    monkeypatch.setattr(stream, "cores", lambda: workers)
    monkeypatch.setattr("deniable.local.frequency.oracle.cores", lambda: workers)
    rows = spec.privatize(np.arange(150_001) % spec.domain_size, source=ReplaySource.from_key("parts")).rows()
    parts = [Reports.from_rows(spec, rows[start : start + 50_000].tobytes()) for start in range(0, 150_001, 50_000)]
    assert spec.tally(Reports.from_rows(spec, rows.tobytes())) == sum(spec.tally(part) for part in parts)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 247, 248, 249, 255, 256, 257, 1000])
@pytest.mark.parametrize("width", [1, 3, 40, 300])
def test_bit_counters_do_not_overflow(n, width):
    full = np.full((n, width), 255, dtype=np.uint8)
    assert sum_bits(full, 8 * width).tolist() == [n] * (8 * width)
    rows = np.frombuffer(np.random.default_rng(n).bytes(n * width), np.uint8).reshape(n, width)
    assert sum_bits(rows, 8 * width).tolist() == np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0).tolist()


def test_one_person_may_need_more_words_than_a_buffer_holds():
    spec = dn.OUE(domain_size=1 << 19, epsilon=1.0)
    values = [0, (1 << 19) - 1]
    source = ReplaySource.from_key("long rows")
    rows = b"".join(spec.encode(spec.randomize(value, source)) for value in values)
    assert source.consumed > 2 * stream._BUFFER
    assert spec.privatize(values, source=ReplaySource.from_key("long rows")).rows().tobytes() == rows


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_makes_its_own_threads(monkeypatch):
    monkeypatch.setattr(stream, "cores", lambda: 2)
    values = np.zeros(3 * stream.CHUNK, dtype=np.int64)
    GRR.privatize(values)  # the pool exists now, in the parent
    child = os.fork()
    if child == 0:
        os._exit(0 if GRR.privatize(values).n == values.size else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("dtype", ["i1", "u1", "<i2", ">i2", "<u4", ">u4", "<i8", ">i8", "<u8"])
def test_every_integer_type_and_layout_gives_the_same_reports(dtype):
    values = (np.arange(60) % 4).astype(dtype)
    expected = GRR.privatize(values.tolist(), source=ReplaySource.from_key("types"))
    read_only = values.copy()
    read_only.setflags(write=False)
    for column in (values, read_only, np.repeat(values, 2)[::2], pl.Series(values.astype("<i8")), pa.array(values.astype("<i8"))):
        assert GRR.privatize(column, source=ReplaySource.from_key("types")) == expected


COLORS = dn.GRR(domain=dn.Categories("1", "true", "red"), epsilon=1.0)
WORDS = dn.OLH(domain=dn.Text(9), epsilon=1.0)
BLOBS = dn.OLH(domain=dn.Bytes(9), epsilon=1.0)


@pytest.mark.parametrize(
    ("spec", "values"),
    [
        (GRR, np.ma.array([0, 1, 2], mask=[0, 1, 0])),
        (GRR, [True, 2]),
        (GRR, [[1], [2, 3]]),
        (GRR, pa.array([1, None])),
        (COLORS, pa.array([1])),
        (COLORS, pl.Series([1])),
        (COLORS, pa.array([True])),
        (COLORS, [b"red"]),
        (COLORS, ["\ud800"]),
        (WORDS, pa.array([1.5])),
        (WORDS, [b"tea"]),
        (WORDS, np.array("tea")),
        (BLOBS, ["tea"]),
    ],
    ids=range(13),
)
def test_what_randomize_refuses_privatize_refuses(spec, values):
    with pytest.raises(DomainError):
        spec.privatize(values)


def test_strings_come_in_many_wrappings():
    plain = ["red", "1", "red", "true"]
    expected = COLORS.privatize(plain, source=ReplaySource.from_key("wrap"))
    wrapped = [np.array(plain), np.array(plain, dtype=object), pl.Series(plain), pl.Series(plain, dtype=pl.Categorical), pa.array(plain)]
    for column in [
        *wrapped,
        pa.array(plain, pa.large_string()),
        pa.array(plain).dictionary_encode(),
        pa.chunked_array([plain[:1], plain[1:]]),
    ]:
        assert COLORS.privatize(column, source=ReplaySource.from_key("wrap")) == expected


def test_survey_errors_name_the_person_whoever_would_be_asked():
    values = np.zeros(300_000, dtype=np.int64)
    values[290_000] = 9
    survey = dn.Survey.of(a=GRR, b=GRR)
    with pytest.raises(DomainError, match=r"values\[290000\]"):
        survey.run({"a": values, "b": np.zeros(300_000, dtype=np.int64)})


def with_checksum(image):
    return image[:-4] + zlib.crc32(image[:-4]).to_bytes(4, "little")


@pytest.mark.parametrize(
    ("position", "content", "word"),
    [(4, 2, "version"), (5, 9, "kind"), (6, 1, "version"), (8, 10, "json"), (11, 255, "spec length"), (12, 99, "bytes")],
)
def test_a_forged_header_with_a_right_checksum_is_refused(position, content, word):
    for image, read in ((GRR.privatize([0, 1, 2]).to_bytes(), Reports.from_bytes), (GRR.tally([0, 1, 2]).to_bytes(), Tally.from_bytes)):
        forged = bytearray(image)
        forged[position] = content
        if read == Tally.from_bytes and word == "bytes":
            continue  # a tally's body does not depend on n
        with pytest.raises(WireError, match=word):
            read(with_checksum(bytes(forged)))


def test_a_forged_body_with_a_right_checksum_is_refused():
    image = GRR.privatize([0, 1, 2]).to_bytes()
    for body in (image[:-5] + b"\x04" + image[-4:], image[:-4] + b"\0" + image[-4:], image[:-5] + image[-4:]):
        with pytest.raises(WireError):
            Reports.from_bytes(with_checksum(body))

    def tally(n, counters, size=None):
        body = bytes(32) + (len(counters) if size is None else size).to_bytes(8, "little") + np.array(counters, "<u8").tobytes()
        return Tally.from_bytes(write_image(TALLY, GRR.canonical, n, body))

    assert tally(5, [1, 2, 1, 1]).n == 5
    for n, counters, size in ((5, [6, 0, 0, 0], None), (5, [1, 2, 1, 1], 3), (5, [1, 2, 1, 1], 5), (2**63, [1, 2, 1, 1], None)):
        with pytest.raises(WireError):
            tally(n, counters, size)
    with pytest.raises(MergeError, match="counters"):
        tally(5, [5]) + tally(5, [1, 2, 1, 1])


def test_arrow_tables_are_checked_column_by_column():
    bits = dn.RR(epsilon=1.0).privatize([0, 1, 1]).to_arrow()
    symbols = GRR.privatize([0, 1, 2]).to_arrow()

    def replaced(table, column):
        return pa.table([column], table.schema.names).replace_schema_metadata(table.schema.metadata)

    for table, column in (
        (bits, pa.array([0, 5, 1])),
        (bits, pa.array([True, None, False])),
        (symbols, pa.array([0, 1, 9], pa.uint8())),
        (symbols, pa.array([0, 1, None], pa.uint8())),
        (symbols, pa.array([0, 1, 2], pa.int64())),
        (symbols, pa.array(["0", "1", "2"])),
    ):
        with pytest.raises(WireError):
            Reports.from_arrow(replaced(table, column))


def test_kernels_never_see_columns_that_do_not_fit():
    damaged = GRR.privatize([0] * 5)
    damaged.columns["symbol"][:] = 250
    for reports in (
        damaged,
        Reports(GRR, 100, {"symbol": np.zeros(3, np.uint8)}),
        Reports(GRR, 3, {}),
        Reports(GRR, 3, {"symbol": np.zeros(3)}),
    ):
        with pytest.raises(WireError):
            GRR.tally(reports)
    for counters in (np.array([1.5, 0, 0, 0]), np.array([-1, 0, 0, 0]), np.array([9, 0, 0, 0]), np.zeros((2, 2), int)):
        with pytest.raises(ParameterError):
            Tally(GRR, 3, counters)


def test_numpy_integers_are_integers_on_the_device_too():
    """A NumPy size would overflow on some random words and not on others: the error itself would tell about the noise."""
    for make in (lambda size: dn.GRR(domain_size=size, epsilon=1.0), lambda size: dn.OUE(domain_size=size, epsilon=1.0)):
        ours, theirs = make(10), make(np.int64(10))
        assert ours == theirs
        assert ours.digest == theirs.digest
        source = ReplaySource.from_key("numpy")
        assert [ours.encode(theirs.randomize(np.int64(3), source)) for _ in range(200)]
    assert type(dn.Integers(np.int8(-3), np.int8(3)).low) is int
    for odd in (np.array(1.5), np.array([1, 2]), np.float64(1.0), np.True_):
        with pytest.raises(DomainError):
            GRR.randomize(odd)


def test_small_inputs_cannot_cost_minutes():
    """Each of these took a device more than half a minute, or for ever."""
    assert dn.OLH(domain=dn.Text(65_535), epsilon=1.0).seed_words == 3
    survey = dn.Survey.of(a=GRR, b=GRR)
    for share in ("1e-10000000", "1/" + "9" * 40, "1/0", "0.5", 1):
        text = survey.canonical.replace(b'"1/2"', f'"{share}"'.encode() if isinstance(share, str) else b"1")
        with pytest.raises(WireError):
            dn.protocol_from_json(text)
    with pytest.raises(ParameterError, match="from 1 to 2"):
        ReplaySource([1]).below(3**41)
    with pytest.raises(DomainError, match="<int>"):
        GRR.randomize(10**5000)


def test_counts_of_64_bit_values_can_be_exported():
    for asked in ([2**64 - 1, 5], [0, 2**63 - 1]):
        spec = dn.OLH(domain=dn.Integers(0, 2**64 - 1), epsilon=1.0)
        estimate = spec.estimate(spec.tally(spec.privatize(asked), candidates=asked))
        assert estimate.to_arrow()["value"].to_pylist() == asked
        assert estimate.to_polars()["value"].to_list() == asked
    spec = dn.OLH(domain=dn.Integers(-5, 2**63), epsilon=1.0)
    estimate = spec.estimate(spec.tally(spec.privatize([-5, 2**63]), candidates=[-5, 2**63]))
    assert [int(value) for value in estimate.to_arrow()["value"].to_pylist()] == [-5, 2**63]


def test_a_coin_with_unequal_sides_states_its_largest_influence():
    coin = dn.RR.from_probabilities("0.9", "0.8")
    assert coin.influence == pytest.approx(max(abs(float(coin.score(report, key))) for report in (0, 1) for key in (0, 1)))
