"""``deniable demo``: a collector, a shuffler, a crowd of devices, three questions, and estimates next to the truth."""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from deniable.cli.answer_tables import print_table
from deniable.cli.console import out, print_json, remark, tell
from deniable.cli.demo_collector import RunningCollector, running_collector
from deniable.cli.demo_devices import DURABLE, crowd
from deniable.cli.demo_questions import DemoQuestion, questions
from deniable.cli.demo_shuffled import both_table, run_shuffled, shuffled_toml
from deniable.cli.demo_task import DemoTask, Found, publish
from deniable.cli.exits import TERMINATED
from deniable.cli.options import Json

LEAST = 100
"""With fewer people, the last group of the search can fall below the minimum batch."""
NO_KEY = bytes(32)


def demo(
    people: Annotated[int, typer.Option(help="How many devices report.", min=LEAST)] = 20_000,
    epsilon: Annotated[
        float, typer.Option(help="The epsilon of an answer from a list; a word without a list costs four times that.")
    ] = 1.0,
    folder: Annotated[Path, typer.Option("--out", help="A folder for the charts.")] = Path("demo-output"),
    shuffle: Annotated[bool, typer.Option(help="Ask the first question through a shuffler, too, with the same privacy promise.")] = True,
    serve: Annotated[bool, typer.Option("--serve", help="Keep the collector running until Ctrl-C.")] = False,
    json_output: Json = False,
) -> None:
    """Start a collector on this machine, let a simulated crowd report to it over HTTP, and compare its estimates with the truth."""
    from deniable.collect.tasks.task_file import read_task_file

    folder.mkdir(parents=True, exist_ok=True)  # first: a folder that cannot be written to should cost no work
    asked = questions(people, epsilon)
    files = [question.toml for question in asked]
    files += [shuffled_toml(people, epsilon, 60, url="http://127.0.0.1:1", key="01" * 32)] if shuffle else []
    for file in files:
        read_task_file(file.encode(), key=NO_KEY, now=time.time())  # for the same reason: an epsilon that no task takes
    signal.signal(signal.SIGTERM, _leave)  # otherwise the collector would keep running
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell would ignore it
    start = time.perf_counter()
    with (
        tempfile.TemporaryDirectory(prefix="deniable-demo-") as kept,
        running_collector(Path(kept), folder / "collector.log") as collector,
    ):
        content = _run(collector, asked, people, Path(kept), epsilon if shuffle else None, quiet=json_output, serve=serve)
        content["charts"] = _save_charts(content["tasks"], folder)
        content["seconds"] = round(time.perf_counter() - start, 1)
        print_json(content) if json_output else _print(content)
        if serve:
            _keep_serving(collector, content)
        elif not json_output:
            tell(f"\nOpen {content['charts'][-1]} in a browser. For the dashboard and a survey page: deniable demo --serve")


def _run(
    collector: RunningCollector, asked: list[DemoQuestion], people: int, folder: Path, claim: float | None, *, quiet: bool, serve: bool
) -> dict[str, Any]:
    """Publish, report, count and estimate, all over HTTP; with a ``claim``, the first question again through a shuffler."""
    if not quiet:
        remark(f"A collector serves on {collector.url}, with its store in {folder}.")
    tasks = publish(collector, asked)
    with crowd(collector.url, [task.id for task in tasks], people, folder) as devices:
        if not quiet:
            kept = f"{min(people, DURABLE):,} of them in a file"
            remark(f"{people:,} simulated devices answer {len(tasks)} questions; each has a privacy ledger, {kept}.")
        found = [task.run(devices, quiet=quiet, keep_open=serve) for task in tasks]
        sent, ledger = devices.sent(), devices.statement()
    seconds = sum(each.seconds for each in found)
    shuffled = {} if claim is None else {"shuffled": run_shuffled(collector, asked[0], found[0], claim, folder, quiet=quiet)}
    return shuffled | {
        "url": collector.url,
        "people": people,
        "epsilon": claim,
        "reports": sent.reports,
        "bytes": sent.bytes,
        "reporting_seconds": round(seconds, 2),
        "reports_per_second": round(sent.reports / seconds),
        "tasks": [_described(task, each) for task, each in zip(tasks, found, strict=True)],
        "ledger": ledger,
    }


