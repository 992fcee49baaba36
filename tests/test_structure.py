"""Promises about the project itself: what is imported, what it costs in dependencies, and that the docs run."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from importlib.metadata import requires
from pathlib import Path

import pytest

import deniable
from deniable.contract.encoder import ENCODERS
from deniable.contract.spec import _BULK, MECHANISMS
from tests.conftest import ROOT

SOURCE = ROOT / "src" / "deniable"
DEVICE = [path for folder in ("contract", "client", "testing") for path in sorted((SOURCE / folder).glob("*.py"))] + [
    SOURCE / "errors.py",
    SOURCE / "__init__.py",
]
ORDER = (
    "removed < errors < rooms < contract < client < sealing < kernels < core < accounting < local, central < shuffle, multiparty"
    " < tasks < lab, engines < collect < cli < testing"
)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("module", ["deniable", "deniable.client"])
def test_importing_loads_no_third_party_module(module):
    """In a fresh isolated interpreter, with the packages present: nothing outside the standard library may be touched."""
    code = (
        f"import sys; before = set(sys.modules); import {module}, json; "
        "print(json.dumps(sorted({name.split('.')[0] for name in set(sys.modules) - before})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout)) - {"deniable"}
    assert loaded <= sys.stdlib_module_names


@pytest.mark.parametrize("path", DEVICE, ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_device_imports_the_standard_library_only(path):
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        for name in names:
            assert name.split(".")[0] in sys.stdlib_module_names | {"deniable"}, f"{name} in {path.name}"


def test_imports_point_one_way_without_exceptions():
    """Every room is a layer of the contract that ``make lint`` checks, and nothing is let through."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert not any(name.startswith(("ignore", "unmatched")) for contract in contracts for name in contract)
    layers = [{name.strip("() ") for name in layer.split("|")} for layer in reversed(contracts[0]["layers"])]
    assert layers == [set(layer.split(", ")) for layer in ORDER.split(" < ")]
    assert set.union(*layers) == {path.stem for path in SOURCE.iterdir() if path.name[0] != "_" and path.suffix in ("", ".py")}


def test_a_published_spec_can_be_read_before_anything_else_is_imported():
    code = "import sys, deniable; print(deniable.spec_from_json(sys.stdin.buffer.read()))"
    spec = deniable.GRR(domain_size=4, epsilon=1.0)
    done = subprocess.run([sys.executable, "-c", code], input=spec.canonical, capture_output=True, check=True)
    assert done.stdout.decode().strip() == repr(spec)


def test_a_mechanism_is_loaded_from_its_own_file_when_it_is_asked_for():
    code = "import sys, deniable; deniable.GRR; print(*sorted(name.split('.')[-1] for name in sys.modules if 'deniable.client.' in name))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"grr", "pure"} <= set(done.stdout.split()) <= {"grr", "pure", "exact", "frequency"}
    for name, mechanism in MECHANISMS.items():
        assert mechanism.__module__.rpartition(".")[2].replace("_", "") == name.lower()
    for name in ("antigravity", "os", "hashed", "reporter", "grr"):  # names in data; the first would open a browser
        assert name not in MECHANISMS
    assert "antigravity" not in sys.modules


