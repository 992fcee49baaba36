"""The parts of a saved estimate as JSON, and read back: its law, and the values, cells and figures that are shown.

Laws are written by the types of their fields: arrays are lists, unknown numbers null, infinite ones text, laws within laws objects. Only
laws that the package knows are made, and only from the fields that they have; everything else is refused with ``WireError``.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import MISSING, fields
from datetime import date, datetime, timedelta
from math import inf, isfinite, isnan, nan
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from deniable.contract.canonical import from_plain, to_plain
from deniable.core.figure import Figure
from deniable.core.law import LAWS, Law
from deniable.core.vega import MARKS
from deniable.errors import WireError
from deniable.kernels.compiled import Array

HOMES = (
    *(f"deniable.core.{name}" for name in ("average", "count_change", "normal", "regression", "replicates", "supports")),
    *("deniable.central", "deniable.shuffle.poisson_histogram", "deniable.shuffle.sums", "deniable.multiparty"),
    *(f"deniable.tasks.{name}" for name in ("graphs", "itemsets", "marginals.conditional", "places", "ranges", "series", "text")),
)
"""Where laws are defined: loaded when one is read that is not known yet."""
_FAR = {"inf": inf, "-inf": -inf}
_FIX = "save the estimate again"


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
        raise WireError("columns", cell, allowed="text, numbers and times", fix=_FIX)
    return cell


def read_figure(plain: Any) -> Figure:
    """A figure, if every part of it is of the right type: what is drawn comes from elsewhere."""
    told: dict[str, Any] = {name: tuple(map(read_cell, each)) if isinstance(each, list) else each for name, each in plain.items()}
    for name, hint in get_type_hints(Figure).items():
        if not _fits(hint, told[name]):
            raise WireError(f"figures, {name}", told[name], allowed=str(hint), fix=_FIX)
    if told["mark"] not in MARKS:
        raise WireError("figures, mark", told["mark"], allowed=f"one of {sorted(MARKS)}", fix=_FIX)
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


def write_law(law: Law) -> dict[str, Any]:
    """Return a law as plain data, by its fields."""
    written = {each.name: _part(getattr(law, each.name)) for each in fields(law)}  # type: ignore[arg-type]  # every law is a dataclass
    return {"law": type(law).__name__, **written}


def _part(value: Any) -> Any:
    if isinstance(value, Law):
        return write_law(value.settled())
    if isinstance(value, np.ndarray):
        return _part(value.tolist())
    if isinstance(value, list | tuple):
        return [_part(each) for each in value]
    if isinstance(value, float | np.floating):
        return None if isnan(value) else float(value) if isfinite(value) else "inf" if value > 0 else "-inf"
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"a law holds arrays, numbers and laws, not {type(value).__name__}: give it a settled form without it")


def read_law(plain: Any) -> Law:
    """Return the law behind plain data; WireError if there is none."""
    name = plain.get("law") if isinstance(plain, dict) else None
    if not isinstance(name, str) or name not in _known(name):
        raise WireError("law", name, allowed=f"one of {sorted(LAWS)}", fix=f"upgrade deniable, or {_FIX}")
    cls = LAWS[name]
    hints, wanted = get_type_hints(cls), {each.name: each for each in fields(cls)}  # type: ignore[arg-type]  # every law is a dataclass
    unknown = set(plain) - {"law", *wanted}
    missing = {each.name for each in wanted.values() if each.default is MISSING and each.default_factory is MISSING} - set(plain)
    if unknown or missing:
        raise WireError(f"law {name}", sorted(unknown | missing), allowed=f"{sorted(wanted)}", fix=_FIX)
    return cls(**{each: _read_part(f"{name}.{each}", hints[each], value) for each, value in plain.items() if each != "law"})


def _known(name: str) -> Mapping[str, type[Law]]:
    for home in () if name in LAWS else HOMES:
        importlib.import_module(home)
    return LAWS


def _read_part(path: str, hint: Any, value: Any) -> Any:
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        if value is None and NoneType in parts:
            return None
        arrays = [part for part in parts if get_origin(part) is np.ndarray]
        return _read_part(path, arrays[0] if arrays else next(part for part in parts if part is not NoneType), value)
    if origin is np.ndarray or (hint is Any and isinstance(value, list)):
        return _numbers(path, value)
    if origin is tuple and isinstance(parts[0], type) and issubclass(parts[0], Law):
        return tuple(_read_part(path, parts[0], each) for each in (value if isinstance(value, list) else [value]))
    if origin is tuple:
        return tuple(_numbers(path, value).tolist())
    found = read_law(value) if isinstance(hint, type) and issubclass(hint, Law) else value
    if hint is float and isinstance(found, int | str | NoneType) and not isinstance(found, bool):
        found = _number(found)
        found = float(found) if isinstance(found, int) else found
    if hint is not Any and (not isinstance(found, hint) or (isinstance(found, bool) and hint is not bool)):
        raise WireError(path, value, allowed=f"{hint.__name__}", fix=_FIX)
    return found


def _numbers(path: str, value: Any) -> Array:
    try:
        found = np.array(_deep(value), dtype=np.int64 if value == [] else None)  # none at all may be places in an array, too
    except (ValueError, TypeError) as error:
        raise WireError(path, type(value).__name__, allowed="numbers", fix=_FIX) from error
    if found.dtype.kind not in "iufb":
        raise WireError(path, found.dtype.name, allowed="numbers", fix=_FIX)
    return found


def _deep(value: Any) -> Any:
    return [_deep(each) for each in value] if isinstance(value, list) else _number(value)


def _number(value: Any) -> Any:
    return nan if value is None else _FAR[value] if isinstance(value, str) and value in _FAR else value
