"""A small experiment for the tests, and how its results are read."""

from __future__ import annotations

import polars as pl

from deniable.lab.experiment import Experiment
from deniable.lab.methods import Oracle
from deniable.lab.populations import Uniform, Zipf

SMALL = Experiment(
    name="small",
    title="A small one",
    populations=[Zipf(1.1, 16), Uniform(0, 15)],
    mechanisms=[Oracle("GRR", k=3), Oracle("OLH", {"hash_range": 4}, k=3)],
    epsilons=[1, 2],
    people=[500, 2000],
    repetitions=3,
    metrics=["mse", "ndcg"],
)


def columns(path):
    return pl.read_parquet(path)
