"""``deniable demo``: a crowd answers a question, nobody gives their answer away."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import typer

from deniable.cli.console import AUTO, Choice, err, oracle_for, out, plain_errors, print_json, progress_bar, result_rows, result_table
from deniable.contract.domain import Categories
from deniable.contract.question import Question
from deniable.contract.survey import Survey
from deniable.core.chart import count_chart
from deniable.lab.populations import Zipf

DRINKS = ("tea", "coffee", "water", "juice", "milk", "cocoa", "lemonade", "cider", "beer", "wine", "mate", "kefir")
QUESTION = "What do you drink in the morning?"


def demo(
    people: Annotated[int, typer.Option(help="How many people to ask.", min=1)] = 1_000_000,
    epsilon: Annotated[float, typer.Option(help="The privacy parameter: smaller is more private.")] = 1.0,
    mechanism: Annotated[Choice, typer.Option(help="The mechanism; auto picks one for the domain.")] = AUTO,
    folder: Annotated[Path, typer.Option("--out", help="Where the chart goes.")] = Path("demo-output"),
    json_output: Annotated[bool, typer.Option("--json", help="Print the result as JSON and nothing else.")] = False,
) -> None:
    """Ask a simulated crowd a question with a skewed answer: truth, estimate and interval, a chart, and the privacy statement."""
    with plain_errors():
        folder.mkdir(parents=True, exist_ok=True)  # first, so that a folder that cannot be written to costs no work
        domain = Categories(*DRINKS)
        spec = oracle_for(mechanism, domain, epsilon)
        survey = Survey((Question(name="drink", spec=spec),))
        counts = Zipf(exponent=1.1, size=domain.size).counts(people)
        truth = dict(zip(DRINKS, counts.tolist(), strict=True))
        crowd = pa.DictionaryArray.from_arrays(np.repeat(np.arange(domain.size, dtype=np.int8), counts), list(DRINKS))
        if not json_output:
            err.print(f"{people:,} simulated people are asked: {QUESTION} Each of them answers through {spec.mechanism}, on their own.")
        start = time.perf_counter()
        with progress_bar("randomizing and counting", quiet=json_output) as progress:
            estimate = survey.run(crowd, progress=progress)["drink"].top(domain.size)
        seconds = time.perf_counter() - start
        chart = count_chart(estimate, truth=[truth[value] for value in estimate.values], title=QUESTION)
        files = [folder / f"demo.{ending}" for ending in ("svg", "html")]
        for file in files:
            chart.save(file)
        if json_output:
            content = {"question": QUESTION, "people": people, "mechanism": spec.mechanism, "epsilon": spec.epsilon}
            content |= {"seconds": round(seconds, 3), **result_rows(estimate, truth)}
            print_json(content | {"statement": survey.guarantee.statement(), "charts": [str(file) for file in files]})
            return
        out.print(result_table(estimate, truth))
        out.print("\nWhat each person was promised", style="bold")
        out.print(f"{survey.guarantee.statement()}\n")
        out.print(f"{people:,} reports of {spec.report_bits} bits, made and counted in {seconds:.2f} s.")
        out.print(f"Charts: {' and '.join(map(str, files))} (bars: estimate, lines: 95 % interval, red: truth)", soft_wrap=True)
