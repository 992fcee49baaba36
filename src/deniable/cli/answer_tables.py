"""Estimates of a collector, an open folder or a file of counts, as tables for people."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from rich.table import Table

from deniable.cli.console import out, table, tell
from deniable.contract.canonical import from_plain


def print_answer(content: dict[str, Any], top: int) -> None:
    """Print the estimates of a collector or an open folder as tables."""
    from deniable.collect.analysis.presentation import estimates_in, table_text
    from deniable.collect.analysis.shuffled_batches import in_words
    from deniable.core.table import cell_text

    tell(f"{content['name']}: {content['question']}")
    changed = [(entry["question"], cell_text(from_plain(entry["value"]))) for entry in content.get("changed", ())]
    for answer in content["answers"]:
        for name, estimate in estimates_in(answer).items():
            text = table_text(estimate, top)
            print_table(name, text.names, text.lines, text.remarks, marked=[value for question, value in changed if question == name])
    promises = dict.fromkeys(_promise(answer) for answer in content["answers"])
    for promise in filter(None, promises):
        tell(f"promise: {promise}")
    if "changed" in content:
        tell(f"changed at alpha = {content['alpha']:g}: {', '.join(f'{name}: {value}' for name, value in changed) or 'nothing'}")
    if "shuffle" in content:
        tell(in_words(content["shuffle"]))
    for each in content.get("integrity", ()):
        found = [test["what"] for test in each["tests"] if test["test"] in each["suspicious"]]
        verdict = f"some reports are false: {'; '.join(found)}" if found else "no sign of tampering" if each["tests"] else "no test"
        tell(f"{each['question']}, {each['n']:,} reports: {verdict}")
    if content["withheld"]:
        tell(f"withheld, below the minimum batch of {content['minimum_batch']:,} reports: {', '.join(content['withheld'])}")
    if content["provisional"]:
        tell("provisional: a period is still open, and more reports may come")


def print_table(
    title: str, names: Sequence[str], lines: Sequence[Sequence[str]], remarks: Sequence[str], *, marked: Collection[str] = ()
) -> None:
    """Print a table under its title and first remark, with the other remarks below; rows whose first cell is ``marked`` stand out."""
    first, *rest = remarks
    tell(f"{title}: {first}")
    out.print(filled(names, lines, marked=marked))
    for remark in rest:
        tell(remark)


def filled(
    names: Sequence[str], lines: Sequence[Sequence[str]], *, title: str = "", caption: str = "", marked: Collection[str] = ()
) -> Table:
    """Return a table of texts; rows whose first cell is ``marked`` stand out."""
    made = table(title, names, caption=caption)
    for line in lines:
        made.add_row(*line, style="bold red" if line[0] in marked else None)
    return made


def _promise(answer: dict[str, Any]) -> str:
    promise = answer["estimate"]["guarantee"]
    return "" if promise is None else f"about {promise['neighbors']}; it holds for {promise['unit']}"
