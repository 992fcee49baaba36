"""Small faults for tests to find: every mutant of a file, in a fixed order, and an import of one of them in place of the real module.

A mutant differs in one place: a comparison, an operator, a number, a condition. Texts are left alone, and what only type checkers read.
With ``DENIABLE_MUTANT=path:number`` this module, loaded by ``pytest -p mutants``, lets that mutant be imported.
"""

from __future__ import annotations

import ast
import functools
import gc
import importlib.abc
import importlib.machinery
import os
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

SOURCE = Path(__file__).resolve().parent.parent / "src"
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
            case ast.Compare(ops=operators):
                for place, operator in enumerate(operators):
                    other = COMPARISONS[type(operator)]
                    yield Mutant(node.lineno, _exchanged(operator, other), partial(operators.__setitem__, place, other()))
            case ast.BinOp(op=operator) if type(operator) in OPERATORS and not _is_text(node):
                other = OPERATORS[type(operator)]
                yield Mutant(node.lineno, _exchanged(operator, other), partial(setattr, node, "op", other()))
            case ast.BoolOp(op=operator):
                other = ast.Or if isinstance(operator, ast.And) else ast.And
                yield Mutant(node.lineno, _exchanged(operator, other), partial(setattr, node, "op", other()))
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                flipped = ast.copy_location(ast.UnaryOp(ast.Not(), test), test)
                yield Mutant(node.lineno, "condition -> not", partial(setattr, node, "test", flipped))
            case ast.Constant(value=int() as value):
                changed: Any = not value if isinstance(value, bool) else value + 1
                yield Mutant(node.lineno, f"{value} -> {changed}", partial(setattr, node, "value", changed))
            case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
                yield Mutant(node.lineno, "return -> None", partial(setattr, node, "value", ast.copy_location(ast.Constant(None), node)))


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes whose change could be noticed when the program runs."""
    if isinstance(node, ast.Raise | ast.JoinedStr) or _is_for_checkers(node) or _is_strict(node):
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _walk(child)


def _is_for_checkers(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _is_strict(node: ast.AST) -> bool:
    """``zip(..., strict=True)`` is a promise about lengths that hold anyhow."""
    return isinstance(node, ast.keyword) and node.arg == "strict"


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _exchanged(operator: ast.AST, other: type[ast.AST]) -> str:
    return f"{type(operator).__name__} -> {other.__name__}"


def mutated(path: Path, number: int) -> tuple[ast.Module, Mutant]:
    """A module's tree with one fault in it."""
    tree = ast.parse(path.read_text(), str(path))
    found = list(mutants(tree))[number]
    found.make()
    return ast.fix_missing_locations(tree), found


def _code(path: Path, number: int) -> types.CodeType:
    return compile(mutated(path, number)[0], str(path), "exec", dont_inherit=True)


def exchange(path: Path, number: int) -> bool:
    """Give the living functions of a module the code of a mutant; False where that changes none: the fault is in what importing runs."""
    codes: dict[tuple[str, int], list[types.CodeType]] = {}
    waiting = [_code(path, number)]
    while waiting:
        inner = [code for code in waiting.pop().co_consts if isinstance(code, types.CodeType)]
        waiting += inner
        for code in inner:
            codes.setdefault((code.co_qualname, code.co_firstlineno), []).append(code)
    changed = False
    for thing in gc.get_objects():
        if isinstance(thing, functools._lru_cache_wrapper):
            thing.cache_clear()
        elif isinstance(thing, types.FunctionType) and thing.__code__.co_filename == str(path):
            found = codes.get((thing.__code__.co_qualname, thing.__code__.co_firstlineno), [])
            same = len(found) == 1 and len(found[0].co_freevars) == len(thing.__code__.co_freevars)  # else only a fresh process tells
            if same and found[0] != thing.__code__:
                thing.__code__ = found[0]
                changed = True
    return changed


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> Any:
        path, _, number = os.environ["DENIABLE_MUTANT"].rpartition(":")
        return _code(Path(path), int(number))


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
