"""``deniable enrol``: codes and secrets in a file for its owner, and never twice."""

from __future__ import annotations

import stat
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


def codes_kept(collector):
    with collector.store.reading() as connection:
        return connection.execute(sql.select(sql.func.count()).select_from(db.enrolment)).scalar_one()


def test_codes_that_cannot_be_written_are_not_made(collector, tmp_path):
    """Those in the store would be lost: they are kept as digests."""
    draft = survey_task(collector.registry.key, GRR(domain_size=4, epsilon=1.0), name="counted", admission="token", issuer=NO_ISSUER)
    task = replace(draft, issuer=collector.issuer.modulus(draft))
    collector.publish(task)
    (tmp_path / "codes").write_text("older ones")
    there = "a file that is not there yet"
    for place, why in {"codes": there, "absent/codes": "No such file or directory", "store": there, "left": "was killed left it"}.items():
        (tmp_path / ".left.part").write_text("of a run that was killed")
        told = run("enrol", "counted", "--count", "2", "--out", tmp_path / place, "--store", tmp_path / "store", status=2)
        assert why in told.stderr
        assert codes_kept(collector) == 0
    assert (tmp_path / "codes").read_text() == "older ones"
    with pytest.raises(OSError, match="full"):
        collector.issuer.add_codes(task, 2, full_disk)
    assert codes_kept(collector) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [".left.part", "codes", "store"]


def full_disk(_):
    raise OSError("full")


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