def test_a_device_without_any_package_can_report():
    """With site-packages switched off: spec, randomize, encode; bulk work names the extra to install."""
    code = """
import sys; sys.path.insert(0, sys.argv[1])
import deniable as dn
specs = dn.RR(epsilon=1.0), dn.GRR(domain_size=9, epsilon=1.0), dn.OUE(domain_size=9, epsilon=1.0), dn.OLH(domain=dn.Text(9), epsilon=1.0)
for spec in specs:
    value = "tea" if spec.mechanism == "OLH" else 1
    report = spec.randomize(value)
    assert spec.decode(spec.encode(report)) == report
    assert spec.guarantee.epsilon == 1.0 and spec.variance(n=10) > 0
for bulk in (lambda: spec.privatize(["tea"]), lambda: dn.Survey.of(drink=spec).run({"drink": ["tea"]})):
    try:
        bulk()
    except ImportError as error:
        assert 'pip install ".[analysis]"' in str(error), error
    else:
        raise SystemExit("bulk work without packages")
from deniable.cli import main
sys.argv = ["deniable"]
main()
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(SOURCE.parent)], capture_output=True, text=True, check=False)
    assert 'pip install ".[cli]"' in done.stderr
    assert "Traceback" not in done.stderr


def test_the_base_install_has_no_dependency():
    assert all("extra ==" in requirement for requirement in requires("deniable"))


def test_kernels_are_compiled_once_per_machine_and_say_so(tmp_path):
    code = "import deniable; spec = deniable.RR(epsilon=1.0); spec.tally(spec.privatize([0, 1] * 9))"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, later = (
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stderr for _ in range(2)
    )
    assert first == "deniable: compiling kernels for this machine, once for each kind of data (a second or two) ...\n"
    assert later == ""


def test_a_machine_without_a_writable_folder_compiles_every_time(tmp_path):
    """As in a hardened container: a read-only package, no home. Nothing is cached, everything works."""
    code = (
        "import numba.core.caching as c; c.CacheImpl._locator_classes = []; "
        "import deniable; spec = deniable.RR(epsilon=1.0); print(spec.tally(spec.privatize([0, 1])).n)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "2"


def test_randomness_comes_from_the_system_alone():
    """No predictable generator anywhere in the package, and one place for each of the two secure ones."""
    weak = re.compile(r"^\s*(import random|from random|import secrets|from secrets)|np\.random|numpy\.random|SystemRandom", re.MULTILINE)
    uses = {"os.urandom": set(), "algorithms.AES": set()}
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert not weak.search(text), path
        for name, places in uses.items():
            if name in text:
                places.add(str(path.relative_to(SOURCE)))
    assert uses == {
        "os.urandom": {"contract/source.py", "core/stream.py"},
        "algorithms.AES": {"core/stream.py", "multiparty/masking/secrets.py"},
    }


def test_no_two_public_classes_have_one_name():
    homes = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        for name in re.findall(r"^class ([A-Z]\w*)", path.read_text(), re.MULTILINE):
            homes[name].add(str(path.relative_to(SOURCE)))
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def test_public_names_are_few_and_load():
    assert len(set(deniable.__all__) - set(MECHANISMS)) <= 31  # mechanisms are public by rule; all else must earn its name
    assert f"{len(MECHANISMS)} exact mechanisms" in (ROOT / "README.md").read_text()
    for name in dir(deniable):
        assert getattr(deniable, name) is not None
    assert deniable.OLH is __import__("deniable.client", fromlist=["OLH"]).OLH
    assert deniable.errors.DeniableError
    with pytest.raises(AttributeError):
        deniable.seed  # noqa: B018  # there is none, on purpose


def test_every_mechanism_has_a_bulk_half_and_a_public_name():
    import deniable.local  # registers the bulk halves

    assert {cls.__name__ for cls in _BULK} == set(MECHANISMS)
    assert set(MECHANISMS) <= set(dir(deniable))
    assert deniable.local.frequency
    assert set(ENCODERS.load()) == {
        "Identity",
        "Attribute",
        "Cell",
        "Prefix",
        "Fragment",
        "Segments",
        "PadAndSample",
        "Overflow",
        "HeldCount",
        "SetCode",
        "Interval",
        "Parity",
        "Gradient",
        "ClusterSide",
        "Magnitude",
        "DrawnTerm",
        "DrawnBigram",
        "DrawnPair",
        "NewWord",
        "FirstVisit",
        "LastVisit",
        "MoveCount",
        "DrawnMove",
        "HeldRating",
        "RatingGradient",
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_in_the_docs_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{target} in {page.name}"


SHARED_PAGES = {"RR": "randomized-response", "DBitFlip": "dbitflip"} | {"SUE": "oue", "THE": "she", "BLH": "olh"}
SHARED_PAGES |= {"Duchi": "one-bit-mean", "SignRR": "one-bit-mean", "Hybrid": "piecewise", "RWS": "subset-selection"}
SHARED_PAGES |= {"FLH": "cms", "HCMS": "cms", "LongitudinalUnary": "longitudinal-grr", "LOLOHA": "longitudinal-grr"}
SHARED_PAGES |= {"HadamardResponse": "hrr", "RAPPOR": "bloom-rr", "DBitFlipPM": "dbitflip"}
"""Pages that are not named after their mechanism, or are about several."""


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_every_mechanism_has_a_page_with_a_picture(name):
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()  # SubsetSelection: subset-selection
    page = ROOT / "docs" / "theory" / f"{SHARED_PAGES.get(name, words)}.md"
    pictures = re.findall(r"!\[[^]]+\]\((\.\./figures/[^)]+)\)", page.read_text())
    assert pictures
    assert all((page.parent / picture).exists() for picture in pictures)


def test_the_benchmarks_start():
    """No timing is asserted anywhere; but the program that takes them must not rot."""
    done = subprocess.run([sys.executable, "run.py", "--help"], cwd=ROOT / "benchmarks", capture_output=True, text=True, check=True)
    assert "--quick" in done.stdout


def test_the_table_of_slow_tests_names_tests_that_exist():
    """Their times are compared with a run by scripts/checks/slow_tests.py."""
    named = re.findall(r"^\| `(\S+)::(\w+)` \|", (ROOT / "tests" / "README.md").read_text(), re.MULTILINE)
    assert named
    assert [name for file, name in named if f"def {name}(" not in (ROOT / file).read_text()] == []


def test_files_stay_small():
    long = {str(path.relative_to(ROOT)): n for path in SOURCE.rglob("*.py") if (n := len(path.read_text().splitlines())) > 270}
    assert not long


def test_no_machine_paths_in_the_project():
    """Whatever is shipped speaks of the project alone; walked without git, since an archive has none."""
    folders = ("src", "clients", "tests", "soak", "mutation", "docs", "examples", "scripts", "vectors", "benchmarks", "packaging", ".ci")
    files = [path for name in folders for path in (ROOT / name).rglob("*")] + [path for path in ROOT.glob("*") if path.is_file()]
    for path in files:
        if path.is_file() and path.suffix not in {".png", ".svg"} and "__pycache__" not in path.parts and path != Path(__file__):
            assert not re.search(r"/(root|home|work|tmp)/\w", path.read_text(errors="replace")), path