def _described(task: DemoTask, found: Found) -> dict[str, Any]:
    """Return a task with the truth, estimate and interval of each value in the result."""
    estimate, words = found.estimate, task.asked.shown
    held = {"truth": [found.truth[value] for value in estimate.values]}
    held |= {"everyone": [task.asked.truth[value] for value in estimate.values]} if found.rounds else {}
    about = {name: found.content[name] for name in ("task", "name", "question", "statement")}
    about |= {name: found.answer[name] for name in ("mechanism", "epsilon")}
    named = estimate.to_json()
    named["columns"]["value"] = [words.get(value, value) for value in estimate.values]
    return about | {"rounds": found.rounds, **held, "estimate": named}


def _save_charts(tasks: list[dict[str, Any]], folder: Path) -> list[str]:
    from deniable.core.chart import stacked
    from deniable.core.saved import estimate_from_json

    charts = []
    for task in tasks:
        charts.append(estimate_from_json(task["estimate"]).chart(truth=task["truth"], title=task["question"]))
    files = [folder / f"demo.{ending}" for ending in ("svg", "html")]
    for file in files:
        stacked(charts).save(file)
    return [str(file) for file in files]


def _print(content: dict[str, Any]) -> None:
    for task in content["tasks"]:
        _print_task(task)
    if "shuffled" in content:
        out.print(both_table(content["shuffled"], content["epsilon"]), "")
    tell("The privacy promise to each person", style="bold")
    for task in content["tasks"]:
        tell(f"{task['name']}. {task['statement'].splitlines()[0]}")
    if "shuffled" in content:
        tell(f"{content['shuffled']['name']}. {' '.join(content['shuffled']['shuffle']['promise'].splitlines()[:2])}")
    tell("\nOne device's privacy ledger", style="bold")
    tell(" ".join(content["ledger"].split()))
    tell("\nTraffic", style="bold")
    speed = f"{content['reports_per_second']:,} a second, each on disk before it was acknowledged"
    tell(f"{content['reports']:,} reports, {content['bytes']:,} bytes, in {content['reporting_seconds']:.1f} s: {speed}.")
    tell(f"To {content['url']}; {content['seconds']:.0f} s from the start of the collector to the charts.")
    tell(f"Charts: {' and '.join(content['charts'])} (bars: estimate, lines: 95 % interval, orange: truth)")


def _print_task(task: dict[str, Any]) -> None:
    """Print truth, estimate and interval side by side."""
    from deniable.collect.analysis.presentation import table_text
    from deniable.core.saved import estimate_from_json

    (first, *others), lines, remarks = table_text(estimate_from_json(task["estimate"]), len(task["truth"]))
    known = {"truth": task["truth"]} | ({"in the whole crowd": task["everyone"]} if task["rounds"] else {})
    rows = [[line[0], *(f"{held[place]:,}" for held in known.values()), *line[1:]] for place, line in enumerate(lines)]
    rounds = [f"found in {task['rounds']} rounds, counted in the last"] if task["rounds"] else []
    print_table(task["question"], [first, *known, *others], rows, [*remarks, *rounds])
    tell("")


def _keep_serving(collector: RunningCollector, content: dict[str, Any]) -> None:
    """Wait for Ctrl-C, or until the collector ends."""
    access = f"--url {collector.url} --token-file {collector.analyst}"
    first = f"{collector.url}/tasks/{content['tasks'][0]['task']}"
    remark(f"\nOpen {collector.url} in a browser. Press Ctrl-C to stop.")
    remark(f"  {first} shows what the crowd drinks, with confidence intervals.")
    remark(f"  {first}/answer is the survey: answer it, and see what would leave your device first.")
    if "shuffled" in content:
        page = f"{collector.url}/tasks/{content['shuffled']['task']}"
        remark(f"  Through the shuffler: {page} shows the same question with both epsilons and both standard errors.")
    remark("In another terminal:")
    for line in (f"task list --url {collector.url}", *(f"estimate {task['name']} {access}" for task in content["tasks"])):
        remark(f"  deniable {line}")
    remark(f"The admin's token is in {collector.admin}, the log in {collector.log}.")
    try:
        collector.process.wait()
    except KeyboardInterrupt:
        remark("stopped; the collector and its store are gone")


def _leave(*_: object) -> None:
    sys.exit(TERMINATED)
