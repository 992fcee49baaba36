"""The unit and the container, as far as they can be tried without systemd as the first process and without a builder of images."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import ROOT
from tests.services import needed

COMMAND = Path(sys.executable).parent / "deniable"
UNIT = ROOT / "packaging" / "deniable.service"
CONTAINER = ROOT / "packaging" / "Containerfile"
LOOSE = 2.0
"""The largest exposure on systemd's own scale from 0 to 10 that passes."""


def unit_settings() -> dict[str, list[str]]:
    settings: dict[str, list[str]] = {}
    for line in UNIT.read_text().splitlines():
        name, sign, value = line.partition("=")
        if sign and not line.startswith("#"):
            settings.setdefault(name, []).append(value)
    return settings


def container_steps() -> dict[str, list[str]]:
    """The instructions of the image that is shipped: the last stage."""
    text = re.sub(r"^#.*\n", "", CONTAINER.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    steps: dict[str, list[str]] = {}
    for line in filter(None, text.rpartition("\nFROM ")[2].splitlines()):
        name, _, value = line.strip().partition(" ")
        steps.setdefault(name, []).append(value)
    return steps


@contextmanager
def serving(arguments: list[str], environment: dict[str, str]) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A collector that was started like that, and its port."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("DENIABLE_")} | environment
    with subprocess.Popen(arguments, env=clean, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            assert line.startswith("serving on http://"), line
            yield process, line.strip().rpartition(":")[2]
        finally:
            process.kill()


def test_the_unit_starts_a_collector_whose_files_are_in_its_own_folders(tmp_path):
    settings = unit_settings()
    path, *arguments = shlex.split(settings["ExecStart"][0])
    assert path == "/opt/deniable/bin/deniable"
    places = {"%S": tmp_path / "state", "%C": tmp_path / "cache"}
    environment = {}
    for setting in shlex.split(settings["Environment"][0]):
        name, _, value = setting.partition("=")
        place, _, folder = value.partition("/")
        assert [folder] == settings[{"%S": "StateDirectory", "%C": "CacheDirectory"}[place]]  # all else is read-only
        environment[name] = str(places[place] / folder)
    assert set(environment) == {"DENIABLE_STORE", "NUMBA_CACHE_DIR"}
    with serving([str(COMMAND), *arguments], environment | {"DENIABLE_PORT": "0"}) as (process, _):  # as the environment's file may
        assert (tmp_path / "state" / "deniable" / "collector.sqlite").exists()
        process.send_signal(signal.SIGTERM)
        assert process.wait(float(settings["TimeoutStopSec"][0])) == 0
    assert {path.name for path in tmp_path.iterdir()} <= {"state", "cache"}


def test_the_container_starts_answers_its_check_and_hears_sigterm(tmp_path):
    steps = container_steps()
    entry, arguments = json.loads(steps["ENTRYPOINT"][0]), json.loads(steps["CMD"][0])  # lists: no shell is the first process
    environment = dict(re.findall(r"(\w+)=(\S+)", steps["ENV"][0]))
    assert {environment["DENIABLE_STORE"], environment["NUMBA_CACHE_DIR"]} == set(json.loads(steps["VOLUME"][0]))
    assert steps["USER"] == ["deniable"]
    assert f"--group=deniable --mode=0700 {environment['DENIABLE_STORE']}" in steps["RUN"][0]
    shown = arguments[arguments.index("--port") + 1]
    assert steps["EXPOSE"] == [shown]
    assert entry[0] == "deniable"
    free = [*entry[1:], *(("0" if argument == shown else argument) for argument in arguments)]
    with serving([str(COMMAND), *free], {"DENIABLE_STORE": str(tmp_path / "store")}) as (process, port):
        python, *check = json.loads(steps["HEALTHCHECK"][0].partition("CMD ")[2])
        assert (python, f"127.0.0.1:{shown}/healthz" in check[-1]) == ("python", True)
        healthy = [sys.executable, *check[:-1], check[-1].replace(f":{shown}/", f":{port}/")]
        assert subprocess.run(healthy, capture_output=True, check=False).returncode == 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert subprocess.run(healthy, capture_output=True, check=False).returncode != 0
    assert (tmp_path / "store" / "collector.sqlite").exists()


def test_what_the_container_copies_is_there():
    copied = re.findall(r"^COPY (?!--)(.*) \S+$", CONTAINER.read_text(), re.MULTILINE)
    assert copied
    for name in " ".join(copied).split():
        assert (ROOT / name).exists(), name


def test_systemd_takes_the_unit_and_finds_it_closed(tmp_path):
    needed(shutil.which("systemd-analyze"), "systemd is not installed (Debian and Ubuntu: apt-get install systemd)")
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/deniable/bin/deniable", str(COMMAND)))  # it must be there for the check
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    limit = ["systemd-analyze", "security", "--offline=true", "--no-pager", f"--threshold={int(10 * LOOSE)}", str(unit)]
    done = subprocess.run(limit, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
