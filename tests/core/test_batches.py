"""Batches, tallies and streams byte by byte: what stands where, what is refused, and that every word is used once and in order."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.contract.wire import TALLY, read_image, write_image
from deniable.core import stream
from deniable.core.reports import Reports, arrow_type
from deniable.core.run import ask, crowd_size, draw_tickets, take
from deniable.core.stream import SecureStream, cores, in_parallel, random_numbers, random_words, serve_everyone
from deniable.core.tally import Candidates, Tally, require_same_spec
from deniable.errors import DomainError, MergeError, ParameterError, ProtocolError, WireError
from deniable.testing import ReplaySource

GRR, RR = dn.GRR(domain_size=300, epsilon=1.0), dn.RR(epsilon=1.0)
SPECS = {
    "a bit": (RR, [0, 1]),
    "a small symbol": (dn.GRR(domain_size=4, epsilon=1.0), [0, 3]),
    "a symbol of two bytes": (GRR, [0, 299]),
    "bits": (dn.OUE(domain_size=11, epsilon=1.0), [0, 10]),
    "bits of whole bytes": (dn.OUE(domain_size=16, epsilon=1.0), [0, 15]),
    "a seed and a symbol": (dn.OLH(domain_size=9, epsilon=1.0), [0, 8]),
    "a set as bits": (dn.SubsetSelection(domain_size=9, epsilon=1.0, size=3), [0, 8]),
    "buckets and bits": (dn.DBitFlip(domain_size=9, epsilon=1.0, bits=3), [0, 8]),
    "one bucket and a bit": (dn.DBitFlip(domain_size=9, epsilon=1.0, bits=1), [0, 8]),
}
each_spec = pytest.mark.parametrize("name", SPECS)


def made(name, n):
    """Reports that a device made one by one, and the same as a batch."""
    spec, values = SPECS[name]
    source = ReplaySource.from_key(f"batch {name}")
    single = [spec.randomize(values[person % 2], source) for person in range(n)]
    return spec, single, Reports.collect(spec, single)


# --- reports ---


@each_spec
@pytest.mark.parametrize("n", [0, 1, 8, 25])
def test_a_batch_holds_its_reports(name, n):
    spec, single, batch = made(name, n)
    assert (len(batch), batch.n) == (n, n)
    assert [batch[person] for person in range(n)] == single
    rows = b"".join(spec.encode(report) for report in single)
    assert batch.rows().tobytes() == rows
    assert Reports.from_rows(spec, rows) == batch
    assert batch.nbytes == sum(-(-n // 8) if column.packed and column.count == 1 else n * column.row_bytes for column in spec.layout)
    assert Reports.from_bytes(batch.to_bytes()) == batch
    assert repr(batch) == f"Reports({spec!r}, n={n}, {batch.nbytes:,} bytes)"
    room = Reports.empty(spec, n)
    assert {key: (column.shape, column.dtype) for key, column in room.columns.items()} == {
        key: (column.shape, column.dtype) for key, column in batch.columns.items()
    }
    table = batch.to_arrow()
    assert table.num_rows == n
    assert table.schema.types == [arrow_type(column) for column in spec.layout]
    assert Reports.from_arrow(table) == batch
    assert Reports.from_arrow(pa.concat_tables([table.slice(0, n // 3), table.slice(n // 3)])) == batch
    assert Reports.from_arrow(table.slice(min(n, 3))) == Reports.collect(spec, single[min(n, 3) :])
    assert Reports.from_arrow(table.slice(min(n, 8), 8)) == Reports.collect(spec, single[8:16])
    assert batch != Reports.collect(spec, single[1:]) or n == 0
    assert (batch == 5) is False
    assert Reports.from_arrow(table.schema.empty_table()) == Reports.collect(spec, [])
    assert batch != Reports.collect(spec, single[::-1]) or n < 25


@each_spec
def test_damaged_reports_are_refused(name):
    spec, single, batch = made(name, 21)
    rows = b"".join(spec.encode(report) for report in single)
    for cut in (rows[:-1] if len(rows) > 21 else rows + b"\xff", rows + b"\xff"):
        with pytest.raises(WireError):
            Reports.from_rows(spec, cut)
    image = batch.to_bytes()
    for wrong in (image[:-1], image[:-9] + image[-8:], image[:-5] + bytes([image[-5] ^ 1]) + image[-4:]):
        with pytest.raises(WireError):
            Reports.from_bytes(wrong)
    columns = dict(batch.columns)
    first = spec.layout[0].name
    for damaged in (columns[first][1:], columns[first].astype(np.float64), None):
        columns[first] = damaged
        with pytest.raises(WireError, match=first):
            Reports(spec, 21, {key: column for key, column in columns.items() if column is not None}).check_shapes()
    with pytest.raises(WireError):
        Reports.from_arrow(batch.to_arrow().replace_schema_metadata(None))
    with pytest.raises(WireError):
        Reports.from_arrow(batch.to_arrow().rename_columns([f"{column.name}s" for column in spec.layout]))


def test_a_batch_is_equal_to_one_of_its_own_spec_only():
    batch = made("a small symbol", 5)[2]
    assert batch != Reports(dn.GRR(domain_size=4, epsilon=2.0), 5, batch.columns)
    assert batch == Reports(dn.GRR(domain_size=4, epsilon=1.0), 5, batch.columns)


def test_symbols_bits_and_sets_that_no_device_sends_are_refused():
    """The largest symbol that is allowed passes; one more, a bit too many, and another order do not."""
    small = SPECS["a small symbol"][0]
    assert Reports.from_rows(small, bytes([0, 3]))[1] == 3
    bits, single = SPECS["bits"][0], SPECS["a bit"][0]
    assert Reports.from_rows(bits, bytes([255, 0b111])).n == 1
    subset, buckets = SPECS["a set as bits"][0], SPECS["buckets and bits"][0]
    assert Reports.from_rows(subset, bytes([0b111, 0])).n == 1
    assert Reports.from_rows(buckets, bytes([0, 1, 8, 0b101])).n == 1
    for spec, row in (
        (small, [4]),
        (bits, [0, 0b1000]),
        (single, [2]),
        (subset, [0b1111, 0]),
        (subset, [0b11, 0]),
        (subset, [0b11, 2]),
        (dn.OUE(domain_size=2, epsilon=1.0), [0b100]),
        (dn.DBitFlip(domain_size=9, epsilon=1.0, bits=2), [1, 0, 0]),
        (buckets, [0, 1, 1, 0]),
        (buckets, [1, 0, 2, 0]),
        (buckets, [0, 1, 9, 0]),
        (buckets, [0, 1, 2, 0b1000]),
    ):
        with pytest.raises(WireError):
            Reports.from_rows(spec, bytes([*row]))
    stray = made("a bit", 11)[2]
    stray.columns["bit"][-1] |= 0b1000  # the twelfth of eleven people
    with pytest.raises(WireError, match="bit"):
        stray._checked()
    for wrong in (b"ab", "ab", {"a": 1}, 7):
        with pytest.raises(WireError, match="a list of reports"):
            Reports.collect(single, wrong)
    with pytest.raises(TypeError):
        stray[0:2]


# --- tallies ---


def test_the_image_of_a_tally_is_laid_out_as_stated():
    spec = dn.OLH(domain_size=9, epsilon=1.0)
    tally = spec.tally(spec.privatize([1, 2, 3]), candidates=[4, 2])
    canonical, n, body = read_image(TALLY, tally.to_bytes())
    assert (canonical, n) == (spec.canonical, 3)
    keys = np.array([4, 2], dtype="<u8").tobytes()
    assert body == hashlib.sha256(keys).digest() + (2).to_bytes(8, "little") + tally.counters.astype("<u8").tobytes()
    again = Tally.from_bytes(tally.to_bytes())
    assert again == tally
    assert (again.candidates, again.digest, again.counters.dtype) == (None, tally.digest, np.int64)
    assert [(one + two).candidates.values for one, two in ((again, tally), (tally, again))] == [[4, 2], [4, 2]]
    sums = dn.Piecewise(low=0, high=1, steps=4, epsilon=1.0)
    full = Tally(sums, 3, np.array([3 * sums.largest_count, 0]))
    assert Tally.from_bytes(full.to_bytes()) == full
    with pytest.raises(ParameterError, match="counters"):
        Tally(sums, 3, np.array([3 * sums.largest_count + 1, 0]))
    small = dn.GRR(domain_size=4, epsilon=1.0)
    whole = Tally(small, 5, np.array([0, 5, 0, 0]))
    assert read_image(TALLY, whole.to_bytes())[2][:32] == bytes(32)
    assert Tally.from_bytes(write_image(TALLY, small.canonical, 0, bytes(40))).counters.size == 0
    counters = (5).to_bytes(8, "little") + bytes(24)
    for n, body in (
        (4, bytes(32) + (4).to_bytes(8, "little") + counters),
        (5, bytes(32) + (3).to_bytes(8, "little") + counters),
        (2**63, bytes(40)),
    ):
        with pytest.raises(WireError):
            Tally.from_bytes(write_image(TALLY, small.canonical, n, body))
    assert Tally.from_bytes(write_image(TALLY, small.canonical, 5, bytes(32) + (4).to_bytes(8, "little") + counters)).counters[0] == 5


def test_tallies_add_up_or_say_what_differs():
    spec, other = dn.GRR(domain_size=4, epsilon=1.0), dn.GRR(domain_size=4, epsilon=2.0)
    a, b = Tally(spec, 3, np.array([1, 2, 0, 0])), Tally(spec, 2, np.array([0, 0, 0, 2]))
    total = a + b
    assert (total.n, total.counters.tolist()) == (5, [1, 2, 0, 2])
    assert sum([a, b]) == total == b + a != a
    assert a != Tally(spec, 4, a.counters)
    assert a != Tally(spec, 3, b.counters)
    assert (a == 3) is False
    assert repr(a) == f"Tally({spec!r}, n=3, counters=4)"
    for wrong, word in (
        (Tally(other, 2, b.counters), "spec.epsilon"),
        (Tally(dn.OUE(domain_size=4, epsilon=1.0), 2, b.counters), "spec.mechanism"),
        (Tally(spec, 2, b.counters, digest=bytes(31) + b"x"), "candidates"),
        (Tally(spec, 2, b.counters[:3]), "counters"),
    ):
        with pytest.raises(MergeError, match=word):
            a + wrong
    with pytest.raises(TypeError):
        a + 5
    with pytest.raises(TypeError):
        5 + a
    require_same_spec(spec, dn.GRR(domain_size=4, epsilon=1.0))
    for n, counters in ((3, [4, 0, 0, 0]), (3, [-1, 0, 0, 0]), (-1, [0]), (3.0, [1]), (3, [0.5]), (3, [[1]])):
        with pytest.raises(ParameterError, match="n: got 3.0; allowed: an integer" if n == 3.0 and counters == [1] else "counters"):
            Tally(spec, n, np.array(counters))
    assert Tally(spec, 3, np.array([3, 0, 0, 0], dtype=np.uint8)).counters.dtype == np.int64
    assert Tally(spec, 0, np.zeros(0, dtype=int)).n == 0


def test_candidates_are_named_once_each():
    colors = dn.Categories("red", "green", "blue")
    found = Candidates.of(colors, ["blue", "red"])
    assert (list(found.values), found.keys.tolist()) == (["blue", "red"], [2, 0])
    assert Candidates.of(dn.IndexRange(5), np.array([3, 1])).values == [3, 1]
    every = Candidates.everything(colors)
    assert (every.values, every.keys.tolist()) == (["red", "green", "blue"], [0, 1, 2])
    assert Candidates.everything(dn.IndexRange(5)).values == range(5)
    with pytest.raises(DomainError, match=r"candidates\[2\].*'blue'"):
        Candidates.of(colors, ["blue", "red", "blue"])
    with pytest.raises(DomainError, match="at least one value"):
        Candidates.of(colors, [])
    assert repr(found) == "Candidates('blue', 'red')"
    assert repr(Candidates.everything(dn.IndexRange(4))) == "Candidates(0, 1, 2, 3)"
    assert repr(Candidates.everything(dn.IndexRange(5000))) == "Candidates(0, 1, 2, 3, ... 5,000 values)"
    assert repr(Candidates.everything(dn.IndexRange(5))) == "Candidates(0, 1, 2, 3, ... 5 values)"


# --- streams ---


@dataclass
class Recorder:
    """A kernel that takes so many words for each person, at most so many people at once, and keeps what it was given."""

    need: int
    people: int
    most: int = 10**9

    def __post_init__(self):
        self.words = np.zeros((self.people, self.need), dtype=np.uint64)
        self.calls = []

    def __call__(self, part, words):
        count = min(part.stop - part.start, words.size // self.need, self.most)
        self.words[part.start : part.start + count] = words[: count * self.need].reshape(count, self.need)
        self.calls.append((part.start, part.stop, words.size))
        return count, count * self.need


@pytest.mark.parametrize(
    ("need", "people", "most"), [(1, 10, 10**9), (3, 1000, 7), (5, 20, 1), (1000, 3, 10**9), (64, 100, 10**9), (7, 0, 1)]
)
def test_everyone_is_served_from_the_words_in_order(need, people, most, monkeypatch):
    monkeypatch.setattr(stream, "_BUFFER", 64)
    monkeypatch.setattr(stream, "_LARGEST", 256)
    serve, source = Recorder(need, people, most), ReplaySource.from_key("serve")
    serve_everyone(people, serve, source)
    expected = ReplaySource.from_key("serve").words(need * people)
    assert serve.words.ravel().tolist() == list(expected)
    assert source.consumed == need * people  # what was not used is given back
    assert source.word() == ReplaySource.from_key("serve").words(need * people + 1)[-1]


def test_buffers_begin_small_and_grow_to_what_is_left():
    """30,000 people with 10 words each: after the first buffer 300,000 words are needed, and at most 2^17 are taken at a time."""
    serve = Recorder(10, 30_000)
    serve_everyone(30_000, serve, ReplaySource.from_key("buffers"))
    sizes = [size for _, _, size in serve.calls]
    assert sizes[:2] == [1 << 15, 1 << 17]
    assert len(sizes) <= 5
    serve = Recorder(10, 5000)
    serve_everyone(5000, serve, ReplaySource.from_key("buffers"))
    (_, _, first), (start, _, second) = serve.calls
    assert (first, start) == (1 << 15, 3276)
    assert (5000 - 3276) * 10 <= second < 1.04 * (5000 - 3276) * 10
    short = Recorder(10, 400)
    serve_everyone(400, short, ReplaySource.from_key("buffers"))
    assert len(short.calls) == 1


def test_a_source_that_ends_is_named():
    with pytest.raises(ProtocolError, match="source"):
        serve_everyone(5, Recorder(3, 5), ReplaySource(range(14)))
    serve_everyone(5, Recorder(3, 5), ReplaySource(range(15)))
    source = ReplaySource.from_key("many")
    assert random_words(200_000, source).tolist() == list(ReplaySource.from_key("many").words(200_000))
    assert source.consumed == 200_000
    assert random_words(5, ReplaySource([7, 6, 5, 4, 3])).tolist() == [7, 6, 5, 4, 3]
    assert len(set(random_words(1000).tolist())) == 1000
    assert random_numbers(3, ReplaySource([0, 2**64 - 1, 3 << 62])).tolist() == [0.0, 1 - 2**-53, 0.75]


def test_chunks_have_streams_of_their_own(monkeypatch):
    """Chunk i of 4 people reads the stream i of one key, however many threads there are; many people are served in larger chunks."""
    key = bytes(range(32))
    monkeypatch.setattr(stream.os, "urandom", lambda count: key[:count])
    for people, chunk, size in ((10, 4, 4), (10, None, 8), (40, None, 32)):
        monkeypatch.setattr(stream, "CHUNK", 8)
        monkeypatch.setattr(stream, "MANY", 40)
        serve = Recorder(2, people)
        serve_everyone(people, serve, None, chunk=chunk)
        assert sorted((start, stop) for start, stop, _ in serve.calls) == [(at, min(people, at + size)) for at in range(0, people, size)]
        for at in range(0, people, size):
            count = min(size, people - at)
            assert serve.words[at : at + count].ravel().tolist() == list(SecureStream(key, at // size).words(2 * count))


def test_work_is_shared_among_cores(monkeypatch):
    monkeypatch.setattr(stream.os, "sched_getaffinity", lambda process: {0, 1, 5})
    assert cores() == 3
    assert in_parallel(lambda item: (item * item, cores()), range(5)) == [(i * i, 1) for i in range(5)]  # a worker does all itself
    assert in_parallel(lambda item: cores(), [7]) == [3]  # one item needs no worker
    assert in_parallel(lambda item: cores(), [7, 8]) == [1, 1]
    assert in_parallel(str, []) == []
    big = np.zeros(2 * (1 << 17) + 5, dtype=np.uint64)
    assert SecureStream(bytes(32), 0).fill(big.data) == big.size
    assert big[-1] == SecureStream(bytes(32), 0).words(big.size)[-1] != 0


# --- runs ---


def test_crowds_are_counted_and_split_by_position():
    assert [crowd_size(crowd) for crowd in ([1, 2], np.zeros(3), {"a": [1], "b": (2,)}, pa.array([1, 2]))] == [2, 3, 1, 2]
    for wrong, word in (
        ({"a": [1], "b": []}, "one length"),
        ({}, "one length"),
        (iter([1]), "known length"),
        (5, "known length"),
        (np.array(3), "known length"),
        ({"a": 5}, "known length"),
    ):
        with pytest.raises(DomainError, match=word):
            crowd_size(wrong)
    at = np.array([2, 0])
    assert take([5, 6, 7], at) == take((5, 6, 7), at) == take(range(5, 8), at) == take(memoryview(b"\5\6\7"), at) == [7, 5]
    assert take(np.array([5, 6, 7]), at).tolist() == take(pa.array([5, 6, 7]), at).to_pylist() == [7, 5]
    assert take(pa.chunked_array([[5], [6, 7]]), at).to_pylist() == [7, 5]


def test_each_ticket_is_asked_its_own_question():
    survey = dn.Survey.of(a=RR, b=RR)
    tickets = np.array([0, 1, 1, 0, 1], dtype=np.uint32)
    seen = []
    tallies = ask(survey, {"a": [0] * 5, "b": [1] * 5}, tickets, progress=lambda done, total: seen.append((done, total)))
    assert ({name: tally.n for name, tally in tallies.items()}, seen) == ({"a": 2, "b": 3}, [(2, 5), (5, 5)])
    drawn = draw_tickets(survey, 200, ReplaySource.from_key("tickets"))
    source = ReplaySource.from_key("tickets")
    assert drawn.tolist() == [survey.ticket(source) for _ in range(200)]
    assert set(drawn.tolist()) == {0, 1}
    single = dn.Survey.of(a=RR)
    assert draw_tickets(single, 3, ReplaySource([])).tolist() == [0, 0, 0]
    with pytest.raises(DomainError, match=r"values\[4\]"):
        ask(survey, {"a": [0] * 5, "b": [1, 1, 1, 1, 2]}, np.zeros(5, dtype=np.uint32))


def test_images_begin_as_the_reference_says():
    """Magic, version, and which of the two it is: files of other versions must stay readable."""
    reports = RR.privatize([0, 1, 1], source=ReplaySource.from_key("images"))
    assert (reports.to_bytes()[:6], RR.tally(reports).to_bytes()[:6]) == (b"DNBL\x01\x01", b"DNBL\x01\x02")
