"""Hostile publications: verification refuses cleanly whatever an attacker writes; ``soak`` throws a hundred thousand of them."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import subprocess
import sys
from contextlib import contextmanager, nullcontext
from random import Random
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.collect.publication.pages import check_pages, read_header
from deniable.collect.publication.verification import verify_publication
from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.contract.task import Task
from deniable.core.reports import Reports
from deniable.errors import WireError
from tests.collect.hostile import Attack, Attacker, honest, laid_out, throw, verdict, with_footer
from tests.collect.publishing import resign

MOST_MEMORY = 1 << 19  # KiB
NAME = "reports/0-0-0.parquet"


@contextmanager
def little_memory():
    """The process never takes much more than it took before."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_MEMORY


@pytest.fixture(scope="module")
def publications(tmp_path_factory):
    return honest(tmp_path_factory.mktemp("honest"))


@pytest.mark.parametrize(("name", "attacks"), [("small", 400), ("survey", 60), ("search", 40)])
def test_what_an_attacker_writes_is_refused_or_is_what_was_signed(publications, name, attacks):
    with little_memory():
        counts = throw(*publications[name], attacks, seed=1)
    assert counts["refused"] > 4 * counts["accepted"] > 0


def test_a_few_bytes_that_unpack_to_more_than_there_is_memory_are_not_unpacked(publications):
    """A hundred million equal rows in some kilobytes: refused by what the file says, before a row is read."""
    folder, _ = publications["small"]
    file = folder / "reports" / "0-0-0.parquet"
    before = file.read_bytes(), (folder / "manifest.json").read_bytes()
    rows = pq.read_table(file).slice(0, 1)
    part = pa.concat_tables([rows] * 100_000).combine_chunks()
    with pq.ParquetWriter(file, part.schema, compression="zstd") as writer:
        for _ in range(1000):
            writer.write_table(part)
    assert file.stat().st_size < 1 << 20
    resign(folder)
    with little_memory(), pytest.raises(WireError, match=r"^reports/0-0-0\.parquet.*100000000 reports.*8 reports of"):
        verify_publication(folder)
    for path, data in zip((file, folder / "manifest.json"), before, strict=True):
        path.write_bytes(data)


