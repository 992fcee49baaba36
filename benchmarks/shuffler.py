"""How fast a shuffler takes seals, against opening them and doing nothing else, on the same cores.

    .venv/bin/python benchmarks/shuffler.py [--people 40000] [--in-one 2000] [--alone 10000]

A real ``deniable shuffle`` gets pre-sealed reports over HTTP, many in a request and one by one; it opens, deduplicates and stores all of
them durably before it answers. Client and server share the cores: the client is one process with a socket for each connection, and uses
less than a tenth of the CPU time. The bare loop is HPKE by the same package in as many processes, with nothing around it. Its ratio to
large requests has a goal: 1.5 or less; seals alone in their requests have one of 5,000 a second. On a machine that does other things the
time is no measure; the processors' seconds that each needs are one, and they are printed too.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.system.shuffled_crowd import Receiver, ShufflerProcess, rank_task, seal_ranks

from deniable.contract.notice import SHUFFLER
from deniable.contract.sealed import HEADER, MEDIA_TYPE, info_of, pack_seals
from deniable.core.stream import cores
from deniable.sealing.keys import KeyPair, KeyRing
from deniable.sealing.seal import SUITE
from load import send_all
from printing import compact, markdown

CHUNK = 500
ROUNDS = 3
CONNECTIONS = (32, 256)
"""Over which seals come that are alone in their requests."""


def open_bare(pair: KeyPair, seals: list[bytes]) -> int:
    """Nothing but HPKE."""
    for seal in seals:
        SUITE.decrypt(memoryview(seal)[HEADER.size :], pair.handle, info=info_of(SHUFFLER, seal))
    return len(seals)


def processor_seconds(pid: int) -> float:
    """What a process and its children have used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + sum(processor_seconds(int(child)) for child in children)


def bare_seconds(pool: ProcessPoolExecutor, pair: KeyPair, seals: list[bytes]) -> float:
    parts = [seals[start : start + CHUNK] for start in range(0, len(seals), CHUNK)]
    begin = time.perf_counter()
    sum(pool.map(open_bare, [pair] * len(parts), parts))
    return time.perf_counter() - begin


def shuffler_seconds(pool: ProcessPoolExecutor, url: str, seals: list[bytes], in_one: int, connections: int) -> float:
    bodies = [pack_seals(seals[start : start + in_one]) for start in range(0, len(seals), in_one)]
    head = f"POST /v1/seals HTTP/1.1\r\nHost: localhost\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: %d\r\n\r\n".encode()
    return pool.submit(send_all, urlsplit(url).port, [head % len(body) + body for body in bodies], connections).result()


def measured(spend: Callable[[], float], seals: int, processes: list[int]) -> tuple[float, float]:
    """Seals a second, and the microseconds of CPU time in some processes for each."""
    before = sum(map(processor_seconds, processes))
    rate = seals / spend()
    return rate, 1e6 * (sum(map(processor_seconds, processes)) - before) / seals


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--people", type=int, default=40_000, help="seals in each of the rounds")
    arguments.add_argument("--in-one", type=int, default=2_000, help="seals in a request")
    arguments.add_argument("--alone", type=int, default=10_000, help="seals that come alone, in each of the rounds and for each load")
    chosen = arguments.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        Receiver(Path(folder) / "receiver") as receiver,
        ShufflerProcess(Path(folder) / "shuffler", "--tend-seconds", "1", testing=False) as shuffler,
        ProcessPoolExecutor(cores()) as pool,
    ):
        task = rank_task([shuffler.relay], minimum=60_000)  # all of it is held: passing on is not what is timed
        receiver.serve(task)
        shuffler.serve(task, receiver.url)
        notice = shuffler.notice()
        (pair,) = KeyRing(shuffler.folder / "own", SHUFFLER).pairs.values()
        loads = {"HPKE alone": (0, 0, chosen.people)}
        loads[f"shuffler, {chosen.in_one:,} seals in a request"] = (chosen.in_one, 2 * cores(), chosen.people)
        loads |= {
            f"shuffler, one seal in a request, {connections} connections": (1, connections, chosen.alone) for connections in CONNECTIONS
        }
        total = ROUNDS * sum(count for _, _, count in loads.values())
        print(f"sealing {total:,} reports ...", file=sys.stderr)
        starts = range(0, total, CHUNK)
        made = [pool.submit(seal_ranks, task, receiver.analyst, [notice], range(start, min(start + CHUNK, total))) for start in starts]
        seals = iter([seal for future in made for seal in future.result()])
        results: dict[str, list[tuple[float, float]]] = {name: [] for name in loads}
        for _ in range(ROUNDS):  # in turn, so that a busy machine troubles all alike
            for name, (in_one, connections, count) in loads.items():
                part = list(islice(seals, count))
                if in_one:
                    spend = partial(shuffler_seconds, pool, shuffler.url, part, in_one, connections)
                    results[name].append(measured(spend, count, [shuffler.process.pid]))
                else:
                    results[name].append(measured(partial(bare_seconds, pool, pair, part), count, list(pool._processes)))
    print(table(results))


def table(results: dict[str, list[tuple[float, float]]]) -> str:
    """The best rate of each load and its least CPU time, against HPKE alone and against large requests."""
    best = {name: (max(rate for rate, _ in found), min(spent for _, spent in found)) for name, found in results.items()}
    (bare, bare_spent), (large, _), *_ = best.values()
    rows = [
        (name, compact(rate), f"{bare / rate:.2f}", f"{large / rate:.2f}", f"{spent:.0f} us", f"{spent / bare_spent:.2f}")
        for name, (rate, spent) in best.items()
    ]
    header = ("what", "seals/s", "times slower than HPKE", "than large requests", "CPU time for a seal", "times that of HPKE")
    load = f"The best of {ROUNDS} rounds on {cores()} cores, load average {os.getloadavg()[0]:.1f} at their end."
    return f"{load}\n\n{markdown(header, rows)}"


if __name__ == "__main__":
    main()
