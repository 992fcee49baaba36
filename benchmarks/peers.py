"""One mechanism of another library, timed: ``peers.py LIBRARY MECHANISM PEOPLE`` prints one JSON line.

Runs inside the environments of ``environments.py``. An adapter returns two functions: one person's value to a report, and all reports
to estimated frequencies. Each library is called the way its own examples do; where it leaves a step to its user (the counting after
opendp) the step is NumPy.
"""

import json
import math
import sys
import time
import warnings
from importlib.metadata import version

import numpy as np

from population import DOMAIN_SIZE, EPSILON, digest, values_for

REPEATS = 2
WARM_UP = 50


def pure_ldp(mechanism):
    from pure_ldp import frequency_oracles

    if mechanism in ("CMS", "HCMS", "BloomRR"):
        return pure_ldp_sketch(mechanism, frequency_oracles)
    name, options = {
        "GRR": ("DE", {}),
        "OUE": ("UE", {"use_oue": True}),
        "SUE": ("UE", {"use_oue": False}),
        "OLH": ("LH", {"use_olh": True}),
        "HRR": ("HadamardMech", {"t": 1}),  # one coefficient, one bit
        "THE": ("HE", {}),
        "HadamardResponse": ("HadamardResponse", {}),
        "FLH": ("FastLH", {"k": 500, "use_olh": True}),
    }[mechanism]
    options["index_mapper"] = int  # values count from 0, not from 1
    server = getattr(frequency_oracles, f"{name}Server")(EPSILON, DOMAIN_SIZE, **options, **({"use_the": True} if name == "HE" else {}))
    shared = (server.get_hash_funcs(),) if name == "HadamardResponse" else ()
    client = getattr(frequency_oracles, f"{name}Client")(EPSILON, DOMAIN_SIZE, *shared, **options)

    def estimate(reports):
        server.aggregate_all(reports)
        return np.array(server.estimate_all(range(DOMAIN_SIZE), suppress_warnings=True)) / len(reports)

    return client.privatise, estimate


def pure_ldp_sketch(mechanism, oracles):
    """Sketches of 128 functions times 1024 cells; for the Bloom filter 128 bits, 2 hashes, 8 cohorts, and only the encoding."""
    if mechanism == "BloomRR":
        f = 2 / (1 + math.exp(EPSILON / 4))  # what the library's own conversion would be with both hashes counted
        server = oracles.RAPPORServer(f, 128, 2, DOMAIN_SIZE, num_of_cohorts=8, index_mapper=int)
        client = oracles.RAPPORClient(f, 128, server.get_hash_funcs(), 8, index_mapper=int)
        return client.privatise, lambda reports: np.full(DOMAIN_SIZE, np.nan)
    hadamard = mechanism == "HCMS"
    server = oracles.CMSServer(EPSILON, 128, 1024, is_hadamard=hadamard, index_mapper=int)
    client = oracles.CMSClient(EPSILON, server.get_hash_funcs(), 1024, is_hadamard=hadamard)

    def estimate(reports):
        server.aggregate_all(reports)
        return np.array(server.estimate_all(range(DOMAIN_SIZE), suppress_warnings=True)) / len(reports)

    return client.privatise, estimate


def multi_freq_ldpy(mechanism):
    from multi_freq_ldpy.pure_frequency_oracles import GRR, HE, LH, SS, UE

    if mechanism == "GRR":
        return lambda x: GRR.GRR_Client(x, DOMAIN_SIZE, EPSILON), lambda all_: GRR.GRR_Aggregator_MI(all_, DOMAIN_SIZE, EPSILON)
    if mechanism in ("OUE", "SUE"):
        optimal = mechanism == "OUE"
        return lambda x: UE.UE_Client(x, DOMAIN_SIZE, EPSILON, optimal), lambda all_: UE.UE_Aggregator_MI(all_, EPSILON, optimal)
    if mechanism == "SubsetSelection":
        return lambda x: SS.SS_Client(x, DOMAIN_SIZE, EPSILON), lambda all_: SS.SS_Aggregator_MI(all_, DOMAIN_SIZE, EPSILON)
    if mechanism == "THE":
        return lambda x: HE.HE_Client(x, DOMAIN_SIZE, EPSILON), lambda all_: HE.HE_Aggregator_MI(all_, DOMAIN_SIZE, EPSILON, True)
    return lambda x: LH.LH_Client(x, DOMAIN_SIZE, EPSILON, True), lambda all_: LH.LH_Aggregator_MI(all_, DOMAIN_SIZE, EPSILON, True)


def ldp_toolbox(mechanism):
    from ldp_toolbox.protocols.frequency import grr, lh, ss, ue

    make = {
        "GRR": grr.GeneralizedRandomizedResponse,
        "OUE": ue.UnaryEncoding,
        "SUE": ue.UnaryEncoding,
        "SubsetSelection": ss.SubsetSelection,
        "OLH": lh.LocalHashing,
    }[mechanism]
    options = (False,) if mechanism == "SUE" else ()  # unary encoding and hashing are the optimized ones by default
    protocol = make(DOMAIN_SIZE, EPSILON, *options)
    return protocol.obfuscate, protocol.estimate


def opendp(mechanism):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    size = 2 if mechanism == "RR" else DOMAIN_SIZE
    p = math.exp(EPSILON) / (math.exp(EPSILON) + size - 1)
    q = (1 - p) / (size - 1)
    randomize = dp.m.make_randomized_response_bool(p) if mechanism == "RR" else dp.m.make_randomized_response(list(range(size)), p)

    def estimate(reports):
        return (np.bincount(reports, minlength=size) / len(reports) - q) / (p - q)

    return randomize, estimate


ADAPTERS = {"pure-ldp": pure_ldp, "multi-freq-ldpy": multi_freq_ldpy, "ldp-toolbox": ldp_toolbox, "opendp": opendp}
"""Libraries by the names of their packages."""


def one_run(library, mechanism, values):
    """Everyone's reports and the estimate; making the objects is not timed. Returns seconds and frequencies."""
    randomize, estimate = ADAPTERS[library](mechanism)
    start = time.perf_counter()
    frequencies = estimate([randomize(value) for value in values])
    return time.perf_counter() - start, frequencies


def main():
    library, mechanism, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
    warnings.simplefilter("ignore")
    crowd = values_for(mechanism, n)
    values = crowd.tolist()  # these libraries take Python's numbers, one by one
    one_run(library, mechanism, values[:WARM_UP])  # compiles what is compiled, starts the workers
    runs = [one_run(library, mechanism, values) for _ in range(REPEATS)]
    result = {
        "library": library,
        "version": version(library),
        "people": n,
        "seconds": min(seconds for seconds, _ in runs),
        "estimate_of_top": float(runs[0][1][1 if mechanism == "RR" else 0]),
        "crowd": digest(crowd),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
