"""pure-ldp's prefix search, timed: ``peer_search.py ORACLE PEOPLE`` prints one JSON line. Runs inside its own environment."""

import json
import sys
import time
import warnings

from strings import BITS, EPSILON, K, crowd, found_of

warnings.simplefilter("ignore")


def search(oracle):
    """The client and the server, with the options of the library's own examples."""
    from pure_ldp import frequency_oracles as oracles
    from pure_ldp.heavy_hitters import PEMClient, PEMServer

    if oracle != "HCMS":
        raise ValueError(f"{oracle} does not fit at {BITS} bits")
    server = oracles.CMSServer(EPSILON, 128, 1024, is_hadamard=True)
    client = oracles.CMSClient(EPSILON, server.get_hash_funcs(), 1024, is_hadamard=True)
    return PEMClient(EPSILON, 6, BITS, 6, fo_client=client), PEMServer(EPSILON, 6, BITS, 6, fo_server=server)


def main():
    oracle, n = sys.argv[1], int(sys.argv[2])
    heavy, values = crowd(n)
    texts = [f"{value:0{BITS}b}" for value in values.tolist()]
    client, server = search(oracle)
    start = time.perf_counter()
    for report in [client.privatise(text) for text in texts]:
        server.aggregate(report)
    found, _ = server.find_heavy_hitters(k=K)
    seconds = time.perf_counter() - start
    names = [int(text.replace("*", ""), 2) for text in found]
    print(json.dumps({"people": n, "seconds": seconds, "found": found_of(names, heavy)}))


if __name__ == "__main__":
    main()
