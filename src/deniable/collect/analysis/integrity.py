"""Whether the reports of a task can be what honest devices send (``core.integrity``), question by question.

The tests look at single reports, so they need those that are kept. Of very many a sample is tested; devices choose their own ids, so it is
drawn by a function of them that only the collector knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from deniable.collect.analysis.selection import EVERYTHING, ReportSelection
from deniable.collect.collector import Collector
from deniable.collect.storage.block import ID_BYTES, Block
from deniable.contract.task import Task
from deniable.core.integrity import IntegrityReport, check_reports
from deniable.core.reports import Reports
from deniable.kernels.compiled import Array

MOST = 1 << 20
"""So many reports of a question are tested."""


def integrity_of(
    collector: Collector, task_id: bytes, selection: ReportSelection = EVERYTHING, alpha: float = 0.01
) -> Mapping[str, IntegrityReport]:
    """What the tests say about each question of a survey; honest reports are suspected with probability ``alpha`` at most, all together.

    Left out are questions of which fewer reports are kept than the task shows, and searches, which ask anew in every round.
    """
    task = collector.task(task_id).task
    selection.check(task)
    if task.rounds:
        return {}
    counted, sampled = _kept(collector, task, selection)
    tested = [place for place in sorted(sampled) if counted[place] >= task.minimum_batch]
    found = {}
    for place in tested:
        question = task.survey.questions[place]
        payloads = sampled[place][:, ID_BYTES:].tobytes()
        found[question.name] = check_reports(Reports.from_rows(question.spec, payloads), alpha / len(tested))
    return found


def integrity_json(found: Mapping[str, IntegrityReport]) -> list[dict[str, Any]]:
    """The same as plain data: for each question the tests, their p-values over all of its tests, and those that honest reports pass."""
    return [
        {
            "question": name,
            "n": report.n,
            "alpha": report.alpha,
            "suspicious": report.suspicious,
            "tests": [
                {"test": each.test, "seen": each.seen, "expected": each.expected, "p": p, "what": each.what}
                for each, p in zip(report.findings, report.p_values, strict=True)
            ],
        }
        for name, report in found.items()
    ]


def _kept(collector: Collector, task: Task, selection: ReportSelection) -> tuple[Counter[int], dict[int, Array]]:
    """How many of the selected reports are still there, each once in its period, and a sample of them, by question."""
    counted, sampled, key = Counter[int](), dict[int, Array](), collector.registry.sampling_key(task.id)
    for stored in collector.store.buckets(task.id):
        period, blocks = stored.bucket.number, list[Block]()
        if stored.state == "open":
            blocks = collector.store.open_reports(stored.bucket)
        elif stored.state == "sealed":
            blocks = collector.store.sealed_reports(stored.bucket)
        for block in blocks:
            if selection.holds(task, period, block.stratum):
                counted[block.question] += len(block.rows)
                before = [sampled[block.question]] if block.question in sampled else []
                sampled[block.question] = _sample(np.concatenate([*before, block.rows]), key)
    return counted, sampled


def _sample(rows: Array, key: bytes) -> Array:
    """Return at most this many rows: the same for the same rows, and random to everyone without the key."""
    if len(rows) <= MOST:
        return rows
    a, b, c = np.frombuffer(key, "<u8")[:3]
    halves = np.ascontiguousarray(rows[:, :ID_BYTES]).view("<u8")
    places = (halves[:, 0] + a) * (halves[:, 1] + b) + c
    return rows[np.sort(np.argpartition(places, MOST)[:MOST])]
