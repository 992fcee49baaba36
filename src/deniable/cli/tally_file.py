"""Estimates from a tally file alone, without a task, in the shape of the other commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deniable import __version__
from deniable.contract.domain import Domain
from deniable.errors import ParameterError, WireError

if TYPE_CHECKING:
    from deniable.core.tally import Tally

ENDING = ".tally"
CandidateFile = Annotated[
    Path | None,
    typer.Option("--candidates", help="A file with the values to count, one per line, if the domain is too large to count all."),
]


def estimate_of(tally: Tally, name: str, candidates: list[Any] | None = None) -> dict[str, Any]:
    """Return the estimate as plain data, in the shape of ``Answer.to_json``."""
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
    """Return the estimate from a file that ``deniable tally --out`` or ``Tally.to_bytes`` wrote."""
    from deniable.core.tally import Tally

    try:
        tally = Tally.from_bytes(file.read_bytes())
    except WireError as error:
        raise WireError(f"{file}, {error.parameter}", error.received, allowed=error.allowed, fix="copy the whole file again") from error
    return estimate_of(tally, file.name, None if candidates is None else read_candidates(candidates, tally.spec.domain))


def read_candidates(file: Path, domain: Domain) -> list[Any]:
    """Return the values in a text file, one per line: as they are, or as integers."""
    try:
        text = file.read_text(encoding="utf-8-sig")  # without the byte order mark of some editors
    except UnicodeDecodeError as error:
        raise ParameterError("--candidates", str(file), allowed="text in UTF-8", fix=f"save it in UTF-8: {error}") from error
    lines = text.removesuffix("\n").split("\n") if text else []  # splitlines would cut a value at other separators too
    if domain.kind in ("text", "categories"):
        return lines
    if domain.kind in ("index", "integers") and all(line.removeprefix("-").isdecimal() for line in lines):
        return list(map(int, lines))
    raise ParameterError(
        "--candidates", str(file), allowed=f"text or integers, one per line: {domain.describe()}", fix="use the Python API for other values"
    )
