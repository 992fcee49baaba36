"""The JavaScript package as npm would publish it, unpacked."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

from tests.conftest import ROOT
from tests.services import needed


def unpacked_client(folder: Path) -> Path:
    """Pack the package and unpack it below a folder, under its name."""
    npm = shutil.which("npm")
    needed(npm, "npm is not installed (Debian and Ubuntu: apt-get install nodejs npm)")
    command = [str(npm), "pack", "--json", "--offline", "--pack-destination", str(folder)]
    done = subprocess.run(command, cwd=ROOT / "clients" / "js", capture_output=True, text=True, check=True)
    (packed,) = json.loads(done.stdout)
    with tarfile.open(folder / packed["filename"]) as archive:
        archive.extractall(folder, filter="data")
    return (folder / "package").rename(folder / "deniable")
