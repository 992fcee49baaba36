"""A billion reports of HCMS (k = m = 1024) in Parquet files, counted by the local engine, Polars, DuckDB and a bare NumPy loop.

The group-bys are the fastest of four that were tried of each: by two columns, by one number, with the sign in it, in memory or streaming.

``make bench-billion``, or ``python benchmarks/billion.py --reports 100_000_000``. The files are made once, 2.6 GB for a billion, and used
again. Everyone gets the same files, read once before so that they come from memory, two cores and a process of its own; all must arrive at
the same counters.
"""

import argparse
import hashlib
import json
import os
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from memory import peak
from population import DOMAIN_SIZE, EPSILON, EXPONENT
from printing import compact, markdown
from timing import json_line, say

CORES = 2
PER_FILE = 10_000_000
GROUP = 1 << 20
HASHES = WIDTH = 1024
WAYS = {
    "local": "deniable, local engine",
    "polars": "Polars, group_by",
    "duckdb": "DuckDB, GROUP BY",
    "numpy": "NumPy, bincount file by file, one thread",
}
READERS = ("polars", "pyarrow", "duckdb")


def spec():
    from deniable.client import HCMS

    return HCMS(domain_size=DOMAIN_SIZE, epsilon=EPSILON, hashes=HASHES, width=WIDTH)


# --- the data ---


def generate(folder, reports):
    """Files of reports from a Zipf crowd, whose shares are rounded to 1/65,536: the product's own randomizer, all cores."""
    weights = 1 / np.arange(1, DOMAIN_SIZE + 1) ** EXPONENT
    crowd = np.searchsorted(np.cumsum(weights / weights.sum()), (np.arange(1 << 16) + 0.5) / (1 << 16)).astype(np.uint16)
    began = time.perf_counter()
    with ThreadPoolExecutor(CORES) as pool:
        list(pool.map(lambda i: _write(folder / f"{i:04}.parquet", min(PER_FILE, reports - i * PER_FILE), crowd), _numbers(reports)))
    return {"seconds": time.perf_counter() - began}


def _write(path, n, crowd):
    import pyarrow.parquet as pq

    drawn = np.random.default_rng(int(path.stem)).integers(0, crowd.size, n, dtype=np.uint16)
    draft = path.with_suffix(".part")
    pq.write_table(spec().privatize(crowd[drawn]).to_arrow(), draft, row_group_size=GROUP, compression="none")
    draft.replace(path)


