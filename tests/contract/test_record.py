"""The codec of records: one byte string for one meaning, and nothing else is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import pytest

from deniable.contract.canonical import canonical_json
from deniable.contract.form import HEXADECIMALS, OPAQUE, TAGGED
from deniable.contract.record import UNWRITTEN, Document, Plain, wire
from deniable.contract.registry import Registry
from deniable.errors import MissingExtra, ParameterError, WireError

SHAPES = Registry("shape", "shape")


@dataclass(frozen=True, kw_only=True)
class Place(Plain):
    noun = "place"
    row: int
    label: str | None = None


class Shape(Document):
    noun = "shape"
    registry = SHAPES
    kind: ClassVar[str]


@SHAPES.add
@dataclass(frozen=True, kw_only=True)
class Disk(Shape):
    kind: ClassVar[str] = "disk"
    radius: float

    def __post_init__(self) -> None:
        if self.radius <= 0:
            raise ParameterError("radius", self.radius, allowed="above 0", fix="write 1.0")


@SHAPES.add
@dataclass(frozen=True, kw_only=True)
class Box(Shape):
    kind: ClassVar[str] = "box"
    derived: ClassVar[tuple[str, ...]] = ("area",)
    sides: tuple[int, int]

    @property
    def area(self) -> int:
        return self.sides[0] * self.sides[1]


@SHAPES.add
@dataclass(frozen=True, kw_only=True)
class Wheel(Shape):
    """Its fields stand in an object of their own; what follows from them stands next to the kind."""

    kind: ClassVar[str] = "wheel"
    body: ClassVar[str | None] = "parameters"
    derived: ClassVar[tuple[str, ...]] = ("counts",)
    spokes: int
    color: str | None = None

    @property
    def counts(self) -> dict[str, int]:
        return {"gaps": self.spokes, "parts": 2**60 + self.spokes}


@dataclass(frozen=True, kw_only=True)
class Everything(Document):
    noun = "everything"
    version = 3
    flag: bool
    count: int
    share: Fraction
    number: float
    secret: bytes
    cells: tuple[int, ...] = field(metadata=wire(form=HEXADECIMALS))
    pairs: tuple[tuple[str, tuple[str, ...]], ...] = ()
    left_out: int = field(default=7, metadata=wire(omit=7))
    renamed: str = field(default="x", metadata=wire(name="other"))
    any: object = field(default=None, metadata=wire(form=TAGGED, omit=None))
    inner: bytes = field(default=b"{}", metadata=wire(form=OPAQUE))
    place: Place = field(metadata=wire(flat=True))
    shape: Shape
    resolved: int = field(default=0, metadata=UNWRITTEN)


WHOLE = Everything(
    flag=True,
    count=2**60,
    share=Fraction(1, 3),
    number=0.1,
    secret=b"\x00\xff",
    cells=(10, 255),
    pairs=(("a", ("b", "c")),),
    any=b"raw",
    inner=b'{"a":1}',
    place=Place(row=4, label="here"),
    shape=Box(sides=(2, 3)),
)
WRITTEN = {
    "version": 3,
    "flag": True,
    "count": "1152921504606846976",
    "share": "1/3",
    "number": "0.1",
    "secret": "00ff",
    "cells": ["a", "ff"],
    "pairs": [["a", ["b", "c"]]],
    "other": "x",
    "any": {"bytes": "726177"},
    "inner": {"a": 1},
    "row": 4,
    "label": "here",
    "shape": {"shape": "box", "sides": [2, 3], "area": 6},
}


def test_every_form_is_written_as_the_table_says_and_read_back():
    assert WHOLE.to_json() == WRITTEN
    assert WHOLE.canonical == canonical_json(WRITTEN)
    assert Everything.from_json(WHOLE.canonical) == WHOLE


def test_what_has_its_usual_value_is_left_out_and_so_is_what_is_resolved():
    plain = Everything.from_json(WHOLE.canonical.replace(b'"label":"here",', b""))
    assert plain.place.label is None
    assert (plain.left_out, plain.resolved) == (7, 0)
    assert not {"left_out", "resolved"} & set(WRITTEN)


@pytest.mark.parametrize(
    "change",
    [
        {"more": 1},
        {"version": 2},
        {"version": True},
        {"flag": 1},
        {"count": 1.0},
        {"count": "7"},
        {"count": 2**53},
        {"share": "2/6"},
        {"share": "0.5"},
        {"number": 0.1},
        {"number": "0.10"},
        {"number": "nan"},
        {"secret": "00FF"},
        {"cells": ["0a", "ff"]},
        {"cells": "a"},
        {"pairs": [["a"]]},
        {"left_out": 7},
        {"any": None},
        {"label": None},
        {"row": "4"},
        {"shape": {"shape": "box", "sides": [2, 3], "area": 7}},
        {"shape": {"shape": "box", "sides": [2, 3]}},
        {"shape": {"shape": "disk", "radius": "-1.0"}},
        {"shape": {"shape": "os.system", "radius": "1.0"}},
        {"shape": "box"},
    ],
    ids=str,
)
def test_whatever_else_there_is_is_refused(change):
    data = WRITTEN | change
    with pytest.raises(WireError):
        Everything.from_json(json_bytes(data))


def test_a_missing_field_is_refused():
    for name in WRITTEN.keys() - {"label", "any"}:
        with pytest.raises(WireError):
            Everything.from_json(canonical_json({key: value for key, value in WRITTEN.items() if key != name}))


@pytest.mark.parametrize("data", [b"", b"null", b"[]", b'{"version":3}', b"\xff", b"[" * 100_000, "text", None])
def test_what_is_no_record_is_refused(data):
    with pytest.raises(WireError):
        Everything.from_json(data)


def test_a_member_of_a_family_is_read_through_the_family_and_by_itself():
    disk = Disk(radius=1.5)
    assert Shape.from_json(disk.canonical) == Disk.from_json(disk.canonical) == disk
    with pytest.raises(WireError, match="Box"):
        Box.from_json(disk.canonical)


WHEEL = {"shape": "wheel", "parameters": {"spokes": 3}, "counts": {"gaps": 3, "parts": "1152921504606846979"}}


def test_fields_may_stand_in_an_object_of_their_own():
    assert Wheel(spokes=3).to_json() == WHEEL
    assert Shape.from_json(canonical_json(WHEEL)) == Wheel(spokes=3)
    colored = WHEEL | {"parameters": {"spokes": 3, "color": "red"}}
    assert Shape.from_json(canonical_json(colored)) == Wheel(spokes=3, color="red")


@pytest.mark.parametrize(
    "change",
    [
        {"parameters": {}},
        {"parameters": [3]},
        {"parameters": {"spokes": 3, "gaps": 3}},
        {"spokes": 3},
        {"counts": {"gaps": 3}},
        {"counts": {"gaps": 3, "parts": 2**52}},
        {"counts": {"gaps": "3", "parts": "1152921504606846979"}},
        {"counts": 3},
    ],
    ids=str,
)
def test_no_other_body_is_read_and_no_other_derived_values(change):
    with pytest.raises(WireError):
        Shape.from_json(canonical_json(WHEEL | change))


def test_what_does_not_follow_from_the_fields_is_named():
    with pytest.raises(WireError, match=r"counts: got .*'gaps': 4.*allowed: .*'gaps': 3.*publish the shape again"):
        Shape.from_json(canonical_json(WHEEL | {"counts": WHEEL["counts"] | {"gaps": 4}}))


@SHAPES.add
@dataclass(frozen=True, kw_only=True)
class Cone(Shape):
    """People write it in files, too."""

    kind: ClassVar[str] = "cone"
    by_hand: ClassVar[bool] = True
    height: float
    widths: tuple[float, ...] = ()
    sides: int = 0


@pytest.mark.parametrize(
    ("written", "cone"),
    [
        ({"height": 1.5}, Cone(height=1.5)),
        ({"height": "1.50"}, Cone(height=1.5)),
        ({"height": 2, "sides": 2**60}, Cone(height=2, sides=2**60)),
        ({"height": "2", "widths": [1, "0.5", 0.25]}, Cone(height=2, widths=(1, 0.5, 0.25))),
    ],
    ids=str,
)
def test_files_leave_defaults_out_and_write_numbers_as_they_like(written, cone):
    read = SHAPES.read("shape", {"shape": "cone", **written})
    assert read == cone
    assert read.canonical == cone.canonical
    assert type(read.height) is type(cone.height), "an integer is written as one"
    assert Shape.from_json(cone.canonical) == cone
    with pytest.raises(WireError):
        Shape.from_json(json_bytes({"shape": "cone", **written}))  # what is signed has one spelling only


@pytest.mark.parametrize(
    "written", [{}, {"height": True}, {"height": "nan"}, {"height": 1, "sides": 1.0}, {"height": 1, "more": 1}], ids=str
)
def test_files_write_no_other_types_and_names(written):
    with pytest.raises(WireError):
        SHAPES.read("shape", {"shape": "cone", **written})


def test_a_family_whose_home_needs_an_extra_names_it(monkeypatch):
    family = Registry("shape", "shape", homes=("numpy_that_nobody_has",))
    with pytest.raises(MissingExtra, match="analysis"):
        family.read("shape", {"shape": "cone"})
    with pytest.raises(WireError):
        family.read("shape", {"shape": ["cone"]})
    family["disk"] = Disk  # what is known needs no home
    assert family.read("shape", {"shape": "disk", "radius": "1.0"}) == Disk(radius=1.0)


def json_bytes(data: object) -> bytes:
    """As canonical JSON would write it, floats and nulls too, which it has not."""
    import json

    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


@dataclass(frozen=True)
class Level(Plain):
    noun = "level"
    height: float


def test_zero_has_one_spelling():
    assert Level(-0.0).to_json() == Level(0.0).to_json() == {"height": "0.0"}
    with pytest.raises(WireError, match="canonical form"):
        Level.from_json({"height": "-0.0"})
