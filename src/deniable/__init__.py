"""Learn what a crowd knows without learning about anyone in it.

The public names are loaded on first use: ``import deniable`` is quick and needs no other package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deniable.client import GRR as GRR
    from deniable.client import OLH as OLH
    from deniable.client import OUE as OUE
    from deniable.client import RR as RR
    from deniable.contract.domain import Bytes as Bytes
    from deniable.contract.domain import Categories as Categories
    from deniable.contract.domain import IndexRange as IndexRange
    from deniable.contract.domain import Integers as Integers
    from deniable.contract.domain import Text as Text
    from deniable.contract.protocol import Question as Question
    from deniable.contract.protocol import Survey as Survey
    from deniable.contract.protocol import survey_from_json as survey_from_json
    from deniable.contract.spec import spec_from_json as spec_from_json
    from deniable.core.chart import save_chart as save_chart
    from deniable.core.reports import Reports as Reports
    from deniable.core.tally import Tally as Tally

__version__ = "0.1.0"

_HOMES = {
    "deniable.client": ("GRR", "OLH", "OUE", "RR"),
    "deniable.contract.domain": ("Bytes", "Categories", "IndexRange", "Integers", "Text"),
    "deniable.contract.protocol": ("Question", "Survey", "survey_from_json"),
    "deniable.contract.spec": ("spec_from_json",),
    "deniable.core.chart": ("save_chart",),
    "deniable.core.reports": ("Reports",),
    "deniable.core.tally": ("Tally",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'deniable' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module(_HOME[name]), name)
    except ModuleNotFoundError as error:
        from deniable.errors import MissingExtra

        raise MissingExtra(f"deniable.{name}", "analysis", error.name) from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOME)
