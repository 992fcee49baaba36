"""What a collector, an open folder or a file of counts says, as tables for people."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from deniable.cli.console import out, shown, table, tell
from deniable.collect.analysis.answer import picked_rows
from deniable.collect.analysis.manner import headline
from deniable.collect.analysis.mixed import in_words
from deniable.collect.analysis.number_table import NumberTable, changes_table, estimate_table
from deniable.collect.analysis.table_text import table_text
from deniable.collect.analysis.tables import TABLE
from deniable.contract.canonical import from_plain
from deniable.core.rounding import level_text


def print_answer(content: dict[str, Any], top: int) -> None:
    """What a collector or an open folder says, as tables."""
    tell(f"{content['name']}: {content['question']}")
    for answer in content["answers"]:
        if answer.get("kind") == TABLE:
            _print_result(answer, top)
        else:
            out.print(_changes_table(answer, top) if "alpha" in answer else _estimate_table(answer, top))
    promise = next((answer["guarantee"] for answer in content["answers"] if "guarantee" in answer), None)
    if promise is not None:
        tell(f"promise: about {promise['neighbors']}; it holds for {promise['unit']}")
    if "changed" in content:
        named = ", ".join(f"{entry['question']}: {shown(from_plain(entry['value']))}" for entry in content["changed"])
        tell(f"changed at alpha = {content['alpha']:g}: {named or 'nothing'}")
    if "shuffle" in content:
        tell(in_words(content["shuffle"]))
    for each in content.get("integrity", ()):
        told = [test["what"] for test in each["tests"] if test["test"] in each["suspicious"]]
        verdict = (
            f"some were made up: {'; '.join(told)}" if told else "nothing that honest reports do not show" if each["tests"] else "no test"
        )
        tell(f"{each['question']}, {each['n']:,} reports: {verdict}")
    if content["withheld"]:
        tell(f"withheld, with fewer than {content['minimum_batch']:,} reports: {', '.join(content['withheld'])}")
    if content["provisional"]:
        tell("provisional: a period is still open, and more reports may come")


def _print_result(answer: dict[str, Any], top: int) -> None:
    """A result of a protocol: the table that it makes of itself, which may be narrower than what there is to say about it."""
    told = table_text(answer, top)
    rows = table("", told.names)
    for line in told.lines:
        rows.add_row(*line)
    tell(headline(answer))
    out.print(rows)
    tell(told.caption)


def _estimate_table(answer: dict[str, Any], top: int) -> Table:
    if "kind" in answer:
        return _number_table(answer, estimate_table(answer))
    rows = picked_rows(answer, top)
    some = len(rows) < answer["values"]
    marked = some and not answer.get("notes")  # a search names nothing else
    made = table(headline(answer), ("value", "estimate", "± std. err.", "from", "to", "share", *(["significant"] if marked else [])))
    for row in rows:
        numbers = (f"{row[name]:,.0f}" for name in ("count", "stderr", "low", "high"))
        made.add_row(shown(row["value"]), *numbers, f"{row['frequency']:.2%}", *(["yes" if row["significant"] else "no"] if marked else []))
    if answer.get("notes"):  # of a search
        made.caption = "; ".join([f"95 % intervals {'for all candidates together' if some else 'of each value'}", *answer["notes"]])
    elif marked:
        made.caption = f"the largest {len(rows):,} of {answer['values']:,} values; 95 % intervals for all of them together"
    else:
        made.caption = "95 % interval of each value"
    return made


def _changes_table(answer: dict[str, Any], top: int) -> Table:
    if "kind" in answer:
        return _number_table(answer, changes_table(answer))
    rows = picked_rows(answer, top)
    made = table(headline(answer), ("value", "before", "after", "change", "from", "to", "adjusted p"))
    for row in rows:
        shares = (f"{row[name]:.2%}" for name in ("before", "after"))
        changes = (f"{row[name]:+.2%}" for name in ("change", "low", "high"))
        style = "bold red" if row["changed"] else None
        made.add_row(shown(row["value"]), *shares, *changes, f"{row['p_adjusted']:.2g}", style=style)
    few = f"the clearest {len(rows):,} of {answer['values']:,} values; " if len(rows) < answer["values"] else ""
    made.caption = f"{few}{level_text(1 - answer['alpha'])} intervals and p for all values together"
    return made


def _number_table(answer: dict[str, Any], told: NumberTable) -> Table:
    made = table(headline(answer), told.names)
    for line in told.lines:
        made.add_row(*line, style="bold red" if told.changed else None)
    made.caption = told.caption
    return made
