"""Methods for experiments in tests, importable by worker processes: a reference for a metric, and one that fails."""

from __future__ import annotations

from dataclasses import dataclass

from deniable.client import GRR
from deniable.errors import ProtocolError
from deniable.lab.methods import Method


def floor(metric, population, epsilon, n):
    return 0.25 if metric == "ndcg" else None


@dataclass(frozen=True)
class Failing(Method):
    label: str = "bad"

    def setup(self, population, epsilon, n, repetition=0):
        return GRR(domain=population.domain, epsilon=epsilon)

    def run(self, setup, values, source):
        raise ProtocolError("tallies", 3, allowed="none", fix="this one always fails")

    @property
    def gives(self):
        return {"list"}

    def identity(self):
        return self.label
