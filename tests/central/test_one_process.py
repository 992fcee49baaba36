"""A forked copy of what keeps noise says nothing: it would answer from the same noise, on the same budget, once more."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

FORKED = """
import os
from deniable.central import BinaryTreeCounter, SparseVector, SquareRootCounter
from deniable.errors import ProtocolError

common = {"sensitivity": 1, "neighbors": "add-remove"}
tree, root = (kind(horizon=8, rho=0.5, **common) for kind in (BinaryTreeCounter, SquareRootCounter))
vector = SparseVector(epsilon=1.0, answers=1, threshold=100, **common)
acts = [lambda: tree.add(1), lambda: tree.run([1]), lambda: root.add(1), lambda: root.run([1]), lambda: vector.ask(10**6)]
for act in acts[:4]:
    act()
child = os.fork()
if not child:
    refused = 0
    for act in acts:
        try:
            act()
        except ProtocolError as error:
            refused += "forked" in str(error)
    os._exit(refused)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), tree.steps, root.steps, vector.ask(10**6))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_copy_is_refused_and_the_original_goes_on():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["5", "2", "2", "True"]
