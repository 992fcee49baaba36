"""The analyst's keys: what reports of shuffle trust are sealed for, kept in the database, announced, replaced and deleted on time.

A private key is needed for as long as something may come that was sealed while it was announced: to the end of a period that had begun by
then, and the time that late reports have. So long it is announced. After that it is deleted, and nobody can open what was sealed for it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from deniable.collect.storage.catalog import Catalog
from deniable.collect.storage.secrets import Secrets
from deniable.contract.notice import ANALYST
from deniable.contract.task import Task
from deniable.sealing.keys import GRACE, LIFETIME, KeyPair, announce, least_lifetime

_NAME = "hpke "
_KEPT = struct.Struct("<qq32s")


class AnalystKeys:
    """The pairs of one collector, or of several that share a database, which have one identity."""

    def __init__(self, catalog: Catalog, seed: bytes) -> None:
        self._catalog = catalog
        self._secrets = Secrets(catalog)
        self._seed = seed
        self._cleared = False  # a crash may have come between the deletion of a key and this

    def pairs(self) -> Mapping[bytes, KeyPair]:
        """Every pair that is kept, by id."""
        return _pairs(self._secrets.starting(_NAME))

    def announcement(self) -> bytes:
        """What GET /v1/keys answers: every key that is kept, the newest first, each signed with the collector's key.

        One that ended is among them: reports of a period that had begun before are sealed for it.
        """
        return announce(self._seed, [pair.notice(ANALYST) for pair in self.pairs().values()])

    def tend(self, tasks: Iterable[Task], now: float, lifetime: int = LIFETIME) -> str | None:
        """Make a new key if the newest has less than half of its time left, delete those that nothing can come for; says what was done.

        Without a task of shuffle trust no key is made.
        """
        spans = [task.period + task.late for task in tasks if task.mixing is not None]
        pairs = self.pairs()
        grace = max(spans, default=0) + GRACE
        lifetime = max(lifetime, least_lifetime(grace))
        over = [pair for pair in pairs.values() if now >= pair.end + grace]
        due = bool(spans) and not _lasts(pairs, now, lifetime)
        if not over and not due:
            self._cleared = self._cleared or self._catalog.wipe()
            return None

        def change(kept: Mapping[str, bytes]) -> tuple[list[str], dict[str, bytes]]:
            missing = due and not _lasts(_pairs(kept), now, lifetime)  # another collector may have been faster
            made = [KeyPair.make(now, lifetime)] if missing else []
            return [_name(pair) for pair in over], {_name(pair): _KEPT.pack(pair.start, pair.end, pair.private) for pair in made}

        self._secrets.change(_NAME, change)
        self._cleared = (self._cleared and not over) or self._catalog.wipe()
        return " and ".join([*(["made a key for sealed reports"] if due else []), *([f"deleted {len(over)} of them"] if over else [])])


def _name(pair: KeyPair) -> str:
    return _NAME + pair.id.hex()


def _pairs(kept: Mapping[str, bytes]) -> dict[bytes, KeyPair]:
    pairs = (KeyPair(private, start, end) for start, end, private in map(_KEPT.unpack, kept.values()))
    return {pair.id: pair for pair in pairs}


def _lasts(pairs: Mapping[bytes, KeyPair], now: float, lifetime: int) -> bool:
    return any(now + lifetime / 2 < pair.end for pair in pairs.values())
