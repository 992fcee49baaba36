"""The same bytes from Beam's direct runner as from NumPy. Beam has an environment of its own: one process there does all the work."""

from __future__ import annotations

import importlib.util
import json
import subprocess

import numpy as np
import pytest

from deniable.client import GRR
from deniable.core.stream import SecureStream
from deniable.core.tally import Tally
from deniable.engines import partition
from deniable.engines.partition import privatize
from deniable.errors import MissingExtra
from deniable.tasks.heavy_hitters import PEM
from tests.conftest import ROOT
from tests.engines.test_partition import driven
from tests.services import needed

HOME = ROOT / ".venv-beam"
PAGE = ROOT / "docs" / "how-to" / "beam.md"
KEY = b"k" * 32
SOME = [1, 3]
"""Candidates that are named, in a domain that could be counted whole."""


def test_beam_agrees_to_the_byte(datasets, tmp_path, monkeypatch):
    """Every mechanism's tally of 1,000,000 reports, a whole search, and reports made twice from one key."""
    needed(any(HOME.glob("lib/python*/site-packages/apache_beam")), f"no Apache Beam in {HOME.name}: make setup")
    search, spec = PEM(bits=12, k=4, epsilon=4.0, groups=3), GRR(domain_size=4096, epsilon=8.0)
    crowd = dict(enumerate(np.array_split(np.minimum(np.random.default_rng(5).geometric(0.3, 30_000), 4095), 5)))
    tallies = {
        name: {"files": f"{each.folder}/*.parquet", "spec": each.spec.canonical.decode(), "candidates": each.candidates}
        for name, each in datasets.items()
    }
    tallies["some"] = tallies["OLH"] | {"candidates": SOME}
    work = {"tallies": tallies, "protocol": search.canonical.decode(), "spec": spec.canonical.decode(), "key": KEY.hex()}
    (tmp_path / "work.json").write_text(json.dumps(work))
    np.savez(tmp_path / "crowd.npz", **{str(number): values for number, values in crowd.items()})
    command = [HOME / "bin" / "python", "-m", "tests.engines.beam_check", tmp_path, PAGE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

    differing = [name for name, each in datasets.items() if (tmp_path / f"{name}.beam").read_bytes() != each.image]
    assert (len(datasets), differing) == (31, [])
    some, whole = Tally.from_bytes((tmp_path / "some.beam").read_bytes()), Tally.from_bytes(datasets["OLH"].image)
    assert (some.n, some.counters.tolist()) == (whole.n, whole.counters[SOME].tolist())
    assert len(search.lengths) == 3
    keys = []
    monkeypatch.setattr(partition, "SecureStream", lambda key, chunk: keys.append(key.hex()) or SecureStream(key, chunk))
    result = driven(search, list(crowd.items()), KEY).to_arrow().to_pylist()
    assert (tmp_path / "result.beam").read_text() == repr(result)
    names = {path.stem for path in (tmp_path / "rounds").iterdir()}
    assert (len(names), len(set(keys))) == (3, 4)  # a stream of tickets, and one of answers for each round
    assert names.isdisjoint(keys)  # or whoever sees the folder could take the noise away
    parts = [spec.tally(privatize(spec, values, key=KEY, partition=number)) for number, values in crowd.items()]
    expected = sum(parts[1:], parts[0]).to_bytes()
    assert [(tmp_path / f"{name}.beam").read_bytes() == expected for name in ("privatized", "again")] == [True, True]
    assert "7, 2 times" in (tmp_path / "refused.beam").read_text()


@pytest.mark.skipif(importlib.util.find_spec("apache_beam") is not None, reason="Apache Beam is installed here")
def test_without_beam_the_extra_is_named():
    with pytest.raises(MissingExtra, match=r'pip install "\.\[beam\]"'):
        importlib.import_module("deniable.engines.beam")
