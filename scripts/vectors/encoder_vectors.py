"""The vectors of the encoders: what a device holds, what a mechanism is asked about, and what must be refused. Part of ``make_vectors``."""

from __future__ import annotations

from typing import Any

from deniable.contract.canonical import canonical_json, to_plain
from deniable.contract.cells import Cell
from deniable.contract.domain import Bytes, Categories, IndexRange, Integers, Text
from deniable.contract.encoder import Attribute, Encoder, Identity, Prefix
from deniable.contract.fragment import Fragment
from deniable.contract.lines import Interval, Parity
from deniable.contract.numbers import Numbers
from deniable.contract.segments import Segments
from deniable.contract.source import ONE
from deniable.testing import ReplaySource

LARGE = 2**64 - 1

REVIEW = (("place", Categories("bar", "inn", "spa")), ("stars", Integers(1, 4)), ("new", IndexRange(2)))

ENCODERS: list[tuple[Encoder, list[Any]]] = [
    (Identity(), ["tea", 7, -(2**60), b"\x00\xff"]),
    (Attribute("drink"), [{"drink": "tea", "age": 41}, {"drink": 7}]),
    (Prefix(Integers(0, 255), 4), [0, 0x7B, 255]),
    (Prefix(Integers(0, 255), 4, (3, 7, 9)), [0, 0x3F, 0x7B, 0x90, 255]),
    (Prefix(Integers(0, 255), 8, ()), [7]),
    (Prefix(Integers(-(2**63), 2**63 - 1), 64), [-(2**63), -1, 0, 2**63 - 1]),
    (Prefix(Integers(-500, 499), 3), [-500, 0, 499]),
    (Prefix(Categories("a", "b", "c"), 1), ["a", "b", "c"]),
    (Prefix(Text(6), 20), ["", "tea", "naïve"]),
    (Prefix(Text(6), 48, (0x746561FFFFFF, 0x746565FFFFFF)), ["tea", "tee", "ten"]),
    (Prefix(Text(16), 64), ["tea", "日本"]),
    (Prefix(Text(16), 65), ["tea", "日本"]),
    (Prefix(Text(64), 300), ["a" * 64]),
    (Prefix(Bytes(3), 12), [b"", b"\x00", b"\xff\x80\x00"]),
    (Prefix(Bytes(3), 32), [b"", b"\x00", b"\xff\x80\x00"]),
    (Fragment(Integers(0, 255), 4, 4), [0, 0x7B]),
    (Fragment(Integers(0, LARGE), 60, 4, hash_bits=31, salt=LARGE, function=2**53), [0, 2**32, LARGE]),
    (Fragment(Text(6), 8, 8, hash_bits=8), ["", "tea", "naïve"]),
    (Fragment(Text(64), 8 * 63, 8, hash_bits=1, salt=7, function=9), ["a" * 64, "a"]),
    (Fragment(Bytes(7), 0, 64), [b"", b"\x00" * 7]),
    (Segments(Integers(0, 0xFFFF), ((0, 4), (12, 4))), [0x7AB9]),
    (Segments(Integers(0, 0xFFFF), ((12, 4), (0, 4), (0, 4)), (0x12, 0x977, 0x999)), [0x7AB9, 0x9AB9, 0]),
    (Segments(Text(16), ((0, 32), (96, 32))), ["tea", "sixteen letters!"]),
    (Interval(Integers(1, 12), (0, 3, 9)), [1, 3, 4, 9, 10, 12]),
    (Interval(Categories("low", "middle", "high"), (0, 1)), ["low", "middle", "high"]),
    (Interval(Integers(0, LARGE), (0, 2**63, LARGE)), [0, 2**63 - 1, 2**63, LARGE]),
    (Interval(Integers(0, 9), (0,)), [9]),
    (Interval(Numbers(0, 100, steps=4), (0, 2)), [0, 37, 38, 100]),
    (Parity(Integers(0, 7), 6), list(range(8))),
    (Parity(Integers(-(2**63), 2**63 - 1), LARGE), [-(2**63), -1, 0, 2**63 - 1]),
    (Parity(Categories("a", "b", "c"), 3), ["a", "b", "c"]),
    (Cell(REVIEW), [{"place": "bar", "stars": 1, "new": 0}, {"new": 1, "stars": 4, "place": "spa", "name": "Ann"}]),
    (Cell(REVIEW, (2, 3, 1)), [{"place": "spa", "stars": 4, "new": 1}, {"place": "spa", "stars": 2, "new": 0}]),
    (Cell((("age", Numbers(0, 100, steps=4)),)), [{"age": 12}, {"age": 13}, {"age": 100}]),
]


def encoders() -> dict[str, Any]:
    """What a device holds, and what a mechanism is asked about."""
    values = [
        (Attribute("drink"), {"age": 41}), (Attribute("drink"), "drink"), (Attribute("drink"), {}), (Attribute("toString"), {"age": 41}),
        (Prefix(Integers(0, 255), 4), 256), (Prefix(Integers(0, 255), 4), -1), (Prefix(Integers(0, 255), 4), "7"),
        (Prefix(Text(6), 20), "sevenlt"), (Prefix(Text(6), 20), "日本語"), (Prefix(Text(6), 20), b"tea"), (Prefix(Text(6), 20), 7),
        (Prefix(Bytes(3), 12), "tea"), (Prefix(Bytes(3), 12), b"four"), (Prefix(Categories("a", "b", "c"), 1), "d"),
        (Fragment(Text(6), 8, 8, hash_bits=8), "sevenlt"), (Segments(Integers(0, 0xFFFF), ((0, 4),)), 2**16),
        (Interval(Integers(1, 12), (0, 3, 9)), 0), (Interval(Integers(1, 12), (0, 3, 9)), "1"), (Parity(Integers(0, 7), 6), 8),
        (Cell(REVIEW), {"place": "bar", "stars": 5, "new": 0}), (Cell(REVIEW), {"place": "bar", "stars": 1}), (Cell(REVIEW), "bar"),
    ]  # fmt: skip
    return written("encoder", ENCODERS, values, _refused_encoders())


