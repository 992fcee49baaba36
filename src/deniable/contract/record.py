r"""Records: frozen dataclasses that are written as canonical JSON and read back, by the types of their fields alone.

=====================  ==================================================================
type of the field      in JSON
=====================  ==================================================================
``bool``, ``str``      as it is
``int``                a number, from 2^53 on a decimal string
``float``              as text, the shortest decimal that reads back as the same float
``Fraction``           text such as ``"1/3"``
``bytes``              hex
``tuple``              a list
``dict[str, X]``       an object
``X | None``           left out if it is None
a record               an object, with the kind under the tag of its registry, if it has one
=====================  ==================================================================

``field(metadata=wire(...))`` gives a field another name or another form, or leaves it out where it has its usual value. Reading refuses
unknown and missing names, wrong types and other spellings with ``WireError``: one byte string for one meaning.

>>> from dataclasses import dataclass, field
>>> @dataclass(frozen=True, kw_only=True)
... class Window(Plain):
...     noun = "window"
...     start: int
...     share: float = field(default=1.0, metadata=wire(omit=1.0))
>>> Window(start=2**60).to_json(), Window.from_json({"start": 3, "share": "0.25"})
({'start': '1152921504606846976'}, Window(start=3, share=0.25))
>>> Window.from_json({"start": 3, "share": "0.250"})
Traceback (most recent call last):
deniable.errors.WireError: window: got {'start': 3, 'share': '0.250'}; allowed: the canonical form; send the bytes as they were published
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, Union, get_args, get_origin, get_type_hints

from deniable.contract.canonical import canonical_json, parse_canonical, read_object
from deniable.contract.form import FORMS, HANDWRITTEN, Form, mapping_of, row_of, tuple_of
from deniable.contract.registry import Family
from deniable.errors import DeniableError, WireError

_ALWAYS = object()


def wire(*, name: str = "", form: Form | None = None, omit: object = _ALWAYS, flat: bool = False, setting: bool = True) -> dict[str, Any]:
    """Field metadata: another ``name`` in JSON, another ``form``, and the value for which the field is left out.

    The fields of a ``flat`` part, a record, are written as if they were the whole's. Files do not say what is no ``setting``.
    """
    return {"name": name, "form": form, "omit": omit, "flat": flat, "setting": setting}


UNWRITTEN = {"travels": False}
"""Field metadata: the field is resolved into others, and not written."""
INSTEAD = {"travels": False, "setting": False}
"""Field metadata: another way for a caller to give a field that is written; files give that field."""
RESOLVED = wire(setting=False)
"""Field metadata: the field follows from others, and is written along with them."""
STATE = wire(flat=True, setting=False)
"""Field metadata: what a protocol has learned, written as if it were among its settings."""


class Plain:
    """A record that is part of others: plain data. What it and ``Document`` write and read is the codec: no record has its own."""

    noun: ClassVar[str]
    """What it is called in errors."""
    registry: ClassVar[Family | None] = None
    version: ClassVar[int | None] = None
    """Written along, where a format may change."""
    derived: ClassVar[tuple[str, ...]] = ()
    """Properties that are written along with the fields, and checked when a record is read."""
    by_hand: ClassVar[bool] = False
    """Whether people write it in files, too: then defaults may be left out, and numbers written as the file writes numbers."""
    body: ClassVar[str | None] = None
    """The name of the object that holds the fields, where they do not stand next to the kind."""

    def to_json(self) -> Any:
        """This record as plain data."""
        return form_of(type(self)).write(self)

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Return the record behind ``data`` from ``to_json``; WireError if there is none."""
        return read_record(cls, data)

    @classmethod
    def from_object(cls, data: object) -> Self:
        """Return the record of just this class behind plain data, not yet held against its canonical form; WireError if there is none."""
        found: Self = _read(cls, data)
        return found

    @classmethod
    def from_fields(cls, **values: Any) -> Self:
        """Return the record with these values, as they came; a subclass may have a constructor of another shape."""
        return cls(**values)

    @classmethod
    def from_parts(cls, values: dict[str, Any], derived: dict[str, Any]) -> Self:
        """Return the record with these ``values``, if the ``derived`` properties that came along are its own."""
        found = cls.from_fields(**values)
        for name, value in derived.items():
            if (own := getattr(found, name)) != value:
                raise WireError(name, value, allowed=f"{own}, which follows from the rest", fix=f"publish the {cls.noun} again")
        return found


class Document(Plain):
    """A record that is signed, hashed or stored: bytes."""

    @cached_property
    def canonical(self) -> bytes:
        """The canonical JSON of this record."""
        return canonical_json(self.to_json())

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Return the record behind ``data``, its canonical JSON in bytes; WireError if there is none."""
        if not isinstance(data, bytes):
            raise WireError(cls.noun, type(data).__name__, allowed="bytes, as they were published", fix="encode the text")
        return read_record(cls, parse_canonical(data))


RecordType = TypeVar("RecordType", bound=Plain)


def read_record(cls: type[RecordType], data: object) -> RecordType:
    """Return the record of a class, or of one of its registry's kinds, behind plain data; WireError if there is none."""
    try:
        found: RecordType = form_of(cls).read(cls.noun, data)
    except RecursionError as error:
        raise WireError(cls.noun, type(data).__name__, allowed="plain data of few levels", fix="publish it again") from error
    if found.to_json() != data:
        raise WireError(cls.noun, data, allowed="the canonical form", fix="send the bytes as they were published")
    return found


def form_of(hint: Any, forms: dict[Any, Form] = FORMS) -> Form:
    """Return the form of values of a type, among ``forms`` by type."""
    if hint not in forms:
        forms[hint] = _form(hint, forms)
    return forms[hint]


