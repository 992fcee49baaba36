"""What people hold when they hold sets: frequent items, frequent sets of items, and what follows from what. One protocol per file."""

import importlib
import pkgutil
from typing import Any

from deniable.contract.protocol import PROTOCOLS

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def __getattr__(name: str) -> Any:
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    raise AttributeError(f"module 'deniable.tasks.itemsets' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(name for name, protocol in PROTOCOLS.items() if protocol.__module__.startswith(__name__))
