"""A secure sum with everyone in it: the aggregator in a process of its own, and parties in theirs, whose numbers the test knows."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import signal
import socket
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from deniable.collect.storage.sum_store import SumStore
from deniable.collect.sums.agreement_file import read_agreement_file
from deniable.collect.sums.party_folder import PartyFolder, Standing
from deniable.collect.sums.signature import MEDIA_TYPE, path_of, sign_request
from deniable.multiparty.fixed_point import laplace_reach
from tests.system.conftest import TIMEOUT, Answer
from tests.system.load import wait_for
from tests.system.nursery import COMMAND, Nursery

HOUR = 3600
FIVE = {"corrupt": "1/5", "lost": "1/5", "honest": "3/5"}
"""Of five parties one may collude and one may be lost: four must stay."""


def agreement_text(keys: list[bytes], *, name: str = "test", signed: bool = True, values: str = 'values = ["flu", "rsv"]', **shares) -> str:
    parties = named("party", keys)
    chosen = "\n".join(f'{share} = "{text}"' for share, text in (shares or FIVE).items())
    head = f'name = "{name}"\n{values}\nunit = "person"\nepsilon = 1.0\nsigned = {str(signed).lower()}\n{chosen}'
    return f"{head}\n[numbers]\nlargest = 1_000_000_000_000\n[parties]\n{parties}\n"


def named(kind: str, keys: list[bytes]) -> str:
    return "\n".join(f'"{kind} {number}" = "{key.hex()}"' for number, key in enumerate(keys))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


class Sum:
    """One sum; its processes are gone with the nursery, or at the end of a ``with`` statement. Decryptors come after the parties."""

    def __init__(self, folder: Path, nursery: Nursery, parties: int = 5, decryptors: int = 0, **parts) -> None:
        self.folder, self.nursery = folder, nursery
        self.folders = [PartyFolder(folder / f"party-{number}") for number in range(parties + decryptors)]
        self.agreement = read_agreement_file(self.text([own.make_identity() for own in self.folders], parts).encode())
        self.id = self.agreement.id
        self.store = folder / "aggregator"
        SumStore(self.store, self.agreement.canonical).close()
        most = int(self.agreement.numbers.largest)
        self.numbers = np.random.default_rng(parties).integers(most // 10, most, (parties, 2))  # of twelve digits: none turns up by chance
        for number, (flu, rsv) in enumerate(self.numbers.tolist()):
            (folder / f"{number}.csv").write_text(f"value,number\nrsv,{rsv}\nflu,{flu}\n")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.offset = folder / "clock"
        self._passed = 0
        self.offset.write_text("0")
        self.aggregator = 0
        self.parties: dict[int, int] = {}
        self._runs = 0

    def text(self, keys: list[bytes], parts: dict[str, Any]) -> str:
        """The file of the agreement."""
        return agreement_text(keys, **parts)

    def secret(self, number: int | None) -> list[str]:
        """What a member's command gets of a dealer's files; None is the aggregator."""
        return []

    def __enter__(self) -> Sum:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (self.aggregator, *self.parties.values()):
            if process and self.nursery.ended(process) is None:
                os.kill(process, signal.SIGKILL)
                self.nursery.status(process)

    # --- the processes ---

    def serve(self, fault: str = "", linger: float = HOUR, program: str = COMMAND, options: Sequence[str] = ()) -> None:
        """Start the aggregator, and wait until it serves; it comes back on its port."""
        self._runs += 1
        self.out = self.folder / f"aggregator-{self._runs}.out"
        arguments = ["aggregate", "run", "--folder", str(self.store), "--port", str(self.port), "--tend-seconds", "0.05", "--json"]
        arguments += ["--step-seconds", str(HOUR), "--join-seconds", str(HOUR), "--linger", str(linger), *self.secret(None), *options]
        self.aggregator = self.nursery.start(*arguments, out=self.out, environment=self._testing(fault), program=program)
        wait_for(lambda: "serving on " in self.out.read_text() if self.out.exists() else False)  # a sum that is over may be told before
        self.url = f"{'https' if options else 'http'}://127.0.0.1:{self.port}"

    def join(self, *numbers: int, fault: str = "") -> None:
        """Start parties, or start them again."""
        for number in numbers:
            self._runs += 1
            arguments = ["party", "run", "--folder", str(self.folders[number].folder), "--url", self.url, "--sum", self.id.hex()]
            arguments += ["--numbers", str(self.folder / f"{number}.csv"), *self.secret(number)]
            out = self.folder / f"party-{number}-{self._runs}.out"
            self.parties[number] = self.nursery.start(*arguments, out=out, environment=self._testing(fault))

    def signal(self, how: signal.Signals, *numbers: int) -> None:
        for number in numbers:
            os.kill(self.parties[number], how)

    def kill(self, *numbers: int) -> None:
        """As ``kill -9``, and only that."""
        self.signal(signal.SIGKILL, *numbers)
        assert [self.nursery.status(self.parties[number]) for number in numbers] == [-signal.SIGKILL] * len(numbers)

    def stop(self) -> None:
        """End the aggregator, as ``kill -9`` does."""
        os.kill(self.aggregator, signal.SIGKILL)
        assert self.over() == -signal.SIGKILL

    def status_of(self, number: int) -> int:
        return self.nursery.status(self.parties[number])

    def over(self) -> int:
        """Wait until the aggregator ends; its exit status."""
        return self.nursery.status(self.aggregator)

    def pass_time(self) -> None:
        """Let the time of a step be over."""
        self._passed += HOUR + 1
        new = self.offset.with_suffix(".new")
        new.write_text(str(self._passed))
        new.replace(self.offset)

    def _testing(self, fault: str) -> dict[str, str]:
        return {"DENIABLE_TESTING": "1", "DENIABLE_TEST_CLOCK": str(self.offset), "DENIABLE_TEST_FAULT": fault}

    # --- the network ---

    def request(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=TIMEOUT)
        try:
            connection.request(method, path, body or None, {name.replace("_", "-"): value for name, value in headers.items()})
            response = connection.getresponse()
            return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())
        finally:
            connection.close()

    def send(self, number: int, body: bytes, *, method: str = "POST", by: int | None = None, kind: str = MEDIA_TYPE) -> Answer:
        """A party's request, signed as it should be, or by somebody else."""
        path = path_of(self.agreement, number)
        signed = sign_request(self.folders[number if by is None else by].identity(), method, path, body)
        return self.request(method, path, body, **signed, content_type=kind)

    def wait_for_step(self, step: str, waiting: int) -> None:
        """Until the aggregator is at a step, and waits for so many parties still."""

        def there() -> bool:
            try:
                found = self.request("GET", f"/v1/sums/{self.id.hex()}").json
            except OSError:
                return False  # it is being started again
            return (found["state"], found.get("step"), found.get("waiting")) == ("running", step, waiting)

        wait_for(there)

    # --- what is true ---

    def standing(self, number: int) -> Standing:
        return self.folders[number].standing(self.id)

    def contributions(self) -> np.ndarray:
        """What every party puts in, noise included, as it is on disk until it is masked; the noise is checked to be no more than noise."""
        found = [np.frombuffer(bytes.fromhex(json.loads(self.standing(n).engine)["vector"]), "<i8") for n in range(len(self.folders))]
        noise = np.array(found) - self.numbers
        assert np.abs(noise).max() <= laplace_reach(1.0, noise.size, 1.0)
        return np.array(found, dtype=np.int64)

    def result(self) -> list[float]:
        """What the aggregator printed."""
        text = self.out.read_text()
        return list(json.JSONDecoder().raw_decode(text, text.index("{"))[0]["estimate"]["columns"]["sum"])

    def taken(self) -> dict[tuple[int, int], bytes]:
        """The digests of all messages that it took, by kind and party."""
        with closing(sqlite3.connect(self.store / "sum.sqlite")) as database:
            return {(kind, party): digest for kind, party, digest in database.execute("SELECT kind, party, digest FROM taken")}

    def digest(self, number: int) -> bytes:
        """Of the message that a party has on disk to be sent."""
        return hashlib.sha256(bytes.fromhex(self.standing(number).outgoing)).digest()

    def traces(self) -> bytes:
        """Everything that the aggregator has on disk, and all that anybody logged or printed."""
        files = [
            path for path in self.folder.rglob("*") if path.is_file() and (self.store in path.parents or path.suffix in (".out", ".err"))
        ]
        return b"\n".join(path.read_bytes() for path in files)
