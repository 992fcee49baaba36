"""A query auditor, and how its refusals leak.

The auditor answers counts exactly, and refuses one from which, with all answers before, somebody's bit would follow. That sounds safe. But
whether it refuses depends on the data, and a refusal says so: of two people, the count 1 is answered (either may be the one), and 0 and 2
are refused (they would reveal both). So a refusal says that the two are equal, an answer that they differ, and anyone who knows one bit,
say their own, knows all of them (Kenthapadi, Mishra, Nissim 2005).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from deniable.contract.arguments import typed
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.tasks.checks import MOST_DRAWN, check_whole

MOST = 18


@typed
class Auditor:
    """Exact counts of a bit among groups of people, unless an answer would determine somebody's bit.

    >>> auditor = Auditor([True, False, True, True])
    >>> auditor.count([0, 1]), auditor.count([2, 3])  # refused: both would be known
    (1, None)
    """

    def __init__(self, bits: Sequence[bool]) -> None:
        if not 1 <= len(bits) <= MOST:
            raise ParameterError(
                "bits",
                len(bits),
                allowed=f"1 to {MOST} people",
                fix="use fewer people: the auditor looks at every table that fits the answers",
            )
        self._bits = np.asarray(bits, dtype=bool)
        every = np.arange(1 << len(bits))
        self._tables = (every[:, None] >> np.arange(len(bits)) & 1).astype(bool)
        """All tables that fit the answers so far."""

    def __repr__(self) -> str:
        return f"<Auditor of {len(self._bits)} people>"

    def count(self, people: Sequence[int]) -> int | None:
        """Return how many of these people have the bit; None is a refusal."""
        answer = int(self._bits[list(people)].sum())
        left = self._tables[self._tables[:, list(people)].sum(axis=1) == answer]
        if np.any(left.all(axis=0) | ~left.any(axis=0)):
            return None
        self._tables = left
        return answer


@typed
def unravel(count: Callable[[Sequence[int]], float | None], people: int, own: bool) -> Array:
    """Everyone's bit from counts of neighboring pairs of so many people, by somebody who is person 0 and knows the own bit.

    A refusal, or a count nearer to 0 or 2 than to 1, means equal; otherwise the two differ.

    >>> bits = [True, False, False, True, True, True, False]
    >>> unravel(Auditor(bits).count, 7, True).tolist() == bits
    True
    """
    check_whole("people", people, 1, MOST_DRAWN)
    found = [own]
    for i in range(people - 1):
        answer = count([i, i + 1])
        differ = answer is not None and abs(answer - 1) < 0.5
        found.append(found[-1] ^ differ)
    return np.array(found)
