"""Experiments of your own, declared in a TOML file. Every name in it is checked; nothing in it is executed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from os import PathLike
from pathlib import Path
from typing import Any

from deniable.client.frequency import FrequencySpec
from deniable.contract.arguments import typed
from deniable.contract.protocol import PROTOCOLS
from deniable.contract.spec import MECHANISMS
from deniable.core import declared
from deniable.core.declared import check_names, did_you_mean, read_toml
from deniable.core.declared_protocol import plain_domain, read_settings
from deniable.errors import ParameterError
from deniable.lab.experiment import Experiment
from deniable.lab.methods import Method, Oracle
from deniable.lab.populations import POPULATIONS, Population
from deniable.lab.protocol_run import OF_THE_GRID, ProtocolRun, known_protocols, named_protocol

REQUIRED = ("name", "epsilons", "people", "repetitions", "metrics", "populations", "mechanisms")
OPTIONAL = ("title", "question", "found", "against", "k", "leave_out")

PLAIN = ("name", "question", "found", "epsilons", "people", "repetitions", "metrics", "against", "leave_out")


@typed
def experiment_from_toml(path: str | PathLike[str]) -> Experiment:
    """Return the experiment that a file declares; paths in it are relative to the file."""
    file = Path(path)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise ParameterError("path", str(path), allowed="a file that can be read", fix=f"check the path: {error.strerror}") from error
    return experiment_from(read_toml(content, file.name), file.parent)


def experiment_from(content: Mapping[str, Any], folder: Path) -> Experiment:
    """Return the experiment that plain data declare.

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
    check_names("experiment", content, REQUIRED, OPTIONAL)
    for name in ("populations", "mechanisms"):
        if not isinstance(content[name], list) or not all(isinstance(entry, Mapping) for entry in content[name]):
            raise ParameterError(name, content[name], allowed="tables", fix=f"begin each with [[{name}]]")
    plain = {name: content[name] for name in PLAIN if name in content}
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
        raise ParameterError("kind", kind, allowed=f"one of {sorted(POPULATIONS)}", fix=did_you_mean(kind, POPULATIONS))
    cls: Any = POPULATIONS[kind]
    readers = {
        Population: lambda _, part: population_from(part, folder) if isinstance(part, Mapping) else part,
        str | PathLike[str]: lambda _, path: folder / str(path),
    }
    own = {name: value for name, value in content.items() if name != "kind"}
    population: Population = cls(**declared.read_settings(cls, own, path="populations", where=kind, readers=readers))
    return population


def method_from(content: Mapping[str, Any], k: int | None = None) -> Method:
    """The mechanism or protocol behind ``name``, with ``label``, ``k``, ``postprocess``, ``domain`` and settings of its own.

    >>> method_from({"name": "GRR", "postprocess": "norm-sub"}).label
    'GRR(norm-sub)'
    >>> method_from({"name": "PEM", "domain": {"text": 6}, "holdout": "1/10"}, k=8).label
    'PEM(domain=Text(max_length=6), holdout=1/10)'
    """
    name = content.get("name")
    own = {key: value for key, value in content.items() if key not in ("name", "label", "k", "domain")}
    domain = {"domain": plain_domain("domain", content["domain"])} if "domain" in content else {}
    label, k = content.get("label", ""), content.get("k", k)
    protocols = PROTOCOLS.load(name)
    if isinstance(name, str) and name in protocols:
        made = named_protocol(name)
        needed = {field.name for field in fields(made) if field.default is MISSING}  # type: ignore[arg-type]  # every protocol is a dataclass
        if "k" in needed and k is None:
            raise ParameterError("k", None, allowed="an integer from 1 on", fix=f"set k, the number of values that {name} should find")
        return ProtocolRun(name, read_settings(made, own, *OF_THE_GRID, path="mechanisms") | domain, label, k)
    oracles = [each for each, found in MECHANISMS.items() if issubclass(found, FrequencySpec)]
    if name not in ("auto", *oracles):
        known = ["auto", *oracles, *known_protocols()]
        raise ParameterError("mechanisms", name, allowed=f'a table with name = "...", one of {known}', fix=did_you_mean(name, known))
    postprocess = own.pop("postprocess", None)
    return Oracle(str(name), own | domain, label=label, postprocess=postprocess, k=k)
