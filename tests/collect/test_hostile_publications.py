"""Hostile publications: verification refuses cleanly whatever an attacker writes; ``soak`` throws a hundred thousand of them."""

from __future__ import annotations

import resource
from contextlib import contextmanager
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.collect.publication.verification import verify_publication
from deniable.contract.canonical import canonical_json, parse_canonical
from deniable.errors import WireError
from tests.collect.hostile import Attacker, honest, laid_out, throw
from tests.collect.publishing import resign

MOST_MEMORY = 1 << 19  # KiB


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
