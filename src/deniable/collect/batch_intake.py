"""Receiving shuffled batches: opened, counted without dummies and repetitions, checked against the claim, and taken whole or not at all.

A device can put anything into a sealed report, and its shufflers cannot see it. So damaged reports, and those for another task or period,
are left out and do not spoil the batch. The rest must be at least the minimum batch and keep the task's claim; otherwise nothing of the
batch is stored or shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from deniable.collect.admission import Admission, LiveTask, Rows
from deniable.collect.clock import Moment
from deniable.collect.faults import fault_point
from deniable.collect.keys import AnalystKeys
from deniable.collect.seal_pool import open_seals
from deniable.collect.storage.batches import Batches
from deniable.collect.storage.block import ID_BYTES, Block, Bucket, sort_once
from deniable.contract.admission import TOKEN
from deniable.contract.batch import Batch, Manifest
from deniable.contract.envelope import Envelope
from deniable.contract.mixing import Mixing
from deniable.contract.sealed import mixing_of, seal_sizes
from deniable.errors import DeniableError

CODES = {
    "local_task": "this task takes single reports, not batches",
    "wrong_size": "the sealed reports of this task have another size",
    "wrong_threshold": "the threshold differs from the task's",
    "other_batch": "another batch has this id",
    "too_few": "too few reports for the task's smallest batch, without dummies, repetitions and damaged ones",
    "claim": "a batch of this size does not keep the task's claim",
    "sealed": "the period is already counted",
    "closed": "the task is closed",
    "too_early": "the period has not begun",
    "too_late": "the period is over",
}
"""Why a batch is refused permanently."""
TAKEN, REPEATED = "taken", "repeated"
GROUP = (0, 0)
"""Question and stratum of every report in a batch: a task of shuffle trust asks one question and has no strata (``contract.mixing``)."""


class BatchRefused(DeniableError):  # noqa: N818  # named like the house's others: BudgetExceeded, MissingExtra
    """A batch was refused: nothing of it is stored, and sending it again will not help."""

    def __init__(self, code: str) -> None:
        super().__init__("batch", code, allowed="a batch that the task takes", fix=CODES[code])
        self.code = code


class Received(NamedTuple):
    """The outcome of a batch: its id, taken or repeated, and how many of its reports were left out, by reason."""

    batch: bytes
    outcome: str
    left_out: Mapping[str, int]


class Receiver:
    """Takes batches, one at a time. ``append`` makes rows durable and returns the buckets that were closed meanwhile."""

    def __init__(self, batches: Batches, keys: AnalystKeys, append: Callable[[Rows], frozenset[Bucket]]) -> None:
        self._batches = batches
        self._keys = keys
        self._append = append

    def receive(self, live: LiveTask, batch: Batch, now: Moment) -> Received:
        """Take a batch with a verified signature; raise BatchRefused if it is refused. After a StorageError it may be sent again."""
        manifest = batch.manifest
        with self._batches.turn():
            known = self._batches.find(manifest.task, manifest.batch)
            if known is not None and known.digest != manifest.items:
                raise BatchRefused("other_batch")
            if known is None:
                block, left_out = self._open(live, batch, now)
                self._begin(live, manifest, block)
                fault_point("batch begun")
            elif known.rows is None:
                return Received(manifest.batch, REPEATED, {})
            else:  # it was interrupted, and is finished now
                left_out = {}
            if not self._finish(manifest.task, manifest.batch):
                raise BatchRefused("sealed")
            fault_point("batch recorded")
        return Received(manifest.batch, TAKEN, left_out)

    def recover(self) -> str | None:
        """Finish batches begun before a crash, which were accepted then and whose rows are kept; return what was done."""
        if not self._batches.begun():
            return None
        with self._batches.turn():
            begun = self._batches.begun()  # without those that were being taken a moment ago
            for task, batch in begun:
                self._finish(task, batch)
        return f"finished {len(begun)} shuffled {'batch' if len(begun) == 1 else 'batches'}" if begun else None

    # --- inside ---

    def _open(self, live: LiveTask, batch: Batch, now: Moment) -> tuple[Block, Mapping[str, int]]:
        """Return the distinct reports of a batch that count, and the number left out, by reason."""
        task, manifest = live.task, batch.manifest
        mixing = _check(live, manifest, now)
        envelopes: list[Envelope] = []
        left_out = {"dummy": 0, "damaged": 0}
        for opened in open_seals(self._keys.pairs(), batch.seals, task):
            if isinstance(opened, Envelope) and opened.period == manifest.period:
                envelopes.append(opened)
            else:
                left_out["dummy" if opened is None else "damaged"] += 1
        admission = Admission(shuffled=True)
        admission.tasks[task.id] = live
        rows, rejected = admission.admit(envelopes, now)
        for _, code in rejected:
            left_out[code] = left_out.get(code, 0) + 1
        parts = rows.get((task.id, manifest.period, *GROUP), [])
        if len(parts) < mixing.minimum:  # not worth more work
            _check(live, manifest, now)  # a period that was sealed meanwhile is the better reason
            raise BatchRefused("too_few")
        block = Block.of(*GROUP, len(parts[0]) - ID_BYTES, b"".join(parts))
        (once,) = sort_once([block])
        left_out["repeated"] = len(block.rows) - len(once.rows)
        return once, {why: count for why, count in left_out.items() if count}

    def _begin(self, live: LiveTask, manifest: Manifest, block: Block) -> None:
        from deniable.collect.tasks.batch_price import price  # here: a collector without batches starts without

        mixing = mixing_of(live.task)

        def decide(reports: int) -> float:
            if reports < mixing.minimum or mixing.people(reports) < 1:
                raise BatchRefused("too_few")
            epsilon = price(live.task, reports).epsilon
            if epsilon > mixing.epsilon:
                raise BatchRefused("claim")
            return epsilon

        bucket = Bucket(manifest.task, manifest.period)
        self._batches.begin(bucket, manifest.batch, manifest.items, block, decide, once=live.task.admission == TOKEN)

    def _finish(self, task: bytes, batch: bytes) -> bool:
        def append(bucket: Bucket, rows: bytes, reports: int) -> bool:
            width = len(rows) // reports
            parts = [rows[at : at + width] for at in range(0, len(rows), width)]
            return bucket not in self._append({(bucket.task, bucket.number, *GROUP): parts})

        return self._batches.finish(task, batch, append)


def _check(live: LiveTask, manifest: Manifest, now: Moment) -> Mixing:
    """Return the mixing of a task that takes this batch now; raise BatchRefused otherwise."""
    mixing = live.task.mixing
    if mixing is None:
        raise BatchRefused("local_task")
    if manifest.size != seal_sizes(live.task)[-1]:
        raise BatchRefused("wrong_size")
    if manifest.threshold != mixing.threshold:
        raise BatchRefused("wrong_threshold")
    code = live.refusal(manifest.period, now)
    if code is not None:
        raise BatchRefused(code)
    return mixing
