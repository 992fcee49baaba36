"""What would be published: a wheel and an sdist that install where nothing else is, and a JavaScript package for node and bundlers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT
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


def ran(*command, cwd=None):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist, from a copy of what the repository has."""
    folder = tmp_path_factory.mktemp("packages")
    copy = folder / "copy"
    for name in ("src", "clients/js/src"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    ran(sys.executable, "-m", "hatchling", "build", "-d", folder / "dist", cwd=copy)
    return folder / "dist"


def names_in(wheel):
    with zipfile.ZipFile(wheel) as packed:
        return sorted(name for name in packed.namelist() if ".dist-info" not in name)


def test_the_wheel_needs_nothing_and_the_sdist_builds_the_same(built, tmp_path):
    (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
    names = names_in(wheel)
    assert {name.partition("/")[0] for name in names} == {"deniable"}
    assert {"deniable/py.typed", "deniable/engines/supports.cu", "deniable/collect/dashboard/client/index.js"} <= set(names)
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False, symlinks=True)
    python = environment / "bin" / "python"
    ran(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps", wheel)
    told = ran(python, "-I", "-c", USE, cwd=tmp_path)
    assert 'pip install "deniable[analysis]"' in told
    assert told.splitlines()[-1] == "[]"
    bare = subprocess.run([environment / "bin" / "deniable"], capture_output=True, text=True, check=False)
    assert (bare.returncode, 'pip install "deniable[cli]"' in bare.stderr) == (1, True)
    with tarfile.open(sdist) as packed:
        packed.extractall(tmp_path / "sdist", filter="data")
    (source,) = (tmp_path / "sdist").iterdir()
    ran(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path / "again", cwd=source)
    (again,) = (tmp_path / "again").glob("*.whl")
    assert names_in(again) == names


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A project that has the packed JavaScript package among its modules."""
    needed(shutil.which("npm"), "npm is not installed (Debian and Ubuntu: apt-get install nodejs npm)")
    project = tmp_path_factory.mktemp("project")
    (packed,) = json.loads(ran("npm", "pack", "--json", "--pack-destination", project, cwd=ROOT / "clients" / "js"))
    with tarfile.open(project / packed["filename"]) as archive:
        archive.extractall(project / "node_modules", filter="data")
    (project / "node_modules" / "package").rename(project / "node_modules" / "deniable")
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

    citation = (ROOT / "CITATION.cff").read_text()
    assert json.loads((ROOT / "clients/js/package.json").read_text())["version"] == deniable.__version__
    assert f"\nversion: {deniable.__version__}\n" in citation
    assert f"## [{deniable.__version__}]" in Path(ROOT / "CHANGELOG.md").read_text()
