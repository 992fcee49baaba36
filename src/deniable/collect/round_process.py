"""Closing a round: next to everything else if that is light, in a process of its own if it is not.

A process of its own has a limit on its memory, and the kernel ends it first when memory runs out: it may die, and nothing else
does. It ends with the collector that started it, whose end closes its input.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

from deniable.contract.protocol import Protocol, protocol_from_json
from deniable.contract.work import MOST_WORK
from deniable.core.estimate import Estimate
from deniable.core.tally import Tally
from deniable.errors import DeniableError, ProtocolError

SECONDS = 900.0
"""How long closing a round may take, whatever was predicted."""
ROOM = 1 << 30
"""The memory of a process in addition to the predicted tallies and estimates."""
Outcome = Protocol | Estimate | Mapping[str, Estimate]
"""The next state, or the result."""


class UnfinishedError(ProtocolError):
    """A round could not be closed."""


def finish(state: Protocol, tallies: Mapping[str, Tally], *, alone: bool = False) -> Outcome:
    """What a state's tallies lead to. ``alone``: in a process of its own although it should be light."""
    if not alone and not state.work().heavy:
        outcome: Outcome = state.close(tallies)
        return outcome
    return finish_alone(state, tallies)


def finish_alone(state: Protocol, tallies: Mapping[str, Tally], seconds: float = SECONDS) -> Outcome:
    """As ``finish``, in a process of its own; UnfinishedError if that ends without a result."""
    sent = pickle.dumps((state.canonical, {name: tally.to_bytes() for name, tally in tallies.items()}))
    settings = os.environ | {"MALLOC_ARENA_MAX": "2"}  # each takes addresses that count for the limit, and no memory
    command = [sys.executable, "-c", "from deniable.collect.round_process import main; main()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=settings) as process:  # noqa: S603  # nothing of it was sent to us
        last = threading.Timer(seconds, process.kill)
        last.start()
        answer = _exchange(cast(IO[bytes], process.stdin), cast(IO[bytes], process.stdout), sent)
        last.cancel()
        process.kill()
    if not answer:
        received, allowed = f"a process that ended with status {process.returncode}", f"{MOST_WORK.describe()} at most"
        fix = "see how much memory there is, then advance the round to try again"
        raise UnfinishedError("round", received, allowed=allowed, fix=fix)
    kind, content = pickle.loads(answer)  # noqa: S301  # what our own process wrote
    if kind == "error":
        raise content
    return protocol_from_json(content) if kind == "state" else content


def _exchange(asking: IO[bytes], answering: IO[bytes], sent: bytes) -> bytes:
    """What a process answers; nothing if it ends before. Its input stays open until then: so it ends when we do."""
    with suppress(BrokenPipeError):
        asking.write(len(sent).to_bytes(8, "big") + sent)
        asking.flush()
    return answering.read()


def _work() -> tuple[str, Any]:
    """What is asked for on the standard input, done within the limits."""
    length = int.from_bytes(sys.stdin.buffer.read(8), "big")
    canonical, images = pickle.loads(sys.stdin.buffer.read(length))  # noqa: S301  # what the collector that started us wrote
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        state = protocol_from_json(canonical)
        tallies = {name: Tally.from_bytes(image) for name, image in images.items()}
        _limit()
        outcome = state.close(tallies)
    except DeniableError as error:
        return "error", error
    except (Exception, MemoryError) as error:  # ended here, so that the collector can say what it was
        allowed, fix = "a round that can be closed", "report this; advance the round to try again"
        return "error", UnfinishedError("round", f"{type(error).__name__}: {error}", allowed=allowed, fix=fix)
    return ("state", outcome.canonical) if isinstance(outcome, Protocol) else ("result", outcome)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


def _limit() -> None:
    """Take no more memory than was predicted at most, and be the first to go if the machine has none left."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MOST_WORK.bytes + ROOM,) * 2)
        Path("/proc/self/oom_score_adj").write_text("1000")
    except (ImportError, OSError):
        return  # elsewhere than on Linux the system's own limits hold


def main() -> None:
    """What the process of its own does: one round, from the standard input to the standard output."""
    found = pickle.dumps(_work())
    sys.stdout.buffer.write(found)
    sys.stdout.buffer.flush()
    os._exit(0)
