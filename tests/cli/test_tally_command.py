"""``deniable tally`` over datasets, and ``deniable estimate`` of what it wrote: what a collector counted, without one."""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.cli.tally_file import read_candidates
from deniable.collect.publication.dataset import export_dataset
from deniable.collect.publication.export import publish_reports
from deniable.errors import ParameterError
from tests.cli.running import run
from tests.collect.crowd import send, survey_task
from tests.collect.publishing import SPECS, crowd, opened, sealed
from tests.collect.rows import rows_of


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A collector's reports as a dataset and as a publication, the task, and the tallies that were sealed."""
    folder = tmp_path_factory.mktemp("exported")
    collector, task = opened(folder / "store")
    assert send(collector, *crowd(task)) == {}
    sealed(collector, task)
    export_dataset(collector, task.id, folder / "data")
    publish_reports(collector, task.id, folder / "open")
    collector.publish(survey_task(collector.registry.key, SPECS[0], name="plain"))
    (row,) = (row for row in collector.store.tasks() if row.id != task.id)
    (folder / "plain.json").write_text(json.dumps({"task": row.canonical.decode(), "signature": row.signature.hex()}))
    images = {"-".join(map(str, address)): tally.to_bytes() for address, tally in collector.store.tallies(task.id, [0, 1]).items()}
    collector.store.close()
    return folder, task, images


def counted(*arguments, **options):
    return json.loads(run("tally", *arguments, "--json", **options).stdout)


def test_a_collectors_files_have_its_tallies_and_say_what_it_says(exported, tmp_path):
    folder, task, images = exported
    signed = folder / "open" / "task.json"
    found = counted(folder / "data", "--task", signed, "--out", tmp_path / "tallies", "--resume", tmp_path / "state")
    assert {path.stem: path.read_bytes() for path in (tmp_path / "tallies").iterdir()} == images
    assert (found["task"], found["reports"], len(found["tallies"]), found["refused"]) == (task.id.hex(), 665, 12, {})
    assert counted(f"{folder}/data/task=*", "--task", signed, "--resume", tmp_path / "state") == found
    published = counted(folder / "open")  # the small batch is withheld, and the task lies there
    assert published["tallies"] == [row for row in found["tallies"] if row["reports"] > 5]
    assert published["estimate"]["answers"][:2] == found["estimate"]["answers"][:2]
    assert published["estimate"]["answers"] == json.loads((folder / "open" / "estimates.json").read_bytes())["answers"]
    part = counted(folder / "data", "--task", signed, "--period", "1", "--stratum", "platform=web")
    assert [answer["estimate"]["n"] for answer in part["estimate"]["answers"]] == [60, 60]
    assert part["estimate"]["withheld"] == ["q2"]
    assert part["tallies"] == found["tallies"]
    told = run("tally", folder / "data" / f"task={task.id.hex()}" / "period=1", "--task", signed)
    assert "would count twice" in run("tally", folder, "--task", signed, status=2).stderr  # both of them lie there
    assert "305 reports counted" in told.stdout
    assert "counting reports" in told.stderr


def test_one_question_needs_no_place_and_no_metadata(exported, tmp_path):
    reports = SPECS[0].privatize(np.arange(200))
    pq.write_table(reports.to_arrow().replace_schema_metadata(), tmp_path / "some.parquet")
    found = counted(tmp_path, "--task", exported[0] / "plain.json", "--out", tmp_path / "tallies")
    assert (found["reports"], found["estimate"]["name"]) == (200, "plain")
    assert (tmp_path / "tallies" / "0-0-0.tally").read_bytes() == SPECS[0].tally(reports).to_bytes()
    assert "pass the spec" in run("tally", tmp_path, status=2).stderr