def _form(hint: Any, forms: dict[Any, Form]) -> Form:
    if isinstance(hint, type) and isinstance(form := getattr(hint, "form", None), Form):
        return form  # a type whose form does not follow from its fields
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        (only,) = (part for part in parts if part is not NoneType)
        return form_of(only, forms)
    if origin is tuple and parts[-1] is ...:
        return tuple_of(form_of(parts[0], forms))
    if origin is dict:
        return mapping_of(form_of(parts[1], forms))
    if origin is tuple:
        return row_of(tuple(form_of(part, forms) for part in parts))
    if isinstance(hint, type) and issubclass(hint, Plain):
        return Form(_write, lambda noun, data: _member(hint, noun, data))
    raise TypeError(f"values of type {hint} have no form of their own: give the field one with wire(form=...)")


class _Field(NamedTuple):
    name: str
    wire: str
    form: Form
    omit: object = _ALWAYS
    """The value for which it is left out; ``_ALWAYS`` for none."""
    optional: bool = False
    """Whether it may be missing where a record is read."""
    given: bool = True
    """Whether it is an argument of the constructor, and not derived."""
    part: type[Plain] | None = None
    """The class of a flat part."""


_FIELDS: dict[type, tuple[_Field, ...]] = {}


def _fields(cls: type[Plain]) -> tuple[_Field, ...]:
    """Return the fields that travel, worked out when a record of the class is first written or read."""
    if cls not in _FIELDS:
        _FIELDS[cls] = tuple(_travelling(cls))
    return _FIELDS[cls]


def _travelling(cls: type[Plain]) -> Iterator[_Field]:
    hints, forms = get_type_hints(cls), HANDWRITTEN if cls.by_hand else FORMS
    for each in fields(cls):  # type: ignore[arg-type]  # a dataclass
        if not each.metadata.get("travels", True):
            continue
        options, hint = {**wire(), **each.metadata}, hints[each.name]
        if options["flat"]:
            yield _Field(each.name, "", form_of(hint), part=hint)
            continue
        omit = None if options["omit"] is _ALWAYS and NoneType in get_args(hint) else options["omit"]
        optional = omit is not _ALWAYS or (cls.by_hand and each.default is not MISSING)
        yield _Field(each.name, options["name"] or each.name, options["form"] or form_of(hint, forms), omit, optional)
    for name in cls.derived:
        yield _Field(name, name, form_of(get_type_hints(getattr(cls, name).fget)["return"]), given=False)


def _write(record: Any) -> dict[str, Any]:
    cls = type(record)
    whole = _head(cls)
    body = whole if cls.body is None else whole.setdefault(cls.body, {})
    for each in _fields(cls):
        value = getattr(record, each.name)
        if each.part is not None:
            body |= _write(value)
        elif each.omit is _ALWAYS or value != each.omit:
            (body if each.given else whole)[each.wire] = each.form.write(value)
    return whole


def _head(cls: type[Plain]) -> dict[str, Any]:
    """Return what is written in front of the fields: the kind, and the version."""
    tagged: dict[str, Any] = {} if cls.registry is None else {cls.registry.tag: cls.registry.name_of(cls)}
    return tagged if cls.version is None else tagged | {"version": cls.version}


def _member(cls: type[Plain], noun: str, data: object) -> Any:
    """Return a record of a class that may stand for its whole registry, or for some of it."""
    found = cls.from_object(data) if cls.registry is None else cls.registry.read(noun, data)
    if not isinstance(found, cls):
        raise WireError(noun, data, allowed=f"{cls.__name__}", fix="publish it again")
    return found


def _read(cls: type[Plain], data: object) -> Any:
    head = _head(cls)
    parts = _parts(cls, data, set(head))
    if any(type(parts[name]) is not type(value) or parts[name] != value for name, value in head.items()):
        raise WireError(cls.noun, data, allowed=", ".join(f"{name} {value}" for name, value in head.items()), fix="upgrade deniable")
    try:
        return _made(cls, parts)
    except (DeniableError, TypeError, ValueError, IndexError, ArithmeticError) as error:
        if isinstance(error, WireError):  # it says which part
            raise
        raise WireError(cls.noun, data, allowed=f"a valid {cls.noun}", fix=str(error)) from error


def _parts(cls: type[Plain], data: object, head: set[str]) -> dict[str, Any]:
    """Return all that an object says by name, from its body too; WireError unless these are the names that it should have."""
    known = list(_all_fields(cls))
    optional = frozenset(each.wire for each in known if each.optional)
    if cls.body is None:
        return read_object(cls.noun, data, ({each.wire for each in known} | head) - optional, optional)
    whole = read_object(cls.noun, data, {each.wire for each in known if not each.given} | head | {cls.body})
    return whole | read_object(cls.body, whole.pop(cls.body), {each.wire for each in known if each.given} - optional, optional)


def _all_fields(cls: type[Plain]) -> Iterator[_Field]:
    """Return the fields, and those of flat parts in their place."""
    for each in _fields(cls):
        yield from (each,) if each.part is None else _all_fields(each.part)


def _made(cls: type[Plain], parts: Mapping[str, Any]) -> Any:
    read: dict[bool, dict[str, Any]] = {True: {}, False: {}}
    for each in _fields(cls):
        if each.part is not None:
            read[True][each.name] = _made(each.part, parts)
        elif each.wire in parts:
            read[each.given][each.name] = each.form.read(each.wire, parts[each.wire])
    return cls.from_parts(read[True], read[False])
