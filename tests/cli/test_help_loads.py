"""Whoever asks for help does not wait for what a command needs when it works."""

from __future__ import annotations

import subprocess
import sys

import pytest

from deniable.cli.commands import COMMANDS

HEAVY = {"altair", "cryptography", "networkx", "numba", "numpy", "polars", "pyarrow", "scipy", "sklearn", "sqlalchemy", "starlette"}
CODE = f"""
import sys
from deniable.cli import main
sys.argv[0] = "deniable"
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print("heavy:", *sorted({HEAVY!r} & set(sys.modules)))
"""


@pytest.mark.parametrize("words", ["", *COMMANDS, "task check", "lab run", "party run"])
def test_help_loads_no_heavy_package(words):
    done = subprocess.run([sys.executable, "-c", CODE, *words.split(), "--help"], capture_output=True, text=True, check=True)
    assert "Usage:" in done.stdout
    assert done.stdout.splitlines()[-1] == "heavy:"
