"""The shuffler without a network or a disk: what it takes, what it holds back, and in which order it lets go.

A **Mixer** holds the seals of one group: one task, one period, one route. What it lets go at once is a batch. Its rules:

* A seal that was taken before is a success that adds nothing, whether it is still held or long gone. So is what is held already, if it
  comes again in another box. A one-time token is good for one seal.
* Nothing goes below ``minimum``, whatever the clock says. While the group is open, batches of ``batch`` go as soon as what is left behind
  is no less than the minimum, so that the rest never strands; a random part stays, not the latest. When the group is over, all of it goes.
* Dummies are added last, up to a multiple of ``pad``. They are nobody, and count towards nothing.
* Where a task asks for it, small crowds are dropped first, by noisy counts (``threshold``), once, when the group is over.
* The order of a batch is exactly uniform (``permutation``).

>>> mixer = Mixer(Rules(minimum=3, batch=4))
>>> [mixer.take(Taken(bytes([i]), Held(bytes([i]), b"", b"seal %d" % i))) for i in (1, 2, 2)]
['taken', 'taken', 'repeated']
>>> mixer.release(over=True).batches
()
>>> mixer.take(Taken(b"3", Held(b"3", b"", b"seal 3")))
'taken'
>>> [sorted(batch) for batch in mixer.release(over=True).batches]
[[b'seal 1', b'seal 2', b'seal 3']]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deniable.contract.batch import MOST_SEALS
from deniable.contract.mixing import Threshold
from deniable.contract.source import SYSTEM, Source
from deniable.core.stream import random_words
from deniable.errors import ParameterError
from deniable.kernels.compiled import Array
from deniable.shuffle.threshold import draw_drops

TAKEN, REPEATED, USED, CLOSED = "taken", "repeated", "token_used", "too_late"
"""What becomes of a seal: it is held, it was here before, its token was spent on another one, its group is over."""
LARGEST_BATCH = MOST_SEALS // 2 - 1
"""The end of a group may have to let go of almost two batches as one, and a message has room for so many."""


class Held(NamedTuple):
    """What waits: the next seal under its digest, and the crowd that it says it belongs to."""

    digest: bytes
    crowd: bytes
    seal: bytes


class Taken(NamedTuple):
    """What came: the id of the seal as it was sent, what was in it, and the id of its token where the task asks for one."""

    id: bytes
    held: Held
    token: bytes = b""


class MixerOutput(NamedTuple):
    """What goes: batches in their order, the digests of all that is no longer held, and how many of these were dropped on the way."""

    batches: tuple[tuple[bytes, ...], ...] = ()
    gone: tuple[bytes, ...] = ()
    dropped: int = 0


NOTHING = MixerOutput()


@dataclass(frozen=True, kw_only=True)
class Rules:
    """When a group's seals are let go, and how many at once."""

    minimum: int
    batch: int
    pad: int = 1
    threshold: Threshold | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.minimum <= LARGEST_BATCH:
            fix = "ask for a smaller minimum: a larger crowd does not fit into one message"
            raise ParameterError("minimum", self.minimum, allowed=f"from 1 to {LARGEST_BATCH}", fix=fix)
        if not self.minimum <= self.batch <= LARGEST_BATCH:
            allowed = f"from the minimum, {self.minimum}, to {LARGEST_BATCH}"
            raise ParameterError(
                "batch", self.batch, allowed=allowed, fix="choose a size in this range: larger batches hide more, and come later"
            )
        if not 1 <= self.pad <= MOST_SEALS - 2 * self.batch + 1:
            allowed = f"from 1 to {MOST_SEALS - 2 * self.batch + 1}"
            raise ParameterError("pad", self.pad, allowed=allowed, fix="use 1 for no dummies")

    def parts(self, held: int, *, over: bool) -> tuple[int, ...]:
        """The sizes of the batches that so many seals are let go in; none if all of them have to wait.

        >>> rules = Rules(minimum=10, batch=100)
        >>> rules.parts(109, over=False), rules.parts(110, over=False), rules.parts(110, over=True), rules.parts(9, over=True)
        ((), (100,), (110,), ())
        >>> rules.parts(250, over=True)
        (125, 125)
        """
        if not over:
            ready = 0 if self.threshold else max(0, held - self.minimum) // self.batch
            return (self.batch,) * ready
        if held < self.minimum:
            return ()
        count = max(1, held // self.batch)
        return tuple(held * (i + 1) // count - held * i // count for i in range(count))


class Mixer:
    """One group in memory. The shuffler's process keeps the same on disk, and lets go by the same ``mix``."""

    def __init__(self, rules: Rules, *, source: Source = SYSTEM) -> None:
        self.rules = rules
        self.closed = False
        self._source = source
        self._seen: set[bytes] = set()
        self._spent: set[bytes] = set()
        self._held: dict[bytes, Held] = {}

    @property
    def held(self) -> int:
        """The number of seals that wait."""
        return len(self._held)

    def take(self, came: Taken) -> str:
        """Hold a seal; what became of it."""
        if came.id in self._seen:
            return REPEATED
        if self.closed:
            return CLOSED
        if came.token and came.token in self._spent:
            return USED
        self._seen.add(came.id)
        if came.token:
            self._spent.add(came.token)
        if came.held.digest in self._held:
            return REPEATED
        self._held[came.held.digest] = came.held
        return TAKEN

    def release(self, *, over: bool, dummy: Callable[[], bytes] | None = None) -> MixerOutput:
        """Let go of what may go. After the end of a group nothing more is taken."""
        found = mix(self.rules, list(self._held.values()), over=over, dummy=dummy, source=self._source)
        for digest in found.gone:
            del self._held[digest]
        self.closed = self.closed or (over and bool(found.gone))
        return found


def mix(
    rules: Rules, held: Sequence[Held], *, over: bool, dummy: Callable[[], bytes] | None = None, source: Source = SYSTEM
) -> MixerOutput:
    """What is let go of a group that holds these seals. Nothing about the order in which they are given shows in the result."""
    if not rules.parts(len(held), over=over):
        return NOTHING
    shuffled = [held[i] for i in permutation(len(held), source)]
    kept = shuffled if rules.threshold is None else _thresholded(rules.threshold, shuffled, source)
    sizes = rules.parts(len(kept), over=over)
    batches, start = [], 0
    for size in sizes:
        batches.append(_padded(rules, [item.seal for item in kept[start : start + size]], dummy, source))
        start += size
    # What the threshold left of a group may be too few: then all of it is dropped, since another look would cost privacy again.
    gone = shuffled if over else shuffled[:start]
    return MixerOutput(tuple(batches), tuple(item.digest for item in gone), len(gone) - start)


def permutation(count: int, source: Source | None = None) -> Array:
    """The positions 0 .. count - 1 in an order that nobody can predict.

    Each position draws a random word, and words are sorted. If two are equal, everyone draws again: given that all words differ, no order
    is likelier than another. Among a million, that happens once in 40 million shuffles.

    >>> from deniable.testing import ReplaySource
    >>> permutation(3, ReplaySource([7, 9, 7, 30, 10, 20]))
    array([1, 2, 0])
    """
    while True:
        words = random_words(count, source)
        order = np.argsort(words, kind="stable")
        ranked = words[order]
        if not np.any(ranked[1:] == ranked[:-1]):
            return order


def _thresholded(threshold: Threshold, shuffled: Sequence[Held], source: Source) -> list[Held]:
    """What is left of a shuffled group: each crowd loses its first few, as many as were drawn, and all of it if too few remain."""
    sizes = Counter(item.crowd for item in shuffled)
    left = {crowd: draw_drops(threshold, sizes[crowd], source) for crowd in sorted(sizes)}
    kept = []
    for item in shuffled:
        if left[item.crowd]:
            left[item.crowd] -= 1
        else:
            kept.append(item)
    return kept


def _padded(rules: Rules, seals: list[bytes], dummy: Callable[[], bytes] | None, source: Source) -> tuple[bytes, ...]:
    missing = -len(seals) % rules.pad
    if not missing:
        return tuple(seals)
    if dummy is None:
        raise ParameterError(
            "dummy",
            dummy,
            allowed="a function that makes dummies",
            fix="pass dummy only at the last shuffler of a task, which alone can pad",
        )
    filled = seals + [dummy() for _ in range(missing)]
    return tuple(filled[i] for i in permutation(len(filled), source))  # again, so that dummies do not stand together
