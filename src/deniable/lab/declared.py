"""Experiments of your own, declared in a TOML file. Every name in it is checked; nothing in it is executed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from deniable.contract.arguments import typed
from deniable.core.declared import check_names, read_settings, read_toml
from deniable.errors import ParameterError
from deniable.lab.experiment import Experiment
from deniable.lab.experiments import shipped
from deniable.lab.methods import SEARCHES, Method, Oracle, Search
from deniable.lab.populations import POPULATIONS, Population

REQUIRED = ("name", "epsilons", "people", "repetitions", "metrics", "populations", "mechanisms")
OPTIONAL = ("title", "against", "k", "leave_out")


@typed
def experiment_from_toml(path: str | PathLike[str]) -> Experiment:
    """The experiment that a file declares; paths in it are relative to the file."""
    file = Path(path)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ParameterError("path", str(path), allowed="a file that can be read", fix=f"check the path: {error.strerror}") from error
    return experiment_from(read_toml(content, file.name), file.parent)


def experiment_from(content: Mapping[str, Any], folder: Path) -> Experiment:
    """The experiment behind plain data.

    >>> content = {
    ...     "name": "mine",
    ...     "epsilons": [1],
    ...     "people": [1000],
    ...     "repetitions": 5,
    ...     "metrics": ["mse", "ndcg"],
    ...     "k": 3,
    ...     "populations": [{"kind": "Poisson", "mean": 5}],
    ...     "mechanisms": [{"name": "OUE"}, {"name": "OLH", "hash_range": 8}],
    ... }
    >>> [(cell.population.describe(), cell.method.label) for cell in experiment_from(content, Path()).cells][::5]
    [('Poisson(5)', 'OUE'), ('Poisson(5)', 'OLH(hash_range=8)')]
    """
    shipped()  # they register the protocols that a file can name
    check_names("experiment", content, REQUIRED, OPTIONAL)
    for name in ("populations", "mechanisms"):
        if not isinstance(content[name], list) or not all(isinstance(entry, Mapping) for entry in content[name]):
            raise ParameterError(name, content[name], allowed="tables", fix=f"begin each with [[{name}]]")
    plain = {
        name: content[name] for name in ("name", "epsilons", "people", "repetitions", "metrics", "against", "leave_out") if name in content
    }
    populations = [population_from(entry, folder) for entry in content["populations"]]
    mechanisms = [method_from(entry, content.get("k")) for entry in content["mechanisms"]]
    title = content.get("title", content["name"])
    return Experiment(title=str(title), populations=populations, mechanisms=mechanisms, **plain)


def population_from(content: Mapping[str, Any], folder: Path) -> Population:
    """The population behind ``kind`` and its parameters.

    >>> population_from({"kind": "Typical", "of": {"kind": "Uniform", "low": 0, "high": 14}}, Path()).describe()
    'typical Uniform(0, 14)'
    """
    kind = content.get("kind")
    if kind not in POPULATIONS:
        raise ParameterError("kind", kind, allowed=f"one of {sorted(POPULATIONS)}", fix="say which population it is")
    cls: Any = POPULATIONS[kind]
    readers = {
        Population: lambda _, part: population_from(part, folder) if isinstance(part, Mapping) else part,
        str | PathLike[str]: lambda _, path: folder / str(path),
    }
    own = {name: value for name, value in content.items() if name != "kind"}
    population: Population = cls(**read_settings(cls, own, path="populations", where=kind, readers=readers))
    return population


def method_from(content: Mapping[str, Any], k: int | None = None) -> Method:
    """The mechanism behind ``name``, with ``label``, ``k``, ``postprocess`` and parameters of its own.

    >>> method_from({"name": "GRR", "postprocess": "norm-sub"}).label
    'GRR(norm-sub)'
    """
    name = content.get("name")
    own = {key: value for key, value in content.items() if key not in ("name", "label", "k")}
    k = content.get("k", k)
    shipped()  # the experiments that come along register their searches
    if name in SEARCHES:
        told = ", ".join(f"{key}={value}" for key, value in own.items())
        label = content.get("label", f"{name}({told})" if told else name)
        if k is None:
            raise ParameterError("k", None, allowed="an integer from 1 on", fix=f"say how many values {name} should find")
        return Search(label, partial(SEARCHES[name], **own), k)
    postprocess = own.pop("postprocess", None)
    if not isinstance(name, str):
        raise ParameterError("mechanisms", dict(content), allowed='a table with name = "..."', fix='try name = "OUE"')
    return Oracle(name, own, label=content.get("label", ""), postprocess=postprocess, k=k)
