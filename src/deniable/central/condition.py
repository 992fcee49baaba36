"""The condition that says which rows a question is about, decided row by row, and never by an error.

A filter runs over rows that must stay hidden, so two things would leak. A condition that looks at *other* rows (a mean, a rank, a shift, a
window) lets one person change who else matches: the noise is then far too small. A condition that can *fail* (a cast, a division, a Python
function, or the conversion that Polars adds to compare a text with a duration) tells by its failure what no answer may tell. Hence a list
of what is allowed, and nothing else: columns, constants, comparisons, and / or / not, ``is_in``, ``is_between``, ``is_null``,
``is_not_null``, ``starts_with`` and ``ends_with``, each of types that are compared without converting anything but numbers (``kinds``).
None of them looks at another row. Each condition is first tried on a table of extreme values that nobody is in: what fails there is
refused, and what a message says is about the schema alone.

Where the condition is null, because something in it is, the row does not match. Everything else is as Polars has it: a number that is none
(NaN) is above all others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np
import polars as pl

from deniable.central.kinds import extremes, family, typed
from deniable.errors import ParameterError, ProtocolError
from deniable.kernels.compiled import Array

BOOLEAN: Any = pl.Boolean()
COMPARED = {"Eq", "NotEq", "Lt", "LtEq", "Gt", "GtEq"}
CONNECTED = {"And", "Or", "Xor", "LogicalAnd", "LogicalOr"}
FUNCTIONS: dict[tuple[str, str], Any] = {
    ("Boolean", "IsBetween"): None,
    **{("Boolean", name): BOOLEAN for name in ("Not", "AllHorizontal", "AnyHorizontal")},
    **{("StringExpr", name): pl.String() for name in ("StartsWith", "EndsWith")},
}
"""What the arguments of a function have to be; None if they need to be alike."""
ALLOWED = "columns, constants, comparisons, & | ~, is_in a list, is_between, is_null, is_not_null, starts_with and ends_with"
FIX = "add a column with what you need before the session opens: a condition sees one row and must never fail"


@dataclass(frozen=True)
class Condition:
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
            problem = ProtocolError("where", "a condition", allowed="what the table can decide", fix="ask the curator to look into it")
        raise problem  # outside of the handler, so that nothing of the first error hangs on to it


def read_where(where: Any, table: pl.DataFrame) -> Condition:
    """The condition behind ``where=``: None for all rows, a dict of equalities, or a Polars expression. Looks at the schema alone."""
    if where is None:
        return Condition()
    if isinstance(where, Mapping):
        expression, identity = _equalities(where, table.schema)
    elif isinstance(where, pl.Expr):
        expression, identity = where, _checked(where, table.schema)
    else:
        raise ParameterError("where", where, allowed="a dict of equalities or a Polars expression", fix='write {"city": "Basel"}')
    try:
        extremes(table.schema).select(expression.alias("match"))
    except (Exception, pl.exceptions.PanicException) as error:
        fix = "compare each column with values of its own type"
        raise ParameterError("where", str(expression), allowed="a condition that cannot fail on any value", fix=fix) from error
    return Condition(expression, identity)


def column_type(name: str, table_schema: Mapping[str, pl.DataType], parameter: str = "column") -> pl.DataType:
    """The type of a column that there is."""
    if not isinstance(name, str) or name not in table_schema:
        raise ParameterError(parameter, name, allowed=f"one of the columns {list(table_schema)}", fix="check the spelling")
    return table_schema[name]


def _equalities(where: Mapping[Any, Any], schema: Mapping[str, pl.DataType]) -> tuple[pl.Expr, str]:
    if not where:
        raise ParameterError("where", where, allowed="at least one equality", fix="leave it out to ask about all rows")
    conditions, identity = [], []
    for name, value in where.items():
        _family(name, column_type(name, schema, "where"))
        several = list(value) if isinstance(value, list | tuple | set | frozenset | range) else [value]
        if not several or any(item is None for item in several):
            allowed = "values of the column's type, or lists of them"
            raise ParameterError("where", {name: value}, allowed=allowed, fix="find missing values with is_null() of a Polars expression")
        made = typed("where", several, schema[name])
        conditions.append(pl.col(name).is_in(made.implode()) if len(several) > 1 else pl.col(name) == pl.lit(made[0], dtype=schema[name]))
        identity.append((name, sorted(map(repr, made.to_list()))))
    return pl.all_horizontal(conditions) if len(conditions) > 1 else conditions[0], repr(sorted(identity))


def _checked(where: pl.Expr, schema: Mapping[str, pl.DataType]) -> str:
    """What tells an expression from others; ParameterError if it is not one that is allowed."""
    identity: str = where.meta.serialize(format="json")
    try:
        kind = _walk(json.loads(identity), schema)
    except RecursionError:
        raise ParameterError(
            "where", "a long expression", allowed="a condition with fewer nested parts", fix="use is_in with a list"
        ) from None
    if not where.meta.root_names():
        raise ParameterError("where", str(where), allowed="a condition that names a column", fix="leave it out to ask about all rows")
    if kind != BOOLEAN:
        raise ParameterError(
            "where", str(where), allowed="a condition: true or false", fix=f"compare the column, which is of type {kind}, with a value"
        )
    return identity


def _walk(node: Any, schema: Mapping[str, pl.DataType]) -> Any:
    """The family of types that a part of an expression is of, all of it allowed."""
    kind: str
    inner: Any
    kind, inner = next(iter(node.items())) if isinstance(node, dict) and len(node) == 1 else (str(node), None)
    if kind == "Column":
        return _family(inner, column_type(inner, schema, "where"))
    if kind == "Literal":
        return _constant(node)
    if kind == "BinaryExpr" and inner["op"] in COMPARED | CONNECTED:
        return _alike([_walk(inner[side], schema) for side in ("left", "right")], BOOLEAN if inner["op"] in CONNECTED else None)
    if kind == "Function":
        space, function = next(iter(inner["function"].items())) if isinstance(inner["function"], dict) else ("", inner["function"])
        kind = function if isinstance(function, str) else next(iter(function))
        if (space, kind) in FUNCTIONS:
            return _alike([_walk(part, schema) for part in inner["input"]], FUNCTIONS[space, kind])
        first, *rest = inner["input"]
        if (space, kind) == ("Boolean", "IsIn"):
            return _alike([_walk(first, schema), _constant(rest[0], listed=True)])
        if (space, kind) in (("Boolean", "IsNull"), ("Boolean", "IsNotNull")):
            return _walk(first, schema) and BOOLEAN
    raise ParameterError("where", kind, allowed=ALLOWED, fix=FIX)


def _alike(families: list[Any], wanted: Any = None) -> Any:
    if any(each != (wanted or families[0]) for each in families):
        allowed = f"{wanted} alone" if wanted else "numbers with numbers, or what is of one type, with its unit and time zone"
        fix = "give a constant the column's type, as in pl.lit(value, dtype=...), or add a column before the session opens"
        raise ParameterError("where", " with ".join(map(str, families)), allowed=allowed, fix=fix)
    return BOOLEAN


def _constant(node: Any, *, listed: bool = False) -> Any:
    """The family of one value, or of a list. A series would be matched by position, and its length compared with the table's."""
    literal = node.get("Literal") if isinstance(node, dict) else None
    value = literal.get("Dyn", literal.get("Scalar")) if isinstance(literal, dict) else None
    if not isinstance(value, dict) or ("List" in value) != listed:
        raise ParameterError("where", "no constant" if value is None else next(iter(value)), allowed=ALLOWED, fix=FIX)
    if None in value.values() or not -(2**63) <= value.get("Int", 0) < 2**64:  # written down, infinities and NaN would be the same
        raise ParameterError(
            "where", str(value), allowed="finite numbers, and integers of up to 64 bits", fix="use a number that a column can hold"
        )
    kind: Any = pl.select(pl.Expr.deserialize(StringIO(json.dumps(node)), format="json")).dtypes[0]
    return _family("a constant", kind.inner if listed else kind)


def _family(name: Any, kind: pl.DataType) -> Any:
    found = family(kind)
    if found is None:
        raise ParameterError("where", f"{name!r} of type {kind}", allowed="texts, numbers of up to 64 bits, booleans and times", fix=FIX)
    return found
