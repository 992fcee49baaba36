"""What the three ways to begin load: a device waits for every module, so a new one is written down here or loaded when it is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

DENIABLE = """
    contract contract.arguments contract.canonical contract.domain contract.figures contract.form contract.guarantee contract.hashing
    contract.law contract.readable contract.record contract.registry contract.source contract.spec contract.verdict contract.wire
    contract.words contract.work client errors
"""
"""What mechanisms and domains are made of."""
REPORTING = """
    client.answerable client.board client.budget client.diary client.enrolment client.exact client.frequency client.ledger
    client.longitudinal client.reporter client.retries client.sealer client.transport contract.admission contract.assigned
    contract.blind_rsa contract.codes contract.ed25519 contract.encoder contract.envelope contract.mixing contract.notice
    contract.probability contract.protocol contract.question contract.records contract.sealed contract.survey contract.task
"""
"""What is needed to read a task, to pay for an answer and to send it, but for HTTP and TLS."""
TYPES = "__future__ collections contextlib copyreg enum functools importlib itertools keyword operator re reprlib types typing warnings"
"""What ``typing`` loads, or most of it."""
DATACLASSES = "ast copy dataclasses dis inspect linecache opcode token tokenize weakref"
"""What ``dataclasses`` loads beyond that."""
VALUES = "bisect datetime decimal fractions hashlib hmac json math numbers pkgutil struct unicodedata zlib"
"""Numbers, texts, digests."""
LOADS = {
    "import deniable": ("rooms", TYPES),
    "import deniable.client": (f"rooms {DENIABLE}", f"{TYPES} {DATACLASSES} {VALUES}"),
    "from deniable.client import Reporter": (f"rooms {DENIABLE} {REPORTING}", f"{TYPES} {DATACLASSES} {VALUES} threading"),
}
"""For each statement deniable's modules, and those of the standard library: their names at the top, without the private ones."""


@pytest.mark.parametrize("statement", LOADS)
def test_what_is_loaded_beyond_the_interpreter(statement):
    code = f"import sys; before = set(sys.modules)\n{statement}\nprint(*set(sys.modules) - before)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    ours, standard = LOADS[statement]
    assert {name for name in loaded if name.partition(".")[0] == "deniable"} == {"deniable", *(f"deniable.{name}" for name in ours.split())}
    tops = {name.partition(".")[0] for name in loaded} - {"deniable"}
    assert {name for name in tops if name == "__future__" or name[0] != "_"} <= set(standard.split())  # another Python may need fewer
    assert tops <= sys.stdlib_module_names
