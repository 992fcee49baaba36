"""``deniable doctor``: what is installed, what works, and what to do about the rest."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import typer
from rich.text import Text

import deniable
from deniable.cli.console import out, print_json, table, working
from deniable.cli.extra import packages
from deniable.cli.options import Json
from deniable.cli.statuses import DIFFERS
from deniable.core.stream import cores
from deniable.errors import DeniableError, install_command

FINE, MISSING, BROKEN = "fine", "missing", "broken"
STYLES = {FINE: "green", MISSING: "yellow", BROKEN: "bold red"}
JAVA = 17


class Finding(NamedTuple):
    """One thing that was looked at."""

    what: str
    state: str
    detail: str
    advice: str = ""


def doctor(json_output: Json = False) -> None:
    """Check this installation: extras, compiled kernels, a mechanism's exact law, what Spark and graphics processors need.

    What is missing is named with the command that installs it. The exit status is 1 if something that is installed does not work.
    """
    with working("looking at this installation"):
        extras = [_extra(name, needs) for name, needs in packages().items()]
        works = [_python(), *(_tried(what, look) for what, look in LOOKS.items()), _java(), _device()]
    if json_output:
        named = {"extras": extras, "checks": works}
        print_json({"version": deniable.__version__, **{key: [each._asdict() for each in found] for key, found in named.items()}})
    else:
        _show(f"deniable {deniable.__version__}, {cores()} cores", "what", works)
        _show("Extras", "extra", extras)
    if any(each.state == BROKEN for each in works + extras):
        raise typer.Exit(DIFFERS)


def _show(title: str, what: str, found: list[Finding]) -> None:
    rows = table(title, (what, "state", "detail"), words=("state", "detail"))
    for each in found:
        rows.add_row(each.what, Text(each.state, STYLES[each.state]), "\n".join(filter(None, (each.detail, each.advice))))
    out.print(rows)


def _extra(name: str, needs: dict[str, str]) -> Finding:
    install = install_command(name)
    there: list[str] = []
    absent: list[str] = []
    old: list[str] = []
    for package, least in needs.items():
        try:
            installed = version(package)
        except PackageNotFoundError:
            absent.append(package)
            continue
        (there if _numbers(installed) >= _numbers(least) else old).append(f"{package} {installed}")
    if old:
        return Finding(name, BROKEN, f"too old: {', '.join(old)}", install)
    if absent:
        return Finding(name, MISSING, f"no {', '.join(absent)}", install)
    return Finding(name, FINE, ", ".join(there))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text.partition("+")[0]))


def _python() -> Finding:
    return Finding("Python", FINE, f"{sys.version.split()[0]} at {sys.prefix}")


def _law() -> str:
    from deniable.lab.audit import exact_audit

    result = exact_audit(deniable.GRR(domain_size=3, epsilon=1.0))
    if not result.passed:
        raise RuntimeError("the audit of GRR failed: run deniable audit GRR")
    return f"GRR at epsilon 1 was enumerated: really {result.epsilon:.6f}"


def _kernels() -> str:
    start = time.perf_counter()
    oracle = deniable.OUE(domain_size=16, epsilon=1.0)
    oracle.estimate(oracle.tally(oracle.privatize([3] * 1000)))
    return f"compiled and run in {time.perf_counter() - start:.1f} s; later starts find them compiled"


def _chart() -> str:
    import vl_convert

    drawn = vl_convert.vegalite_to_svg({"data": {"values": [{"x": 1}]}, "mark": "point", "encoding": {"x": {"field": "x"}}})
    return f"drawn without a browser, {len(drawn)} bytes"


LOOKS: dict[str, Callable[[], str]] = {"exact law": _law, "kernels": _kernels, "charts": _chart}


def _tried(what: str, look: Callable[[], str]) -> Finding:
    try:
        return Finding(what, FINE, look())
    except Exception as error:  # whatever it is: finding out is what this command is for
        return Finding(what, BROKEN, f"{type(error).__name__}: {error}", "install deniable anew, with the extra cli")


def _java() -> Finding:
    found = shutil.which("java")
    advice = f"only Spark needs it; on Debian and Ubuntu: apt-get install openjdk-{JAVA}-jre-headless"
    if found is None:
        return Finding("Java", MISSING, "no java on the path", advice)
    told = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603  # found on the path
    number = re.search(r'version "(\d+)', told)
    fine = number is not None and int(number[1]) >= JAVA
    return Finding("Java", FINE if fine else MISSING, told.partition("\n")[0] or "says no version", "" if fine else advice)


def _device() -> Finding:
    from deniable.engines.cuda import device

    try:
        name: Any = device().cuda.runtime.getDeviceProperties(0)["name"]
    except DeniableError as error:
        return Finding("graphics processor", MISSING, str(error.received), "only counting of hashed reports gains from one")
    return Finding("graphics processor", FINE, name.decode())
