"""What the engines are compared on: reports of every mechanism in Parquet files, and the tally that NumPy makes of them.

They are made once in a test run, by the first process that needs them; the others wait for it and read what it wrote.
"""

from __future__ import annotations

import fcntl
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from deniable.client.frequency import FrequencySpec
from tests.conftest import all_specs, candidates_of, some_values

collect_ignore = ["beam_check.py"]
"""Needs Apache Beam, and runs where that is."""
PEOPLE = 40_000
"""Enough for several files of several row groups each; ``make soak`` has a million."""
CUTS = (0.0, 0.400025, 0.400225, 0.7, 1.0)
"""Where a dataset's files begin, as shares of the people: one is tiny, and single bits do not end on a byte."""


def narrow_specs() -> dict[str, FrequencySpec]:
    """One spec of each mechanism: the widest of those that are narrow, so that every kind of column is there and little is written."""
    chosen: dict[str, FrequencySpec] = {}
    for spec in sorted(all_specs(), key=_width):
        if spec.mechanism not in chosen or (_width(spec) <= 17 and spec.domain.listed and spec.domain.size <= 1000):
            chosen[spec.mechanism] = spec
    return dict(sorted(chosen.items()))


def _width(spec: FrequencySpec) -> int:
    return sum(column.row_bytes for column in spec.layout)


SPECS = narrow_specs()


@dataclass(frozen=True)
class Dataset:
    """The reports of one mechanism: a folder of Parquet files, and NumPy's tally of them beside it."""

    spec: FrequencySpec
    folder: Path
    people: int = PEOPLE

    @property
    def candidates(self) -> Any:
        """What must be named when they are tallied."""
        return candidates_of(self.spec)

    @cached_property
    def image(self) -> bytes:
        """The tally of all reports at once, as bytes."""
        return self.folder.with_suffix(".tally").read_bytes()

    def write(self) -> None:
        """Privatize everyone, tally in memory, and write the reports in several files of several row groups each."""
        some = some_values(self.spec, 28)
        times, more = divmod(self.people, len(some))
        reports = self.spec.privatize(np.resize(np.array(some), self.people) if self.spec.domain.listed else some * times + some[:more])
        self.folder.mkdir(parents=True)
        table = reports.to_arrow()
        cuts = [round(share * self.people) for share in CUTS]
        for number, (start, end) in enumerate(pairwise(cuts)):
            pq.write_table(table.slice(start, end - start), self.folder / f"part-{number}.parquet", row_group_size=self.people // 7)
        self.folder.with_suffix(".tally").write_bytes(self.spec.tally(reports, candidates=self.candidates).to_bytes())


@pytest.fixture(scope="session")
def datasets(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, Dataset]:
    """Every mechanism's reports and tally, by its name. Do not write into their folders: other tests read them."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if hasattr(request.config, "workerinput") else base
    found = {name: Dataset(spec, shared / "engines" / name) for name, spec in SPECS.items()}
    done = shared / "engines.done"
    with (shared / "engines.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            for dataset in found.values():
                dataset.write()
            done.touch()
    return found
