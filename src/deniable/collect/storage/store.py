"""What a collector keeps: tasks and their rounds, the public log, and every report counted exactly once.

Sealing a bucket is the step that counts. One transaction writes the tallies, the digest of the reports that they cover, and the bucket's
new state: either all of it is there or nothing, and doing it again gives the same bytes. Nothing is appended to a sealed bucket.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import sqlalchemy as sql
from sqlalchemy import Connection

from deniable.collect.faults import fault_point
from deniable.collect.storage import tables as db
from deniable.collect.storage.backends import find_backend
from deniable.collect.storage.block import Block, Bucket, digest, ids_of, sort_once, tally_blocks, total, without
from deniable.collect.storage.catalog import Catalog
from deniable.collect.storage.inventory import Inventory
from deniable.collect.storage.log import Log, StorageError
from deniable.collect.storage.secrets import Secrets
from deniable.collect.storage.tallies import Address, insert_tallies, read_tallies, replace_tallies, sealed_tallies
from deniable.contract.question import Question
from deniable.core.tally import Tally
from deniable.sealing.identity import new_identity

Questions = Callable[[Bucket], Sequence[Question]]
"""What was asked in a bucket, candidates included."""
Tallies = dict[Address, Tally]
"""Tallies by period, question and stratum."""


class Store(Inventory):
    """The database and the report log of one collector, or of several that share them."""

    def __init__(self, catalog: Catalog, log: Log) -> None:
        super().__init__(catalog)
        self.log = log
        self._left: set[Bucket] = set()
        self._sealing = threading.Lock()
        log.clean_up(self._is_counted)  # what a crash after a seal has left

    @classmethod
    def open(cls, address: str | Path) -> Store:
        """The store at an address, made if it is not there: a folder, or what the scheme of a URL says (``backends``)."""
        return cls(*find_backend(address).open())

    def close(self) -> None:
        """Let go of files and connections."""
        self.log.close()
        self.catalog.close()

    def delete_task(self, task: bytes) -> None:
        """Forget a task with its reports and tallies. The public log keeps that it was there, and this keeps what it asked."""
        buckets = [stored.bucket for stored in self.buckets(task)]
        for bucket in buckets:
            with self.log.closing(bucket):
                self.log.drop_open(bucket)
        with self.catalog.writing() as connection:
            for bucket in buckets:
                self.log.drop_sealed(connection, bucket)
            text = sql.select(db.task.c.id, db.task.c.canonical, db.task.c.signature).where(db.task.c.id == task)
            connection.execute(db.deleted_task.insert().from_select(["id", "canonical", "signature"], text))
            connection.execute(db.task.delete().where(db.task.c.id == task))
        for bucket in buckets:
            self.log.drop_open(bucket)  # what another collector has appended meanwhile

    def signing_key(self) -> bytes:
        """The seed of the collector's Ed25519 key, made when it is first needed."""
        return Secrets(self.catalog).make("signing", new_identity)

    # --- buckets ---

    def begin_bucket(self, bucket: Bucket) -> None:
        """Take note that a bucket has reports; harmless if that is known."""
        with self.catalog.writing() as connection:
            self._lock(connection, bucket)

    def seal(self, bucket: Bucket, questions: Sequence[Question], now: float, *, once: bool = False) -> None:
        """Count a bucket's reports, each once, and keep them sorted by id; nothing if that is done already.

        With ``once``, an id counts in one period of the task only: the one that is sealed first.
        """
        with self._sealing, self.log.closing(bucket):  # one at a time: each may need two of the connections that there are
            with self.catalog.reading() as connection:
                arrived = self.log.read_open(connection, bucket)
            blocks, came = sort_once(arrived), sum(len(block.rows) for block in arrived) + self.log.repeated(bucket)
            del arrived  # it needs as much memory as what is kept
            fault_point("reports read")
            tallies = {} if once else tally_blocks(questions, blocks)  # before the transaction, which others wait for, if that is possible
            with self.catalog.changing() as connection:
                row_id, state = self._lock(connection, bucket)
                if state == "open":
                    if once:
                        blocks = self._once(connection, bucket, blocks)
                        tallies = tally_blocks(questions, blocks)
                    self.log.write_sealed(connection, bucket, blocks)
                    fault_point("sealed reports written")
                    insert_tallies(connection, row_id, ((address, tally.to_bytes()) for address, tally in sorted(tallies.items())))
                    reports = sum(len(block.rows) for block in blocks)
                    values = {"state": "sealed", "sealed": int(now), "reports": reports, "digest": digest(blocks)}
                    values["repeated"] = db.bucket.c.repeated + came - reports
                    connection.execute(db.bucket.update().where(db.bucket.c.id == row_id).values(**values))
                    fault_point("seal complete")
            fault_point("seal committed")
        self._left.add(bucket)
        self.sweep()  # the bucket is closed by now: if this fails, nothing is taken for one that is counted already
        fault_point("open reports dropped")

    def sweep(self) -> None:
        """Delete what sealed buckets have left behind, and with it the order of arrival; what cannot be deleted now is tried again."""
        for bucket in sorted(self._left):
            self.log.drop_open(bucket)
            self._left.discard(bucket)

    def open_tallies(self, task: bytes, questions: Questions, periods: Collection[int] | None = None, *, once: bool = False) -> Tallies:
        """The tallies that a task's open periods, some or all, would be sealed with now."""
        return {
            (bucket.number, *address): tally
            for bucket, blocks in self._open_reports(task, periods, once=once)
            for address, tally in tally_blocks(questions(bucket), blocks).items()
        }

    def open_counts(self, task: bytes, periods: Collection[int] | None = None, *, once: bool = False) -> dict[int, int]:
        """The reports that each of a task's open periods, some or all, would be sealed with now."""
        found = self._open_reports(task, periods, once=once)
        return {bucket.number: sum(len(block.rows) for block in blocks) for bucket, blocks in found}

    def _open_reports(self, task: bytes, periods: Collection[int] | None, *, once: bool) -> Iterator[tuple[Bucket, list[Block]]]:
        """The reports that open buckets would be sealed with now: with ``once``, an id is in the earliest period, which is sealed first."""
        spent: set[bytes] = set()
        for bucket in (stored.bucket for stored in self.buckets(task, ["open"])):
            asked = periods is None or bucket.number in periods
            if periods and bucket.number > max(periods):
                return
            if asked or once:
                with self.catalog.reading() as connection:
                    blocks = sort_once(self.log.read_open(connection, bucket))
                    blocks = without(self._once(connection, bucket, blocks, locked=False), spent) if once else blocks
                if once:
                    spent.update(ids_of(blocks))
                if asked:
                    yield bucket, blocks

    def tallies(self, task: bytes, periods: Collection[int] | None = None) -> Tallies:
        """The tallies of a task's sealed periods, of some or of all."""
        return dict(sealed_tallies(self.catalog, task, periods))

    def totals(self, task: bytes, period: int, questions: Sequence[Question]) -> dict[str, Tally]:
        """The tally of each question in a sealed period, over all strata, which are in memory one at a time."""
        totals = [total(question, place, {}) for place, question in enumerate(questions)]
        for (_, place, _), tally in sealed_tallies(self.catalog, task, [period]):
            totals[place] += tally
        return {question.name: each for question, each in zip(questions, totals, strict=True)}

    def sealed_reports(self, bucket: Bucket) -> list[Block]:
        """The reports of a sealed bucket, by id; StorageError naming what is damaged."""
        with self.catalog.reading() as connection:
            return self.log.read_sealed(connection, bucket)

    def open_reports(self, bucket: Bucket) -> list[Block]:
        """The reports that an open bucket holds, each once, by id."""
        with self.catalog.reading() as connection:
            return sort_once(self.log.read_open(connection, bucket))

    def sealed_ids(self, asked: Mapping[Bucket, tuple[Sequence[bytes], Sequence[tuple[int, int]]]]) -> set[bytes]:
        """Which ids sealed buckets hold, each under the question and stratum of its own."""
        with self.catalog.reading() as connection:
            return {found for bucket, which in asked.items() for found in self.log.sealed_ids(connection, bucket, *which)}

    def drop_reports(self, bucket: Bucket) -> None:
        """Delete a sealed bucket's reports; its tallies stay.

        The catalog first notes that they are being dropped: after an interruption the rest is dropped later, and not taken for damage.
        """
        for before, after in (("sealed", "dropping"), ("dropping", "dropped")):
            with self.catalog.writing() as connection:
                row_id, state = self._lock(connection, bucket)
                if state == before:
                    if after == "dropped":
                        self.log.drop_sealed(connection, bucket)
                    connection.execute(db.bucket.update().where(db.bucket.c.id == row_id).values(state=after))

    def rebuild(self, questions: Questions, *, repair: bool = False) -> Iterator[tuple[Bucket, str]]:
        """Count every sealed bucket again from its reports: for each, "same", "dropped", or what differs.

        With ``repair`` a tally that differs is replaced by what the reports say.
        """
        for stored in self.buckets():
            bucket, state = stored.bucket, stored.state
            if state != "sealed":
                yield bucket, state
                continue
            with self.catalog.changing() if repair else self.catalog.reading() as connection:
                row_id, _ = self._find(connection, bucket)
                try:
                    blocks = self.log.read_sealed(connection, bucket)
                except StorageError as error:
                    yield bucket, f"damaged: {error}"
                    continue
                sealed_with = connection.execute(sql.select(db.bucket.c.digest).where(db.bucket.c.id == row_id)).scalar_one()
                if digest(blocks) != bytes(sealed_with):
                    yield bucket, "damaged: the reports are not those that were sealed; restore them from a copy"
                    continue
                rebuilt = {address: tally.to_bytes() for address, tally in tally_blocks(questions(bucket), blocks).items()}
                kept = read_tallies(connection, row_id)
                if rebuilt == kept:
                    yield bucket, "same"
                    continue
                if repair:
                    replace_tallies(connection, row_id, sorted(rebuilt.items()))
                differing = sorted(address for address in rebuilt.keys() | kept.keys() if rebuilt.get(address) != kept.get(address))
                yield bucket, f"{'repaired' if repair else 'differs'}: question and stratum {differing}"

    def spent(self, connection: Connection, bucket: Bucket, blocks: Sequence[Block]) -> list[Block]:
        """The blocks without the ids that other sealed periods of the task hold, as they are now."""
        return self._once(connection, bucket, blocks, locked=False)

    # --- inside ---

    def _is_counted(self, bucket: Bucket) -> bool:
        return any(stored.state != "open" for stored in self.find([bucket]))

    def _once(self, connection: Connection, bucket: Bucket, blocks: Sequence[Block], *, locked: bool = True) -> list[Block]:
        """The blocks without the ids that other sealed periods of the task hold. Locked, those cannot become more until the commit."""
        if locked:  # not against those who open a bucket, which only need the row to stay
            connection.execute(sql.select(db.task.c.id).where(db.task.c.id == bucket.task).with_for_update(key_share=True))
        others = sql.select(db.bucket.c.number).where(db.bucket.c.task == bucket.task, db.bucket.c.state == "sealed")
        ids = ids_of(blocks)
        found: set[bytes] = set()
        for number in connection.execute(others.where(db.bucket.c.number != bucket.number)).scalars().all():
            found |= self.log.sealed_ids(connection, Bucket(bucket.task, number), ids)
        return without(blocks, found)

    def _find(self, connection: Connection, bucket: Bucket) -> tuple[int, str]:
        where = (db.bucket.c.task == bucket.task, db.bucket.c.number == bucket.number)
        row = connection.execute(sql.select(db.bucket.c.id, db.bucket.c.state).where(*where).with_for_update()).one_or_none()
        return (0, "none") if row is None else (row[0], row[1])

    def _lock(self, connection: Connection, bucket: Bucket) -> tuple[int, str]:
        """The row id and the state of a bucket, which is made if it is not there; others wait until the transaction is over."""
        row_id, state = self._find(connection, bucket)
        if row_id == 0:
            connection.execute(self.catalog.insert_once(db.bucket, task=bucket.task, number=bucket.number, state="open"))
            row_id, state = self._find(connection, bucket)
        return row_id, state
