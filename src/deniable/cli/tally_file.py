"""What a tally says by itself, without a task: the estimate behind it, in the words of the other commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable import __version__
from deniable.contract.domain import Domain
from deniable.errors import ParameterError

if TYPE_CHECKING:
    from deniable.core.tally import Tally

ENDING = ".tally"
CandidateFile = Annotated[
    Path | None, typer.Option("--candidates", help="The values to count, one in a line, where there are too many to count all.")
]


def estimate_of(tally: Tally, name: str, candidates: list[Any] | None = None) -> dict[str, Any]:
    """The estimate as plain data, as ``Answer.to_json`` writes that of a task."""
    from deniable.collect.analysis.answer import AskedQuestion

    estimate = tally.spec.estimate(tally, candidates=candidates)
    return {
        "name": name,
        "question": repr(tally.spec),
        "version": __version__,
        "withheld": [],
        "provisional": False,
        "statement": tally.spec.guarantee.statement(),
        "answers": [AskedQuestion.with_spec(name, estimate, tally.spec).answer(estimate)],
    }


def read_tally(file: Path, candidates: Path | None) -> dict[str, Any]:
    """What a file says that ``deniable tally --out`` or ``Tally.to_bytes`` wrote."""
    from deniable.core.tally import Tally

    tally = Tally.from_bytes(file.read_bytes())
    return estimate_of(tally, file.name, None if candidates is None else read_candidates(candidates, tally.spec.domain))


def read_candidates(file: Path, domain: Domain) -> list[Any]:
    """The values in the lines of a text file: as they stand, or as integers."""
    try:
        text = file.read_text(encoding="utf-8-sig")  # without the mark that some editors put first
    except UnicodeDecodeError as error:
        raise ParameterError("--candidates", str(file), allowed="text in UTF-8", fix=f"save it as such: {error}") from error
    lines = text.removesuffix("\n").split("\n") if text else []  # splitlines would cut a value at other separators too
    if domain.kind in ("text", "categories"):
        return lines
    if domain.kind in ("index", "integers") and all(line.removeprefix("-").isdecimal() for line in lines):
        return list(map(int, lines))
    raise ParameterError("--candidates", str(file), allowed=f"text or integers, one in a line: {domain.describe()}", fix="use Python")
