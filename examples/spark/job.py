"""Count reports on Spark: ``python examples/spark/job.py`` on this machine, or ``spark-submit`` on a cluster.

Without arguments it simulates 1,000,000 people first. With a folder of Parquet files (or s3a://, gs://, hdfs:// ...), as ``to_arrow`` of
reports or ``engines.spark.privatize`` give them, and the spec that made them, it counts those.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

from deniable.client import OUE
from deniable.contract.domain import Categories
from deniable.contract.spec import Spec, spec_from_json
from deniable.core.tally import Tally
from deniable.engines.spark import privatize, tally

DRINKS = OUE(domain=Categories("tea", "coffee", "water", "mate"), epsilon=1.0)


def simulate(session: SparkSession, spec: Spec, people: int, folder: str) -> None:
    """Write the reports of people of whom four in ten drink tea, three coffee, two water and one mate."""
    drink = "CASE WHEN id % 10 < 4 THEN 'tea' WHEN id % 10 < 7 THEN 'coffee' WHEN id % 10 < 9 THEN 'water' ELSE 'mate' END AS drink"
    privatize(session.range(people).selectExpr(drink), "drink", spec).write.parquet(folder)


def count(session: SparkSession, spec: Spec, folder: str) -> Tally:
    """The tally of all files in a folder."""
    return tally(session.read.parquet(folder), spec)


def main() -> None:
    """Simulate, if there is nothing to count; count; print the estimate."""
    parser = argparse.ArgumentParser(description="count reports on Spark")
    parser.add_argument("reports", nargs="?", help="a folder of Parquet files; without one, people are simulated")
    parser.add_argument("--spec", type=Path, help="a file with the canonical JSON of the spec that made them")
    parser.add_argument("--people", type=int, default=1_000_000, help="how many to simulate")
    parser.add_argument("--out", type=Path, help="also write the tally to this file, for deniable estimate")
    options = parser.parse_args()
    if bool(options.reports) != bool(options.spec):
        parser.error("REPORTS and --spec go together")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.appName("deniable").getOrCreate()
    spec = spec_from_json(options.spec.read_bytes().strip()) if options.spec else DRINKS
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.reports or f"{temporary}/reports"
        if not options.reports:
            simulate(session, spec, options.people, folder)
        counted = count(session, spec, folder)
    print(spec.estimate(counted))
    if options.out:
        options.out.write_bytes(counted.to_bytes())


if __name__ == "__main__":
    main()
