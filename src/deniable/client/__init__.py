"""The code that runs on a person's device, one mechanism per file; every file here is registered. Standard library only.

All of them are loaded on first use: a device pays for the mechanism it was built with, and for HTTP, TLS and SQLite only if it reports.
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
_LATER = {*_DEVICE.values(), "board", "budget", "bulletin", "transport"}

MECHANISMS.shelve(__name__, [module.name for module in pkgutil.iter_modules(__path__) if module.name not in _LATER])


def __getattr__(name: str) -> Any:
    if name in MECHANISMS:
        return MECHANISMS[name]
    if name in _DEVICE:
        return getattr(importlib.import_module(f"{__name__}.{_DEVICE[name]}"), name)
    raise AttributeError(f"module 'deniable.client' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*MECHANISMS, *_DEVICE])
