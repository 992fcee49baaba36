"""How fast a shuffler takes seals, against opening them and doing nothing else, on the same cores.

    .venv/bin/python benchmarks/shuffler.py [--people 40000] [--in-one 2000]

A real ``deniable shuffle`` gets pre-sealed reports, many in a request, over two connections for each core; it opens, deduplicates and
stores all of them durably before it answers. The bare loop is HPKE by the same package in as many processes, with nothing around it. Both
are printed, and their ratio; the goal is 1.5 or less. Seals alone in their requests are timed as well. On a machine that does other things
the time is no measure; the processors' seconds that each needs are one, and they are printed too.
"""

from __future__ import annotations

import argparse
import http.client
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.system.shuffled_crowd import Receiver, ShufflerProcess, rank_task, seal_ranks

from deniable.contract.notice import SHUFFLER
from deniable.contract.sealed import HEADER, MEDIA_TYPE, info_of, pack_seals
from deniable.core.stream import cores
from deniable.sealing.keys import KeyPair, KeyRing
from deniable.sealing.seal import SUITE
from printing import compact, markdown

CHUNK = 500
ROUNDS = 3


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


def bare_rate(pool: ProcessPoolExecutor, pair: KeyPair, seals: list[bytes]) -> float:
    parts = [seals[start : start + CHUNK] for start in range(0, len(seals), CHUNK)]
    begin = time.perf_counter()
    done = sum(pool.map(open_bare, [pair] * len(parts), parts))
    return done / (time.perf_counter() - begin)


def post(url: str, bodies: list[bytes]) -> None:
    """Requests one after the other on one connection."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=120)
    for body in bodies:
        connection.request("POST", "/v1/seals", body, {"Content-Type": MEDIA_TYPE})
        answer = connection.getresponse()
        if answer.status != 201:
            raise SystemExit(f"refused: {answer.status} {answer.read()!r}")
        answer.read()
    connection.close()


def shuffler_rate(url: str, seals: list[bytes], in_one: int, connections: int) -> float:
    bodies = [pack_seals(seals[start : start + in_one]) for start in range(0, len(seals), in_one)]
    with ThreadPoolExecutor(connections) as threads:
        begin = time.perf_counter()
        list(threads.map(post, [url] * connections, [bodies[i::connections] for i in range(connections)]))
        return len(seals) / (time.perf_counter() - begin)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--people", type=int, default=40_000, help="seals in each of the rounds")
    arguments.add_argument("--in-one", type=int, default=2_000, help="seals in a request")
    chosen = arguments.parse_args()
    with (
        tempfile.TemporaryDirectory() as name,
        Receiver(Path(name) / "receiver") as receiver,
        ShufflerProcess(Path(name) / "shuffler") as shuffler,
        ProcessPoolExecutor(cores()) as pool,
    ):
        task = rank_task([shuffler.relay], minimum=60_000)  # all of it is held: passing on is not what is timed
        receiver.serve(task)
        shuffler.serve(task, receiver.url)
        notice = shuffler.notice()
        (pair,) = KeyRing(shuffler.folder / "own", SHUFFLER).pairs.values()
        single = min(2_000, chosen.people)
        total = ROUNDS * chosen.people + single
        print(f"sealing {total:,} reports ...", file=sys.stderr)
        starts = range(0, total, CHUNK)
        made = [pool.submit(seal_ranks, task, receiver.analyst, [notice], range(start, min(start + CHUNK, total))) for start in starts]
        seals = [seal for future in made for seal in future.result()]
        bare, whole, work, ours = [], [], [], []
        for number in range(ROUNDS):  # one after the other, so that a busy machine troubles both alike
            part = seals[number * chosen.people : (number + 1) * chosen.people]
            before = sum(map(processor_seconds, pool._processes))
            bare.append(bare_rate(pool, pair, part))
            work.append((sum(map(processor_seconds, pool._processes)) - before) / chosen.people)
            before = processor_seconds(shuffler.process.pid)
            whole.append(shuffler_rate(shuffler.url, part, chosen.in_one, 2 * cores()))
            ours.append((processor_seconds(shuffler.process.pid) - before) / chosen.people)
        alone = shuffler_rate(shuffler.url, seals[-single:], 1, 32)
    rows = [
        (f"HPKE alone, {cores()} processes", compact(max(bare)), "1.00"),
        (f"shuffler, {chosen.in_one:,} seals in a request", compact(max(whole)), f"{max(bare) / max(whole):.2f}"),
        ("shuffler, one seal in a request, 32 connections", compact(alone), f"{max(bare) / alone:.2f}"),
    ]
    print(markdown(("what", "seals/s", "times slower"), rows))
    pairs = ", ".join(f"{one / other:.2f}" for one, other in zip(bare, whole, strict=True))
    print(f"\nround by round: {pairs} times slower than HPKE alone")
    used = [f"{1e6 * min(costs):.0f}" for costs in (work, ours)]
    print(
        f"processors: {used[0]} microseconds for a seal by HPKE alone, {used[1]} in the shuffler: {min(ours) / min(work):.2f} times as many"
    )


if __name__ == "__main__":
    main()
