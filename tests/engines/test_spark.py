"""Spark: the same bytes as NumPy and the local engine, whatever tasks fail; and nothing but tallies travels."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import signal
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.client import GRR, HCMS, RR
from deniable.contract.domain import IndexRange
from deniable.contract.subsets import Subsets
from deniable.contract.survey import Survey
from deniable.engines import local, partition, spark
from deniable.errors import MissingExtra, ParameterError, ProtocolError, WireError
from deniable.tasks.heavy_hitters import PEM
from deniable.tasks.itemsets.svim import SVIM
from tests.conftest import ROOT
from tests.engines.conftest import SPECS
from tests.engines.test_partition import driven
from tests.services import needed

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
KEY = b"k" * 32


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Spark on two cores of this machine. A task may fail often: one may be given a worker that was killed while it was idle."""
    needed(find_spec("pyspark"), 'PySpark is not installed (pip install ".[spark]")')
    needed(
        shutil.which("java") or os.environ.get("JAVA_HOME"),
        "Java is not installed (Debian and Ubuntu: apt-get install default-jre-headless)",
    )
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # nothing here runs long enough for more
        "spark.local.dir": folder / "local",
        "spark.python.daemon.module": "tests.engines.spark_daemon",
        "spark.log.level": "OFF",  # failures are injected, and Spark would print each
        "spark.sql.warehouse.dir": folder / "warehouse",
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
    }
    with pytest.MonkeyPatch.context() as patch:  # Java keeps its environment, and hands it on to the workers
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", str(ROOT))
        running = SparkSession.builder.master("local[2,9]").config(map=settings).getOrCreate()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def crowd(session, tmp_path_factory) -> tuple[Any, list[dict[str, Any]]]:
    """20,000 people with a code and a basket in three files, which Spark makes into two partitions, and who is in which."""
    folder = tmp_path_factory.mktemp("crowd")
    generator = np.random.default_rng(5)
    codes = np.minimum(generator.geometric(0.3, 20_000), 255)
    baskets = [sorted({int(code) % 7, int(code) % 3}) if code > 1 else [] for code in codes]
    table = pa.table({"code": codes, "basket": baskets})
    for start, end in ((0, 4_000), (4_000, 13_000), (13_000, 20_000)):
        pq.write_table(table.slice(start, end - start), folder / f"{start}.parquet")
    people = session.read.parquet(str(folder))
    partitions = people.rdd.glom().collect()  # Spark's own word for it, not the engine's
    assert len({len(rows) for rows in partitions}) == 2
    return people, [{name: [row[name] for row in rows] for name in table.column_names} for rows in partitions]


