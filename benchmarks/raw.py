"""The parts by themselves: random words, packed bits, making reports, counting them, and one report on a device."""

import os

import numpy as np

from deniable.core.stream import SecureStream, cores, in_parallel
from deniable.local.frequency.unary import sum_bits
from oracles import PEERS, PEOPLE, oracle_of
from population import DOMAIN_SIZE, people, values_for
from printing import compact, markdown
from timing import best, say

REPEATS = 3
WORDS = 1 << 15
FILLS = 500
ROWS = 1 << 16
SCALAR = 2_000


def measure():
    """Rates of the parts."""
    say("raw kernels ...")
    return {
        "cores": cores(),
        "secure_stream_bytes_per_second": {"one thread": _stream(1), "all cores": _stream(cores())},
        "column_sums_bits_per_second": _column_sums(),
        "mechanisms": [_mechanism(mechanism) for mechanism in PEERS],
    }


def _stream(threads):
    """Each thread fills one buffer again and again, as ``privatize`` does."""
    key = os.urandom(32)

    def fill(thread):
        stream, words = SecureStream(key, thread), np.empty(WORDS, np.uint64)
        for _ in range(FILLS):
            stream.fill(memoryview(words))

    return threads * FILLS * WORDS * 8 / best(REPEATS, lambda: in_parallel(fill, range(threads)))


def _column_sums():
    rows = oracle_of("OUE").privatize(people(ROWS)).columns["bits"]
    sum_bits(rows, DOMAIN_SIZE)
    return ROWS * DOMAIN_SIZE / best(REPEATS, lambda: sum_bits(rows, DOMAIN_SIZE))


def _mechanism(mechanism):
    oracle, values = oracle_of(mechanism), values_for(mechanism, PEOPLE)
    reports = oracle.privatize(values)
    oracle.tally(reports)
    few = values[:SCALAR].tolist()
    return {
        "mechanism": mechanism,
        "privatize_people_per_second": PEOPLE / best(REPEATS, lambda: oracle.privatize(values)),
        "tally_people_per_second": PEOPLE / best(REPEATS, lambda: oracle.tally(reports)),
        "randomize_microseconds": 1e6 / SCALAR * best(REPEATS, lambda: [oracle.randomize(value) for value in few]),
        "bits": oracle.report_bits,
    }


def table(result):
    """Two tables: bytes and bits, and the mechanisms."""
    stream = result["secure_stream_bytes_per_second"]
    rows = [[f"secure stream, {where}", f"{compact(rate)}B/s"] for where, rate in stream.items()]
    rows.append(["packed column sums, one thread", f"{compact(result['column_sums_bits_per_second'])}bit/s"])
    header = ["mechanism", "privatize, people/s", "tally, people/s", "randomize one", "bits per report"]
    mechanisms = [
        [
            entry["mechanism"],
            compact(entry["privatize_people_per_second"]),
            compact(entry["tally_people_per_second"]),
            f"{entry['randomize_microseconds']:.3g} us",
            entry["bits"],
        ]
        for entry in result["mechanisms"]
    ]
    return markdown(["part", "rate"], rows) + "\n\n" + markdown(header, mechanisms)
