"""The parts of a saved estimate: values, cells and figures as JSON, and read back."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from math import isfinite
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from deniable.contract.canonical import from_plain, to_plain
from deniable.core.figure import Figure
from deniable.core.vega import MARKS
from deniable.errors import WireError


def write_value(value: Any) -> Any:
    """What a number is about, so that it can be read back."""
    if isinstance(value, tuple):
        return {"tuple": [write_value(each) for each in value]}
    return value if isinstance(value, bool) or value is None else to_plain(value.item() if isinstance(value, np.generic) else value)


def write_cell(cell: Any) -> Any:
    """A cell as it is shown."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    if isinstance(cell, float):
        return cell if isfinite(cell) else None
    if cell is None or isinstance(cell, bool | int | str):
        return cell
    if isinstance(cell, timedelta):
        return {"seconds": cell.total_seconds()}
    if isinstance(cell, datetime):
        return {"time": cell.isoformat()}
    if isinstance(cell, bytes):
        return f"0x{cell.hex()}"
    return cell.isoformat() if isinstance(cell, date) else ", ".join(map(str, cell)) if isinstance(cell, tuple) else str(cell)


def write_row(value: Any) -> Any:
    """A tuple of cells as a list; anything else as it is."""
    return [write_cell(each) for each in value] if isinstance(value, tuple) else value


def write_people(n: Any) -> Any:
    """How many people reported, in all or by value."""
    return np.asarray(n).tolist() if isinstance(n, np.ndarray | np.generic | tuple) else n


def read_cell(cell: Any) -> Any:
    """A cell: text, a number, a mark, a point in time or a distance of two."""
    if isinstance(cell, dict):
        (kind, told), *others = cell.items()
        if kind == "time" and not others:
            return datetime.fromisoformat(told)
        if kind == "seconds" and not others:
            return timedelta(seconds=told)
    if cell is not None and not isinstance(cell, bool | int | float | str):
        raise WireError("columns", cell, allowed="text, numbers and times", fix="save the estimate again")
    return cell


def read_figure(plain: Any) -> Figure:
    """A figure, if every part of it is of the right type: what is drawn comes from elsewhere."""
    told: dict[str, Any] = {name: tuple(map(read_cell, each)) if isinstance(each, list) else each for name, each in plain.items()}
    for name, hint in get_type_hints(Figure).items():
        if not _fits(hint, told[name]):
            raise WireError(f"figures, {name}", told[name], allowed=str(hint), fix="save the estimate again")
    if told["mark"] not in MARKS:
        raise WireError("figures, mark", told["mark"], allowed=f"one of {sorted(MARKS)}", fix="save the estimate again")
    return Figure(**told)


def _fits(hint: Any, value: Any) -> bool:
    """Whether a value is of a type, or of one of several; of tuples only that they are some."""
    if get_origin(hint) in (Union, UnionType):
        return any(_fits(part, value) for part in get_args(hint))
    return type(value) is (get_origin(hint) or hint)


def read_value(value: Any) -> Any:
    """What a number is about, from ``write_value``."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, dict) and set(value) == {"tuple"}:
        return tuple(map(read_value, value["tuple"]))
    return from_plain(value)
