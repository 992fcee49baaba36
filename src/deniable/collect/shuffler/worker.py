"""A process that opens seals: reads bodies from its standard input, writes what was in them to its standard output, ends when nobody asks.

A message is its length in 4 bytes, then a pickle; only the shuffler that started the process writes to it. The first message has the
stations; each later one has the bodies, the keys and the most seals in a body, and is answered by one message. No lock is shared and
nothing has a name in the system, so a killed process leaves nothing behind: the pipe ends, and so does the process.
"""

from __future__ import annotations

import gc
import pickle
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import IO, Any

from deniable.collect.shuffler.judge import Judge, OpenedSeals, Station
from deniable.errors import WireError
from deniable.sealing.keys import KeyPair

_LENGTH = struct.Struct("<I")


class WorkerDiedError(OSError):
    """A process ended before it answered; what it was asked can be asked again."""


class Worker:
    """The other end: one process, asked by one thread at a time, and started anew if it has died."""

    def __init__(self, stations: Sequence[Station]) -> None:
        self._stations = list(stations)
        self._stopped = False
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        # In a session of its own: what a terminal sends to the shuffler is not for it.
        command = [sys.executable, "-m", __name__]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)  # noqa: S603  # ourselves
        write(_pipe(process.stdin), self._stations)
        return process

    def ask(self, bodies: Sequence[bytes], pairs: Sequence[KeyPair], most: int) -> list[OpenedSeals | WireError]:
        """What is in each of some bodies; WorkerDiedError if the process is no more."""
        try:
            write(_pipe(self._process.stdin), (bodies, pickle.dumps(pairs), most))
            found: list[OpenedSeals | WireError] = read(_pipe(self._process.stdout))
        except (OSError, EOFError, ValueError) as error:  # ValueError: the pipe was closed by ``stop``
            if not self._stopped:
                self._end()
                self._process = self._start()
            raise WorkerDiedError("a process that opens seals has died") from error
        return found

    def stop(self) -> None:
        """End the process; it does not start again."""
        self._stopped = True
        self._end()

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            try:
                _pipe(pipe).close()
            except BrokenPipeError:  # something was not sent any more
                continue


def write(pipe: IO[bytes], content: Any) -> None:
    """Send a message."""
    data = pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(data)) + data)
    pipe.flush()


def read(pipe: IO[bytes]) -> Any:
    """The next message; EOFError if there is none."""
    head = pipe.read(_LENGTH.size)
    size = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else 0
    data = pipe.read(size)
    if not data or len(data) != size:
        raise EOFError
    return pickle.loads(data)  # noqa: S301  # from our own process, or for it


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RuntimeError("a process without pipes")
    return pipe


@lru_cache(maxsize=1)  # they change twice a month, and reading one takes longer than opening a seal; what is forgotten leaves with the next
def _by_id(pairs: bytes) -> Mapping[bytes, KeyPair]:
    return {pair.id: pair for pair in pickle.loads(pairs)}  # noqa: S301  # as in ``read``


def _opened(judge: Judge, body: bytes, pairs: Mapping[bytes, KeyPair], most: int) -> OpenedSeals | WireError:
    try:
        return judge.open(body, pairs, most)
    except WireError as error:
        return error


def main() -> None:
    """Answer until nobody asks."""
    try:
        judge = Judge(read(sys.stdin.buffer))
        gc.freeze()  # what was loaded stays, and need not be looked at over and over
        while True:
            bodies, pairs, most = read(sys.stdin.buffer)
            by_id = _by_id(pairs)
            write(sys.stdout.buffer, [_opened(judge, body, by_id, most) for body in bodies])
    except (EOFError, BrokenPipeError):
        sys.stdout = None  # nobody reads what is left, and nothing has to be said about it


if __name__ == "__main__":
    main()
