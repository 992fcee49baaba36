"""The reports of ``billion.py`` through Spark, on two cores of this machine: the same files, the same bytes as the local engine.

``python benchmarks/spark.py``, or ``--reports 10_000_000``. Needs Java 17 or newer. Spark counts one file first: the rate is that of a
Spark which is running already.
"""

import argparse
import json
import os
import sys
import warnings
from contextlib import suppress
from pathlib import Path

from billion import CORES, spec
from printing import compact, markdown
from timing import json_line, say, seconds


def files(reports):
    """The folder of ``billion.py``; it makes the files if they are not there."""
    home = Path(__file__).parent
    folder = (home.parent / ".bench" / f"hcms-{reports}").resolve()
    if not folder.exists():
        say(f"making {reports:,} reports in {folder} ...")
        folder.mkdir(parents=True)
        json_line([sys.executable, home / "billion.py", "--folder", folder, "--reports", reports, "--only", "generate"])
    return folder


def start():
    """Spark on two cores, saying little."""
    from pyspark.sql import SparkSession

    os.environ |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")  # which is not used here
    quiet = {"spark.log.level": "ERROR", "spark.ui.enabled": False, "spark.ui.showConsoleProgress": False}
    settings = {"spark.driver.memory": "2g", **quiet}
    return SparkSession.builder.master(f"local[{CORES}]").config(map=settings).getOrCreate()


def cpu():
    """CPU seconds of this process and all below it so far: Java, and the workers that it started."""
    below, own = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            fields = path.read_text().rpartition(")")[2].split()
            below.setdefault(int(fields[1]), []).append(int(path.parent.name))
            own[int(path.parent.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    family = [os.getpid()]
    for process in family:
        family += below.get(process, [])
    return sum(own[process] for process in family)


def measure(reports):
    """Seconds of the start, of the first file and of all files, whose tally must be the local engine's."""
    from deniable.engines import local, spark

    folder, found = files(reports), {}
    first = min(folder.glob("*.parquet"))

    def timed(name, work):
        began = cpu()
        entries[name] = {"seconds": seconds(lambda: found.update({name: work()})), "cpu": cpu() - began}

    entries = {"reports": reports}
    say("starting Spark ...")
    timed("start", start)
    session = found["start"]
    say("counting ...")
    timed("first", lambda: spark.tally(session.read.parquet(str(first)), spec()))
    timed("all", lambda: spark.tally(session.read.parquet(str(folder)), spec()))
    if found["all"].to_bytes() != local.tally(folder).to_bytes():
        raise SystemExit("Spark and the local engine disagree")
    session.stop()
    return entries


def table(entries):
    """Time and CPU time, and reports a second once all is running."""
    names = {"start": "start of Spark", "first": "the first file, with the start of its workers", "all": f"{entries['reports']:,} reports"}
    rows = [[text, f"{entries[name]['seconds']:.1f} s", f"{entries[name]['cpu']:.1f} s", ""] for name, text in names.items()]
    rows[-1][-1] = compact(entries["reports"] / entries["all"]["seconds"])
    return markdown([f"Spark, local[{CORES}]", "time", "CPU", "reports/s"], rows)


def main():
    parser = argparse.ArgumentParser(description="reports of HCMS, counted by Spark on two cores")
    parser.add_argument("--reports", type=int, default=100_000_000, help="how many; a million at least")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results to FILE")
    options = parser.parse_args()
    entries = measure(options.reports)
    print(table(entries))
    if os.getloadavg()[0] > CORES:
        say("the machine was busy with something else: CPU says more than time")
    if options.json:
        options.json.write_text(json.dumps(entries, indent=2) + "\n")


if __name__ == "__main__":
    main()
