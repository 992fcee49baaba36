"""Exact integer noise, side by side with NumPy's insecure generator and with opendp.

Timed: a whole array of noise. Ours is exact, from the default secure source, on all cores and on one. NumPy's Laplace noise is the
difference of two geometric numbers, its Gaussian noise is normal and rounded, both from PCG64 in double precision on one core: neither is
private, and neither is the law that is stated. opendp's is exact too, one number at a time.
"""

import argparse
import os
from fractions import Fraction
from pathlib import Path

import numpy as np

from beside import beside
from deniable.central import ExactNoise
from environments import python_of
from printing import compact, markdown
from timing import json_line, say

NUMBERS, PEER_NUMBERS = 10_000_000, 200_000
TARGET = 10e6
CASES = [("Laplace", 10.0), ("Laplace", 1000.0), ("Gaussian", 10.0), ("Gaussian", 10_000.0)]


def measure(peers=True):
    """One entry for each law and scale."""
    return [_measure(law, scale, peers) for law, scale in CASES]


def _measure(law, scale, peers):
    say(f"{law} noise of scale {scale:g}: {NUMBERS:,} numbers ...")
    width = Fraction(scale)
    noise = ExactNoise(linear=1 / width) if law == "Laplace" else ExactNoise(quadratic=1 / (2 * width**2))
    draw = np.random.default_rng(int.from_bytes(os.urandom(8)))

    def plain():
        if law == "Laplace":
            chance = -np.expm1(-1 / scale)
            return draw.geometric(chance, NUMBERS) - draw.geometric(chance, NUMBERS)
        return np.rint(draw.normal(0.0, scale, NUMBERS)).astype(np.int64)

    result = beside(f"{law}, {scale:g}", NUMBERS, lambda: noise.draws(NUMBERS), plain)
    if peers:
        try:
            command = [python_of("opendp"), Path(__file__).with_name("peer_noise.py"), law, scale, PEER_NUMBERS]
            result["opendp"] = json_line(command, timeout=120)["rate"]
        except RuntimeError as error:
            result["opendp"] = str(error)
    return result


def table(results):
    """Numbers per second, and how many times those of the others."""
    rows = []
    for result in results:
        rates, peer = result["people_per_second"], result.get("opendp", "not run")
        known = isinstance(peer, float)
        rows.append(
            [
                result["mechanism"],
                *(compact(rates[name]) for name in ("all cores", "one core", "numpy")),
                compact(peer) if known else peer,
                f"{rates['all cores'] / rates['numpy']:.1f}",
                f"{result['cpu_ratio']:.1f}",
                f"{rates['all cores'] / peer:.0f}" if known else "",
                f"{rates['all cores'] / TARGET:.1f}",
            ]
        )
    head = ["numbers/s", "all cores", "one core", "NumPy", "opendp", "all / NumPy", "CPU time, one / NumPy", "all / opendp", "all / target"]
    return markdown(head, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave opendp out")
    print(table(measure(not parser.parse_args().quick)))
