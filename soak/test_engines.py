"""A million reports of every mechanism: Spark and the local engine make the same bytes of them as one batch in memory."""

# ruff: noqa: S101  # tests assert; this folder is outside of tests/

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.engines.conftest import SPECS, Dataset
from tests.engines.test_spark import session  # noqa: F401  # a fixture

from deniable.engines import local, spark

PEOPLE = 1_000_000


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
@pytest.mark.parametrize("mechanism", SPECS)
def test_a_million_reports_have_the_tally_of_one_batch(mechanism: str, session: Any, tmp_path: Path) -> None:  # noqa: F811  # the fixture
    data = Dataset(SPECS[mechanism], tmp_path / mechanism, PEOPLE)
    data.write()
    found = spark.tally(session.read.parquet(str(data.folder)), data.spec, candidates=data.candidates).to_bytes()
    assert found == data.image
    assert found == local.tally(data.folder, candidates=data.candidates).to_bytes()
