"""Which extra has the packages that a command needs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, requires

from deniable.errors import MissingExtra

NEEDS = re.compile(r"(?P<name>[\w.-]+)(?:\[[^]]*\])?(?:>=(?P<least>[\d.]+))?[^;]*; extra == [\"'](?P<extra>[\w-]+)[\"']")
BASIS, COMMAND = "analysis", "cli"
CALLED = {"sklearn": "scikit-learn", "nacl": "pynacl", "vl_convert": "vl-convert-python", "flint": "python-flint", "cupy": "cupy-cuda12x"}
"""Packages whose import name differs from their install name."""


def packages() -> dict[str, dict[str, str]]:
    """Return the packages of each extra with their least versions; those of ``analysis``, which most build on, only there."""
    found: dict[str, dict[str, str]] = {}
    for line in requires("deniable") or ():
        need = NEEDS.fullmatch(line.strip())
        if need and need["name"] != "deniable" and need["extra"] != "all":
            found.setdefault(need["extra"], {})[need["name"]] = need["least"] or "0"
    basis = found[BASIS]
    own = {name: {each: least for each, least in needs.items() if name == "sealed" or each not in basis} for name, needs in found.items()}
    return {BASIS: basis} | {name: needs for name, needs in sorted(own.items()) if needs}


def extra_of(module: str) -> str:
    """Return the extra to install for a missing module; the command line's own without a better guess."""
    name = module.partition(".")[0]
    package = CALLED.get(name, name.replace("_", "-"))
    try:
        known = packages()
    except PackageNotFoundError:  # running from a checkout that is not installed
        known = {}
    found = [extra for extra, needs in known.items() if package in needs and extra != BASIS]
    return found[0] if found else COMMAND


@contextmanager
def server_extra(feature: str) -> Iterator[None]:
    """Wrap imports: for a missing package, raise the error that names the extra to install."""
    with _naming_extra(feature, "server"):
        yield


@contextmanager
def summing_extra(feature: str) -> Iterator[None]:
    """Wrap imports of secure sums, which need two extras."""
    with _naming_extra(feature, "server,multiparty"):
        yield


@contextmanager
def _naming_extra(feature: str, extra: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("deniable"):
            raise
        raise MissingExtra(feature, extra, error.name) from error
