"""Environments of their own for the other libraries, whose requirements clash with each other and with ours.

Fresh installations of these libraries do not run today; the pins below make them run (a newer xxhash refuses text, a newer NumPy
refuses ``zeros(None)``, and two requirements are not declared).
"""

import subprocess
import sys
from pathlib import Path

from timing import say

BUILD = Path(__file__).resolve().parent.parent / ".bench"

REQUIREMENTS = {
    "peers-old-numpy": ("numpy==1.26.4", "xxhash<4", "scikit-learn", "statsmodels", "numba", "pure-ldp", "multi-freq-ldpy"),
    "peers-new-numpy": ("xxhash<4", "ldp-toolbox", "opendp"),
    "peers-sums": ("phe", "gmpy2", "flwr", "pycryptodome"),
    "peers-fresh": ("pure-ldp", "multi-freq-ldpy"),  # without pins: what a first user gets
}
HOMES = {
    "pure-ldp": "peers-old-numpy",
    "multi-freq-ldpy": "peers-old-numpy",
    "ldp-toolbox": "peers-new-numpy",
    "opendp": "peers-new-numpy",
    "phe": "peers-sums",
    "flwr": "peers-sums",
    "fresh": "peers-fresh",
}
_FAILED = {}


def python_of(library):
    """The interpreter that has a library; its environment is made on first use. RuntimeError if that fails, at once the next time."""
    name = HOMES[library]
    if name in _FAILED:
        raise _FAILED[name]
    try:
        return _python_in(name)
    except RuntimeError as error:
        _FAILED[name] = error
        raise


def _python_in(name):
    home, wanted = BUILD / name, "\n".join(REQUIREMENTS[name])
    stamp = home / "complete"
    if not (stamp.exists() and stamp.read_text() == wanted):
        say(f"making the environment {home.relative_to(BUILD.parent)} for {' '.join(REQUIREMENTS[name])} (once; some minutes) ...")
        _run(sys.executable, "-m", "venv", "--clear", home)
        _run(home / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *REQUIREMENTS[name])
        stamp.write_text(wanted)
    return home / "bin" / "python"


def _run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        complaint = (done.stderr + done.stdout).strip() or f"exit status {done.returncode}"
        raise RuntimeError(f"no environment: {complaint.splitlines()[-1]}")
