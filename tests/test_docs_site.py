"""The docs as a site: built strictly, so a page or an anchor that is not there is an error; every public name is in the reference."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import deniable as dn
from deniable.lab.experiments import shipped

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    return folder


def test_every_page_and_every_public_name_is_there(site):
    for page in (ROOT / "docs").rglob("*.md"):
        folder = page.relative_to(ROOT / "docs").with_suffix("")
        assert (site / ("." if folder.name == "index" else folder) / "index.html").is_file(), page
    reference = "".join(path.read_text() for path in (site / "reference" / "api").rglob("index.html"))
    described = set(re.findall(r'id="deniable\.[\w.]*?(\w+)"', reference))
    names = {name for name in dir(dn) if callable(getattr(dn, name))}
    assert names - described == set()


def test_every_experiment_is_on_its_page_with_a_figure(site):
    page = (site / "how-to" / "experiments" / "index.html").read_text()
    words = html.unescape(re.sub(r"<[^>]+>", "", page))
    for name, experiment in shipped().items():
        assert experiment.found.replace("`", "") in words, name
        assert f"lab-{name}.svg" in page, name


def leaves(entry):
    """The pages below an entry of the navigation."""
    if isinstance(entry, str):
        return [entry]
    return [page for part in (entry.values() if isinstance(entry, dict) else entry) for page in leaves(part)]


def test_every_page_is_in_the_navigation_once(site):
    listed = leaves(yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"])
    built = [path.parent.relative_to(site).as_posix() for path in site.rglob("index.html")]
    addresses = ["index.md" if folder == "." else f"{folder}.md" for folder in built]
    by_hand = [address for address in addresses if not address.startswith("reference/api/")]  # those follow from scripts/docs/docs_site.py
    assert sorted(listed) == sorted([*by_hand, "reference/api"])
    shown = (site / "index.html").read_text()
    assert all(f'href="{address.removesuffix(".md")}/"' in shown for address in addresses if address != "index.md")


def test_nothing_is_fetched_from_elsewhere(site):
    """Neither fonts nor scripts: whoever reads the pages tells nobody."""
    for page in (site / "index.html", site / "comparison" / "index.html", site / "reference" / "api" / "mechanisms" / "index.html"):
        assert re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="https?://[^"]+"', page.read_text()) == []
