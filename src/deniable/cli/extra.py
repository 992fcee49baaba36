"""Commands need packages that the base install leaves out: which extra has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, requires

from deniable.errors import MissingExtra

NEEDS = re.compile(r"(?P<name>[\w.-]+)(?:\[[^]]*\])?(?:>=(?P<least>[\d.]+))?[^;]*; extra == [\"'](?P<extra>[\w-]+)[\"']")
BASIS, COMMAND = "analysis", "cli"
CALLED = {"sklearn": "scikit-learn", "nacl": "pynacl", "vl_convert": "vl-convert-python", "flint": "python-flint", "cupy": "cupy-cuda12x"}
"""Packages that are imported by another name than they are installed by."""


def packages() -> dict[str, dict[str, str]]:
    """The packages of each extra, with the least version of each; those of ``analysis``, on which most build, are named there alone."""
    found: dict[str, dict[str, str]] = {}
    for line in requires("deniable") or ():
        need = NEEDS.fullmatch(line.strip())
        if need and need["name"] != "deniable" and need["extra"] != "all":
            found.setdefault(need["extra"], {})[need["name"]] = need["least"] or "0"
    basis = found[BASIS]
    own = {name: {each: least for each, least in needs.items() if name == "sealed" or each not in basis} for name, needs in found.items()}
    return {BASIS: basis} | {name: needs for name, needs in sorted(own.items()) if needs}


def extra_of(module: str) -> str:
    """The extra to install for a module that is missing; without a better guess, the command line's own."""
    name = module.partition(".")[0]
    package = CALLED.get(name, name.replace("_", "-"))
    try:
        known = packages()
    except PackageNotFoundError:  # run from a checkout that nobody has installed
        known = {}
    found = [extra for extra, needs in known.items() if package in needs and extra != BASIS]
    return found[0] if found else COMMAND


@contextmanager
def server_extra(feature: str) -> Iterator[None]:
    """Around imports: a package that is missing is told as the extra to install."""
    with _told(feature, "server"):
        yield


@contextmanager
def summing_extra(feature: str) -> Iterator[None]:
    """The same for secure sums, which need two extras."""
    with _told(feature, "server,multiparty"):
        yield


@contextmanager
def _told(feature: str, extra: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("deniable"):
            raise
        raise MissingExtra(feature, extra, error.name) from error
