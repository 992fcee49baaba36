"""One question of the demo, from publication to estimate: what an admin, a crowd and an analyst do in turn."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deniable.cli.console import progress_bar
from deniable.cli.demo_collector import RunningCollector
from deniable.cli.demo_devices import Devices
from deniable.cli.demo_questions import DemoQuestion
from deniable.cli.remote import collector_at
from deniable.contract.task import Task

if TYPE_CHECKING:
    from deniable.core.estimate import Estimate

MOST_ROWS = 20


@dataclass(frozen=True)
class Found:
    """The collector's result, and the true answers of those whose reports it counted."""

    content: dict[str, Any]
    truth: Counter[Any]
    rounds: int
    seconds: float
    """Time spent reporting, not counting."""

    @property
    def answer(self) -> dict[str, Any]:
        """Return the answer to the only question."""
        answer: dict[str, Any] = self.content["answers"][0]
        return answer

    @property
    def estimate(self) -> Estimate:
        """Return the largest counts, in descending order."""
        from deniable.core.saved import estimate_from_json

        return estimate_from_json(self.answer["estimate"]).top(MOST_ROWS)


@dataclass(frozen=True)
class DemoTask:
    """A published question of the demo."""

    collector: RunningCollector
    asked: DemoQuestion
    published: Task

    @property
    def id(self) -> bytes:
        """Return the id that devices pin."""
        return self.published.id

    def run(self, devices: Devices, *, quiet: bool, keep_open: bool) -> Found:
        """Let the crowd answer, in as many rounds as it takes; count, and return the result.

        A question that stays open takes answers from the person who runs the demo; a search ends when it has found something.
        """
        waiting: Sequence[int] = range(len(self.asked.held))
        number, more, seconds = 0, True, 0.0
        while more:
            start = time.perf_counter()
            what = f"{self.published.name}, round {number + 1}" if self.published.rounds else self.published.name
            with progress_bar(what, quiet) as progress:
                receipts = devices.report(self.id, self.asked.held, waiting, progress)
            seconds += time.perf_counter() - start
            waiting = [place for place in waiting if place not in receipts]
            with collector_at(self.collector.url, self.collector.admin) as admin:
                if self.published.rounds:
                    query = {"round": number, "force": "true"}  # a demo may have very few people
                    more = admin.call("POST", f"/v1/tasks/{self.id.hex()}/advance", query=query)["more"]
                    devices.refresh()
                    number += 1
                else:
                    if not keep_open:
                        admin.call("POST", f"/v1/tasks/{self.id.hex()}/close")
                    more = False
        with collector_at(self.collector.url, self.collector.analyst) as analyst:
            content = analyst.call("GET", f"/v1/tasks/{self.id.hex()}/estimate")
        return Found(content, Counter(self.asked.held[place] for place in receipts), number, seconds)


def publish(collector: RunningCollector, asked: list[DemoQuestion]) -> list[DemoTask]:
    """Publish every question; return the tasks that the collector made of the files."""
    with collector_at(collector.url, collector.admin) as admin:
        answers = [admin.call("POST", "/v1/tasks", body=question.toml.encode(), media_type="application/toml") for question in asked]
    return [DemoTask(collector, question, Task.from_json(answer["task"].encode())) for question, answer in zip(asked, answers, strict=True)]
