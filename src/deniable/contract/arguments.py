"""Type checks: arguments are compared with the types that a public function or constructor declares, before anything is computed.

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
from functools import wraps
from numbers import Integral, Rational, Real
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from deniable.errors import ParameterError

Made = TypeVar("Made", bound=Callable[..., Any])
Check = Callable[[Any], bool]

LARGEST_BITS = 1023
"""Larger integers are no double, and nothing here counts so far."""
LARGEST = 1 << LARGEST_BITS
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


_Slot = tuple[set[type], Callable[[Any], None]]
"""Types that were seen and always fit, and what raises unless a value of another type fits, too."""
_Slots = tuple[list[_Slot], _Slot, dict[str, _Slot], _Slot]
"""What a function takes by position, beyond those positions, by name, and by other names."""


def _guarded(function: Any, cls: type | None) -> Any:
    slots: _Slots | None = None

    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        nonlocal slots
        if slots is None:  # at the first call, when names defined below the function exist
            slots = _slots(function, cls)
        ordered, more, named, others = slots
        if len(args) > len(ordered):
            ordered = [*ordered, *[more] * (len(args) - len(ordered))]
        for value, (seen, check) in zip(args, ordered):  # noqa: B905  # ``strict`` would take as long as a check
            if type(value) not in seen:
                check(value)
        if kwargs:
            for name, value in kwargs.items():
                seen, check = named.get(name, others)
                if type(value) not in seen:
                    check(value)
        return function(*args, **kwargs)  # names arguments that are missing or too many

    return guarded


def _slots(function: Any, cls: type | None) -> _Slots:
    hints = dict(_declared(function, cls))
    free = _slot("", None, Any)
    ordered, more, named, others = [], free, {}, free
    for name, said in inspect.signature(function).parameters.items():
        slot = _slot(name, said.default, hints.get(name, Any))
        if said.kind is said.VAR_POSITIONAL:
            more = slot
        elif said.kind is said.VAR_KEYWORD:
            others = slot
        else:
            named[name] = slot
            if said.kind is not said.KEYWORD_ONLY:
                ordered.append(slot)
    return ordered, more, named, others


def _plain(hint: Any) -> tuple[type, ...]:
    """Return the classes whose instances all fit."""
    if hint is Any:
        return (object,)
    if get_origin(hint) in (Union, UnionType):
        return () if _is_path(get_args(hint)) else tuple(kind for part in get_args(hint) for kind in _plain(part))
    if hint in (float, Fraction):
        return (hint,)
    plain = isinstance(hint, type) and not get_args(hint) and hint not in NUMBERS and not getattr(hint, "_is_protocol", False)
    return (hint,) if plain else ()


def _slot(name: str, default: Any, hint: Any) -> _Slot:
    seen, plain, fits = set[type](), _plain(hint), _check_of(hint)

    def check(value: Any) -> None:
        if isinstance(value, plain):
            seen.add(type(value))
        elif value is not default and not fits(value):
            raise _wrong(name, value, hint)

    return seen, check


def _wrong(name: str, value: Any, hint: Any) -> ParameterError:
    example = next((EXAMPLES[kind.__name__] for kind in get_args(hint) or [hint] if getattr(kind, "__name__", "") in EXAMPLES), None)
    shown = type(value).__name__ if bytes in (hint, *get_args(hint)) else value  # bytes may be a secret, in another form too
    fix = f"pass one, as in {example}" if example else "pass a value of this type"
    return ParameterError(name, shown, allowed=_allowed(value, hint), fix=fix)


def _allowed(value: Any, hint: Any) -> str:
    if isinstance(value, int) and value.bit_length() > LARGEST_BITS:
        return f"a finite number below 2^{LARGEST_BITS}"
    return f"a path of names with at most {LONGEST_NAME} characters" if isinstance(value, str) and _check_of(hint)("x") else spoken(hint)


def _declared(function: Any, cls: type | None) -> Iterator[tuple[str, Any]]:
    """Return the types of parameters; a dataclass's come from the classes of its fields, each read with its own module's names."""
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
    return _check_of(hint)(value)


def _check_of(hint: Any) -> Check:
    """Return the check of a type, worked out once: it must not use up what it looks at."""
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return _check_of_some(list(map(_check_of, parts)), path=_is_path(parts))
    if kind is Literal:
        return lambda value: isinstance(value, str) and value in parts
    if kind in NUMBERS:
        return _check_of_number(NUMBERS[kind])
    if kind is type and parts and isinstance(parts[0], type):
        return lambda value: isinstance(value, type) and issubclass(value, parts[0])
    if isinstance(kind, type) and issubclass(kind, Iterable) and kind.__module__ in ("builtins", "collections.abc") and parts:
        return _check_of_many(kind, parts)
    free = kind is Any or not isinstance(kind, type) or getattr(kind, "_is_protocol", False)
    return lambda value: free or isinstance(value, kind)


def _is_path(parts: tuple[Any, ...]) -> bool:
    return any(isinstance(kind := get_origin(part) or part, type) and issubclass(kind, os.PathLike) for part in parts)


def _too_long(value: Any) -> bool:
    return isinstance(value, str) and max(map(len, value.split(os.sep))) > LONGEST_NAME


def _check_of_some(checks: Sequence[Check], *, path: bool) -> Check:
    def check(value: Any) -> bool:
        if path and _too_long(value):
            return False
        for fits in checks:  # noqa: SIM110  # ``any`` would take twice as long
            if fits(value):
                return True
        return False

    return check


def _check_of_number(kind: Any) -> Check:
    def check(value: Any) -> bool:
        if type(value) is not int:
            if not isinstance(value, kind) or isinstance(value, bool):
                return False
            if not isinstance(value, int):
                return True
        return -LARGEST < value < LARGEST

    return check


def _check_of_many(kind: type, parts: tuple[Any, ...]) -> Check:
    """Return the check of a mapping, a list or a tuple; arrays are columns, but never tuples, which can be compared."""
    if issubclass(kind, Mapping):
        return lambda value: isinstance(value, Mapping)
    checks, ordered, exact = [_check_of(part) for part in parts], issubclass(kind, Sequence), kind is tuple and Ellipsis not in parts

    def check(value: Any) -> bool:
        if not isinstance(value, list | tuple):
            loose = isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__")
            if loose or (ordered and (isinstance(value, Set) or not hasattr(value, "__len__"))):
                return False
            return not hasattr(value, "dtype") or (kind is not tuple and _is_column(value, parts[0], checks[0]))
        if parts[0] is Any:
            return True
        if exact:
            return len(value) == len(parts) and all(fits(each) for fits, each in zip(checks, value, strict=True))
        # A list of candidates has many thousands; nothing but their size sets integers apart.
        shown = (min(value), max(value)) if set(map(type, value)) == {int} else value
        return all(map(checks[0], shown))

    return check


def _is_column(value: Any, part: Any, fits: Check) -> bool:
    """Return whether an array has such entries: the first shows the type that they share, unless they are objects."""
    if part is Any or not getattr(value, "ndim", 1):
        return part is Any
    shown = value if getattr(value.dtype, "kind", "O") == "O" else value[:1]
    return all(map(fits, shown.tolist() if getattr(value, "ndim", 0) == 1 else shown))


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
