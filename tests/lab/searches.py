"""A search for experiments in tests, importable by worker processes: ask everyone, and report the largest counts."""

from __future__ import annotations

from types import SimpleNamespace

import deniable as dn
from deniable.contract.question import Question
from deniable.lab.metrics import most_frequent


class AskEveryone:
    """What experiments need of a protocol: a canonical form, and a run."""

    def __init__(self, domain_size, epsilon, k):
        self.survey = dn.Survey((Question(name="all", spec=dn.GRR(domain_size=domain_size, epsilon=epsilon)),))
        self.k = k
        self.canonical = self.survey.canonical

    def run(self, values, *, source):
        estimate = self.survey.run(values, source=source)["all"]
        return {"heavy_hitters": SimpleNamespace(values=most_frequent(estimate.values, estimate.counts, self.k, source))}


def ask_everyone(*, epsilon, n, k, domain_size=40):
    return AskEveryone(domain_size, epsilon, k)


def floor(metric, population, epsilon, n):
    return 0.25 if metric == "ndcg" else None


def fail(*, epsilon, n, k):
    return Failing()


class Failing:
    canonical = b"{}"

    def run(self, values, *, source):
        raise dn.errors.ProtocolError("tallies", 3, allowed="none", fix="this one always fails")
