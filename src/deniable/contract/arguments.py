"""Arguments held against the types that a public function or constructor declares, before anything is computed.

Type hints say what a parameter takes; ``@typed`` makes Python ask. A wrong type is then refused in one way everywhere, and an error inside
of a computation is never taken for a mistake of the caller.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from functools import cache, wraps
from numbers import Integral, Rational, Real
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from deniable.errors import ParameterError

Made = TypeVar("Made", bound=Callable[..., Any])

SEVERAL = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
LARGEST_BITS = 1023
"""Larger integers are no double, and nothing here counts so far."""
LONGEST_NAME = 255
"""Of a file: no file system takes more."""
NUMBERS = {int: Integral, float: Real | Decimal, Fraction: Rational}
WORDS = {
    **{int: "an integer", float: "a number", Fraction: "a fraction", bool: "True or False", str: "text", bytes: "bytes", NoneType: "None"},
    **{Callable: "a function", os.PathLike: "a path", type: "a class", Mapping: "a dict", dict: "a dict"},
}
PLURALS = {int: "integers", float: "numbers", Fraction: "fractions", str: "texts", bool: "True or False"}
EXAMPLES = {
    **{"Domain": 'Categories("tea", "coffee")', "Numbers": "Numbers(0, 100)", "Fraction": "Fraction(1, 3)"},
    **dict.fromkeys(("Spec", "FrequencySpec"), "GRR(domain_size=10, epsilon=1.0)"),
}
"""How values of a type are made, where an integer or a text was passed instead."""


def typed(made: Made) -> Made:
    """Decorate a function or a class: raise ParameterError for an argument that has none of the declared types.

    Defaults pass, and so does what has no type, or one that only type checkers import.

    >>> @typed
    ... def repeat(text: str, times: int = 1) -> str:
    ...     return text * times
    >>> repeat("a", times="2")
    Traceback (most recent call last):
    deniable.errors.ParameterError: times: got '2'; allowed: an integer; pass a value of this type
    """
    if isinstance(made, type):
        made.__init__ = _guarded(made.__init__, made)  # type: ignore[misc]  # the same signature
        return made
    return cast(Made, _guarded(made, None))


class _Parameter(NamedTuple):
    """What one parameter takes: the type that it declares, and the classes whose instances need no further look."""

    hint: Any
    plain: tuple[type, ...]
    default: Any
    kind: Any


def _guarded(function: Any, cls: type | None) -> Any:
    @cache
    def declared() -> tuple[inspect.Signature, list[str] | None, dict[str, _Parameter]]:  # at the first call: names below are known by then
        signature = inspect.signature(function)
        said = signature.parameters
        known = {
            name: _Parameter(hint, _plain(hint) if said[name].kind not in SEVERAL else (), said[name].default, said[name].kind)
            for name, hint in _declared(function, cls)
            if hint is not Any
        }
        several = SEVERAL & {each.kind for each in said.values()}
        order = [name for name, each in said.items() if each.kind is not inspect.Parameter.KEYWORD_ONLY]
        return signature, None if several else order, known

    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        signature, order, known = declared()
        if order is None or len(args) > len(order):
            try:
                given: Iterable[tuple[str, Any]] = signature.bind(*args, **kwargs).arguments.items()
            except TypeError:
                return function(*args, **kwargs)  # a parameter too many or too few: Python says which
        else:  # binding would take longer than many a function
            given = (*zip(order, args, strict=False), *kwargs.items())
        for name, value in given:
            parameter = known.get(name)
            if parameter is not None and not isinstance(value, parameter.plain) and value is not parameter.default:
                _check(name, value, parameter.hint, parameter.kind)
        return function(*args, **kwargs)

    return guarded


def _plain(hint: Any) -> tuple[type, ...]:
    """Classes whose instances all fit."""
    if get_origin(hint) in (Union, UnionType):
        return () if _is_path(get_args(hint)) else tuple(kind for part in get_args(hint) for kind in _plain(part))
    if hint is float:
        return (float,)
    plain = isinstance(hint, type) and not get_args(hint) and hint not in NUMBERS and not getattr(hint, "_is_protocol", False)
    return (hint,) if plain else ()


def _check(name: str, value: Any, hint: Any, kind: Any) -> None:
    values = value if kind is inspect.Parameter.VAR_POSITIONAL else value.values() if kind is inspect.Parameter.VAR_KEYWORD else [value]
    for each in values:
        if not fits(each, hint):
            example = next(
                (EXAMPLES[kind.__name__] for kind in get_args(hint) or [hint] if getattr(kind, "__name__", "") in EXAMPLES), None
            )
            shown = type(each).__name__ if bytes in (hint, *get_args(hint)) else each  # bytes may be a secret, in another form too
            fix = f"pass one, as in {example}" if example else "pass a value of this type"
            raise ParameterError(name, shown, allowed=_allowed(each, hint), fix=fix)


def _allowed(value: Any, hint: Any) -> str:
    if isinstance(value, int) and value.bit_length() > LARGEST_BITS:
        return f"a finite number below 2^{LARGEST_BITS}"
    return f"a path of names with at most {LONGEST_NAME} characters" if isinstance(value, str) and fits("x", hint) else spoken(hint)


def _declared(function: Any, cls: type | None) -> Iterator[tuple[str, Any]]:
    """The types of parameters; those of a dataclass stand in the classes that its fields come from, each with names of its own module."""
    own = inspect.unwrap(function)
    texts = {name: (hint, own.__globals__) for name, hint in own.__annotations__.items() if name != "return"}
    for owner in reversed(cls.__mro__ if cls is not None else ()):
        for name, hint in vars(owner).get("__annotations__", {}).items():
            if name in texts:
                texts[name] = (hint, vars(sys.modules[owner.__module__]))
    for name, (hint, space) in texts.items():
        try:
            yield name, get_type_hints(SimpleNamespace(__annotations__={name: hint}), globalns=space)[name]
        except NameError:  # imported for type checkers alone
            yield name, Any


def fits(value: Any, hint: Any) -> bool:
    """Return whether a value is of a type, as far as that can be seen without using the value up."""
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        too_long = isinstance(value, str) and _is_path(parts) and max(map(len, value.split(os.sep))) > LONGEST_NAME
        return not too_long and any(fits(value, part) for part in parts)
    if kind is Literal:
        return isinstance(value, str) and value in parts
    if kind in NUMBERS:
        return isinstance(value, NUMBERS[kind]) and not isinstance(value, bool) and _holdable(value)
    if kind is type and parts and isinstance(parts[0], type):
        return isinstance(value, type) and issubclass(value, parts[0])
    if isinstance(kind, type) and issubclass(kind, Iterable) and kind.__module__ in ("builtins", "collections.abc") and parts:
        return _holds(value, kind, parts)
    return kind is Any or not isinstance(kind, type) or getattr(kind, "_is_protocol", False) or isinstance(value, kind)


def _is_path(parts: tuple[Any, ...]) -> bool:
    return any(isinstance(kind := get_origin(part) or part, type) and issubclass(kind, os.PathLike) for part in parts)


def _holdable(value: Any) -> bool:
    return not isinstance(value, int) or value.bit_length() <= LARGEST_BITS


def _holds(value: Any, kind: type, parts: tuple[Any, ...]) -> bool:
    """Whether a value is a mapping, a list or a tuple as declared; arrays are columns, but never tuples, which can be compared."""
    if issubclass(kind, Mapping):
        return isinstance(value, Mapping)
    unordered = issubclass(kind, Sequence) and (isinstance(value, Set) or not hasattr(value, "__len__"))
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__") or unordered:
        return False
    if hasattr(value, "dtype"):
        return kind is not tuple and _is_column(value, parts[0])
    if not isinstance(value, list | tuple) or parts[0] is Any:
        return True
    if kind is tuple and Ellipsis not in parts:
        return len(value) == len(parts) and all(map(fits, value, parts))
    # A list of candidates has many thousands; nothing but their size sets integers apart.
    shown = (min(value), max(value)) if set(map(type, value)) == {int} else value
    return all(fits(each, parts[0]) for each in shown)


def _is_column(value: Any, part: Any) -> bool:
    """Whether an array has such entries: the first shows the type that they share, unless they are objects."""
    if part is Any or not getattr(value, "ndim", 1):
        return part is Any
    shown = value if getattr(value.dtype, "kind", "O") == "O" else value[:1]
    return all(fits(each, part) for each in (shown.tolist() if getattr(value, "ndim", 0) == 1 else shown))


def spoken(hint: Any) -> str:
    """Return a type in words.

    >>> spoken(str | int | None), spoken(tuple[float, ...])
    ('text, an integer or None', 'a list of numbers')
    """
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        *most, last = map(spoken, parts)
        return f"{', '.join(most)} or {last}"
    if kind is Literal:
        return f"one of {list(parts)}"
    if kind in WORDS:
        return WORDS[kind]
    if isinstance(kind, type) and issubclass(kind, Iterable) and parts:
        return f"a list of {PLURALS.get(parts[0]) or getattr(parts[0], '__name__', 'values')}" if parts[0] is not Any else "a list"
    name = getattr(kind, "__name__", str(kind))
    return f"{'an' if name[0] in 'AEIO' else 'a'} {name}"
