"""A ring of keys over its years: replaced before they end, deleted on time, the same after a restart, and nobody else's to read."""

from __future__ import annotations

import json
import os
import stat

import pytest

from deniable.contract.ed25519 import verify
from deniable.contract.notice import ANALYST, MOST_NOTICES, SHUFFLER, KeyNotice, read_keys, write_keys
from deniable.errors import ParameterError, ProtocolError, WireError
from deniable.sealing.identity import public_key
from deniable.sealing.keys import GRACE, LIFETIME, SKEW, KeyPair, KeyRing, announce
from deniable.testing import ReplaySource
from tests.client.fake import DAY, START

NOW = START


@pytest.fixture
def ring(tmp_path):
    return KeyRing(tmp_path / "keys", SHUFFLER, source=ReplaySource.from_key("ring"))


def chosen(ring, now, since=None):
    """What a device takes from the ring's announcement, in a period that has just begun or began earlier."""
    return read_keys(ring.announcement(now), ring.identity, now, ring.role, since)


def test_a_ring_lives_through_years(ring):
    """Tended daily, for three years: at every moment one key for all devices, and no key outlives its grace."""
    used, changes = [], 0
    for day in range(3 * 365):
        now = NOW + day * DAY
        changes += ring.tend(now)
        notice = chosen(ring, now)
        assert chosen(ring, now + DAY - 1) in (notice, ring.notices(now + DAY - 1)[-1])  # until the next tending, too
        used.append(notice.id)
        assert len(ring.pairs) <= 3
        assert all(now < pair.end + GRACE for pair in ring.pairs.values())
        assert notice.id in ring.pairs
    assert len(dict.fromkeys(used)) == len(set(used)) > 60  # about one for each half of a lifetime, never one again
    assert changes < 160


