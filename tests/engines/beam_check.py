"""Run in Beam's own environment by ``test_beam``: does what a folder's ``work.json`` asks on the direct runner, and writes what came out.

usage: python -m tests.engines.beam_check FOLDER PAGE
"""

from __future__ import annotations

import doctest
import json
import sys
from pathlib import Path

import apache_beam as beam
import numpy as np

import deniable.engines.beam
from deniable.contract.protocol import protocol_from_json
from deniable.contract.spec import spec_from_json
from deniable.engines.beam import Privatize, TallyReports, run


def main(folder: Path, page: Path) -> None:
    work = json.loads((folder / "work.json").read_text())
    with beam.Pipeline() as pipeline:
        for name, asked in work["tallies"].items():
            tables = pipeline | f"read {name}" >> beam.io.ReadFromParquetBatched(asked["files"])
            image = tables | f"tally {name}" >> TallyReports(spec_from_json(asked["spec"].encode()), asked["candidates"])
            image | f"write {name}" >> beam.Map(write, folder / f"{name}.beam")
    chunks = dict(np.load(folder / "crowd.npz"))
    crowd = [(int(number), values) for number, values in chunks.items()]
    search, key = protocol_from_json(work["protocol"].encode()), bytes.fromhex(work["key"])
    result = run(search, lambda pipeline: pipeline | beam.Create(crowd[::-1]), key=key, folder=str(folder / "rounds"))
    (folder / "result.beam").write_text(repr(result.to_arrow().to_pylist()))
    spec = spec_from_json(work["spec"].encode())
    for name, order in (("privatized", 1), ("again", -1)):
        with beam.Pipeline() as pipeline:
            tables = pipeline | beam.Create(crowd[::order]) | Privatize(spec, key=key)
            tables | TallyReports(spec) | beam.Map(write, folder / f"{name}.beam")
    (folder / "refused.beam").write_text(refused(spec))
    assert doctest.testmod(deniable.engines.beam).failed == 0
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def refused(spec) -> str:
    """What is said when two chunks have one number."""
    try:
        with beam.Pipeline() as pipeline:
            pipeline | beam.Create([(7, [0, 1]), (8, [1]), (7, [1])]) | Privatize(spec)
    except RuntimeError as error:
        return str(error)
    return ""


def write(image: bytes, path: Path) -> None:
    path.write_bytes(image)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
