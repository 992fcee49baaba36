"""``deniable enrol``: codes and secrets in a file for its owner, and never twice."""

from __future__ import annotations

import stat
import subprocess
import sys
from dataclasses import replace

import pytest
import sqlalchemy as sql

from deniable.client import GRR
from deniable.collect.collector import Collector
from deniable.collect.storage import tables as db
from deniable.collect.storage.store import Store
from deniable.contract.admission import NO_ISSUER, SECRET_MARK
from tests.cli.running import run
from tests.collect.crowd import NOON, survey_task


@pytest.fixture
def collector(tmp_path):
    store = Store.open(tmp_path / "store")
    yield Collector(store, clock=lambda: NOON)
    store.close()


@pytest.fixture
def counted(collector):
    """A task with one-time tokens."""
    draft = survey_task(collector.registry.key, GRR(domain_size=4, epsilon=1.0), name="counted", admission="token", issuer=NO_ISSUER)
    task = replace(draft, issuer=collector.issuer.modulus(draft))
    collector.publish(task)
    return task


def codes_kept(collector):
    with collector.store.catalog.reading() as connection:
        return connection.execute(sql.select(sql.func.count()).select_from(db.enrolment)).scalar_one()


def test_codes_that_cannot_be_written_are_not_made(collector, counted, tmp_path):
    """Those in the store would be lost: they are kept as digests."""
    (tmp_path / "codes").write_text("older ones")
    (tmp_path / "dangling").symlink_to(tmp_path / "absent" / "codes")
    (tmp_path / "left").touch()  # as by a run that was killed
    expected = {"absent/codes": "No such file or directory", "left": "killed run left it"}
    expected |= dict.fromkeys(["codes", "store", "dangling"], "a new file")
    for place, why in expected.items():
        told = run("enrol", "counted", "--count", "2", "--out", tmp_path / place, "--store", tmp_path / "store", status=2)
        assert why in told.stderr
        assert codes_kept(collector) == 0
    assert (tmp_path / "codes").read_text() == "older ones"
    with pytest.raises(OSError, match="full"):
        collector.issuer.add_codes(counted, 2, full_disk)
    assert codes_kept(collector) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["codes", "dangling", "left", "store"]


def full_disk(_):
    raise OSError("full")


def enrol_with(first, tmp_path):
    """Run the command in a process of its own, after the lines ``first``; its exit status and its errors."""
    arguments = ["deniable", "enrol", "counted", "--count", "2", "--out", str(tmp_path / "codes"), "--store", str(tmp_path / "store")]
    lines = ["import os, sys", first, f"sys.argv = {arguments}", "from deniable.cli import main", "main()"]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


NO_LINKS = "def refused(*_, **__): raise PermissionError(1, 'Operation not permitted')\nos.link = os.symlink = refused"
FULL = "def full(*_): raise OSError(28, 'No space left on device')\nos.fsync = full"
KILLED = "named = os.replace\ndef killed(*paths): {} os._exit(9)\nos.replace = killed"


def test_codes_are_written_where_files_have_one_name_only(collector, counted, tmp_path):
    """As on FAT: neither a hard link nor a symbolic one."""
    assert enrol_with(NO_LINKS, tmp_path)[0] == 0
    lines = (tmp_path / "codes").read_text().split()
    assert (len(lines), codes_kept(collector)) == (2, 2)
    assert collector.issuer.redeem(counted, lines[0], [(2).to_bytes(256, "big")] * counted.answers)


def test_a_full_disk_leaves_neither_codes_nor_a_file(collector, counted, tmp_path):
    status, errors = enrol_with(FULL, tmp_path)
    assert (status, codes_kept(collector)) == (2, 0)
    assert "No space left" in errors
    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize(("before", "lines"), [("", 0), ("named(*paths);", 2)], ids=["while writing", "before the commit"])
def test_a_kill_leaves_no_codes_in_the_store_and_no_part_of_a_file(collector, counted, tmp_path, before, lines):
    assert enrol_with(KILLED.format(before), tmp_path)[0] == 9
    assert len((tmp_path / "codes").read_text().split()) == lines
    assert codes_kept(collector) == 0
    refused = run("enrol", "counted", "--out", tmp_path / "codes", "--store", tmp_path / "store", status=2)
    assert "delete it" in refused.stderr


def test_codes_and_secrets_are_written_for_their_owner(collector, tmp_path):
    """While the collector runs, as it would."""
    spec = GRR(domain_size=4, epsilon=1.0)
    draft = survey_task(collector.registry.key, spec, name="counted", admission="token", issuer=NO_ISSUER, answers=1)
    counted = replace(draft, issuer=collector.issuer.modulus(draft))
    shared = survey_task(collector.registry.key, spec, name="shared", admission="secret")
    plain = survey_task(collector.registry.key, spec, name="plain")
    for task in (counted, shared, plain):
        collector.publish(task)
    codes, secret, nothing = tmp_path / "codes", tmp_path / "secret", tmp_path / "nothing"
    told = run("enrol", "counted", "--count", "3", "--out", codes, "--store", tmp_path / "store")
    assert "3 codes" in told.stderr
    assert stat.S_IMODE(codes.stat().st_mode) == 0o600
    lines = codes.read_text().split()
    assert len(set(lines)) == 3
    assert not any(line in told.stdout + told.stderr for line in lines)
    for line in lines:
        assert collector.issuer.redeem(counted, line, [(2).to_bytes(256, "big")])
    run("enrol", shared.id.hex()[:8], "--out", secret, "--store", tmp_path / "store")
    assert secret.read_text() == f"{SECRET_MARK}{collector.issuer.secret(shared).hex()}\n"
    refused = run("enrol", "plain", "--out", nothing, "--store", tmp_path / "store", status=2)
    assert 'admission = "token"' in refused.stderr
    assert not nothing.exists()
    assert "publish" in run("enrol", "unknown", "--out", nothing, "--store", tmp_path / "store", status=2).stderr
    before = codes.read_text()
    run("enrol", "counted", "--out", codes, "--store", tmp_path / "store", status=2)
    assert codes.read_text() == before