# Memory is measured in a process of its own: whatever the peak was before, what verification adds to it shows.
VERIFYING = """
import resource, sys
from deniable.collect.publication.pages import check_pages, read_header
from deniable.collect.publication.verification import verify_publication
from deniable.errors import WireError
honest, hostile = sys.argv[1:]
verify_publication(honest)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    verify_publication(hostile)
except WireError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
WRITING = """
import sys
import pyarrow as pa, pyarrow.parquet as pq
import deniable as dn
file, rows = sys.argv[1], int(sys.argv[2])
schema = dn.Reports.empty(dn.spec_from_json(sys.argv[4].encode()), 0).to_arrow().schema
column = pa.Array.from_buffers(schema.types[0], rows, [None, pa.py_buffer(bytes(rows * schema.types[0].byte_width))])
packed = {"compression": "zstd", "use_dictionary": False, "column_encoding": sys.argv[3]}
pages = {"row_group_size": rows, "data_page_size": 1 << 30, "max_rows_per_page": rows, "write_batch_size": rows}
pq.write_table(pa.table([column], schema=schema), file, **packed, **pages)
"""


def python(*arguments):
    return subprocess.run([sys.executable, "-c", *map(str, arguments)], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(("encoding", "words"), [("PLAIN", "a page of 268,"), ("BYTE_STREAM_SPLIT", "another encoding")])
def test_a_page_that_unpacks_to_a_quarter_of_a_gigabyte_is_not_unpacked(publications, tmp_path, encoding, words):
    """Its key has signed 2^26 equal reports of four bytes, in one page of some kilobytes, and the footer agrees."""
    (honest_one, key), rows = publications["small"], 1 << 26
    attacker, folder = Attacker(honest_one, Random(1), key), tmp_path / "hostile"
    content = parse_canonical(parse_canonical(attacker.files["task.json"])["task"].encode())
    spec = content["protocol"]["questions"][0]["spec"]
    spec["parameters"]["domain"]["size"] = 32
    python(WRITING, tmp_path / "bomb", rows, encoding, canonical_json(spec).decode())
    assert (tmp_path / "bomb").stat().st_size < 1 << 17
    files = attacker.with_task(canonical_json(content)).files | {NAME: (tmp_path / "bomb").read_bytes()}
    for name, data in attacker.claiming(rows, files).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    told, grown = python(VERIFYING, honest_one, folder).splitlines()
    assert re.match(rf"reports/0-0-0\.parquet.*{words}", told)
    assert int(grown) < 1 << 15  # KiB


def test_the_largest_page_that_is_written_is_read(publications, tmp_path):
    """Reports of 64 KiB have small pages, too; and a dictionary, whose few entries unpack to many rows, is refused."""
    rows = pa.table({"bits": pa.array([bytes(1 << 16)] * 300, pa.binary(1 << 16))})
    for options, words in (({"write_batch_size": 16, "data_page_size": 1 << 20, "use_dictionary": False}, None), ({}, "a dictionary")):
        pq.write_table(rows, tmp_path / "file", **options)
        with (tmp_path / "file").open("rb") as file, pytest.raises(WireError, match=words) if words else nullcontext():
            check_pages(file, pq.read_metadata(tmp_path / "file"), 1 << 16)


def test_pages_without_values_are_not_unpacked_by_the_hundred():
    header = bytes.fromhex("1500 1580808020 1500 2c 1500 1500 00 00")  # 32 MiB of nothing
    chunk = SimpleNamespace(
        has_dictionary_page=False, file_path="", data_page_offset=0, total_compressed_size=100 * len(header), num_values=0
    )
    metadata = SimpleNamespace(num_rows=0, num_columns=1, num_row_groups=1, row_group=lambda _: SimpleNamespace(column=lambda _: chunk))
    with pytest.raises(WireError, match="unpack to much more than their rows"):
        check_pages(io.BytesIO(header * 100), metadata, 4)


@pytest.mark.parametrize(
    "header",
    [
        "",
        "15",
        "1500 1520 1518",
        "15 ffffffffffffffffffff",  # a number of more than 64 bits
        "15 8080808010 00",  # one of more than 32
        "1500 0504 20 00",  # a field's number written out: it could be there twice
        "19 0c 00",  # a list
        "1c 1c 1c 1c 00 00 00 00 00",  # structs in structs in structs
        "1500 1520 1518 2c 1510 1500 00" + "f1" * 4368 + "d5 8080808008 00",  # field 65538, which is field 2 again in 16 bits
        "18 ff7f 00",  # a text that is longer than the header
    ],
)
def test_headers_of_pages_that_no_writer_writes_are_refused(header):
    with pytest.raises(WireError, match="pages: got 'a header that cannot be read'"):
        read_header(bytes.fromhex(header))


def test_a_task_for_which_no_collector_has_room_is_refused(publications):
    """Its key has signed it: 2^19 counters for each of 65,536 strata would take 256 GiB."""
    folder, key = publications["small"]
    attacker = Attacker(folder, Random(1), key)
    task = parse_canonical(parse_canonical(attacker.files["task.json"])["task"].encode())
    task["protocol"]["questions"][0]["spec"]["parameters"]["domain"]["size"] = 1 << 19
    task["strata"] = [[name, [f"{i}" for i in range(256)]] for name in ("a", "b")]
    with (
        laid_out(attacker.with_task(canonical_json(task)), attacker.files, folder),
        pytest.raises(WireError, match=r"^task\.json.*counters"),
    ):
        verify_publication(folder)


@pytest.mark.parametrize("claimed", [4, 7, 9, 40, 10**6])
def test_a_number_of_reports_that_only_the_footer_gives_is_refused(publications, claimed):
    """Eight rows, another number in the footer and in the signed manifest: a task could seem to keep its minimum batch."""
    folder, key = publications["small"]
    attacker = Attacker(folder, Random(1), key)
    files = attacker.files | {NAME: with_footer(attacker.files[NAME], claimed)}
    attack = Attack(attacker.claiming(claimed, files), "footer", signed=True)
    with laid_out(attack, attacker.files, folder), pytest.raises(WireError, match=r"^reports/0-0-0\.parquet.*rows than its footer says"):
        verify_publication(folder)


def test_more_rows_than_the_footer_says_are_not_read_to_the_end(publications, monkeypatch):
    folder, key = publications["small"]
    attacker, target = Attacker(folder, Random(1), key), pa.BufferOutputStream()
    rows = pq.read_table(folder / NAME).slice(0, 1)
    part = pa.concat_tables([rows] * 100_000).combine_chunks()
    with pq.ParquetWriter(target, part.schema, compression="zstd", use_dictionary=False) as writer:
        for _ in range(50):
            writer.write_table(part)
    files = attacker.files | {NAME: with_footer(target.getvalue().to_pybytes(), 8)}
    read = []
    monkeypatch.setattr(Reports, "rows", lambda self, rows=Reports.rows: read.append(len(self)) or rows(self))
    attack = Attack(attacker.claiming(8, files), "footer", signed=True)
    with laid_out(attack, attacker.files, folder), pytest.raises(WireError, match=r"^reports/0-0-0\.parquet.*more rows"):
        verify_publication(folder)
    assert sum(read) <= 8


@pytest.mark.parametrize("size", [1 << 42, 3 << 20])
def test_a_file_with_a_hole_is_refused_although_the_manifest_makes_room_for_it(publications, size):
    folder, key = publications["small"]
    attacker = Attacker(folder, Random(1), key)
    attack = Attack(attacker.claiming(1 << 40, attacker.files), "hole", signed=True, special=(NAME, "hole"))
    with laid_out(attack, attacker.files, folder):
        os.truncate(folder / NAME, size)
        assert verdict(folder) == "refused"
        with pytest.raises(WireError, match=r"^reports/0-0-0\.parquet.*holes"):
            verify_publication(folder)


def test_a_file_that_is_larger_than_its_reports_is_refused_before_it_is_read(publications):
    folder, key = publications["small"]
    attacker = Attacker(folder, Random(1), key)
    with laid_out(Attack(attacker.files, "hole", signed=False, special=(NAME, "hole")), attacker.files, folder):
        os.truncate(folder / NAME, 3 << 20)
        with pytest.raises(WireError, match=r"^reports/0-0-0\.parquet.*more than 1,"):
            verify_publication(folder)


def test_wide_reports_are_read_a_few_at_a_time(publications):
    """Equal reports of 64 KiB, a gigabyte of them in some hundred kilobytes."""
    folder, key = publications["small"]
    attacker, target = Attacker(folder, Random(1), key), pa.BufferOutputStream()
    content = parse_canonical(parse_canonical(attacker.files["task.json"])["task"].encode())
    content["protocol"]["questions"][0]["spec"]["parameters"]["domain"]["size"] = 1 << 19
    spec = Task.from_json(canonical_json(content)).survey.questions[0].spec
    part = Reports.from_rows(spec, spec.encode(spec.randomize(0)) * 256).to_arrow()
    with pq.ParquetWriter(target, part.schema, compression="zstd", use_dictionary=False) as writer:
        for _ in range(64):
            writer.write_table(part)
    files = attacker.with_task(canonical_json(content)).files | {NAME: target.getvalue().to_pybytes()}
    attack = Attack(attacker.claiming(256 * 64, files), "wide", signed=True)
    with (
        laid_out(attack, attacker.files, folder),
        little_memory(),
        pytest.raises(WireError, match=r"^reports/0-0-0\.parquet.*another count"),
    ):
        verify_publication(folder)


@pytest.mark.parametrize(("name", "most"), [("task.json", 1 << 22), ("manifest.json", 1 << 23), ("log.json", 1 << 26)])
def test_json_that_is_too_large_is_not_parsed(publications, name, most):
    """A list of lists takes 25 times its size."""
    folder, key = publications["small"]
    attacker = Attacker(folder, Random(1), key)
    attack = Attack(attacker.files | {name: b"[" + b"[]," * (most // 3) + b"[]]"}, "large", signed=False)
    with laid_out(attack, attacker.files, folder), little_memory(), pytest.raises(WireError, match=rf"^{name}.*more than {most:,} bytes"):
        verify_publication(folder)


def test_estimates_that_are_far_longer_than_those_computed_again_are_not_parsed(publications):
    folder, _ = publications["small"]
    before = {name: (folder / name).read_bytes() for name in ("estimates.json", "manifest.json")}
    told = json.loads(before["estimates.json"])
    (folder / "estimates.json").write_text(json.dumps(told | {"more": [[]] * (1 << 20)}))
    resign(folder)
    with pytest.raises(WireError, match=r"^estimates\.json.*more than 1,"):
        verify_publication(folder)
    for name, data in before.items():
        (folder / name).write_bytes(data)
