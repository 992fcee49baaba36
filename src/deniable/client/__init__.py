"""What runs on a person's device, one mechanism per file, each found by being here. Standard library only."""

import importlib
import pkgutil
from typing import Any

from deniable.contract.spec import MECHANISMS

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")


def __getattr__(name: str) -> Any:
    if name in MECHANISMS:
        return MECHANISMS[name]
    raise AttributeError(f"module 'deniable.client' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(MECHANISMS)
