"""Integer noise by opendp, in an environment of its own: ``peer_noise.py Laplace|Gaussian SCALE N`` prints one JSON line."""

import json
import sys
import time
from importlib.metadata import version

import opendp.prelude as dp


def main():
    law, scale, n = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    make, metric = (dp.m.make_laplace, dp.l1_distance(T="i64")) if law == "Laplace" else (dp.m.make_gaussian, dp.l2_distance(T="f64"))
    release = make(domain, metric, scale=scale)
    zeros = [0] * n
    release(zeros[:1000])  # starts what is started once
    taken = []
    for _ in range(2):
        start = time.perf_counter()
        release(zeros)
        taken.append(time.perf_counter() - start)
    print(json.dumps({"version": version("opendp"), "rate": n / min(taken)}))


if __name__ == "__main__":
    main()
