"""The demo's first question again, through a shuffler: the same privacy promise, and much less noise."""

from __future__ import annotations

import socket
import time
from math import ceil
from pathlib import Path
from typing import Any

from rich.table import Table

from deniable.cli.console import progress_bar, table, waiting
from deniable.cli.demo_collector import RunningCollector, running_shuffler
from deniable.cli.demo_devices import crowd
from deniable.cli.demo_questions import DRINK, DemoQuestion
from deniable.cli.demo_task import DemoTask, Found, publish
from deniable.cli.extra import server_extra
from deniable.cli.remote import collector_at
from deniable.contract.notice import SHUFFLER

LARGEST_MINIMUM = 60_000
LATE = 6
"""Seconds after the end: half for the devices, half for the batch."""
SPARE, PATIENCE = 3, 20
"""Spare seconds for slow machines, and seconds to wait for a batch."""
SLOWER = 3
"""How many times longer a shuffler may take to start than a collector, and sealed reports to be sent than others."""
POLL_SECONDS = 0.2


def shuffled_toml(people: int, epsilon: float, seconds: int, *, url: str, key: str) -> str:
    """Return the drink's task file under shuffle trust, with the same epsilon as the local one."""
    text = DRINK.format(people=people, epsilon=epsilon).replace('name = "morning-drink"', 'name = "morning-drink-shuffled"')
    text = text.replace(f"epsilon = {epsilon!r}", 'epsilon = "auto"\ntrust = "shuffle"')
    text = text.replace('lasts = "1 day"', f'lasts = "{seconds} seconds"\nlate = "{LATE} seconds"')
    minimum = max(2, min(people // 2, LARGEST_MINIMUM))
    relay = f'{{ url = "{url}", key = "{key}" }}'
    return f"{text}\n[shuffle]\nepsilon = {epsilon!r}\nminimum = {minimum}\nshufflers = [{relay}]\n"


def run_shuffled(
    collector: RunningCollector, drink: DemoQuestion, before: Found, epsilon: float, folder: Path, *, quiet: bool
) -> dict[str, Any]:
    """Ask the crowd the same question through a shuffler; ``before`` has the result under local trust."""
    with server_extra("deniable demo"):
        from deniable.sealing.keys import KeyRing
    people, own = len(drink.held), folder / "shuffler"
    port = _free_port()
    key = KeyRing(own, SHUFFLER).identity.hex()
    seconds = ceil(SLOWER * (collector.seconds + before.seconds)) + SPARE  # as this machine is today
    toml = shuffled_toml(people, epsilon, seconds, url=f"http://127.0.0.1:{port}", key=key)
    (task,) = publish(collector, [DemoQuestion(toml, drink.held, drink.shown)])
    ledgers = folder / "shuffled"
    ledgers.mkdir()
    log = collector.log.with_name("shuffler.log")
    with (
        running_shuffler(own, log, collector=collector.url, task=task.id, port=port),
        crowd(collector.url, [task.id], people, ledgers) as devices,
        progress_bar(task.published.name, quiet) as progress,
    ):
        receipts = devices.report(task.id, drink.held, range(people), progress)
        content = _wait(collector, task, len(receipts))
    return _described(task, content, before, {drink.held[place] for place in receipts}, drink)


def _wait(collector: RunningCollector, task: DemoTask, sent: int) -> dict[str, Any]:
    """Return the answer, once all sent reports are counted or no more can come."""
    path, over = f"/v1/tasks/{task.id.hex()}", task.published.end + LATE + PATIENCE
    with collector_at(collector.url, collector.analyst) as analyst, waiting("the shuffler's last batch", over - time.time()):
        while time.time() < over:
            periods = analyst.call("GET", f"{path}/status")["periods"]
            if periods and (periods[0]["reports"] or 0) >= sent:
                break
            time.sleep(POLL_SECONDS)
        content: dict[str, Any] = analyst.call("GET", f"{path}/estimate")
    return content


def _described(task: DemoTask, content: dict[str, Any], before: Found, held: set[Any], drink: DemoQuestion) -> dict[str, Any]:
    """Return both answers side by side, with both standard errors."""
    from deniable.core.saved import estimate_from_json

    answer = content["answers"][0]
    local, shuffled = (estimate_from_json(each["estimate"]).top(len(held) + 1) for each in (before.answer, answer))
    found = {value: place for place, value in enumerate(local.values)}
    rows = [
        {
            "value": drink.shown.get(value, value),
            "truth": drink.truth[value],
            "local": round(float(local.point[found[value]]), 1),
            "local_stderr": round(float(local.stderr[found[value]]), 1),
            "shuffled": round(float(shuffled.point[place]), 1),
            "shuffled_stderr": round(float(shuffled.stderr[place]), 1),
        }
        for place, value in enumerate(shuffled.values)
        if value in found
    ]
    about = {name: content[name] for name in ("task", "name", "question", "statement", "shuffle")}
    return about | {"n": shuffled.n, "mechanism": answer["mechanism"], "result": rows, "end": task.published.end}


def both_table(both: dict[str, Any], epsilon: float) -> Table:
    """Return the table of one question under both trust models."""
    from deniable.collect.analysis.shuffled_batches import in_words

    title = f"{both['question']}\nThe same promise, epsilon = {epsilon:.4g}, under local trust and through a shuffler"
    names = ("value", "truth", "local trust", "± std. err.", "shuffled", "± std. err.")
    rows = table(title, names, caption=in_words(both["shuffle"]))
    for row in both["result"]:
        numbers = (row[name] for name in ("truth", "local", "local_stderr", "shuffled", "shuffled_stderr"))
        rows.add_row(row["value"], *(f"{number:,.0f}" for number in numbers))
    return rows


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
        return port
