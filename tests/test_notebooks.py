"""The notebooks: run from the first cell to the last they show what they are stored with, and nothing of the machine they ran on."""

from __future__ import annotations

import importlib.util
import re
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
EACH = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
LARGEST = 300_000


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@EACH
def test_a_run_shows_what_is_stored(path):
    """A cell that fails raises; charts are compared by their being there."""
    notebooks = script("make_notebooks")
    shown, stored = notebooks.texts(notebooks.executed(path)), notebooks.texts(nbformat.read(path, as_version=4))
    assert shown == stored
    assert any(stored)


@EACH
def test_stored_notebooks_are_small_readable_and_anonymous(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert path.stat().st_size < LARGEST
    assert 12 <= len(notebook.cells) <= 20
    kinds = [cell.cell_type for cell in notebook.cells]
    assert all(before == "markdown" for before, kind in pairwise(kinds) if kind == "code")  # text before each code cell
    assert [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"] == list(range(1, kinds.count("code") + 1))
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert not any(cell.metadata for cell in notebook.cells)  # times of execution would be here
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", "\n".join(cell.source for cell in notebook.cells)):
        assert (path.parent / target).exists(), target


def test_the_site_has_a_page_of_each():
    pages = dict(script("docs_notebooks").notebook_pages(ROOT / "docs"))
    assert list(pages) == [f"notebooks/{path.stem}.md" for path in NOTEBOOKS]
    assert len(pages) == 5
    for path, page in zip(NOTEBOOKS, pages.values(), strict=True):
        cells = nbformat.read(path, as_version=4).cells
        charts = [output for cell in cells for output in cell.get("outputs", []) if "image/svg+xml" in output.get("data", {})]
        assert page.startswith("# ")
        assert page.count("```python\n") == sum(cell.cell_type == "code" for cell in cells)
        assert page.count("](data:image/svg+xml;base64,") == len(charts) > 0
        assert "<svg" not in page
