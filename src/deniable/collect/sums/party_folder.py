"""What a party keeps: its identity, and where it stands in each sum. Readable by its owner alone, and replaced whole.

::

    identity.json        the seed of its Ed25519 key
    sums/ID.json         a sum: the engine's state, its secrets and numbers included, and the message that is to be sent
    lock                 held while a sum runs: one process at a time

**Nothing is sent before the state behind it is on disk**, so that a party that is started again sends the same bytes, or says nothing.
Never put an older copy of the folder in its place: such a party would answer a second time, for other survivors, and show what it must
not. When a sum is over, everything about it but how it ended is overwritten by a short record; that it took part is kept, so it never does
so again.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deniable.collect.faults import fault_point
from deniable.collect.storage.files import DISK, hold
from deniable.collect.sums.agreement import Agreement
from deniable.contract.durable import sync, sync_folder, write_durably
from deniable.contract.source import SYSTEM, Source
from deniable.errors import ParameterError, WireError
from deniable.sealing.identity import SEED_BYTES, new_identity, public_key

RUNNING = "running"


@dataclass(frozen=True)
class Standing:
    """Where a party stands in a sum. ``engine`` and ``outgoing`` are empty once it is over; ``spent``: its vector was sent."""

    name: str
    state: str
    epsilon: float
    delta: float
    spent: bool
    engine: str = ""
    outgoing: str = ""

    def __repr__(self) -> str:
        return f"Standing({self.name!r}, {self.state}, spent={self.spent})"  # and none of the secrets


class PartyFolder:
    """A party's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    # --- the identity ---

    def make_identity(self, source: Source = SYSTEM) -> bytes:
        """Make the identity, unless it is there; its public key."""
        path = self.folder / "identity.json"
        if not path.exists():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(path, json.dumps({"version": 1, "identity": new_identity(source).hex()}).encode())
        return public_key(self.identity())

    def identity(self) -> bytes:
        """The seed of its key; it is never shown."""
        path = self.folder / "identity.json"
        if not path.exists():
            raise ParameterError("--folder", str(self.folder), allowed="a party's folder", fix="run: deniable party keys")
        try:
            content = json.loads(read_private(path))
            seed = bytes.fromhex(content["identity"])
            whole = content["version"] == 1 and len(seed) == SEED_BYTES
        except (ValueError, TypeError, KeyError):
            whole = False
        if not whole:  # nothing of the file goes into the message
            raise WireError(str(path), "something else", allowed="a whole identity", fix="restore it; a new one is a new party") from None
        return seed

    # --- the sums ---

    def hold(self) -> int:
        """Have the folder alone until the handle is closed; StorageError if another process has it."""
        return hold(DISK, self.folder / "lock")

    def standing(self, sum_: bytes) -> Standing | None:
        """Where it stands in a sum; None if it never took part."""
        path = self._path(sum_)
        if not path.exists():
            return None
        try:
            content: dict[str, Any] = json.loads(path.read_bytes())
            if content.pop("version") != 1:
                raise ValueError("of another version")
            return Standing(**content)
        except (ValueError, TypeError, KeyError):
            pass
        raise WireError(str(path), "something else", allowed="a party's own record", fix="this party cannot go on in this sum") from None

    def keep(self, sum_: bytes, standing: Standing) -> None:
        """Put it on disk: it is durable when this returns."""
        if not (self.folder / "sums").exists():
            (self.folder / "sums").mkdir(mode=0o700)
            sync_folder(self.folder)  # or its name may be lost with the power, and this party would begin with other noise
        write_private(self._path(sum_), json.dumps({"version": 1, **vars(standing)}).encode())
        fault_point("answer saved" if standing.state == RUNNING else "party done")

    def end(self, sum_: bytes, standing: Standing, state: str) -> Standing:
        """The sum is over for this party: its secrets and numbers are gone."""
        done = replace(standing, state=state, engine="", outgoing="")
        self.keep(sum_, done)
        return done

    def all(self) -> dict[str, Standing]:
        """All sums that it took part in, by id; ParameterError if this is no party's folder: nothing is known about what was spent."""
        self.identity()
        names = sorted(path.stem for path in (self.folder / "sums").glob("*.json"))
        found = {name: self.standing(bytes.fromhex(name)) for name in names}
        return {name: standing for name, standing in found.items() if standing is not None}

    def _path(self, sum_: bytes) -> Path:
        return self.folder / "sums" / f"{sum_.hex()}.json"


def read_private(path: Path) -> bytes:
    """The content of a file that others must not read; ParameterError if they can."""
    if path.stat().st_mode & 0o077:
        raise ParameterError(str(path), "open to others", allowed="a file that its owner alone can read", fix="run: chmod 600")
    return path.read_bytes()


def write_private(path: Path, data: bytes) -> None:
    """Replace a file whole, then overwrite the old content: it is not left in free blocks of a file system that writes in place."""
    old = path.open("r+b") if path.exists() else None
    write_durably(path, data, mode=0o600, alone=True)
    if old is not None:
        with old:
            old.write(bytes(os.fstat(old.fileno()).st_size))
            old.flush()
            sync(old.fileno())


def begun(agreement: Agreement, engine: bytes, outgoing: bytes) -> Standing:
    """The standing of a party that runs."""
    return Standing(
        name=agreement.name,
        state=RUNNING,
        epsilon=agreement.epsilon,
        delta=agreement.delta,
        spent=False,
        engine=engine.decode(),
        outgoing=outgoing.hex(),
    )
