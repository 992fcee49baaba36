"""Files that people write: what is no TOML is refused, and so is a name that nobody knows; settings are read by the types of fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest

from deniable.contract.domain import Categories
from deniable.contract.record import RESOLVED
from deniable.core.declared import check_names, did_you_mean, read_settings, read_toml
from deniable.core.declared_protocol import plain_domain
from deniable.errors import ParameterError, WireError


def test_names_in_files_are_known_or_refused():
    assert read_toml(b"a = 1", "x.toml") == {"a": 1}
    for wrong in (b"a =", b"\xff"):
        with pytest.raises(ParameterError, match=r"x\.toml"):
            read_toml(wrong, "x.toml")
    check_names("task", {"epsilon": 1, "answers": 2}, ["epsilon"], ["answers", "rounds"])
    with pytest.raises(ParameterError, match="did you mean answers"):
        check_names("task", {"epsilon": 1, "answer": 2}, ["epsilon"], ["answers"])
    with pytest.raises(ParameterError, match="add epsilon"):
        check_names("task", {"answers": 2}, ["epsilon"], ["answers"])
    assert did_you_mean("EPSILOM", ["Epsilon", "gamma"]) == "check the spelling: did you mean Epsilon?"
    assert did_you_mean("zz", ["Epsilon", "gamma"]) == "check the spelling"


@dataclass(frozen=True)
class Key:
    owner: str
    digits: bytes = b""


class Name(str):
    """A kind of text that has a reader of its own."""


class Nickname(Name):
    """A type that none was made for."""


@dataclass(frozen=True)
class Plan:
    share: Fraction
    keys: tuple[Key, ...] = ()
    main: Key | None = None
    splits: tuple[Fraction, ...] = ()
    names: Sequence[str] = ()
    nickname: Nickname | None = None
    why: str = field(default="", metadata=RESOLVED)
    epsilon: float = 1.0


def read(**table: Any) -> dict[str, Any]:
    readers = {bytes: lambda _, text: bytes.fromhex(text), Name: lambda name, text: f"{name} {text}"}
    return read_settings(Plan, table, path="plan", readers=readers, elsewhere={"epsilon"})


def test_every_type_is_read_in_its_way():
    keys = [{"owner": "ann", "digits": "00ff"}, {"owner": "bob"}]
    assert read(share="1/3", keys=keys, main=keys[0], splits=["1/4", "3/4"], names=["a", "b"], nickname="c") == {
        "share": Fraction(1, 3),
        "keys": (Key("ann", b"\x00\xff"), Key("bob")),
        "main": Key("ann", b"\x00\xff"),
        "splits": (Fraction(1, 4), Fraction(3, 4)),
        "names": ["a", "b"],
        "nickname": "nickname c",
    }


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, ["plan: got []", "add share"]),
        ({"share": "1/2", "shares": 1}, ["plan: got 'shares'", "did you mean share?"]),
        ({"share": "1/2", "why": "because"}, ["plan: got 'why'"]),
        ({"share": "1/2", "epsilon": 2.0}, ["plan: got 'epsilon'"]),
        ({"share": "1/2", "main": "ann"}, ["main: got 'ann'", "a table with ['owner', 'digits']", "[plan.main]"]),
        ({"share": "1/2", "main": {"digits": "00"}}, ["main: got ['digits']", "add owner"]),
        ({"share": "1/2", "main": {"owner": "ann", "digits": "xy"}}, ["Key", "right type"]),
        ({"share": "1/2", "keys": {"owner": "ann"}}, ["keys", "a list of tables", "[[plan.keys]]"]),
        ({"share": "1/2", "keys": ["ann"]}, ["keys: got 'ann'", "a table"]),
    ],
    ids=str,
)
def test_mistakes_name_the_setting_and_the_table(table, words):
    with pytest.raises(ParameterError) as caught:
        read(**table)
    assert all(word in str(caught.value) for word in words), caught.value


def test_a_share_in_decimals_is_none():
    with pytest.raises(WireError, match="1/3"):
        read(share="0.5")


def test_candidates_are_for_a_domain_that_is_asked_about_as_a_whole():
    colors = {"categories": ["red", "blue"]}
    assert plain_domain("colors", colors) == Categories("red", "blue")
    with pytest.raises(ParameterError, match=r"colors: got .*candidates"):
        plain_domain("colors", colors | {"candidates": ["red"]})
