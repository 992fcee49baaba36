"""What is installed, what works, and how to fix the rest; without other packages, so that a bare installation can name what it lacks."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from typing import Any, NamedTuple

import deniable
from deniable.cli.exits import DIFFERS
from deniable.cli.extra import extra_of, packages
from deniable.errors import DeniableError, install_command

FINE, MISSING, BROKEN = "fine", "missing", "broken"
JAVA = 17


class Diagnosis(NamedTuple):
    """The state of one thing."""

    what: str
    state: str
    detail: str
    advice: str = ""


class Installation(NamedTuple):
    """The state of an installation."""

    checks: list[Diagnosis]
    extras: list[Diagnosis]

    @property
    def title(self) -> str:
        """Return the version and the number of cores."""
        known = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        return f"deniable {deniable.__version__}, {known or 1} cores"

    @property
    def status(self) -> int:
        """Return the exit status: 1 if something that is installed does not work."""
        return DIFFERS if any(each.state == BROKEN for each in self.checks + self.extras) else 0

    def fields(self) -> dict[str, Any]:
        """Return everything as plain data."""
        named = {"extras": self.extras, "checks": self.checks}
        return {"version": deniable.__version__, **{key: [each._asdict() for each in found] for key, found in named.items()}}


def looked_at() -> Installation:
    """Check this installation."""
    works = [_python(), *(_tried(what, look) for what, look in LOOKS.items()), _java(), _device()]
    return Installation(works, [_extra(name, needs) for name, needs in packages().items()])


def tell(machine: bool) -> int:
    """Print everything without the packages that draw tables, and return the exit status."""
    found = looked_at()
    if machine:
        lines = [json.dumps(found.fields(), indent=2)]
    else:
        checks = found.checks + found.extras
        lines = [found.title, *("; ".join(filter(None, (f"{each.what}: {each.state}", each.detail, each.advice))) for each in checks)]
    sys.stdout.write("\n".join([*lines, ""]))
    return found.status


def _extra(name: str, needs: dict[str, str]) -> Diagnosis:
    install = install_command(name)
    there: list[str] = []
    absent: list[str] = []
    old: list[str] = []
    for package, least in needs.items():
        try:
            installed = version_of(package)
        except PackageNotFoundError:
            absent.append(package)
            continue
        (there if _numbers(installed) >= _numbers(least) else old).append(f"{package} {installed}")
    if old:
        return Diagnosis(name, BROKEN, f"too old: {', '.join(old)}", install)
    if absent:
        return Diagnosis(name, MISSING, f"no {', '.join(absent)}", install)
    return Diagnosis(name, FINE, ", ".join(there))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text.partition("+")[0]))


def _python() -> Diagnosis:
    return Diagnosis("Python", FINE, f"{sys.version.split()[0]} at {sys.prefix}")


def _law() -> str:
    from deniable.lab.audit import exact_audit

    result = exact_audit(deniable.GRR(domain_size=3, epsilon=1.0))
    if not result.passed:
        raise RuntimeError("the audit of GRR failed: run deniable audit GRR")
    return f"GRR at epsilon 1, every report enumerated: actual epsilon {result.epsilon:.6f}"


def _kernels() -> str:
    start = time.perf_counter()
    oracle = deniable.OUE(domain_size=16, epsilon=1.0)
    oracle.estimate(oracle.tally(oracle.privatize([3] * 1000)))
    return f"compiled and run in {time.perf_counter() - start:.1f} s; later starts reuse them"


def _chart() -> str:
    import vl_convert

    drawn = vl_convert.vegalite_to_svg({"data": {"values": [{"x": 1}]}, "mark": "point", "encoding": {"x": {"field": "x"}}})
    return f"drawn without a browser, {len(drawn)} bytes"


LOOKS: dict[str, Callable[[], str]] = {"exact law": _law, "kernels": _kernels, "charts": _chart}


def _tried(what: str, look: Callable[[], str]) -> Diagnosis:
    try:
        return Diagnosis(what, FINE, look())
    except ImportError as error:
        lacking = error if error.name else error.__cause__  # MissingExtra repeats in words what the error before it named
        name = str(getattr(lacking, "name", None) or "a package of deniable's")
        return Diagnosis(what, MISSING, f"no module named {name!r}", install_command(extra_of(name)))
    except Exception as error:  # any error: this command exists to find them
        return Diagnosis(what, BROKEN, f"{type(error).__name__}: {error}", "reinstall deniable with the extra cli")


def _java() -> Diagnosis:
    found = shutil.which("java")
    advice = f"only Spark needs it; on Debian and Ubuntu: apt-get install openjdk-{JAVA}-jre-headless"
    if found is None:
        return Diagnosis("Java", MISSING, "no java on the path", advice)
    said = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603  # found on the path
    number = re.search(r'version "(\d+)', said)
    fine = number is not None and int(number[1]) >= JAVA
    return Diagnosis("Java", FINE if fine else MISSING, said.partition("\n")[0] or "no version shown", "" if fine else advice)


def _device() -> Diagnosis:
    try:
        from deniable.engines.cuda import device

        name: Any = device().cuda.runtime.getDeviceProperties(0)["name"]
    except (DeniableError, ModuleNotFoundError) as error:
        detail = str(error.received if isinstance(error, DeniableError) else error).lower()
        return Diagnosis("GPU", MISSING, detail, "only counting hashed reports gets faster with one")
    return Diagnosis("GPU", FINE, name.decode())