# --- what the encoders of sets and models share ---


def written(name: str, encoders: list[tuple[Encoder, list[Any]]], values: list[tuple[Encoder, Any]], bad: list[Any]) -> dict[str, Any]:
    """Inputs from fixed streams, with the words that they consumed; values that are refused; and what is no encoder."""
    cases = []
    for number, (encoder, held) in enumerate(encoders):
        for value in held:
            key = f"{name}/{number}/{value!r}"
            source = ReplaySource.from_key(key)
            result = encoder.encode(value, source)
            words = [f"{word:016x}" for word in ReplaySource.from_key(key).words(source.consumed)]
            cases.append({**_text(encoder.to_json()), "value": plain_value(value), "words": words, "input": to_plain(result)})
    refused_values = [{**_text(encoder.to_json()), "value": plain_value(value)} for encoder, value in values]
    return {"cases": cases, "refused_values": refused_values, "refused": [_text(data) for data in bad]}


def plain_value(value: Any) -> Any:
    """A value as vectors carry it: like ``to_plain``, a record as its attributes, and a set as a list."""
    if isinstance(value, list):
        return [to_plain(item) for item in value]
    return {"record": {name: to_plain(item) for name, item in value.items()}} if isinstance(value, dict) else to_plain(value)


def changed(changes: list[tuple[dict[str, Any], str, list[Any]]]) -> list[dict[str, Any]]:
    """Encoders as plain data, with one part after the other replaced by each of some others."""
    return [{**whole, name: other} for whole, name, others in changes for other in others]


def without(name: str, *wholes: dict[str, Any]) -> list[dict[str, Any]]:
    """Encoders as plain data that lack a part, or say more than they should."""
    return [{**whole, "more": 1} for whole in wholes] + [{key: part for key, part in whole.items() if key != name} for whole in wholes]


def _text(plain: Any) -> dict[str, str]:
    return {"encoder": canonical_json(plain).decode()}


def _refused_encoders() -> list[Any]:
    prefix = Prefix(Integers(0, 255), 4, (3, 7, 10)).to_json()
    fragment = Fragment(Text(6), 8, 8, hash_bits=8).to_json()
    segments = Segments(Integers(0, 0xFFFF), ((0, 4), (12, 4)), (0x12, 0x79)).to_json()
    cell = Cell(REVIEW, (2, 3, 1)).to_json()
    interval, parity = Interval(Integers(1, 12), (0, 3, 9)).to_json(), Parity(Integers(0, 7), 6).to_json()
    bad: list[Any] = [
        7, [], {}, {"encoder": 7}, {"encoder": "Suffix"}, {"encoder": "toString"}, {"encoder": "Identity", "name": "a"},
        {"encoder": "Attribute"}, {"encoder": "Attribute", "name": 7}, {"encoder": "Attribute", "name": "a", "names": "b"},
    ]  # fmt: skip
    changes: list[tuple[dict[str, Any], str, list[Any]]] = [
        (prefix, "length", [0, 9, "4", True, -4]),
        (prefix, "candidates", [["7", "3"], ["3", "3"], ["A"], ["03"], ["0x3"], ["10"], [""], ["-1"], [3], "37", {"3": 1}, ["3 "]]),
        (prefix, "domain", ["text", {"kind": "text"}, {"kind": "index", "size": "15"}]),
        (fragment, "start", [-1, 48, "8", True]),
        (fragment, "length", [0, 41, 57, "8"]),
        (fragment, "hash_bits", [-1, 32, "8", True]),
        (fragment, "salt", [-1, str(ONE), "7", "1.0"]),
        (fragment, "function", [-1, str(ONE), True]),
        (
            segments,
            "parts",
            [[], [[0, 0]], [[0, 17]], [[-1, 4]], [[0, 4, 4]], [[0]], [0, 4], "04", [["0", "4"]], [[0, True]], [[0, 16]] * 5],
        ),
        (
            cell,
            "columns",
            [
                [],
                "place",
                [7],
                cell["columns"][:2],
                cell["columns"] * 2,
                [{"name": "a", "domain": Text(6).to_json()}] * 3,
                [{**cell["columns"][0], "name": ""}, *cell["columns"][1:]],
            ],
        ),
        (cell, "masks", [[2, 3], [0, 3, 1], [4, 3, 1], [2, 3, 2], ["2", 3, 1], [2, 3, True], [2, 3, -1], "231"]),
        (
            interval,
            "starts",
            [[], ["1"], ["0", "3", "3"], ["0", "9", "3"], ["0", "c"], ["0", "03"], ["0", "A"], [0, 3], "03", ["0", "-3"], [""]],
        ),
        (interval, "domain", [Text(6).to_json(), "line"]),
        (parity, "mask", ["0", "8", "06", "-6", 6, "", "x", ["6"]]),
        (parity, "domain", [Bytes(6).to_json()]),
        (segments, "candidates", [["79", "12"], ["100"], ["0c"], [18]]),
    ]
    for change in changes:
        whole, name, _ = change
        bad += changed([change])
        bad += [{key: value for key, value in whole.items() if key != name}] if name not in ("candidates", "masks") else []
    return bad + [{**whole, "more": 1} for whole in (prefix, fragment, segments, cell, interval, parity)]
