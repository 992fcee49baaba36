"""Run the notebooks and store their outputs anew: text and charts, and nothing about the machine that they ran on."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from traitlets.config import Config

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"
HOMES = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")
FIRST_TIME = "deniable: compiling kernels"
"""Said on machines that run a kernel for the first time."""


def main(names: list[str]) -> None:
    """Run and store the notebooks of these names, or all."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if not names or path.stem in names:
            nbformat.write(executed(path), path)
            sys.stdout.write(f"{path.name}: {path.stat().st_size / 1000:.0f} kB\n")


def executed(path: Path) -> NotebookNode:
    """A notebook after a run from its first cell to its last, in a kernel and an empty folder of its own; a cell that fails raises."""
    notebook = nbformat.read(path, as_version=4)
    with TemporaryDirectory() as folder, _environment(dict.fromkeys(HOMES, folder)):
        # By a socket in the folder: a kernel on TCP would listen to whoever is on this machine.
        socket = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}})
        place = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=120, record_timing=False, coalesce_streams=True, resources=place, config=socket).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if not _said_once(output)]
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def texts(notebook: NotebookNode) -> list[list[str]]:
    """What each code cell shows as text; charts by their kind, since the version of a drawing library may move a line."""
    return [[_text(output) for output in cell.outputs] for cell in notebook.cells if cell.cell_type == "code"]


def _text(output: NotebookNode) -> str:
    if output.output_type == "stream":
        return str(output.text)
    return "a chart" if "image/svg+xml" in output.data else str(output.data["text/plain"])


def _said_once(output: NotebookNode) -> bool:
    lines = output.get("text", "").splitlines()
    return bool(lines) and all(line.startswith(FIRST_TIME) for line in lines)


@contextmanager
def _environment(settings: dict[str, str]) -> Iterator[None]:
    """These settings for whatever is started meanwhile: a kernel inherits them, and leaves no history in anybody's home."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


if __name__ == "__main__":
    main(sys.argv[1:])