def troubled(rows: Any, folder: Path) -> Any:
    """The same rows, from tasks in trouble: the second partition fails after its first batch, then its readers are killed after theirs."""
    folder.mkdir()

    def through(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        task = TaskContext.get()
        for batch in batches:
            yield batch
            if task.partitionId() == 1 and task.attemptNumber() < 2:
                (folder / f"{task.stageId()} {task.attemptNumber()}").touch()
                if task.attemptNumber() == 0:
                    raise RuntimeError("in trouble")
                daemon = os.getppid()
                for worker in Path(f"/proc/{daemon}/task/{daemon}/children").read_text().split():
                    if int(worker) != os.getpid():
                        os.kill(int(worker), signal.SIGKILL)

    return rows.mapInArrow(through, rows.schema)


def troubles(folder: Path) -> list[int]:
    """How many stages had trouble with their first attempt, and with their second."""
    names = [path.name.split()[1] for path in folder.iterdir()]
    return [names.count("0"), names.count("1")]


@pytest.mark.parametrize("mechanism", SPECS)
def test_reports_of_every_mechanism_have_the_same_tally(mechanism, session, datasets):
    data = datasets[mechanism]
    found = spark.tally(session.read.parquet(str(data.folder)), data.spec, candidates=data.candidates).to_bytes()
    assert found == data.image
    assert found == local.tally(data.folder, candidates=data.candidates).to_bytes()


def test_only_tallies_travel(session, datasets):
    """One exchange in the executed plan, above the fold; and across it, a tally and a digest from each partition."""
    context, data = session.sparkContext, datasets["HCMS"]
    reports = session.read.parquet(str(data.folder))
    partitions = reports.rdd.getNumPartitions()
    context.setJobGroup("travel", "")
    spark.tally(reports, data.spec)
    last = session._jsparkSession.sharedState().statusStore().executionsList().last()
    plan = last.physicalPlanDescription().split("== Initial Plan ==")[0]
    assert re.findall(r"MapInArrow|Exchange|Aggregate|Scan|Join", plan) == ["MapInArrow", "Exchange", "MapInArrow", "Scan"], plan
    jobs = [context.statusTracker().getJobInfo(job) for job in context.statusTracker().getJobIdsForGroup("travel")]
    stages = {stage for job in jobs for stage in job.stageIds}
    store = context._jsc.sc().statusStore()
    assert sum(store.lastStageAttempt(stage).shuffleWriteRecords() for stage in stages) == 2 * partitions > 2


def test_tasks_that_fail_or_are_killed_change_no_tally(session, datasets, tmp_path):
    data = datasets["OLH"]
    reports = troubled(session.read.parquet(str(data.folder)), tmp_path / "attempts")
    assert spark.tally(reports, data.spec, candidates=data.candidates).to_bytes() == data.image
    assert troubles(tmp_path / "attempts") == [1, 1]


def test_searches_give_what_their_partitions_give_one_by_one(session, crowd, tmp_path):
    people, partitions = crowd
    search = PEM(bits=12, k=4, epsilon=4.0, groups=3)
    expected = driven(search, [(number, np.array(rows["code"])) for number, rows in enumerate(partitions)], KEY)
    assert repr(spark.run(search, troubled(people, tmp_path / "attempts"), "code", key=KEY)) == repr(expected)
    assert troubles(tmp_path / "attempts") == [3, 3]  # in every round

    baskets = SVIM(domain=Subsets(IndexRange(7)), k=3, epsilon=2.0)
    expected = driven(baskets, [(number, rows["basket"]) for number, rows in enumerate(partitions)], KEY)
    assert repr(spark.run(baskets, people, "basket", key=KEY)) == repr(expected)


def test_a_survey_asks_about_several_columns(session, crowd):
    people, partitions = crowd
    survey = Survey.of(code=GRR(domain_size=256, epsilon=1.0), rare=RR(epsilon=1.0))
    asked = [{"code": rows["code"], "rare": [code > 9 for code in rows["code"]]} for rows in partitions]
    rows = people.selectExpr("code", "basket", "code > 9 as rare")
    assert repr(spark.run(survey, rows, ["rare", "code"], key=KEY)) == repr(driven(survey, list(enumerate(asked)), KEY))
    nobody = spark.run(survey, rows.limit(0), ["rare", "code"])
    assert {name: estimate.n for name, estimate in nobody.items()} == {"code": 0, "rare": 0}


def test_people_who_change_between_rounds_are_noticed(session, crowd):
    people, search = crowd[0], PEM(bits=12, k=4, epsilon=4.0, groups=3)

    def drawn_anew(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield pa.record_batch({"code": np.random.default_rng().permutation(batch.column("code").to_numpy())})

    moving = people.mapInArrow(drawn_anew, "code bigint")
    with pytest.raises(ProtocolError, match="persist or checkpoint the DataFrame"):
        spark.run(search, moving, "code")
    assert spark.run(search, moving.persist(), "code")


def test_simulated_people_say_the_same_whenever_their_partition_is_done(session, crowd, tmp_path, monkeypatch):
    """Done again after a failure, done elsewhere, or several in one task: their streams are those of their numbers."""
    people, partitions = crowd
    spec = HCMS(domain_size=256, epsilon=2.0, hashes=300, width=256)
    monkeypatch.setattr(partition, "new_key", lambda: KEY)
    expected = [partition.privatize(spec, rows["code"], key=KEY, partition=number << 33) for number, rows in enumerate(partitions)]
    whole = pa.concat_tables([reports.to_arrow() for reports in expected])
    made = spark.privatize(troubled(people, tmp_path / "attempts"), "code", spec)
    assert made.columns == ["function", "row", "sign"]
    assert made.toArrow().cast(whole.schema).equals(whole)
    assert troubles(tmp_path / "attempts") == [1, 1]
    again = spark.privatize(people, "code", spec)
    assert again.coalesce(1).toArrow().cast(whole.schema).equals(whole)

    made.write.parquet(str(tmp_path / "reports"))
    kept = session.read.parquet(str(tmp_path / "reports"))
    assert spark.tally(kept, spec) == sum(map(spec.tally, expected))
    with pytest.raises(WireError, match="spec that made the reports"):
        spark.tally(kept, HCMS(domain_size=256, epsilon=1.0, hashes=300, width=256))


def test_the_page_and_the_example_run(session, tmp_path):
    page = (ROOT / "docs" / "how-to" / "engines.md").read_text()
    (snippet,) = re.findall(r"^```py\n(.*?)^```", page, re.MULTILINE | re.DOTALL)  # so fenced that no other test runs it
    exec(snippet, {})
    job = runpy.run_path(str(ROOT / "examples" / "spark" / "job.py"))
    job["simulate"](session, job["DRINKS"], 10_000, str(tmp_path / "reports"))
    low, high = job["DRINKS"].estimate(job["count"](session, job["DRINKS"], str(tmp_path / "reports"))).bound(1 - 1e-6, "bernstein")
    assert all(low <= [4_000, 3_000, 2_000, 1_000])
    assert all(high >= [4_000, 3_000, 2_000, 1_000])


def test_what_is_not_right_is_refused(session, crowd):
    from pyspark.errors import PythonException

    people, _ = crowd
    with pytest.raises(WireError, match=r"symbol.*select the reports' columns"):
        spark.tally(people, GRR(domain_size=4, epsilon=1.0))
    misspelled = r"column: got 'cod'; allowed: one of \['code'"
    with pytest.raises(ParameterError, match=misspelled):
        spark.privatize(people, "cod", GRR(domain_size=4, epsilon=1.0))
    with pytest.raises(ParameterError, match=misspelled):
        spark.run(PEM(bits=12, k=4, epsilon=4.0), people, ["code", "cod"])
    reports = people.selectExpr("code as symbol")
    with pytest.raises(ParameterError, match="candidates"):  # here, before a job starts
        spark.tally(reports, GRR(domain_size=4, epsilon=1.0), candidates=[1])
    with pytest.raises(PythonException, match=r"WireError: symbol: got .*; allowed: integers below 4"):
        spark.tally(reports.coalesce(1), GRR(domain_size=4, epsilon=1.0))


def test_a_message_says_what_is_missing(monkeypatch):
    with pytest.raises(ParameterError, match=r"spark\.read\.parquet"):
        spark.tally([0, 1], GRR(domain_size=4, epsilon=1.0))
    for name in ("pyspark", "pyspark.sql", "pyspark.sql.functions"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match=r'pip install "\.\[spark\]"'):
        spark.tally([0, 1], GRR(domain_size=4, epsilon=1.0))
