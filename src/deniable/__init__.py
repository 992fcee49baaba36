"""Learn what a crowd knows without learning about anyone in it.

The names below are loaded on first use: ``import deniable`` is quick and needs no other package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniable.client import GRR, OLH, OUE, RR
    from deniable.contract.domain import Bytes, Categories, IndexRange, Integers, Text
    from deniable.contract.protocol import Question, Survey
    from deniable.contract.spec import spec_from_json

__version__ = "0.1.0"

_HOMES = {
    "deniable.client": ("GRR", "OLH", "OUE", "RR"),
    "deniable.contract.domain": ("Bytes", "Categories", "IndexRange", "Integers", "Text"),
    "deniable.contract.protocol": ("Question", "Survey"),
    "deniable.contract.spec": ("spec_from_json",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "GRR",
    "OLH",
    "OUE",
    "RR",
    "Bytes",
    "Categories",
    "IndexRange",
    "Integers",
    "Question",
    "Survey",
    "Text",
    "spec_from_json",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'deniable' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