def _numbers(reports):
    return range(-(-reports // PER_FILE))


# --- the ways: each gives the counts of + and - by function and row, or the finished counters ---


def local(folder):
    from deniable.engines.local import tally

    return lambda: tally(folder).counters


def polars(folder):
    import polars as pl

    cell = ((pl.col("function").cast(pl.UInt32) * WIDTH + pl.col("row")) * 2 + pl.col("sign")).alias("cell")
    query = pl.scan_parquet(folder / "*.parquet").select(cell).group_by("cell").len()

    def count():
        counts, found = np.zeros(2 * HASHES * WIDTH, dtype=np.int64), query.collect(engine="streaming")
        counts[found["cell"].to_numpy()] = found["len"].to_numpy()
        return counts.reshape(-1, 2)

    return count


def duckdb(folder):
    import duckdb

    connection = duckdb.connect(config={"threads": CORES})
    cell = f'"function"::UINTEGER * {WIDTH} + "row"'
    query = f"SELECT {cell} AS cell, count(*) AS n, count(*) FILTER (sign) AS minus FROM '{folder}/*.parquet' GROUP BY cell"

    def count():
        counts, found = np.zeros((HASHES * WIDTH, 2), dtype=np.int64), connection.sql(query).fetchnumpy()
        counts[found["cell"]] = np.column_stack([found["n"] - found["minus"], found["minus"]])
        return counts

    return count


def numpy(folder):
    import pyarrow.parquet as pq

    def count():
        counts = np.zeros(2 * HASHES * WIDTH, dtype=np.int64)
        for path in sorted(folder.glob("*.parquet")):
            table = pq.read_table(path, use_threads=False)
            cells = table["function"].to_numpy().astype(np.int64)
            cells *= WIDTH
            cells += table["row"].to_numpy()
            cells *= 2
            cells += table["sign"].to_numpy()
            counts += np.bincount(cells, minlength=counts.size)
        return counts.reshape(-1, 2)

    return count


def _digest(counts):
    """A name for the counters of a tally, whoever has counted."""
    from deniable.kernels.sketches import transform_cells

    if counts.ndim == 2:
        table, totals = (counts[:, 0] - counts[:, 1]).reshape(HASHES, WIDTH), counts.sum(axis=1).reshape(HASHES, WIDTH).sum(axis=1)
        transform_cells(table, totals)
        counts = table.ravel()
    return hashlib.sha256(np.ascontiguousarray(counts, dtype=np.int64)).hexdigest()[:16]


def read(reader, folder):
    """Read the first ten files, keep nothing: what a reader costs by itself, in seconds of one core for each report."""
    import duckdb
    import polars as pl
    import pyarrow.parquet as pq

    each = {
        "polars": lambda path: pl.scan_parquet(path).collect(),
        "pyarrow": lambda path: pq.read_table(path, use_threads=False),
        "duckdb": lambda path: duckdb.sql(f"FROM '{path}'").to_arrow_table(),
    }[reader]
    paths = sorted(folder.glob("*.parquet"))[:10]
    began = time.process_time()
    for path in paths:
        each(path)
    return {"cpu": (time.process_time() - began) / sum(pq.read_metadata(path).num_rows for path in paths)}


def measured(way, folder):
    """One way, in this process: warmed up on nothing but its own imports and kernels."""
    if way == "local":
        spec().tally([])
        spec().tally(spec().privatize(np.zeros(8, dtype=np.int64)))
    count = globals()[way](folder)
    cpu, began = time.process_time(), time.perf_counter()
    counts = count()
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    return {"seconds": seconds, "cpu": cpu, "peak_mb": peak(), "digest": _digest(counts)}


# --- the run ---


def measure(folder, reports):
    """Every way and every reader, one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(not (folder / f"{i:04}.parquet").exists() for i in _numbers(reports)):
        say(f"making {reports:,} reports in {folder} ...")
        made = json_line(_command("generate", folder, reports))
        say(f"made in {made['seconds']:.0f} s")
    size = sum(len(path.read_bytes()) for path in folder.glob("*.parquet"))  # from now on they are in the system's memory
    entries = {"reports": reports, "bytes": size, "ways": {}, "readers": {}}
    for way, name in WAYS.items():
        say(f"counting: {name} ...")
        entries["ways"][way] = json_line(_command(way, folder, reports))
    for reader in READERS:
        say(f"reading only: {reader} ...")
        entries["readers"][reader] = json_line(_command(f"read-{reader}", folder, reports))
    digests = {entry["digest"] for entry in entries["ways"].values()}
    if len(digests) > 1:
        raise SystemExit(f"the ways disagree: {entries['ways']}")
    return entries


def table(entries):
    """Time, rate, memory, and how much longer than the local engine."""
    n, ways = entries["reports"], entries["ways"]
    rows = [
        [
            WAYS[way],
            f"{e['seconds']:.1f} s",
            f"{e['cpu']:.1f} s",
            f"{compact(n / e['seconds'])}",
            f"{e['peak_mb']:.0f} MB",
            *(f"{e[what] / ways['local'][what]:.1f}x" for what in ("seconds", "cpu")),
        ]
        for way, e in ways.items()
    ]
    first = markdown(
        [f"{n:,} reports, {entries['bytes'] / 1e9:.2f} GB", "time", "CPU", "reports/s", "peak memory", "times as long", "CPU times"], rows
    )
    second = [[reader, f"{e['cpu'] * 1e9:.1f} ns"] for reader, e in entries["readers"].items()]
    return first + "\n\n" + markdown(["reading alone", "CPU per report"], second)


def _command(what, folder, reports):
    return [sys.executable, __file__, "--folder", folder, "--reports", reports, "--only", what]


def main():
    parser = argparse.ArgumentParser(description="a billion reports, counted on two cores")
    parser.add_argument("--reports", type=int, default=1_000_000_000, help="how many; a million at least")
    parser.add_argument("--folder", type=Path, help="where the files are, or will be; .bench/hcms-REPORTS unless given")
    parser.add_argument("--clean", action="store_true", help="delete the files in the end")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to FILE")
    parser.add_argument("--only", help=argparse.SUPPRESS)  # one part, in a process of its own
    options = parser.parse_args()
    folder = (options.folder or Path(__file__).parent.parent / ".bench" / f"hcms-{options.reports}").resolve()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    os.environ["POLARS_MAX_THREADS"] = str(CORES)
    if options.only == "generate":
        print(json.dumps(generate(folder, options.reports)))
    elif options.only:
        reader = options.only.removeprefix("read-")
        print(json.dumps(measured(options.only, folder) if reader == options.only else read(reader, folder)))
    else:
        entries = measure(folder, options.reports)
        print(table(entries))
        if os.getloadavg()[0] > CORES:
            say("the machine was busy with something else: CPU says more than time")
        if options.json:
            options.json.write_text(json.dumps(entries, indent=2) + "\n")
        if options.clean:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
