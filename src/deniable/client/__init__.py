"""What runs on a person's device, one mechanism per file, each found by being here. Standard library only.

The mechanisms are loaded at once. The reporter and the ledgers, which bring HTTP, TLS and SQLite along, are loaded on first use.
"""

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

from deniable.contract.spec import MECHANISMS

if TYPE_CHECKING:  # for editors and type checkers; at run time _DEVICE decides
    from deniable.client.file_ledger import FileLedger as FileLedger
    from deniable.client.ledger import MemoryLedger as MemoryLedger
    from deniable.client.reporter import Reporter as Reporter

_DEVICE = {"Reporter": "reporter", "MemoryLedger": "ledger", "FileLedger": "file_ledger"}
_LATER = {*_DEVICE.values(), "board", "budget", "transport"}

for _module in pkgutil.iter_modules(__path__):
    if _module.name not in _LATER:
        importlib.import_module(f"{__name__}.{_module.name}")


def __getattr__(name: str) -> Any:
    if name in MECHANISMS:
        return MECHANISMS[name]
    if name in _DEVICE:
        return getattr(importlib.import_module(f"{__name__}.{_DEVICE[name]}"), name)
    raise AttributeError(f"module 'deniable.client' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*MECHANISMS, *_DEVICE])
