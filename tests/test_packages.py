"""What would be published: a wheel and an sdist that install where nothing else is, and a JavaScript package for node and bundlers."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.metadata import Metadata
from trove_classifiers import classifiers

import deniable
from deniable.cli.exits import ERROR
from tests.conftest import ROOT
from tests.packed import unpacked_client
from tests.services import needed

ESBUILD = ROOT / ".bench" / "node_modules" / ".bin" / "esbuild"
USE = """
import sys
import deniable as dn
report = dn.GRR(domain=dn.Categories("tea", "coffee"), epsilon=1.0).randomize("tea")
assert report in (0, 1), report
try:
    dn.GRR(domain_size=2, epsilon=1.0).privatize([0])
except dn.errors.MissingExtra as error:
    print(error)
print(sorted(name for name in sys.modules if name.split(".")[0] in ("numpy", "numba", "pyarrow", "typer")))
"""


TYPED = """
import deniable as dn

oracle = dn.GRR(domain=dn.Categories("tea", "coffee"), epsilon=1.0)
sent: bytes = oracle.encode(oracle.randomize("tea"))
statement: str = oracle.guarantee.statement()
wrong: int = oracle.guarantee.statement()  # type: ignore[assignment]
dn.GRR(domain_size="four", epsilon=1.0)  # type: ignore[arg-type]
"""
SHIPPED = {"benchmarks", "clients", "docs", "examples", "mutation", "packaging", "scripts", "soak", "src", "tests", "vectors"}
SHIPPED |= {"CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE", "README.md", "SECURITY.md", ".gitignore"}
SHIPPED |= {"Makefile", "constraints-beam.txt", "constraints.txt", "mkdocs.yml", "pyproject.toml"}
LEFT_BY_RUNS = (".key", ".log", ".parquet", ".pyc", ".reports", ".so", ".sqlite", ".token")


def ran(*command, cwd=None):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    ran(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=ROOT)
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """The wheel in an environment that has nothing else."""
    environment = tmp_path_factory.mktemp("installed")
    venv.create(environment, with_pip=False, symlinks=True)
    python = environment / "bin" / "python"
    ran(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps", built[0])
    return python


def names_in(wheel):
    with zipfile.ZipFile(wheel) as packed:
        return sorted(name for name in packed.namelist() if ".dist-info" not in name)


def test_the_wheel_needs_nothing(built, installed, tmp_path):
    names = names_in(built[0])
    assert {name.partition("/")[0] for name in names} == {"deniable"}, "no tests, no scripts"
    assert {"deniable/py.typed", "deniable/engines/supports.cu", "deniable/collect/dashboard/client/index.js"} <= set(names)
    told = ran(installed, "-I", "-c", USE, cwd=tmp_path)
    assert 'pip install ".[analysis]"' in told
    assert told.splitlines()[-1] == "[]"
    bare = subprocess.run([installed.parent / "deniable"], capture_output=True, text=True, check=False)
    assert (bare.returncode, 'pip install ".[cli]"' in bare.stderr) == (ERROR, True)


def test_a_bare_installation_tells_its_version_and_what_it_lacks(installed):
    command = installed.parent / "deniable"
    assert ran(command, "--version").strip() == f"deniable {deniable.__version__}"
    told = ran(command, "doctor")
    assert f"deniable {deniable.__version__}, " in told
    assert "exact law: missing; no module named 'numpy'; pip install \".[cli]\"" in told
    assert re.search(r'^cli: missing; no .*typer.*; pip install "\.\[cli\]"$', told, re.MULTILINE)
    found = json.loads(ran(command, "doctor", "--json"))
    assert {each["state"] for each in found["checks"]} == {"fine", "missing"}


def test_types_reach_whoever_installs_it(installed, tmp_path):
    """Strictly checked against the wheel: what is right passes, and what is wrong is found (an ignore that is not needed is an error)."""
    (tmp_path / "use.py").write_text(TYPED)
    strict = ("mypy", "--strict", "--python-executable", installed, "--cache-dir", tmp_path / "cache")
    ran(sys.executable, "-m", *strict, "use.py", cwd=tmp_path)


def test_the_sdist_has_what_building_and_testing_need_and_builds_the_same(built, tmp_path):
    wheel, sdist = built
    with tarfile.open(sdist) as packed:
        packed.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    assert {path.name for path in source.iterdir()} == SHIPPED | {"PKG-INFO"}
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    assert {"tests/conftest.py", "vectors/GRR.json", "clients/js/test/fake.js", "docs/index.md", "packaging/backup.py"} <= files
    left = {name for name in files if Path(name).suffix in LEFT_BY_RUNS and not name.startswith("tests/data/")}
    assert left == set()
    ran(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "again", cwd=source)
    (again,) = (tmp_path / "again").glob("*.whl")
    assert names_in(again) == names_in(wheel)


def test_the_metadata_is_what_an_index_takes(built):
    with zipfile.ZipFile(built[0]) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith("dist-info/METADATA"))
        metadata = Metadata.from_email(packed.read(name), validate=True)
        assert packed.read(name.replace("METADATA", "licenses/LICENSE")) == (ROOT / "LICENSE").read_bytes()
    assert (metadata.license_expression, metadata.license_files) == ("Apache-2.0", ["LICENSE"])
    assert set(metadata.classifiers) <= classifiers
    assert metadata.description_content_type == "text/markdown"
    assert metadata.description == (ROOT / "README.md").read_text()
    assert str(metadata.requires_python) == ">=3.11"
    assert not metadata.project_urls, "there is no address that could be trusted to stay"
    assert all("extra ==" in str(requirement.marker) for requirement in metadata.requires_dist)


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A project that has the packed JavaScript package among its modules."""
    project = tmp_path_factory.mktemp("project")
    modules = project / "node_modules"
    modules.mkdir()
    unpacked_client(modules)
    (project / "main.mjs").write_text('import * as all from "deniable"; console.log(typeof all.Reporter, typeof all.Task);')
    return project


