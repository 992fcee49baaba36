"""One valid call of every public function and constructor: the first in its docstring's examples, or one of these by hand."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

import deniable as dn
from deniable.accounting import Pure
from deniable.client.bulletin import Bulletin
from deniable.client.ledger import MemoryLedger
from deniable.contract.encoder import Identity
from deniable.contract.notice import ANALYST
from deniable.lab.curator_attacks.counts import exact_counts
from deniable.lab.curator_attacks.linkage import clinic
from deniable.lab.declared import experiment_from_toml
from deniable.sealing.seal import open_outer
from deniable.tasks.heavy_hitters import PEM
from deniable.testing import ReplaySource
from tests.client.fake import TASK
from tests.multiparty.conftest import MaskedSum
from tests.sealing.parties import Parties

Call = tuple[tuple[Any, ...], dict[str, Any]]
RR, DRINKS = dn.RR(epsilon=1.0), dn.GRR(domain=dn.Categories("tea", "coffee", "water"), epsilon=1.0)
QUESTION = dn.Question(name="drink", spec=DRINKS)
MADE_HERE = """
accounting: Bill
client: Receipt
core: Answers Candidates Chart Choice Comparison CountLaw DistributionEstimate Estimate Figure FrequencyEstimate IntegrityReport
core: Law Listing MeanEstimate Measured NumberEstimate PeopleEstimate Ratings Reports Tally Texts Unknown
lab: Audit Check EmpiricalAudit Results
tasks: ClusterEstimate DegreeEstimate Flows Graph
tasks: GraphGuarantee LinearModel MarginalEstimate NamedPlaces NextWords PairShares PlacesEstimate Plan
tasks: RangeEstimate Recommender RepeatedEstimate
tasks: SyntheticGraph TableEstimate Tracks Trie
"""
"""Results, and containers that a method ``of`` fills: nobody calls these constructors but deniable."""
RESULTS = {(room, name) for line in MADE_HERE.split("\n") if line for room, _, names in [line.partition(":")] for name in names.split()}
ELSEWHERE = {("engines", "gpu.tally"), ("engines", "spark.privatize"), ("engines", "spark.run"), ("engines", "spark.tally")}
"""What needs a graphics processor or a running Spark."""


def by_hand(folder: Path) -> dict[str, Call]:
    """Valid arguments by full name; those who want files find them in ``folder``."""
    parties, summed, bulletin = Parties(), MaskedSum(3), Bulletin(folder)
    envelope, people = parties.envelope(), clinic(60, ReplaySource.from_key("clinic"))
    sealed = parties.seal(envelope)
    inner = open_outer(parties.shufflers[0], sealed).next
    session = dn.central.Session(people[0], budget=100.0, neighbors="add-remove")
    person = {"born": people[0]["born"][0]}
    (folder / "mine.toml").write_text(EXPERIMENT)
    reports = DRINKS.privatize(["tea"] * 50, source=ReplaySource.from_key("calls"))
    pq.write_table(reports.to_arrow(), folder / "reports.parquet")
    pl.DataFrame({"code": np.arange(400) % 5}).write_parquet(folder / "people.parquet")
    seed = parties.collector_seed
    calls: dict[str, Call] = {
        "accounting.budget.BudgetFilter": ((folder / "budget",), {"epsilon": 1.0, "neighbors": "replace"}),
        "accounting.calibration.calibrate": ((lambda rounds: rounds <= 10,), {"safe": 1, "risky": 1000}),
        "accounting.combinations.GroupEvent": ((), {"event": Pure(epsilon=0.5), "size": 2}),
        "accounting.combinations.Parallel": ((), {"events": (Pure(epsilon=0.5),), "by": "person"}),
        "accounting.combinations.Repeated": ((), {"event": Pure(epsilon=0.5), "times": 3}),
        "accounting.combinations.Replaced": ((), {"event": Pure(epsilon=0.5, neighbors="add-remove")}),
        "accounting.combinations.Sampled": ((), {"event": dn.accounting.GaussianEvent(sigma=2.0), "rate": 0.1}),
        "accounting.combinations.Sequential": ((), {"events": (Pure(epsilon=0.5),)}),
        "accounting.leaves.Approximate": ((), {"epsilon": 1.0, "delta": 1e-6}),
        "accounting.leaves.BoundedRange": ((), {"epsilon": 1.0}),
        "accounting.leaves.DiscreteGaussianEvent": ((), {"sigma": 2.0, "sensitivity": 1}),
        "accounting.leaves.DiscreteLaplaceEvent": ((), {"scale": 2.0, "sensitivity": 1}),
        "accounting.leaves.GaussianEvent": ((), {"sigma": 2.0, "sensitivity": 1.0}),
        "accounting.leaves.LaplaceEvent": ((), {"scale": 2.0, "sensitivity": 1.0}),
        "accounting.leaves.Pure": ((), {"epsilon": 1.0}),
        "accounting.leaves.RDP": ((), {"orders": (2.0, 4.0), "epsilons": (0.1, 0.2)}),
        "accounting.leaves.ZCDP": ((), {"rho": 0.5}),
        "client.board.Board": ((bulletin,), {}),
        "client.bulletin.Bulletin": ((folder,), {}),
        "client.bulletin.Everywhere": ((bulletin,), {}),
        "client.file_ledger.FileLedger": ((folder / "ledger",), {"lifetime_epsilon": 10.0}),
        "client.one_bit_mean_pm.OneBitMeanPM": ((), {"low": 0, "high": 200, "epsilon": 1.0}),
        "client.rappor.RAPPOR": ((), {"domain": dn.Text(8), "epsilon": 2.0, "first_epsilon": 1.0}),
        "client.reporter.Reporter": ((bulletin,), {"task": TASK.id, "ledger": MemoryLedger(lifetime_epsilon=10.0)}),
        "client.transport.HTTPTransport": (("https://collector.example",), {}),
        "contract.encoder.encoder_from_json": ((Identity().to_json(),), {}),
        "contract.protocol.protocol_from_json": ((dn.Survey((QUESTION,)).canonical,), {}),
        "contract.question.Question": ((), {"name": "drink", "spec": DRINKS}),
        "contract.question.Round": (((QUESTION,),), {}),
        "contract.spec.bulk_half": ((type("Unknown", (), {}),), {}),
        "contract.survey.Survey": (((QUESTION,),), {}),
        "contract.task.Task": ((), {field.name: getattr(TASK, field.name) for field in fields(TASK) if field.init}),
        "core.integrity.check_reports": ((reports,), {}),
        "engines.local.run": ((PEM(bits=4, k=2, epsilon=4.0), folder / "people.parquet", "code"), {}),
        "engines.local.tally": ((folder / "reports.parquet",), {}),
        "lab.attacks.craft": ((DRINKS, "crafted", np.array([1]), 5, ReplaySource.from_key("craft")), {}),
        "lab.audit.empirical.empirical_audit": ((RR, 0, 1), {"trials": 100}),
        "lab.curator_attacks.counts.rounded_counts": ((people[0],), {}),
        "lab.curator_attacks.counts.session_counts": ((session, 0.01), {}),
        "lab.curator_attacks.linkage.guess_by_counting": ((exact_counts(people[0]), person, person, ("born",)), {}),
        "lab.curator_attacks.linkage.link": (people, {"keys": ("born", "sex", "postcode")}),
        "lab.curator_attacks.reconstruction.draw_groups": ((4, 3), {}),
        "lab.declared.experiment_from_toml": ((folder / "mine.toml",), {}),
        "lab.protocol_run.ProtocolRun": (("PEM", {"bits": 8}), {"k": 3}),
        "lab.metrics.check_k": ((3,), {}),
        "lab.populations.observed.FileColumn": ((folder / "people.parquet", "code"), {}),
        "lab.runner.run": ((experiment_from_toml(folder / "mine.toml"), folder), {"workers": 1}),
        "local.oracle_choice.frequency_oracle": ((), {"domain_size": 9, "epsilon": 1.0}),
        "local.mean_choice.mean_oracle": ((), {"low": 0, "high": 9, "epsilon": 1.0}),
        "multiparty.roles.run_sum": ((summed.parties, summed.aggregator), {}),
        "multiparty.masking.aggregator.MaskingAggregator": ((summed.terms,), {}),
        "multiparty.masking.party.MaskingParty": ((summed.terms, 0, summed.identities[0], summed.vectors[0]), {}),
        "multiparty.terms.SumTerms": ((), {"label": "sum", "parties": summed.terms.parties, "length": 3}),
        "sealing.identity.sign": ((seed, b"context", b"message"), {}),
        "sealing.identity.verified": ((bytes(32), b"context", b"message", bytes(64)), {}),
        "sealing.identity.new_identity": ((), {}),
        "sealing.keys.KeyPair": ((b"\x07" * 32, 1, 2), {}),
        "sealing.keys.KeyRing": ((folder / "keys", ANALYST), {}),
        "sealing.keys.announce": ((seed, [parties.analyst]), {}),
        "sealing.keys.check_listed": ((10**7, 10**5), {}),
        "sealing.keys.least_lifetime": ((10**5,), {}),
        "sealing.seal.dummy": ((parties.task, 0, parties.analyst), {}),
        "sealing.seal.open_box": ((parties.shufflers[0], sealed, "shuffler"), {}),
        "sealing.seal.open_inner": ((parties.collector, inner, parties.task), {}),
        "sealing.seal.open_inners": (({}, [inner], parties.task), {}),
        "sealing.seal.open_outer": ((parties.shufflers[0], sealed), {}),
        "sealing.seal.open_outers": (({}, [sealed]), {}),
        "sealing.seal.seal_report": ((parties.task, envelope, parties.analyst, parties.relays), {}),
        "shuffle.event.Shuffled": ((), {"epsilon0": 1.0, "n": 100}),
        "tasks.itemsets.searches.frequent_itemsets": (
            ([["a", "b"], ["b"]] * 100,),
            {"items": dn.Categories("a", "b", "c"), "k": 2, "epsilon": 2.0},
        ),
        "tasks.plan.counts.plan": ((), {"domain_size": 9, "epsilon": 1.0, "oracles": ["GRR", "OUE"]}),
        "tasks.plan.figures.at_epsilon": ((DRINKS, 2.0), {}),
        "tasks.plan.means.plan_mean": ((), {"low": 0, "high": 9, "epsilon": 1.0}),
        "tasks.ranges.choice.range_method": ((), {"domain": dn.Integers(0, 15), "epsilon": 1.0}),
        "contract.enumeration.ForkingSource": (((1,),), {}),
    }
    return calls


EXPERIMENT = """
name = "small"
title = "Small"
epsilons = [1.0]
people = [100]
repetitions = 1
metrics = ["mse"]
[[populations]]
kind = "Zipf"
exponent = 1.2
size = 4
[[mechanisms]]
name = "GRR"
"""


class CalledError(Exception):
    """The example came to the call."""


def from_docstring(value: Any) -> Call | None:
    """The arguments of the first call of a public name in its own examples, which are run up to there."""
    found: list[Call] = []

    def called(*args: Any, **kwargs: Any) -> None:
        found.append((args, kwargs))
        raise CalledError

    class Public:
        def __getattr__(self, name: str) -> Any:
            return called if getattr(dn, name) is value else getattr(dn, name)

    names = {**vars(importlib.import_module(value.__module__)), value.__name__: called, "dn": Public()}
    with contextlib.suppress(CalledError), contextlib.redirect_stdout(io.StringIO()):
        for example in doctest.DocTestParser().get_examples(inspect.getdoc(value) or ""):
            if "import deniable as dn" not in example.source:
                exec(compile(example.source, value.__name__, "single"), names)
            names[value.__name__] = called  # an example may import it
    return found[0] if found else None
