"""Experiments that ship, one file each: a module that defines ``EXPERIMENT`` is found by being here.

>>> "oracle-shootout" in shipped()
True
"""

from __future__ import annotations

import importlib
import pkgutil

from deniable.contract.arguments import typed
from deniable.errors import ParameterError, one_of
from deniable.lab.experiment import Experiment


def shipped() -> dict[str, Experiment]:
    """Return every shipped experiment by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    found = [importlib.import_module(f"{__name__}.{name}").EXPERIMENT for name in names]
    return {experiment.name: experiment for experiment in found}


@typed
def experiment(name: str) -> Experiment:
    """Return the shipped experiment with this name.

    >>> experiment("oracle-shootout").repetitions
    50
    """
    known = shipped()
    if name not in known:
        allowed = f"{one_of(sorted(known))}, or a .toml file"
        raise ParameterError("name", name, allowed=allowed, fix="list the names with: deniable lab list")
    return known[name]
