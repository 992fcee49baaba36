"""Reports over HTTP into a durable store, against a bare handler behind the same server.

``python benchmarks/ingest.py`` prints the tables; ``--seconds`` and ``--repeats`` say for how long and how often each load is tried.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from environments import BUILD
from load import generator, load
from printing import compact, markdown
from timing import best, say

CONNECTIONS = 512
BATCH = 100
LARGE_BATCH = 1000
WAITING = 4 << 20
"""What may wait at the server that is overloaded, in bytes; the load is some eight times as much."""
TARGETS = {1: "ratio of 0.5", BATCH: "100 k reports/s"}
FLAT = "at most +50 MB"
BARE = [sys.executable, Path(__file__).with_name("bare.py")]
COLLECTOR = [Path(sys.executable).with_name("deniable"), "serve", "--port", "0", "--log-level", "error"]


def measure(seconds=10, repeats=2):
    """Rates and latencies of each load at the bare handler and at the collector in turn, the best of so many runs each; an overload."""
    BUILD.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:  # beside the project: the system's temporary folder may be memory
        store = Path(folder) / "store"
        envelope = _publish(store)
        sides = {"bare": BARE, "collector": [*COLLECTOR, "--store", store]}
        results = {"generator": generator(), "sync_ms": 1e3 * _sync_seconds(Path(folder)), "loads": []}
        for batch in TARGETS:
            runs = {side: [] for side in sides}
            for _ in range(repeats):
                for side, command in sides.items():
                    say(f"batches of {batch} at {CONNECTIONS} connections, {side} ...")
                    runs[side].append(_run(command, envelope, batch, seconds))
            results["loads"].append({"batch": batch} | {side: max(found, key=_rate) for side, found in runs.items()})
        say(f"overload by batches of {LARGE_BATCH} ...")
        results["overload"] = _overload(sides["collector"], envelope, seconds)
    return results


def _run(command, envelope, batch, seconds):
    with _running(command) as (port, server):
        load(port, envelope, batch=batch, connections=CONNECTIONS, seconds=1)  # the first requests of a process are slow
        before = _cpu_seconds(server)
        run = load(port, envelope, batch=batch, connections=CONNECTIONS, seconds=seconds)
        if run["refused"] or run["broken"]:
            raise RuntimeError(f"{run['refused']} requests refused and {run['broken']} broken: a fast refusal is no result")
        return run | {"cpu_us": 1e6 * (_cpu_seconds(server) - before) / run["requests"]}


def _overload(command, envelope, seconds):
    """Far more at once than may wait: how it is answered, and the memory before, between and after three runs."""
    with _running(command, DENIABLE_LIMITS_MOST_WAITING=str(WAITING)) as (port, server):
        load(port, envelope, batch=LARGE_BATCH, connections=CONNECTIONS, seconds=2)
        memory, statuses, runs = [_resident_mb(server)], _statuses(port), []
        for _ in range(3):
            runs.append(load(port, envelope, batch=LARGE_BATCH, connections=CONNECTIONS, seconds=seconds))
            memory.append(_resident_mb(server))
        answered = {status: count - statuses[status] for status, count in _statuses(port).items() if count > statuses[status]}
    return {"seconds": sum(run["seconds"] for run in runs), "last": runs[-1], "memory_mb": memory, "answered": answered}


def table(results):
    """Rates side by side, then the overload."""
    rows = []
    for entry in results["loads"]:
        bare, own, batch = entry["bare"], entry["collector"], entry["batch"]
        ratio = f"{_rate(own) / _rate(bare):.2f}x"
        rows += [
            [_name(batch, "bare handler"), compact(_rate(bare)), compact(batch * _rate(bare)), *_figures(bare), "1.00x", ""],
            [_name(batch, "collector"), compact(_rate(own)), compact(batch * _rate(own)), *_figures(own), ratio, TARGETS[batch]],
        ]
    header = [f"{CONNECTIONS} connections", "requests/s", "reports/s", "p50", "p99", "CPU per request", "ratio", "target"]
    over = results["overload"]
    total = sum(over["answered"].values())
    shares = ", ".join(f"{status}: {count / total:.0%}" for status, count in sorted(over["answered"].items()))
    taken = compact(LARGE_BATCH * over["answered"].get("201", 0) / over["seconds"])
    memory = " ".join(f"{size:.0f}" for size in over["memory_mb"])
    last = [shares, taken, f"{over['last']['p50_ms']:.0f} ms", f"{over['last']['p99_ms']:.0f} ms", memory, FLAT]
    over_header = ["overload", "answers", "reports/s", "p50", "p99", "memory in MB, before and after", "target"]
    words = f"Load by {results['generator']}; 4 kB take {results['sync_ms']:.1f} ms to be durable here."
    second = markdown(over_header, [[f"batches of {LARGE_BATCH:,}, {WAITING >> 20} MB may wait", *last]])
    return f"{words}\n\n{markdown(header, rows)}\n\n{second}"


def _name(batch, side):
    return ("single reports, " if batch == 1 else f"batches of {batch}, ") + side


def _rate(run):
    return run["requests"] / run["seconds"]


def _figures(run):
    return [f"{run['p50_ms']:.1f} ms", f"{run['p99_ms']:.1f} ms", f"{run['cpu_us']:.0f} us"]


def _publish(folder):
    """Make a store with one task; an envelope for it. GRR on 1,024 values has 2 bytes of payload."""
    from deniable.client import GRR
    from deniable.collect.collector import Collector
    from deniable.collect.storage.store import Store
    from deniable.contract.envelope import Envelope
    from deniable.contract.survey import Survey
    from deniable.contract.task import Task

    spec, now = GRR(domain_size=1024, epsilon=1.0), int(time.time())
    store = Store.open(folder)
    collector = Collector(store)
    words = {"name": "load", "question": "How fast?", "owner": "benchmark", "statement": "Nobody is asked."}
    times = {"start": now - 60, "end": now + 86_400, "period": 86_460}
    task = Task(**words, **times, protocol=Survey.of(fast=spec).canonical, epsilon=1.0, key=collector.registry.key)
    collector.publish(task)
    store.close()
    return Envelope(task.id, 0, 0, 0, bytes(16), spec.encode(spec.randomize(17))).pack()


@contextmanager
def _running(command, **environment):
    """A server on a free port, which it prints once it is ready."""
    server = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True, env=os.environ | environment)
    try:
        found = re.search(r"http://[^:]+:(\d+)", server.stdout.readline())
        if not found:
            raise RuntimeError(f"{command[0]} does not serve")
        yield int(found[1]), server
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()


def _cpu_seconds(server):
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident_mb(server):
    line = next(line for line in Path(f"/proc/{server.pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def _statuses(port):
    """How many requests were answered how, by the collector's own count."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        found = re.findall(r'^deniable_requests_total\{status="(\d+)"\} (\S+)', answer.read().decode(), re.MULTILINE)
    return {status: int(float(count)) for status, count in found}


def _sync_seconds(folder):
    """The time to make 4 kB durable at the end of a file, the median of 51."""
    with (folder / "probe").open("wb") as file:

        def write():
            file.write(bytes(4096))
            file.flush()
            os.fdatasync(file.fileno())

        return sorted(best(1, write) for _ in range(51))[25]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="reports over HTTP into a durable store")
    parser.add_argument("--seconds", type=int, default=10, help="of each run")
    parser.add_argument("--repeats", type=int, default=2, help="of which the best counts")
    options = parser.parse_args()
    print(table(measure(options.seconds, options.repeats)))
