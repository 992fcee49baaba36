"""Against two other libraries, from recorded values (``scripts/checks/record_oracles.py``): no library is needed to run this."""

from __future__ import annotations

import json

import pytest

from deniable.accounting import account, event_from_json
from tests.conftest import ROOT

RECORDED = json.loads((ROOT / "tests" / "data" / "accounting_oracles.json").read_text())


def cells(library, rule):
    return [
        pytest.param(
            event_from_json(cell["event"]), cell, id=f"{cell['event']['event']['kind']} x {cell['event']['times']}, {cell['delta']:g}"
        )
        for cell in RECORDED[library]["cells"]
        if cell["rule"] == rule
    ]


@pytest.mark.parametrize(("event", "cell"), cells("dp-accounting", "PLD"))
def test_loss_distributions_lie_in_the_bracket(event, cell):
    """Theirs rounded down on a grid of 1e-4 is below the truth, so ours, an upper bound, is not below that; nor is it above theirs."""
    found = account(event, delta=cell["delta"], rules=("basic", "PLD")).epsilon  # together: at its end, a pure sum is exact
    assert cell["low"] * (1 - 1e-9) <= found <= cell["high"] * (1 + 1e-5) + 1e-5


@pytest.mark.parametrize(("event", "cell"), cells("dp-accounting", "RDP"))
def test_renyi_divergences_at_the_best_order(event, cell):
    """The same formulas; only the lists of orders differ."""
    assert account(event, delta=cell["delta"], rules=("RDP",)).epsilon == pytest.approx(cell["epsilon"], rel=0.03)


@pytest.mark.parametrize(("event", "cell"), cells("opendp", "basic"))
def test_sums_of_pure_epsilons(event, cell):
    assert account(event, delta=0).epsilon == pytest.approx(cell["epsilon"], rel=1e-12)


@pytest.mark.parametrize(("event", "cell"), cells("opendp", "zCDP"))
def test_zcdp_as_epsilon(event, cell):
    assert account(event, delta=cell["delta"], rules=("zCDP",)).epsilon == pytest.approx(cell["epsilon"], rel=1e-6)


def test_both_libraries_were_asked():
    assert {name: len(RECORDED[name]["cells"]) for name in ("dp-accounting", "opendp")} == {"dp-accounting": 39, "opendp": 11}