def test_files_that_speak_for_themselves(tmp_path):
    words = dn.OLH(domain=dn.Text(16), epsilon=4.0)
    (tmp_path / "reports").mkdir()
    for day in range(2):
        pq.write_table(words.privatize(["tea"] * 300 + ["mate"] * 100).to_arrow(), tmp_path / "reports" / f"{day}.parquet")
    (tmp_path / "words.txt").write_text("tea\nmate\n")
    assert "--candidates" in run("tally", tmp_path / "reports", status=2).stderr
    asked = "--candidates", tmp_path / "words.txt"
    found = counted(f"{tmp_path}/reports/*.parquet", *asked, "--out", tmp_path / "tallies")
    (answer,) = found["estimate"]["answers"]
    assert {row["value"]: abs(row["count"] - truth) < 200 for row, truth in zip(rows_of(answer), (600, 200), strict=True)} == {
        "tea": True,
        "mate": True,
    }
    file = tmp_path / "tallies" / "all.tally"
    again = json.loads(run("estimate", file, *asked, "--json", "--out", tmp_path / "words.parquet").stdout)
    assert again["answers"][0]["estimate"] == answer["estimate"]
    assert pq.read_table(tmp_path / "words.parquet").column("value").to_pylist() == ["tea", "mate"]
    assert "800 reports, OLH" in run("estimate", file, *asked).stdout
    assert "a .tally file is one total" in run("estimate", file, "--period", "1", status=2).stderr
    assert "leave it out" in run("estimate", "some-task", *asked, status=2).stderr
    file.write_bytes(file.read_bytes()[:-1])
    assert "checksum" in run("estimate", file, *asked, status=2).stderr
    numbers = dn.HCMS(domain=dn.Integers(-(2**40), 2**40), epsilon=4.0, hashes=16, width=16)
    pq.write_table(numbers.privatize(np.repeat([-7, 8], 300)).to_arrow(), tmp_path / "numbers.parquet")
    (tmp_path / "numbers.txt").write_text("-7\n8\n")
    (told,) = counted(tmp_path / "numbers.parquet", "--candidates", tmp_path / "numbers.txt")["estimate"]["answers"]
    assert [row["value"] for row in rows_of(told)] == [-7, 8]
    (tmp_path / "numbers.txt").write_text("seven\n")
    assert "one per line" in run("tally", tmp_path / "numbers.parquet", "--candidates", tmp_path / "numbers.txt", status=2).stderr


def test_what_cannot_be_counted_is_said(exported, tmp_path):
    folder, task, _ = exported
    signed, data = folder / "open" / "task.json", folder / "data"
    for arguments, reason in (
        ([data, data, "--task", signed], "would count twice"),
        ([data, "--period", "1"], "save it"),
        ([data], "each spec separately"),
        ([data], f"{data}/task={task.id.hex()}/"),  # a folder's name, not the option
        ([data, "--task", signed, "--candidates", signed], "leave it out"),
        ([data, "--task", signed, "--out", tmp_path], "a new folder"),
        ([tmp_path, "--task", signed, "--resume", tmp_path / "state"], "counted in one go"),
        (["nowhere", "--task", signed], "check the path"),
        ([tmp_path / "nothing*", "--task", signed], "end in .parquet"),
    ):
        assert reason in run("tally", *arguments, status=2).stderr
    good = (data / f"task={task.id.hex()}" / "period=0" / "question=0" / "stratum=0" / "reports.parquet").read_bytes()
    for place, reason in (
        ("task=00/period=0/question=0/stratum=0/x.parquet", "another task"),
        ("x.parquet", "a path that says nothing"),
        ("period=0/question=3/stratum=0/x.parquet", "question=0 to 2"),
        ("period=24/question=0/stratum=0/x.parquet", "period=0 to 23"),
        ("period=0/question=0/x.parquet", "stratum=0 to 1"),
        ("0-1-0.parquet", "each spec separately"),
    ):
        path = tmp_path / place.replace("/", "+") / place
        path.parent.mkdir(parents=True)
        path.write_bytes(good)
        assert reason in run("tally", tmp_path / place.replace("/", "+"), "--task", signed, status=2).stderr


def test_a_line_of_a_file_is_one_candidate(tmp_path):
    """Whatever editor wrote it: an unseen mark before the first value, other ends of lines, a value with a separator of its own."""
    file = tmp_path / "words.txt"
    file.write_bytes("\ufefftea\r\nte\u2028a\r\n".encode())
    assert read_candidates(file, dn.Text(16)) == ["tea", "te\u2028a"]
    file.write_bytes(b"")
    assert read_candidates(file, dn.Text(16)) == []
    file.write_bytes("th\u00e9".encode("latin-1"))
    with pytest.raises(ParameterError, match="in UTF-8"):
        read_candidates(file, dn.Text(16))