def test_all_devices_change_keys_at_the_same_moment(ring):
    """Whoever fetched the list before the next key was made, and whoever fetched it after, seal for the same key until it ends."""
    ring.tend(NOW)
    before = ring.announcement(NOW)
    first = chosen(ring, NOW)
    ring.tend(NOW + LIFETIME // 2 + 1)
    assert len(ring.notices(NOW + LIFETIME // 2 + 1)) == 2
    for now in (NOW + LIFETIME // 2 + 1, NOW + LIFETIME - 1):
        assert chosen(ring, now) == first == read_keys(before, ring.identity, now, SHUFFLER)
    assert chosen(ring, NOW + LIFETIME) != first
    with pytest.raises(ProtocolError, match="good now"):
        read_keys(before, ring.identity, NOW + LIFETIME, SHUFFLER)


def test_rotation_and_its_end(ring):
    assert ring.notices(NOW) == []
    pair = ring.rotate(NOW, lifetime=100)
    assert (pair.start, pair.end) == (NOW - SKEW, NOW + 100)  # a device whose clock is slow takes it, too
    assert chosen(ring, NOW - SKEW).public == pair.public
    later = ring.rotate(NOW + 50, lifetime=100)
    assert [notice.public for notice in ring.notices(NOW + 60)] == [later.public, pair.public]
    assert chosen(ring, NOW + 100).public == later.public
    assert chosen(ring, NOW + 100, since=NOW + 99).public == pair.public  # a period that had begun goes on with it
    assert [notice.public for notice in ring.notices(NOW + 100 + GRACE)] == [later.public]
    assert ring.notices(NOW + 150 + GRACE) == []
    assert ring.forget(NOW + 100 + GRACE - 1) == 0
    assert ring.private(pair.id) == pair  # what was sealed in time still opens
    assert ring.forget(NOW + 100 + GRACE) == 1
    with pytest.raises(WireError, match="seal anew"):
        ring.private(pair.id)
    assert pair.private.hex() not in (ring.folder / "keys.json").read_text()
    with pytest.raises(ParameterError, match="live longer"):
        ring.rotate(NOW, lifetime=-SKEW)


@pytest.mark.parametrize("period", [DAY // 24, 7 * DAY, 45 * DAY, 400 * DAY])
def test_all_reports_of_a_period_are_sealed_for_one_key(tmp_path, period):
    """Over two years of rotations: whoever comes when, a period has one key, and it opens until the period is over."""
    ring = KeyRing(tmp_path / "keys", SHUFFLER, grace=period + DAY)
    step, begin = max(DAY, period // 9), NOW + 3 * DAY
    ring.tend(NOW)
    used: dict[int, set[bytes]] = {}
    for now in range(begin, begin + 730 * DAY, step):
        ring.tend(now)
        since = begin + (now - begin) // period * period
        notice = chosen(ring, now, since)
        used.setdefault(since, set()).add(notice.id)
        assert notice.id in ring.pairs
        assert len(ring.notices(now)) <= 32
    assert {len(keys) for keys in used.values()} == {1}
    assert len(set().union(*used.values())) >= min(len(used), 20)


def test_keys_that_change_too_often_for_one_list_are_refused(tmp_path):
    ring = KeyRing(tmp_path / "keys", SHUFFLER, grace=140 * DAY)
    with pytest.raises(ParameterError, match="live longer"):
        ring.tend(NOW, 10 * DAY - 1)
    for day in range(0, 600):
        ring.tend(NOW + day * DAY, 10 * DAY)
        assert len(ring.notices(NOW + day * DAY)) <= 32


def test_a_list_holds_the_newest_notices_first():
    many = [(KeyNotice(role=ANALYST, public=bytes(32), start=place % 7 * DAY, end=place * DAY + 1), bytes(64)) for place in range(7, 50)]
    listed = [KeyNotice.from_json(each["notice"].encode()) for each in json.loads(write_keys(many))["keys"]]
    assert len(listed) == MOST_NOTICES < len(many)
    assert listed == sorted((notice for notice, _ in many), key=lambda notice: (-notice.start, -notice.end))[:MOST_NOTICES]


def test_a_withdrawn_key_opens_and_is_sealed_for_no_more(ring):
    """After a suspicion: not announced from now on, whatever period is open, tended or not, here or after a restart."""
    ring.tend(NOW)
    ring.tend(NOW + LIFETIME // 2 + 1)
    stolen, now = set(ring.pairs), NOW + LIFETIME // 2 + 60
    usual = KeyRing(ring.folder, SHUFFLER)
    usual.rotate(now)
    assert chosen(usual, now).id in stolen  # without withdrawing nothing changes until it ends
    ring.reload()
    stolen = set(ring.pairs)
    fresh = ring.rotate(now, withdraw=True)
    for each in (ring, KeyRing(ring.folder, SHUFFLER)):
        for later in (now, now + DAY, now + LIFETIME // 2 - DAY):
            each.tend(later)
            assert chosen(each, later).id == chosen(each, later, since=NOW).id == fresh.id
            assert each.withdrawn == stolen
        assert all(each.private(key).id == key for key in stolen)
    assert ring.tend(NOW + 2 * LIFETIME + GRACE)
    assert ring.withdrawn == set()  # forgotten with the keys


def test_a_ring_is_the_same_after_a_restart(ring):
    pair = ring.rotate(NOW)
    again = KeyRing(ring.folder, SHUFFLER)
    assert (again.identity, again.pairs) == (ring.identity, {pair.id: pair})
    assert again.private(pair.id).private == pair.private
    assert again.announcement(NOW) == ring.announcement(NOW)
    other = ring.rotate(NOW + 1)
    with pytest.raises(WireError):
        again.private(other.id)
    again.reload()
    assert again.private(other.id) == other


def test_identities_sign_and_differ(tmp_path):
    rings = [KeyRing(tmp_path / name, SHUFFLER) for name in "ab"]
    assert rings[0].identity != rings[1].identity
    signature = rings[0].sign(b"deniable batch 1\n", b"manifest")
    assert verify(rings[0].identity, b"deniable batch 1\nmanifest", signature)
    rings[0].rotate(NOW)
    with pytest.raises(WireError, match="signature"):
        read_keys(rings[0].announcement(NOW), rings[1].identity, NOW, SHUFFLER)
    seed = b"\3" * 32
    body = announce(seed, [KeyPair.make(NOW).notice(ANALYST) for _ in range(40)])
    assert len(json.loads(body)["keys"]) == 32  # as many as a device reads
    assert read_keys(body, public_key(seed), NOW, ANALYST)


def test_files_are_their_owners_alone_and_replaced_whole(ring, monkeypatch):
    path = ring.folder / "keys.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(ring.folder.stat().st_mode) == 0o700
    (ring.folder / ".keys.json.part").write_text("half of a file, left by a crash")
    pair = ring.rotate(NOW)
    assert [found.name for found in ring.folder.iterdir()] == ["keys.json"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="space"):
        ring.rotate(NOW + 1)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert list(ring.pairs) == [pair.id]  # nobody hears of a key that is not on the disk
    path.chmod(0o640)
    with pytest.raises(ParameterError, match="chmod 600"):
        KeyRing(ring.folder, SHUFFLER)


@pytest.mark.parametrize("damage", ["cut", "empty", "role", "version", "short key", "no keys"])
def test_a_damaged_file_is_refused_and_shows_nothing(ring, damage):
    pair = ring.rotate(NOW)
    path = ring.folder / "keys.json"
    content = json.loads(path.read_text())
    secrets = content["identity"], pair.private.hex()
    changed = {"role": {"role": ANALYST}, "version": {"version": 2}, "short key": {"identity": "00"}, "no keys": {"keys": None}}
    texts = {"cut": path.read_text()[:-9], "empty": ""} | {name: json.dumps({**content, **more}) for name, more in changed.items()}
    path.write_text(texts[damage])
    with pytest.raises(WireError, match="restore it") as refused:
        KeyRing(ring.folder, SHUFFLER)
    error = refused.value
    shown = f"{error} {error.received!r} {error.__cause__} {ring!r} {pair!r} {ring.pairs!r}"
    assert not any(secret in shown for secret in secrets)
    assert error.__suppress_context__


def test_bad_keys_are_refused_without_being_shown(tmp_path):
    with pytest.raises(ParameterError) as refused:
        KeyPair(b"\xabc" * 11, 0, 1)
    assert "abc" not in str(refused.value)
    with pytest.raises(ParameterError, match="role"):
        KeyRing(tmp_path, "auditor")
