"""Writes tests/data/accounting_oracles.json anew: what two other libraries say about the events that our accountants know.

Run it once in each of two environments of their own, which clash with ours::

    python -m venv .bench/dp-accounting && .bench/dp-accounting/bin/pip install dp-accounting==0.6.0
    python -m venv .bench/opendp && .bench/opendp/bin/pip install opendp==0.16.0
    .bench/dp-accounting/bin/python scripts/checks/record_oracles.py && .bench/opendp/bin/python scripts/checks/record_oracles.py

Each run replaces the part of the library that it finds. Events are written as our own JSON, so that the tests need neither library.
"""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

FILE = Path(__file__).parents[2] / "tests" / "data" / "accounting_oracles.json"
DELTAS = (1e-3, 1e-6, 1e-9)


def leaf(kind: str, **fields: Any) -> dict[str, Any]:
    """A leaf as our JSON has it."""
    return {"kind": kind, "neighbors": "add-remove"} | {
        name: repr(value) if isinstance(value, float) else value for name, value in fields.items()
    }


def repeated(event: dict[str, Any], times: int) -> dict[str, Any]:
    """An event, several times."""
    return {"kind": "Repeated", "event": event, "times": times}


def dp_accounting() -> list[dict[str, Any]]:
    """Loss distributions, rounded up and rounded down on a grid of 1e-4: the truth lies between. And Renyi divergences."""
    from dp_accounting import dp_event
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    made = [
        (leaf("Pure", epsilon=0.1), 100, lambda up: pld.from_randomized_response(2 / (1 + 2.718281828459045**0.1), 2, up, 1e-4)),
        (leaf("Pure", epsilon=1.0), 10, lambda up: pld.from_randomized_response(2 / (1 + 2.718281828459045), 2, up, 1e-4)),
        (leaf("Laplace", scale=10.0, sensitivity=1.0), 100, lambda up: pld.from_laplace_mechanism(10.0, 1, up, 1e-4)),
        (leaf("Laplace", scale=0.5, sensitivity=1.0), 3, lambda up: pld.from_laplace_mechanism(0.5, 1, up, 1e-4)),
        (leaf("DiscreteLaplace", scale=4.0, sensitivity=3), 20, lambda up: pld.from_discrete_laplace_mechanism(0.25, 3, up, 1e-4)),
        (leaf("Gaussian", sigma=1.0, sensitivity=1.0), 1, lambda up: pld.from_gaussian_mechanism(1.0, 1, up, 1e-4)),
        (leaf("Gaussian", sigma=20.0, sensitivity=1.0), 100, lambda up: pld.from_gaussian_mechanism(20.0, 1, up, 1e-4)),
        (leaf("DiscreteGaussian", sigma=5.0, sensitivity=2), 7, lambda up: pld.from_discrete_gaussian_mechanism(5.0, 2, None, up, 1e-4)),
    ]
    for rate, sigma, times in ((0.01, 1.0, 500), (0.2, 2.0, 20)):
        event = {"kind": "Sampled", "event": leaf("Gaussian", sigma=sigma, sensitivity=1.0), "rate": repr(rate)}
        made.append((event, times, lambda up, s=sigma, r=rate: pld.from_gaussian_mechanism(s, 1, up, 1e-4, sampling_prob=r)))
    cells = []
    for event, times, build in made:
        high, low = (build(up).self_compose(times) for up in (True, False))
        for delta in DELTAS:
            bracket = [float(losses.get_epsilon_for_delta(delta)) for losses in (low, high)]
            cells.append({"rule": "PLD", "event": repeated(event, times), "delta": delta, "low": bracket[0], "high": bracket[1]})
    noise = dp_event.GaussianDpEvent(1.0)
    for event, times, theirs in (
        (leaf("Gaussian", sigma=1.0, sensitivity=1.0), 10, noise),
        (
            {"kind": "Sampled", "event": leaf("Gaussian", sigma=1.0, sensitivity=1.0), "rate": "0.01"},
            500,
            dp_event.PoissonSampledDpEvent(0.01, noise),
        ),
        (leaf("Laplace", scale=2.0, sensitivity=1.0), 30, dp_event.LaplaceDpEvent(2.0)),
    ):
        for delta in DELTAS:
            accountant = rdp.RdpAccountant().compose(theirs, times)
            cells.append({"rule": "RDP", "event": repeated(event, times), "delta": delta, "epsilon": float(accountant.get_epsilon(delta))})
    return cells


def opendp() -> list[dict[str, Any]]:
    """Sums of pure epsilons, and zCDP turned into epsilon."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    cells = []
    for scale, times in ((1.0, 3), (4.0, 7)):
        noise = dp.m.make_laplace(*space, scale=scale)
        total = dp.c.make_composition([noise] * times).map(1)
        cells.append(
            {"rule": "basic", "event": repeated(leaf("DiscreteLaplace", scale=scale, sensitivity=1), times), "delta": 0, "epsilon": total}
        )
    for sigma, times in ((1.0, 1), (5.0, 10), (40.0, 300)):
        noise = dp.m.make_gaussian(*space, scale=sigma)
        curve = dp.c.make_zCDP_to_approxDP(dp.c.make_composition([noise] * times)).map(1)
        for delta in DELTAS:
            event = repeated(leaf("DiscreteGaussian", sigma=sigma, sensitivity=1), times)
            cells.append({"rule": "zCDP", "event": event, "delta": delta, "epsilon": curve.epsilon(delta)})
    return cells


def main() -> None:
    """The file with the parts of the libraries that are here."""
    content: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    content["about"] = (
        "Written by scripts/checks/record_oracles.py in environments of the other libraries' own. For PLD, the truth lies from low to high."
    )
    for name, cells in (("dp-accounting", dp_accounting), ("opendp", opendp)):
        try:
            content[name] = {"version": version(name), "cells": cells()}
        except PackageNotFoundError:
            continue
    FILE.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
