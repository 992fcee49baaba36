"""``deniable shuffle keys``: a new key, and one that nobody seals for any more."""

from __future__ import annotations

import json
import time

import pytest

from deniable.contract.notice import SHUFFLER, read_keys
from deniable.sealing.keys import KeyRing
from tests.cli.running import run


@pytest.mark.parametrize("withdraw", [False, True])
def test_after_a_suspicion_devices_take_the_new_key(tmp_path, withdraw):
    """Without --withdraw they go on with the old one until it ends, which may be weeks."""
    folder = tmp_path / "shuffler"
    run("shuffle", "keys", "create", "--folder", folder)
    (old,) = KeyRing(folder, SHUFFLER).pairs
    told = run("shuffle", "keys", "rotate", "--folder", folder, "--key-days", "31", *(["--withdraw"] if withdraw else []))  # ends later
    assert (f"withdrawn: {old.hex()}" in told.stdout) == withdraw
    ring, now = KeyRing(folder, SHUFFLER), time.time() + 3600
    taken = read_keys(ring.announcement(now), ring.identity, now, SHUFFLER).id
    assert (taken != old, old in ring.pairs, taken in ring.pairs) == (withdraw, True, True)
    shown = json.loads(run("shuffle", "keys", "show", "--folder", folder, "--json").stdout)["keys"]
    assert {item["id"]: item["withdrawn"] for item in shown} == {key.hex(): withdraw and key == old for key in ring.pairs}
    assert ("withdrawn" in run("shuffle", "keys", "show", "--folder", folder).stdout) == withdraw
