"""Small faults for tests to find: every mutant of a file, in a fixed order, and an import of one of them in place of the real module.

A mutant differs in one place: a comparison, an operator, a number, a condition. Texts are left alone, and what only type checkers read.
With ``DENIABLE_MUTANT=path:number`` this module, loaded by ``pytest -p mutants``, lets that mutant be imported.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

SOURCE = Path(__file__).parent.parent / "src"
COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
COMPARISONS |= {ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult, ast.Mod: ast.Mult}
OPERATORS |= {ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr}


class Mutant(NamedTuple):
    """One fault: where it is, what it is, and how it is made."""

    line: int
    what: str
    make: Callable[[], None]


def mutants(tree: ast.Module) -> Iterator[Mutant]:
    """All faults of a module. Making one changes the tree for good: parse again for the next."""
    for node in _walk(tree):
        match node:
            case ast.Compare(ops=[operator]) if type(operator) in COMPARISONS:
                other = COMPARISONS[type(operator)]
                yield Mutant(node.lineno, f"{_name(operator)} -> {other.__name__}", _setter(node.ops, 0, other()))
            case ast.BinOp(op=operator) if type(operator) in OPERATORS and not _is_text(node):
                other = OPERATORS[type(operator)]
                yield Mutant(
                    node.lineno, f"{_name(operator)} -> {other.__name__}", lambda node=node, other=other: setattr(node, "op", other())
                )
            case ast.BoolOp(op=operator):
                other = ast.Or if isinstance(operator, ast.And) else ast.And
                yield Mutant(
                    node.lineno, f"{_name(operator)} -> {other.__name__}", lambda node=node, other=other: setattr(node, "op", other())
                )
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                flipped = ast.copy_location(ast.UnaryOp(ast.Not(), test), test)
                yield Mutant(node.lineno, "condition -> not", lambda node=node, flipped=flipped: setattr(node, "test", flipped))
            case ast.Constant(value=int() as value):
                changed: Any = not value if isinstance(value, bool) else value + 1
                yield Mutant(node.lineno, f"{value} -> {changed}", lambda node=node, changed=changed: setattr(node, "value", changed))
            case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
                yield Mutant(
                    node.lineno, "return -> None", lambda node=node: setattr(node, "value", ast.copy_location(ast.Constant(None), node))
                )


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes whose change could be noticed when the program runs."""
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list") or (isinstance(node, ast.If) and _is_for_checkers(node)):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child)


def _is_for_checkers(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _name(operator: ast.AST) -> str:
    return type(operator).__name__


def _setter(items: list[Any], place: int, value: Any) -> Callable[[], None]:
    return lambda: items.__setitem__(place, value)


def mutated(path: Path, number: int) -> tuple[ast.Module, Mutant]:
    """A module's tree with one fault in it."""
    tree = ast.parse(path.read_text(), str(path))
    found = list(mutants(tree))[number]
    found.make()
    return ast.fix_missing_locations(tree), found


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> Any:
        path, _, number = os.environ["DENIABLE_MUTANT"].rpartition(":")
        return compile(mutated(Path(path), int(number))[0], path, "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        file = Path(os.environ["DENIABLE_MUTANT"].rpartition(":")[0])
        parts = file.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if fullname != name:
            return None
        places = [str(file.parent)] if file.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            fullname, file, loader=_Loader(fullname, str(file)), submodule_search_locations=places
        )


if "DENIABLE_MUTANT" in os.environ:
    sys.meta_path.insert(0, _Finder())
