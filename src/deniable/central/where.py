"""Which rows a question is about, decided row by row, and never by an error.

A filter runs over rows that must stay hidden, so two things would leak. A condition that looks at *other* rows (a mean, a rank, a shift, a
window) lets one person change who else matches: the noise is then far too small. A condition that can *fail* (a cast, a division, a Python
function) tells by its failure what no answer may tell. Hence a list of what is allowed, and nothing else: columns, constants, comparisons,
and / or / not, ``is_in``, ``is_between``, ``is_null``, ``is_not_null``, ``starts_with`` and ``ends_with``. None of them looks at another
row, and none fails on a value. Types are checked on a table without rows, so that what a message says is about the schema alone.

Where the condition is null, because something in it is, the row does not match. Everything else is as Polars has it: a number that is none
(NaN) is above all others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import numpy as np
import polars as pl

from deniable.errors import ParameterError, ProtocolError
from deniable.kernels.compiled import Array

PLAIN = str | int | float | date | datetime
"""What a column may be compared with; a bool is an int."""
OPERATORS = {"Eq", "NotEq", "Lt", "LtEq", "Gt", "GtEq", "And", "Or", "Xor", "LogicalAnd", "LogicalOr"}
FUNCTIONS = {"Not", "IsNull", "IsNotNull", "IsBetween", "AllHorizontal", "AnyHorizontal"}
TEXT_FUNCTIONS = {"StartsWith", "EndsWith"}
ALLOWED = "columns, constants, comparisons, & | ~, is_in a list, is_between, is_null, is_not_null, starts_with and ends_with"
FIX = "add what you need as a column before the session opens: a condition must not look at other rows, nor be able to fail"


@dataclass(frozen=True)
class Where:
    """A condition that was checked against the schema."""

    expression: pl.Expr | None = None
    identity: str = ""

    def matches(self, table: pl.DataFrame) -> Array:
        """Which rows match, as booleans."""
        if self.expression is None:
            return np.ones(table.height, dtype=bool)
        try:
            return table.select(self.expression.fill_null(False).alias("match"))["match"].to_numpy()
        except (Exception, pl.exceptions.PanicException):  # whatever it says may be about somebody
            problem = ProtocolError(
                "where", "a condition", allowed="what the table can decide", fix="ask the table's keeper to look into it"
            )
        raise problem  # outside of the handler, so that nothing of the first error hangs on to it


def read_where(where: Any, table: pl.DataFrame) -> Where:
    """The condition behind ``where=``: None for all rows, a dict of equalities, or a Polars expression. Looks at the schema alone."""
    if where is None:
        return Where()
    if isinstance(where, Mapping):
        expression, identity = _equalities(where, table.schema), repr(sorted(where.items(), key=lambda item: str(item[0])))
    elif isinstance(where, pl.Expr):
        identity = where.meta.serialize(format="json")
        if not _walk(json.loads(identity), table.schema):
            raise ParameterError("where", str(where), allowed="a condition that names a column", fix="leave it out to ask about all rows")
        expression = where
    else:
        raise ParameterError("where", where, allowed="a dict of equalities or a Polars expression", fix='as in {"city": "Basel"}')
    try:
        kind = table.clear().select(expression.alias("match"))["match"].dtype
    except (Exception, pl.exceptions.PanicException) as error:
        raise ParameterError("where", str(expression), allowed="a condition that fits the columns' types", fix=str(error)) from error
    if kind != pl.Boolean:
        raise ParameterError("where", str(expression), allowed="a condition: true or false", fix=f"this one is of type {kind}; compare it")
    return Where(expression, identity)


def column_type(name: str, table_schema: Mapping[str, pl.DataType], parameter: str = "column") -> pl.DataType:
    """The type of a column that there is."""
    if not isinstance(name, str) or name not in table_schema:
        raise ParameterError(parameter, name, allowed=f"one of the columns {list(table_schema)}", fix="check the spelling")
    return table_schema[name]


def _equalities(where: Mapping[Any, Any], schema: Mapping[str, pl.DataType]) -> pl.Expr:
    if not where:
        raise ParameterError("where", where, allowed="at least one equality", fix="leave it out to ask about all rows")
    conditions = []
    for name, value in where.items():
        _plain_column(name, schema)
        several = list(value) if isinstance(value, list | tuple | set | frozenset | range) else [value]
        if not several or not all(isinstance(item, PLAIN) for item in several):
            allowed = "texts, numbers, booleans and dates, or lists of them"
            raise ParameterError("where", {name: value}, allowed=allowed, fix="is_null() of a Polars expression finds what is missing")
        conditions.append(pl.col(name).is_in(several) if len(several) > 1 else pl.col(name) == several[0])
    return pl.all_horizontal(conditions) if len(conditions) > 1 else conditions[0]


def _walk(node: Any, schema: Mapping[str, pl.DataType]) -> bool:
    """Whether a part of an expression, all of it allowed, names a column."""
    kind: str
    inner: Any
    kind, inner = next(iter(node.items())) if isinstance(node, dict) and len(node) == 1 else (str(node), None)
    if kind == "Column":
        _plain_column(inner, schema)
        return True
    if kind == "Literal" and _is_constant(inner):
        return False
    if kind == "BinaryExpr" and inner["op"] in OPERATORS:
        return _walk(inner["left"], schema) | _walk(inner["right"], schema)
    if kind == "Function":
        family, function = next(iter(inner["function"].items())) if isinstance(inner["function"], dict) else ("", inner["function"])
        function = function if isinstance(function, str) else next(iter(function))
        first, *rest = inner["input"]
        if family == "Boolean" and function == "IsIn" and _is_list(rest[0]):
            return _walk(first, schema)
        if (family == "Boolean" and function in FUNCTIONS) or (family == "StringExpr" and function in TEXT_FUNCTIONS):
            named = [_walk(part, schema) for part in inner["input"]]
            return any(named)
        kind = function
    raise ParameterError("where", kind, allowed=ALLOWED, fix=FIX)


def _is_constant(literal: Any) -> bool:
    """One value; a series would be matched by position, and its length compared with the table's."""
    return isinstance(literal, dict) and (
        "Dyn" in literal
        or ("Scalar" in literal and literal["Scalar"] != "Null" and not {"List", "Object", "Struct"} & set(literal["Scalar"]))
    )


def _is_list(node: Any) -> bool:
    scalar = node.get("Literal", {}).get("Scalar") if isinstance(node, dict) else None
    return isinstance(scalar, dict) and "List" in scalar


def _plain_column(name: Any, schema: Mapping[str, pl.DataType]) -> None:
    kind = column_type(name, schema, "where")
    if kind.is_nested() or kind in (pl.Object, pl.Decimal, pl.Binary):
        raise ParameterError("where", f"{name!r} of type {kind}", allowed="columns of texts, numbers, booleans and times", fix=FIX)
