"""What a report costs: bytes, and CPU time on the device and at the collector, for every mechanism; and what a billion a day add up to.

Timed is CPU time, of all threads together, so that other work on the machine disturbs little: the best of some calls after a warm-up.
Values are those of ``population`` (1024 of them), numbers between -1 and 1, or a counter's seconds; epsilon is 1 for what is asked once,
and 2 over a lifetime, the first answer 1, for what is asked again and again. README.md has
the table of reports, docs/how-to/costs.md some rows of the others.
"""

import argparse
import hashlib
import json
import math
import socket
import threading
from pathlib import Path

import numpy as np

import deniable as dn
import means
from deniable.client import MECHANISMS
from deniable.client.transport import HTTPTransport
from deniable.collect.storage.block import ID_BYTES, Block, sort_once, tally_blocks
from deniable.contract.envelope import HEADER, MEDIA_TYPE
from deniable.contract.question import Question
from oracles import PEERS, oracle_of
from population import DOMAIN_SIZE, EPSILON, people
from printing import markdown
from timing import cpu, say

REPEATS = 3
SCALAR = 300
WIDE = 64
"""Reports of more bytes than this are made in smaller numbers."""
MANY, FEW = 1_000_000, 50_000
DAY = 10**9
"""Reports a day, one from each device."""
INGEST = {"one report a request": (16_200, 63e-6), "100 reports a request": (365_000, 2.8e-6)}
"""Reports a second and CPU seconds a report of one collector on two cores: benchmarks/README.md, "Reports over HTTP"."""
PEAK = 10
"""The busiest second of a day has so many times the mean."""
AGAIN = {"epsilon": 2.0, "first_epsilon": 1.0}
OPTIONS = {
    "BLH": {"epsilon": EPSILON},
    "DBitFlip": {"epsilon": EPSILON, "bits": 16},
    "DBitFlipPM": {"epsilon": 1.0, "first_epsilon": 1.0, "bits": 16},
    "LOLOHA": AGAIN,
    "LongitudinalGRR": AGAIN,
    "LongitudinalUnary": AGAIN,
    "RAPPOR": {"epsilon": 2.0, "first_epsilon": 1.0, "bits": 128, "hashes": 2, "cohorts": 8},
    "SHE": {"epsilon": EPSILON},
}
"""Mechanisms for values that no other benchmark has with this many of them."""


def spec_of(mechanism):
    """A mechanism under the page's parameters."""
    if mechanism in PEERS:
        return oracle_of(mechanism)
    if mechanism in OPTIONS:
        return getattr(dn, mechanism)(domain_size=DOMAIN_SIZE, **OPTIONS[mechanism])
    return means.oracle_for(mechanism)


def values_of(spec, n):
    """What so many people hold."""
    if spec.mechanism in PEERS or spec.mechanism in OPTIONS:
        return people(n) == 0 if spec.mechanism == "RR" else people(n)
    return means.values_for(spec.mechanism)[:n]


def measure(mechanism):
    """Bytes, and CPU seconds for one report."""
    say(f"costs, {mechanism} ...")
    spec = spec_of(mechanism)
    payload = sum(column.row_bytes for column in spec.layout)
    n = FEW if payload > WIDE else MANY
    values = values_of(spec, n)
    few = values[:SCALAR].tolist()
    reports = spec.privatize(values)
    ids = np.frombuffer(hashlib.shake_256(b"ids").digest(n * ID_BYTES), np.uint8).reshape(n, ID_BYTES)
    block = Block(0, 0, np.hstack([ids, reports.rows()]))
    question = Question(name="q", spec=spec)
    tally = spec.tally(reports)
    assert tally_blocks([question], sort_once([block]))[0, 0] == tally
    return {
        "mechanism": mechanism,
        "payload": payload,
        "wire": HEADER.size + payload,
        "tally_bytes": len(tally.to_bytes()),
        "device": cpu(REPEATS, lambda: [spec.encode(spec.randomize(value)) for value in few]) / SCALAR,
        "privatize": cpu(REPEATS, lambda: spec.privatize(values)) / n,
        "tally": cpu(REPEATS, lambda: spec.tally(reports)) / n,
        "seal": cpu(REPEATS, lambda: tally_blocks([question], sort_once([block]))) / n,
    }


def table(entries):
    """What was measured."""
    header = ["mechanism", "payload, bytes", "wire, bytes", "tally, bytes", "device, us", "bulk, ns", "tally, ns", "seal, ns"]
    rows = [
        [
            entry["mechanism"],
            entry["payload"],
            entry["wire"],
            f"{entry['tally_bytes']:,}",
            f"{entry['device'] * 1e6:.3g}",
            *(f"{entry[part] * 1e9:.3g}" for part in ("privatize", "tally", "seal")),
        ]
        for entry in entries
    ]
    return markdown(header, rows)


def day(entries):
    """What follows for a billion reports a day, from the figures as they are printed: 10^9 bytes are a GB, 10^9 ns a second."""
    header = [
        "10^9 reports a day",
        "wire, GB",
        "store, GB",
        "tally, core-s",
        "seal, core-h",
        "one a request, core-h",
        "100 a request, core-h",
    ]
    rows = []
    for entry in entries:
        tally, seal = (float(f"{entry[part] * 1e9:.3g}") for part in ("tally", "seal"))
        hours = DAY * seal * 1e-9 / 3600
        taking = [DAY * seconds / 3600 for _, seconds in INGEST.values()]
        sizes = [f"{DAY * size / 1e9:,.0f}" for size in (entry["wire"], ID_BYTES + entry["payload"])]
        rows.append([entry["mechanism"], *sizes, f"{DAY * tally * 1e-9:.3g}", f"{hours:.2f}", *(f"{each + hours:.2f}" for each in taking)])
    return markdown(header, rows)


def collectors(header_bytes):
    """How many collectors a billion reports a day need, at the rate that was measured for one."""
    header = ["devices send", "one collector, reports/s", "CPU a report, us", "HTTP a report, bytes", "at the mean", f"at {PEAK} times it"]
    rows = []
    for way, (rate, seconds) in INGEST.items():
        together = int(way.split()[0].replace("one", "1"))
        needed = [math.ceil(times * DAY / 86_400 / rate) for times in (1, PEAK)]
        rows.append([way, f"{rate:,}", f"{seconds * 1e6:g}", f"{header_bytes / together:g}", *needed])
    return markdown(header, rows)


def request_bytes():
    """The bytes that a device's request has besides its envelopes: request line and headers, without TLS."""
    body, received = b"envelope", bytearray()

    def answer(listener):
        with listener.accept()[0] as connection:
            while not received.endswith(b"\r\n\r\n" + body):
                received.extend(connection.recv(1 << 16))
            connection.sendall(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer, args=(listener,))
        thread.start()
        HTTPTransport(f"http://127.0.0.1:{listener.getsockname()[1]}").request("POST", "/v1/reports", body, {"content-type": MEDIA_TYPE})
        thread.join()
    return len(received) - len(body)


def main():
    parser = argparse.ArgumentParser(description="what a report costs, and what a billion a day add up to")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    parser.add_argument("--from", dest="given", type=Path, metavar="FILE", help="take the figures from FILE: print the tables only")
    options = parser.parse_args()
    entries = json.loads(options.given.read_text()) if options.given else [measure(mechanism) for mechanism in sorted(MECHANISMS)]
    if options.json:
        options.json.write_text(json.dumps(entries, indent=1))
    print(table(entries), day(entries), collectors(request_bytes()), sep="\n\n")


if __name__ == "__main__":
    main()
