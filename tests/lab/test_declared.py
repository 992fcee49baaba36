"""Experiments from files: everything in them is checked, and clearly refused."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest

from deniable.contract.domain import Integers
from deniable.errors import DeniableError, ParameterError
from deniable.lab.declared import experiment_from_toml
from deniable.lab.runner import run

GOOD = """
name = "drinks"
title = "Which mechanism for drinks?"
epsilons = [0.5, 2]
people = [1_000]
repetitions = 2
metrics = ["mse", "ndcg"]
k = 2

[[populations]]
kind = "Multinomial"
weights = [5, 3, 2]
labels = ["tea", "coffee", "water"]

[[populations]]
kind = "Mixture"
weights = [3, 1]
parts = [{kind = "Poisson", mean = 5}, {kind = "Uniform", low = 0, high = 14}]

[[populations]]
kind = "FileColumn"
path = "people.csv"
name = "drink"

[[mechanisms]]
name = "GRR"

[[mechanisms]]
name = "OLH"
hash_range = 8
label = "OLH, 8 cells"
postprocess = "norm-sub"
k = 3
"""


def declared(tmp_path, text):
    (tmp_path / "people.csv").write_text("drink\ntea\nmilk\ntea\n")
    (tmp_path / "mine.toml").write_text(text)
    return experiment_from_toml(tmp_path / "mine.toml")


def test_a_file_says_it_all(tmp_path):
    experiment = declared(tmp_path, GOOD)
    assert experiment.title == "Which mechanism for drinks?"
    assert [population.describe() for population in experiment.populations] == [
        "Multinomial(3 labels)",
        "Mixture(3 Poisson(5), 1 Uniform(0, 14))",
        "column 'drink' of people.csv",
    ]
    assert [(method.label, method.k) for method in experiment.mechanisms] == [("GRR", 2), ("OLH, 8 cells", 3)]
    results = run(experiment, tmp_path, workers=1)
    assert pl.read_parquet(tmp_path / "drinks.parquet").height == results.table.num_rows == 3 * 2 * 2 * 2 * 2


def test_protocols_can_be_named(tmp_path):
    text = GOOD.split("[[populations]]", maxsplit=1)[0].replace('"mse", ', "") + '[[populations]]\nkind = "Zipf"\nexponent = 1\nsize = 9\n'
    search = '[[mechanisms]]\nname = "PEM"\nholdout = "1/10"\ndomain = { integers = [0, 255] }\n'
    experiment = declared(tmp_path, text + search + '[[mechanisms]]\nname = "Hierarchy"\nbranching = 3\n')
    assert [method.label for method in experiment.mechanisms] == [
        "PEM(domain=Integers(low=0, high=255), holdout=1/10)",
        "Hierarchy(branching=3)",
    ]
    assert len(experiment.cells) == 8
    setup = experiment.cells[0].method.setup(experiment.populations[0], 1.0, 1000)
    assert (setup.holdout, setup.domain, setup.k, setup.people) == (Fraction(1, 10), Integers(0, 255), 2, 1000)
    with pytest.raises(ParameterError, match=r"PEM: got 'groop'.*did you mean groups"):
        declared(tmp_path, f"{text}{search}groop = 9\n")
    with pytest.raises(ParameterError, match="k: got None"):
        declared(tmp_path, text.replace("k = 2", "") + search)
    with pytest.raises(ParameterError, match="protocol: got 'Movement'"):
        declared(tmp_path, f'{text}[[mechanisms]]\nname = "Movement"\n')


def without(line):
    return "".join(other for other in GOOD.splitlines(keepends=True) if not other.startswith(line))


MISTAKES = {
    "no TOML": ("name = ", ["file", "mine.toml", "TOML"]),
    "no name": (without("name = "), ["experiment", "'name'"]),
    "no epsilons": (without("epsilons"), ["experiment", "'epsilons'"]),
    "unknown": (f"epsilon = 3\n{GOOD}", ["experiment", "'epsilon'", "epsilons", "spelling"]),
    "no table": (
        GOOD.split("[[populations]]", maxsplit=1)[0] + "populations = 3\nmechanisms = 4\n",
        ["populations: got 3", "[[populations]]"],
    ),
    "no kind": (GOOD.replace('kind = "Multinomial"', ""), ["kind", "None", "Zipf"]),
    "unknown kind": (GOOD.replace('"Multinomial"', '"Pareto"'), ["kind", "'Pareto'", "Poisson"]),
    "unknown parameter": (GOOD.replace("labels", "names"), ["Multinomial", "'names'", "weights"]),
    "missing parameter": (GOOD.replace(", mean = 5", ""), ["Poisson", "'mean'"]),
    "unknown in a part": (GOOD.replace("mean = 5", "mean = 5, sd = 1"), ["Poisson", "'sd'", "mean"]),
    "bad parameter": (GOOD.replace("mean = 5", "mean = -5"), ["mean: got -5"]),
    "unknown mechanism": (GOOD.replace('"GRR"', '"RAPOR"'), ["mechanism", "'RAPOR'", "OLH"]),
    "unnamed mechanism": (GOOD.replace('name = "GRR"', 'label = "GRR"'), ["mechanisms", "name ="]),
    "unknown option": (GOOD.replace("hash_range", "hash_size"), ["parameters", "'hash_size'", "hash_range"]),
    "metric": (GOOD.replace('"mse"', '"sharpness"'), ["metrics", "'sharpness'", "f1"]),
    "column": (GOOD.replace('name = "drink"', 'name = "food"'), ["name: got 'food'", "drink"]),
    "people": (GOOD.replace("[1_000]", "1_000"), ["people: got 1000", "list"]),
    "people in words": (GOOD.replace("[1_000]", '["many"]'), ["people: got ['many']", "a list of integers"]),
}


@pytest.mark.parametrize(("text", "words"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_explained(text, words, tmp_path):
    with pytest.raises(DeniableError) as caught:
        declared(tmp_path, text).cells  # noqa: B018  # asking is what is refused
    assert all(word in str(caught.value) for word in words), caught.value
