"""Frequency oracles from values to estimates, side by side with the other libraries on the same crowd.

Timed: privatize + tally + estimate, with the default secure source on all cores. The other libraries do the same three steps for
fewer people, since they take longer; people per second are compared.
"""

import subprocess
from pathlib import Path
from textwrap import shorten

import deniable as dn
from environments import HOMES, python_of
from population import DOMAIN_SIZE, EPSILON, digest, values_for
from printing import compact, markdown
from timing import best, json_line, say

PEOPLE = 1_000_000
REPEATS = 3
PEER_PEOPLE = {"RR": 100_000, "GRR": 100_000, "HRR": 100_000, "HadamardResponse": 100_000, "HCMS": 50_000, "FLH": 50_000, "OLH": 10_000}
FEW = 20_000
"""What the other libraries are given of the rest."""
PEERS = {
    "RR": ("opendp",),
    "GRR": ("pure-ldp", "multi-freq-ldpy", "ldp-toolbox", "opendp"),
    "OUE": ("pure-ldp", "multi-freq-ldpy", "ldp-toolbox"),
    "SUE": ("pure-ldp", "multi-freq-ldpy", "ldp-toolbox"),
    "SubsetSelection": ("multi-freq-ldpy", "ldp-toolbox"),
    "THE": ("pure-ldp", "multi-freq-ldpy"),
    "HRR": ("pure-ldp",),
    "HadamardResponse": ("pure-ldp",),
    "PGR": (),
    "RWS": (),
    "CMS": ("pure-ldp",),
    "HCMS": ("pure-ldp",),
    "BloomRR": ("pure-ldp",),
    "FLH": ("pure-ldp",),
    "OLH": ("pure-ldp", "multi-freq-ldpy", "ldp-toolbox"),
}
TARGETS = {"GRR": 60, "OUE": 60, "SUE": 60, "SubsetSelection": 50, "HadamardResponse": 100, "HRR": 100}
TARGETS |= {"CMS": 80, "HCMS": 100, "BloomRR": 60, "OLH": 1000}
OPTIONS = {
    "CMS": {"hashes": 128, "width": 1024},
    "HCMS": {"hashes": 128, "width": 1024},
    "FLH": {"hashes": 500},
    "BloomRR": {"bits": 128, "hashes": 2, "cohorts": 8},
}
"""What the other libraries are measured with."""
PATIENCE = 300
"""Seconds that a peer may take, all its runs together."""


def oracle_of(mechanism):
    """A mechanism under the benchmark's parameters."""
    if mechanism == "RR":
        return dn.RR(epsilon=EPSILON)
    return getattr(dn, mechanism)(domain_size=DOMAIN_SIZE, epsilon=EPSILON, **OPTIONS.get(mechanism, {}))


def measure(with_peers):
    """One entry for each mechanism."""
    return [_measure(mechanism, with_peers) for mechanism in PEERS]


def _measure(mechanism, with_peers):
    say(f"{mechanism}: deniable, {PEOPLE:,} people ...")
    oracle, values = oracle_of(mechanism), values_for(mechanism, PEOPLE)

    def whole():
        if mechanism == "BloomRR":  # 1024 candidates in 1024 bits have no least squares: the encoding is compared
            return oracle.privatize(values).columns["cohort"]
        return oracle.estimate(oracle.tally(oracle.privatize(values))).frequencies

    estimate = whole()  # compiles or loads the kernels: not timed
    ours = {
        "people": PEOPLE,
        "seconds": best(REPEATS, whole),
        "estimate_of_top": float(estimate[1 if mechanism == "RR" else 0]),
    }
    entry = {"mechanism": mechanism, "deniable": _rated(ours), "target": TARGETS.get(mechanism)}
    if with_peers:
        entry["peers"] = {library: _peer(library, mechanism) for library in PEERS[mechanism]}
        rates = [peer["people_per_second"] for peer in entry["peers"].values() if "error" not in peer]
        entry["ratio"] = entry["deniable"]["people_per_second"] / max(rates) if rates else None
    return entry


def _peer(library, mechanism):
    n = PEER_PEOPLE.get(mechanism, FEW)
    try:
        python = python_of(library)
        say(f"{mechanism}: {library}, {n:,} people ...")
        result = json_line([python, Path(__file__).with_name("peers.py"), library, mechanism, n], timeout=PATIENCE)
        if result["crowd"] != digest(values_for(mechanism, n)):
            raise RuntimeError("asked another crowd")
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        return {"error": str(error)}
    return _rated(result)


def _rated(result):
    return result | {"people_per_second": result["people"] / result["seconds"]}


def table(entries):
    """People per second, and how many times the fastest peer's."""
    if "peers" not in entries[0]:
        return markdown(
            ["mechanism", "deniable, people/s"], [[e["mechanism"], compact(e["deniable"]["people_per_second"])] for e in entries]
        )
    rows = []
    for entry in entries:
        peers = [_cell(entry["peers"].get(library)) for library in HOMES]
        ratio = "-" if entry["ratio"] is None else f"{entry['ratio']:,.0f}x"
        target = "-" if entry["target"] is None else f"{entry['target']:,}x"
        rows.append([entry["mechanism"], compact(entry["deniable"]["people_per_second"]), *peers, ratio, target])
    return markdown(["people/s", "deniable", *HOMES, "deniable / fastest", "target"], rows)


def _cell(peer):
    if peer is None:
        return "-"
    if "error" in peer:
        return shorten(f"fails: {peer['error']}", 100, placeholder=" ...").replace("|", "/")
    return compact(peer["people_per_second"])