def test_node_imports_the_packed_package(package):
    assert ran("node", "main.mjs", cwd=package).split() == ["function", "function"]
    sources = {path.relative_to(ROOT / "clients/js") for path in (ROOT / "clients" / "js" / "src").rglob("*.js")}
    shipped = package / "node_modules" / "deniable"
    assert {path.relative_to(shipped) for path in shipped.rglob("*.js")} == sources
    assert (shipped / "index.d.ts").is_file()


def test_a_bundler_makes_one_file_of_it(package):
    needed(ESBUILD.exists(), "esbuild is not installed (make setup, with npm)")
    ran(ESBUILD, "main.mjs", "--bundle", "--format=esm", "--outfile=bundle.mjs", "--log-level=warning", cwd=package)
    alone = package / "elsewhere"
    alone.mkdir()
    shutil.copy(package / "bundle.mjs", alone / "bundle.mjs")
    assert ran("node", "bundle.mjs", cwd=alone).split() == ["function", "function"]


def test_the_versions_are_one():
    import deniable

    package = json.loads((ROOT / "clients/js/package.json").read_text())
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    newest, said = re.search(r"^## \[(.+?)\] - (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE).groups()
    security = re.search(r"Version (\S+) is", (ROOT / "SECURITY.md").read_text())[1]
    assert {package["version"], citation["version"], newest, security} == {deniable.__version__}
    assert str(citation.get("date-released", "unreleased")) == said, "both say when, or that it is not released yet"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert citation["license"] == package["license"] == project["license"]
    assert [author["name"] for author in citation["authors"]] == [author["name"] for author in project["authors"]]
    assert citation["cff-version"] == "1.2.0"
    assert {"title", "message", "authors", "cff-version"} <= set(citation), "what the format asks for"
